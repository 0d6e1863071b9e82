"""array_record: records by index. `make test-sources` installs its library; elsewhere these are skipped."""

import os
import pickle
import re

import pytest
from dataset_contract import check as check_elements
from source_contract import SourceContract

import pipeline
from pipeline.errors import DataLossError, FailedPreconditionError, InvalidArgumentError, NotFoundError

module = pytest.importorskip("array_record.python.array_record_module", reason="make test-sources installs it")

COUNT = 40
ENDS = [(0, 9), (9, 9), (9, 27), (27, COUNT)]  # records in each file; one file is empty


def raises(cls, *parts):
    """Expect an error with these texts in order."""
    return pytest.raises(cls, match="(?s)" + ".*".join(map(re.escape, parts)))


def record(number):
    return b"%d " % number * (1 + number % 3)


def write(path, records, options="group_size:1"):
    writer = module.ArrayRecordWriter(str(path), options)
    for each in records:
        writer.write(each)
    writer.close()
    return str(path)


class TestRecords(SourceContract):
    count = COUNT

    @pytest.fixture(autouse=True, params=["group_size:1", "group_size:4", "group_size:1,uncompressed"])
    def _files(self, request, tmp_path):
        self.paths = [
            write(tmp_path / f"{i}.array_record", map(record, range(*ends)), request.param)
            for i, ends in enumerate(ENDS)
        ]

    def make(self, **options):
        return pipeline.array_record(self.paths, **options)

    def numbers(self, batch):
        found = [int(each.split()[0]) for each in batch]
        assert batch.tolist() == list(map(record, found))
        return found


def test_records_are_those_of_the_library(tmp_path):
    path = write(tmp_path / "a", map(record, range(200)))
    data = pipeline.array_record(path)
    assert list(data) == [*module.ArrayRecordReader(path).read_all()] == list(map(record, range(200)))
    assert [data[i] for i in (0, 199, -1, 7)] == [record(i) for i in (0, 199, 199, 7)]
    assert list(pickle.loads(pickle.dumps(data))) == list(data)


def test_every_element_resumes(tmp_path):
    paths = [write(tmp_path / str(i), map(record, range(5 * i, 5 * i + 5))) for i in range(3)]
    check_elements(pipeline.array_record(paths).map(len, workers=2), [len(record(i)) for i in range(15)])


def test_empty_records(tmp_path):
    path = write(tmp_path / "a", [b"", b"x", b""])
    assert list(pipeline.array_record(path)) == [b"", b"x", b""]


class TestDamage:
    @pytest.mark.parametrize("data", [b"", b"x", b"x" * 200_000])
    def test_no_such_file(self, tmp_path, data):
        path = tmp_path / "a"
        path.write_bytes(data)
        with raises(DataLossError, str(path)):
            list(pipeline.array_record(path))

    @pytest.mark.parametrize("kept", [0.1, 0.5, 0.9, 0.999])
    def test_a_file_that_is_cut(self, tmp_path, kept):
        path = write(tmp_path / "a", [os.urandom(1000) for _ in range(500)])
        os.truncate(path, int(kept * os.path.getsize(path)))
        with raises(DataLossError, path):
            list(pipeline.array_record(path))

    def test_bytes_that_were_changed(self, tmp_path):
        """A checksum detects the change, and the records before it are delivered."""
        path = tmp_path / "a"
        records = [os.urandom(1000) for _ in range(500)]
        write(path, records, "group_size:1,uncompressed")
        data = bytearray(path.read_bytes())
        at = data.index(records[300])
        data[at + 500] ^= 1
        path.write_bytes(data)
        taken = []
        with raises(DataLossError, str(path)):
            taken.extend(pipeline.array_record(path))
        assert taken == records[:300]
        kept = list(pipeline.array_record(path).map(bytes, on_error="skip"))
        assert kept == records[:300] + records[301:]

    def test_a_changed_file(self, tmp_path):
        path = write(tmp_path / "a", map(record, range(10)))
        data = pipeline.array_record(path)
        assert len(list(data)) == 10
        write(path, map(record, range(20)))
        with raises(FailedPreconditionError, path, "has changed since the dataset was made"):
            list(data)


def test_paths(tmp_path):
    with raises(NotFoundError, str(tmp_path / "none")):
        pipeline.array_record(tmp_path / "none")
    with raises(InvalidArgumentError, "'gs://bucket/a' is a URL"):
        pipeline.array_record("gs://bucket/a")
