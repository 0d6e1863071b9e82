"""fixed_length: records with a fixed byte length, plain and compressed, and damaged ones."""

import re

import numpy as np
import pytest
from source_contract import SourceContract
from test_text import COMPRESS, COUNT, ENDS

import pipeline
from pipeline.files.read_buffer import ReadBuffer


def raises(cls, text):
    return pytest.raises(cls, match=re.escape(text))


@pytest.fixture
def _small_chunks(monkeypatch):
    monkeypatch.setattr(ReadBuffer, "CHUNK", 64)


@pytest.mark.usefixtures("_small_chunks")
class TestFixedLength(SourceContract):
    count = COUNT
    known = False
    ending = ""
    width = 12

    @pytest.fixture(autouse=True)
    def _files(self, tmp_path):
        self.pattern = tmp_path / f"*.bin{self.ending}"
        for number, (first, end) in enumerate(ENDS):
            rows = np.arange(first, end, dtype="<i4")[:, None] + np.arange(self.width // 4, dtype="<i4") * 1000
            data = b"header!" + rows.tobytes() + b"end.."
            (tmp_path / f"{number}.bin{self.ending}").write_bytes(COMPRESS[self.ending](data))

    def make(self, **options):
        return pipeline.fixed_length(self.pattern, self.width, dtype="<i4", header_bytes=7, footer_bytes=5, **options)

    def numbers(self, batch):
        assert (batch == batch[:, :1] + np.arange(self.width // 4) * 1000).all()
        return batch[:, 0].tolist()


class TestCompressed(TestFixedLength):
    ending = ".xz"


class TestRecordsLargerThanChunks(TestFixedLength):
    width = 200


@pytest.mark.usefixtures("_small_chunks")
def test_records_are_bytes_unless_there_is_a_dtype(tmp_path):
    path = tmp_path / "a.bin"
    path.write_bytes(bytes(range(60)))
    assert list(pipeline.fixed_length(path, 6)) == [bytes(range(i, i + 6)) for i in range(0, 60, 6)]
    rows = list(pipeline.fixed_length(path, 6, dtype=">u2"))
    expected = [[i << 8 | i + 1, i + 2 << 8 | i + 3, i + 4 << 8 | i + 5] for i in range(0, 60, 6)]
    assert [row.tolist() for row in rows] == expected
    assert {row.dtype for row in rows} == {np.dtype(np.uint16)}  # in the machine's byte order
    rows[0][:] = 0  # not shared
    assert next(iter(pipeline.fixed_length(path, 6, dtype=">u2"))).any()
    assert list(pipeline.fixed_length(path, 6, header_bytes=12, footer_bytes=12).take(1)) == [bytes(range(12, 18))]


@pytest.mark.usefixtures("_small_chunks")
@pytest.mark.parametrize(
    ("size", "options", "said"),
    [
        (100, {}, "record 12: the file ends after 4 of its 8 bytes"),
        (100, {"header_bytes": 4, "footer_bytes": 3}, "record 11: the file ends after 5 of its 8 bytes"),
        (3, {"header_bytes": 4}, "record 0: the file is shorter than its header of 4 bytes"),
        (5, {"header_bytes": 3, "footer_bytes": 3}, "record 0: the file is shorter than its header and footer"),
    ],
)
def test_files_that_do_not_end_with_a_record(tmp_path, size, options, said):
    path = tmp_path / "a.bin"
    path.write_bytes(bytes(size))
    records = iter(pipeline.fixed_length(path, 8, **options))
    count = int(said.split()[1].rstrip(":"))
    assert [next(records) for _ in range(count)] == [bytes(8)] * count
    with raises(pipeline.DataLossError, f"fixed_length: {path}, {said}") as failed:
        next(records)
    assert failed.value.record_key == b"%b:%d" % (bytes(path), count)


def test_files_without_records(tmp_path):
    path = tmp_path / "a.bin"
    for size, options in ((0, {}), (7, {"header_bytes": 3, "footer_bytes": 4})):
        path.write_bytes(bytes(size))
        assert list(pipeline.fixed_length(path, 8, **options)) == []


def test_a_record_that_no_file_can_have(tmp_path):
    path = tmp_path / "a.bin"
    path.write_bytes(bytes(10))
    with raises(pipeline.DataLossError, "the file ends after 10 of its"):
        list(pipeline.fixed_length(path, 1 << 62, max_record_bytes=None))


def test_bad_arguments(tmp_path):
    path = tmp_path / "a.bin"
    path.write_bytes(bytes(8))
    for size, options, cls, said in [
        (0, {}, ValueError, "record_bytes must be at least 1, got 0"),
        (1.5, {}, TypeError, "record_bytes"),
        (8, {"header_bytes": -1}, ValueError, "header_bytes must be at least 0, got -1"),
        (8, {"footer_bytes": -1}, ValueError, "footer_bytes must be at least 0, got -1"),
        (8, {"dtype": "<i3"}, TypeError, "i3"),
        (8, {"dtype": "S3"}, ValueError, "records of 8 bytes do not consist of whole values of dtype |S3"),
        (8, {"dtype": "S0"}, ValueError, "do not consist of whole values"),
        (8, {"dtype": object}, TypeError, "are Python objects"),
        (8, {"max_record_bytes": 7}, pipeline.ResourceExhaustedError, "more than the limit of 7 bytes"),
    ]:
        with raises(cls, said):
            pipeline.fixed_length(path, size, **options)


@pytest.mark.usefixtures("_small_chunks")
@pytest.mark.parametrize("tail", [1, 5])
@pytest.mark.parametrize("ending", ["", ".gz"])
def test_bytes_after_the_last_record_are_left_out_by_an_option(tmp_path, tail, ending):
    path = tmp_path / f"a.bin{ending}"
    path.write_bytes(COMPRESS[ending](b"h" + bytes(range(60)) + bytes(tail) + b"f"))
    options = {"header_bytes": 1, "footer_bytes": 1}
    data = pipeline.fixed_length([path, path], 6, drop_remainder=True, **options)
    assert list(data) == 2 * [bytes(range(i, i + 6)) for i in range(0, 60, 6)]
    with raises(pipeline.errors.DataLossError, f"record 10: the file ends after {tail} of its 6 bytes"):
        list(pipeline.fixed_length(path, 6, **options))


def test_bools_are_zeros_and_ones(tmp_path):
    """NumPy takes the bytes unchanged, so a sum would count 2 twice."""
    (tmp_path / "a").write_bytes(b"\0\2\1\xff")
    [batch] = pipeline.fixed_length(tmp_path / "a", 2, dtype=bool).batch(2)
    assert batch.view(np.uint8).tolist() == [[0, 1], [1, 1]]
