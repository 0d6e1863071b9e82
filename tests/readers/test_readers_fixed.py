"""FixedLengthRecordReader."""

from unittest import mock

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from orchestration import closed_queue, drain
from reading import PACK, counts, read_all

from pipeline.errors import DataLossError, InvalidArgumentError, OutOfRangeError
from pipeline.files.read_buffer import ReadBuffer
from pipeline.readers.fixed import FixedLengthRecordReader


@pytest.fixture(autouse=True)
def _files(tmp_path, monkeypatch):
    (tmp_path / "f").write_bytes(b"HHaabbccddFF")
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "header").write_bytes(b"HH")
    (tmp_path / "short").write_bytes(b"H")
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("record", "hop", "values"),
    [
        (2, None, b"aa bb cc dd"),
        (2, 0, b"aa bb cc dd"),
        (2, 1, b"aa ab bb bc cc cd dd"),
        (2, 3, b"aa bc dd"),
        (3, None, b"aab bcc"),
        (4, None, b"aabb ccdd"),
        (2, 20, b"aa"),
    ],
)
def test_records_with_header_and_footer(record, hop, values):
    reader = FixedLengthRecordReader(record, 2, 2, hop)
    assert read_all(reader, ["f"]) == [b"f:%d %b" % pair for pair in enumerate(values.split())]
    assert counts(reader) == (len(values.split()), 1)


@pytest.mark.parametrize("encoding", ["", "GZIP", "ZLIB", None])
def test_encodings(tmp_path, encoding):
    (tmp_path / "g").write_bytes(PACK.get(encoding, bytes)(b"HHaabbF"))
    assert read_all(FixedLengthRecordReader(2, 2, 1, encoding=encoding), ["g"]) == [b"g:0 aa", b"g:1 bb"]


def test_file_without_a_whole_header_looks_like_the_end_of_input():
    reader, queue = FixedLengthRecordReader(2, 2), closed_queue(["short", "empty", "f"])
    for name in ("short", "empty"):
        with pytest.raises(OutOfRangeError, match=f"reached end of file: {name} is shorter than its header"):
            reader.read(queue)
        assert counts(reader) == (0, 0)
    assert reader.read(queue) == (b"f:0", b"aa")


def test_file_of_only_a_header_has_no_records():
    assert read_all(FixedLengthRecordReader(2, 2), ["header", "header"]) == []
    assert read_all(FixedLengthRecordReader(2), ["empty"]) == []


def test_bad_stream_found_in_the_header_is_one_error():
    reader, queue = FixedLengthRecordReader(2, 1, encoding="GZIP"), closed_queue(["f", "f"])
    for _ in range(2):
        with pytest.raises(DataLossError, match="f is damaged"):
            reader.read(queue)
    with pytest.raises(OutOfRangeError, match="is closed and has insufficient"):
        reader.read(queue)


def test_bad_stream_found_by_reading_is_an_error_until_reset():
    reader, queue = FixedLengthRecordReader(2, encoding="ZLIB"), closed_queue(["f", "empty"])
    for _ in range(3):
        with pytest.raises(DataLossError, match="f is damaged"):
            reader.read(queue)
    reader.reset()
    with pytest.raises(OutOfRangeError):
        reader.read(queue)


def test_empty_records_are_without_end():
    reader, queue = FixedLengthRecordReader(0), closed_queue(["f"])
    block = reader.read_up_to(queue, 100_000)
    assert block.values == [b""] * 100_000
    assert (block.keys[0], block.keys[-1]) == (b"f:0", b"f:99999")
    assert reader.read(queue) == (b"f:100000", b"")


@pytest.mark.parametrize("name", ["record_bytes", "header_bytes", "footer_bytes", "hop_bytes"])
def test_negative_numbers(name):
    with pytest.raises(InvalidArgumentError, match=f"{name} must be >= 0 not -1"):
        FixedLengthRecordReader(**{"record_bytes": 1, name: -1})


def test_numbers_that_are_none():
    with pytest.raises(TypeError):
        FixedLengthRecordReader(1.5)


def test_enormous_sizes_take_no_memory():
    assert read_all(FixedLengthRecordReader(10**15), ["f"]) == []
    assert read_all(FixedLengthRecordReader(1, 0, 10**15), ["f"]) == []
    assert read_all(FixedLengthRecordReader(2, 0, 0, 10**15), ["f"]) == [b"f:0 HH"]


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.binary(max_size=80),
    *[st.integers(low, high) for low, high in ((1, 5), (0, 4), (0, 3), (0, 9), (1, 90), (1, 40))],
    st.sampled_from(["", "GZIP", "ZLIB"]),
)
def test_any_file_by_the_rule(tmp_path, content, record, header, footer, hop, chunk, block, encoding):
    file = tmp_path / "any"
    file.write_bytes(PACK[encoding](content))
    step = hop or record
    starts = [s for s in range(header, len(content) + 1, step) if s + record + footer <= len(content)]
    reader, queue = FixedLengthRecordReader(record, header, footer, hop, encoding=encoding), closed_queue([file])
    with mock.patch.object(ReadBuffer, "CHUNK", chunk):
        blocks = drain(lambda: reader.read_up_to(queue, block))
    assert [v for b in blocks for v in b.values] == [content[s : s + record] for s in starts]
    name = str(file).encode()
    assert [k for b in blocks for k in b.keys] == [b"%b:%d" % (name, i) for i in range(len(starts))]
    assert all(len(b.values) == block for b in blocks[:-1])
    assert counts(reader) == (len(starts), int(len(content) >= header))


def test_large_file_in_blocks_and_one_by_one(tmp_path):
    (tmp_path / "large").write_bytes(bytes(range(256)) * 4096)
    for take in (1, 1000, 10**9):
        reader, queue = FixedLengthRecordReader(13, hop_bytes=64), closed_queue(["large"])
        blocks = drain(lambda reader=reader, queue=queue, take=take: reader.read_up_to(queue, take))
        values = [v for b in blocks for v in b.values]
        assert len(values) == 16384
        assert set(values) == {bytes(range(i, i + 13)) for i in (0, 64, 128, 192)}
