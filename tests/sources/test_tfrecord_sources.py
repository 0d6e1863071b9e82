"""tfrecord: records and Examples from TFRecord files, plain and compressed, and damaged ones."""

import gzip
import re
import zlib

import numpy as np
import pytest
from source_contract import SourceContract
from test_text import COUNT, ENDS

import pipeline
from pipeline.files.read_buffer import ReadBuffer

FEATURES = {
    "id": pipeline.FixedLenFeature([], np.int64),
    "box": pipeline.FixedLenFeature([2], np.float32, [0, 0]),
    "name": pipeline.FixedLenFeature([], "string"),
}


def raises(cls, text):
    return pytest.raises(cls, match=re.escape(text))


@pytest.fixture
def _small_chunks(monkeypatch):
    monkeypatch.setattr(ReadBuffer, "CHUNK", 64)


def name_of(i):
    return b"x" * (200 if i % 7 == 3 else i % 5)


def example(i, **more):
    features = {
        "id": pipeline.Feature(int64_list=pipeline.Int64List(value=[i])),
        "name": pipeline.Feature(bytes_list=pipeline.BytesList(value=[name_of(i)])),
        **more,
    }
    if i % 2:
        features["box"] = pipeline.Feature(float_list=pipeline.FloatList(value=[i, i / 2]))
    return pipeline.Example(features=pipeline.Features(feature=features)).SerializeToString()


def write(path, records, compression=""):
    with pipeline.TFRecordWriter(path, compression) as writer:
        for record in records:
            writer.write(record)
    return path


@pytest.mark.usefixtures("_small_chunks")
class TestExamples(SourceContract):
    count = COUNT
    known = False
    compression = ""

    @pytest.fixture(autouse=True)
    def _files(self, tmp_path):
        self.pattern = tmp_path / "*.tfrecord"
        for number, (first, end) in enumerate(ENDS):
            write(tmp_path / f"{number}.tfrecord", map(example, range(first, end)), self.compression)

    def make(self, **options):
        return pipeline.tfrecord(self.pattern, FEATURES, compression=self.compression, **options)

    def numbers(self, batch):
        found = batch["id"].tolist()
        assert batch["box"].tolist() == [[i, i / 2] if i % 2 else [0, 0] for i in found]
        assert batch["name"].tolist() == list(map(name_of, found))
        return found


class TestCompressedExamples(TestExamples):
    compression = "GZIP"


@pytest.mark.usefixtures("_small_chunks")
class TestRecords(SourceContract):
    count = COUNT
    known = False

    @pytest.fixture(autouse=True)
    def _files(self, tmp_path):
        self.pattern = tmp_path / "*.tfrecord"
        for number, (first, end) in enumerate(ENDS):
            write(
                tmp_path / f"{number}.tfrecord", [b"%d" % i + b" long" * (30 * (i % 9 == 4)) for i in range(first, end)]
            )

    def make(self, **options):
        return pipeline.tfrecord(self.pattern, **options)

    def numbers(self, batch):
        return [int(record.split()[0]) for record in batch]


def test_names_say_how_files_are_compressed(tmp_path):
    write(tmp_path / "a.tfrecord", [b"one", b"", b"three"])
    data = (tmp_path / "a.tfrecord").read_bytes()
    (tmp_path / "a.tfrecord.gz").write_bytes(gzip.compress(data))
    (tmp_path / "b.tfrecord").write_bytes(zlib.compress(data))
    for path, options in (("a.tfrecord.gz", {}), ("b.tfrecord", {"compression": "ZLIB"}), ("a.tfrecord", {})):
        assert list(pipeline.tfrecord(tmp_path / path, **options)) == [b"one", b"", b"three"]
    with raises(pipeline.DataLossError, "Is this a TFRecord file, and its compression the one that was given?"):
        list(pipeline.tfrecord(tmp_path / "b.tfrecord"))
    with raises(ValueError, "LZW"):
        pipeline.tfrecord(tmp_path / "b.tfrecord", compression="LZW")


def test_features_that_vary_in_number(tmp_path):
    def more(i):
        values = pipeline.Feature(int64_list=pipeline.Int64List(value=list(range(2 * i))))
        return {"any": values, "pairs": values} if i else {}

    write(tmp_path / "a.tfrecord", [example(i, **more(i)) for i in (2, 0, 1)])
    features = {
        "any": pipeline.VarLenFeature(np.int64),
        "pairs": pipeline.FixedLenSequenceFeature([2], np.int64, allow_missing=True),
    }
    source = pipeline.tfrecord(tmp_path / "a.tfrecord", features)
    assert [each["any"].tolist() for each in source] == [[0, 1, 2, 3], [], [0, 1]]
    assert [each["pairs"].tolist() for each in source] == [[[0, 1], [2, 3]], [], [[0, 1]]]
    [batch] = source.batch(3, pad=-1)
    assert batch["any"].tolist() == [[0, 1, 2, 3], [-1] * 4, [0, 1, -1, -1]]
    assert batch["pairs"].shape == (3, 2, 2)
    [batch] = source.batch(3, collate="row_splits")
    assert batch["any"][1].tolist() == [0, 4, 4, 6]
    write(tmp_path / "b.tfrecord", [example(0), example(1, pairs=more(2)["any"], any=more(1)["any"])])
    features["pairs"] = pipeline.FixedLenSequenceFeature([3], np.int64, allow_missing=True)
    with raises(pipeline.InvalidArgumentError, "'pairs' has 4 values, which do not fill rows of shape [3]"):
        list(pipeline.tfrecord(tmp_path / "b.tfrecord", features))


def test_a_default_value_that_would_pad(tmp_path):
    write(tmp_path / "a.tfrecord", [example(0)])
    feature = pipeline.FixedLenSequenceFeature([2], np.int64, allow_missing=True, default_value=7)
    with raises(pipeline.InvalidArgumentError, "tfrecord: feature 'pairs' has a default_value, and batch pads here: "):
        pipeline.tfrecord(tmp_path / "a.tfrecord", {"pairs": feature})


def test_a_record_that_is_no_example(tmp_path):
    path = write(tmp_path / "a.tfrecord", [example(0), example(2), b"\xff\xff", example(4)])
    at = 32 + len(example(0) + example(2))
    with raises(pipeline.InvalidArgumentError, f"tfrecord: {path}, record at byte {at}: ") as failed:
        list(pipeline.tfrecord(path, {"id": FEATURES["id"]}))
    assert failed.value.record_key == b"%b:%d" % (bytes(path), at)
    found = iter(pipeline.tfrecord(path, {"id": FEATURES["id"]}).map(lambda each: int(each["id"]), on_error="skip"))
    assert list(found) == [0, 2, 4]
    assert found.num_errors == 1


@pytest.mark.usefixtures("_small_chunks")
def test_damaged_files_give_what_comes_before(tmp_path):
    path = write(tmp_path / "a.tfrecord", [b"%d" % i * 9 for i in range(40)])
    data = bytearray(path.read_bytes())
    begin = sum(16 + len(b"%d" % i * 9) for i in range(17))
    data[begin + 13] ^= 1
    path.write_bytes(data)
    records = iter(pipeline.tfrecord(path))
    assert [next(records) for _ in range(17)] == [b"%d" % i * 9 for i in range(17)]
    with raises(pipeline.DataLossError, f"corrupted record at {begin + 12} of {path}"):
        next(records)
    path.write_bytes(path.read_bytes()[:-3])
    with raises(pipeline.ResourceExhaustedError, "more than the limit of 5 bytes"):
        list(pipeline.tfrecord(path, max_record_bytes=5))


def test_what_is_wrong_is_said_at_once(tmp_path):
    path = write(tmp_path / "a.tfrecord", [b"1"])
    with raises(ValueError, "features"):
        pipeline.tfrecord(path, {})
    with raises(TypeError, "features must be a dict"):
        pipeline.tfrecord(path, ["id"])
    with raises(pipeline.NotFoundError, "No such file"):
        pipeline.tfrecord(tmp_path / "none")
