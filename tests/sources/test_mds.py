"""mds: Mosaic Streaming shards, made by our own writer from the format's description."""

import itertools
import json
import pickle
import struct

import dataset_contract
import fsspec
import numpy as np
import pytest
from mds_files import shard_of, write_mds
from source_contract import SourceContract
from test_tokens import raises

import pipeline
from pipeline.errors import (
    DataLossError,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    ResourceExhaustedError,
)

COUNT = 30
ENDS = [(0, 11), (11, 12), (12, 12), (12, COUNT)]  # samples in each shard
COLUMNS = {"text": "str", "label": "int", "x": "ndarray:float32:2,3", "data": "bytes"}


def sample(number):
    return {
        "text": f"é{number}" * (number % 4 + 1),
        "label": number,
        "x": np.full((2, 3), number, np.float32),
        "data": bytes([number]) * (number % 3),
    }


def shards():
    return [[sample(number) for number in range(*ends)] for ends in ENDS]


class TestShards(SourceContract):
    count = COUNT
    compression = None

    @pytest.fixture(autouse=True)
    def _files(self, tmp_path):
        self.folder = tmp_path / "train"
        write_mds(self.folder, COLUMNS, shards(), self.compression, ["sha1"])

    def make(self, **options):
        return pipeline.mds(self.folder, **options)

    def numbers(self, batch):
        assert list(batch) == sorted(COLUMNS)
        numbers = batch["label"].tolist()
        assert batch["label"].dtype == np.int64
        assert batch["x"].dtype == np.float32
        for i, number in enumerate(numbers):
            wanted = sample(number)
            assert (batch["text"][i], batch["data"][i]) == (wanted["text"], wanted["data"])
            assert (batch["x"][i] == wanted["x"]).all()
        return numbers


class TestCompressed(TestShards):
    compression = "gz:6"

    def test_shards_are_shuffled_as_a_whole(self):
        order = [int(each["label"]) for each in self.make(shuffle=True, seed=1)]
        where = [0 if number < 11 else 1 if number < 12 else 2 for number in order]
        assert sum(a != b for a, b in itertools.pairwise(where)) == 2


@pytest.mark.parametrize("compression", ["gz", "bz2", "zstd:7", "br:5", "snappy"])
def test_compressions(tmp_path, compression):
    if compression in ("br:5", "snappy"):
        pytest.importorskip("pyarrow")
    write_mds(tmp_path, COLUMNS, shards(), compression, ["sha256"])
    data = pipeline.mds(tmp_path, verify=True)
    assert [int(each["label"]) for each in data] == list(range(COUNT))
    assert int(data[17]["label"]) == 17
    write_mds(tmp_path, COLUMNS, shards(), compression, ["sha256"], keep=True)
    order = [int(each["label"]) for each in pipeline.mds(tmp_path, shuffle=True, seed=1)]
    assert sorted(order) == list(range(COUNT))
    [damaged] = tmp_path.glob("shard.00003.mds.*")
    for path in tmp_path.glob("*.mds"):
        path.unlink()
    content = bytearray(damaged.read_bytes())
    content[len(content) // 2 :] = b"\x17" * len(content[len(content) // 2 :])
    damaged.write_bytes(content)
    with raises(DataLossError, "mds: ", "shard.00003.mds", "its sha256 is not that of its index"):
        list(pipeline.mds(tmp_path, verify=True))
    with pytest.raises(DataLossError, match=r"shard\.00003\.mds"):
        list(pipeline.mds(tmp_path))


VALUES = {
    "int": (7, np.int64(7)),
    "uint8": (7, np.uint8(7)),
    "int16": (-7, np.int16(-7)),
    "float16": (0.5, np.float16(0.5)),
    "float64": (0.1, np.float64(0.1)),
    "str": ("é", "é"),
    "bytes": (b"\0a", b"\0a"),
    "str_int": (2**40, np.int64(2**40)),
    "str_float": (0.1, np.float64(0.1)),
    "str_decimal": ("1.10", "1.10"),
    "json": ({"a": [1, 2], "b": "c"}, {"a": np.array([1, 2]), "b": "c"}),
    "ndarray": (np.arange(6, dtype=np.int16).reshape(2, 3), np.arange(6, dtype=np.int16).reshape(2, 3)),
    "ndarray:uint8": (np.zeros((300, 2), np.uint8), np.zeros((300, 2), np.uint8)),
    "ndarray:float64:2": (np.ones(2), np.ones(2)),
    "pil": (struct.pack("<3I", 3, 2, 3) + b"RGB" + bytes(range(18)), np.arange(18, dtype="u1").reshape(2, 3, 3)),
    "png": (pipeline.image.encode_png(np.full((2, 3, 3), 9, np.uint8)), np.full((2, 3, 3), 9, np.uint8)),
    "jpeg": (pipeline.image.encode_jpeg(np.full((8, 8, 3), 9, np.uint8)), np.full((8, 8, 3), 9, np.uint8)),
}


@pytest.mark.parametrize(("encoding", "begin"), [("list[png]", bytes(4)), ("jpeg_array", b"")])
def test_lists_of_images(tmp_path, encoding, begin):
    images = [np.full((i, 2, 3), i, np.uint8) for i in (1, 3)]
    files = [pipeline.image.encode_png(each) for each in images]
    sizes = struct.pack("<3I", 2, *map(len, files))
    write_mds(tmp_path, {"x": encoding}, [[{"x": begin + sizes + b"".join(files)}, {"x": begin + sizes[:-1]}]])
    data = pipeline.mds(tmp_path)
    found = data[0]["x"]
    assert type(found) is pipeline.ListValue
    assert [each.tolist() for each in found] == [each.tolist() for each in images]
    with raises(InvalidArgumentError, "sample 1: 'x' cannot be decoded: it has", "fewer than the sizes of 2 items"):
        data[1]


@pytest.mark.parametrize("encoding", VALUES)
def test_encodings(tmp_path, encoding):
    given, wanted = VALUES[encoding]
    write_mds(tmp_path, {"x": encoding}, [[{"x": given}] * 2])
    found = pipeline.mds(tmp_path)[1]["x"]
    assert type(found) is type(wanted)
    np.testing.assert_equal(found, wanted)
    if isinstance(wanted, np.ndarray):
        assert found.dtype == wanted.dtype
        assert found.flags.writeable
    raw = pipeline.mds(tmp_path, decoders={"x": bytes})[0]["x"]
    assert shard_of({"x": encoding}, [{"x": given}]).endswith(raw)


def test_pil_images_of_one_channel(tmp_path):
    given = struct.pack("<3I", 3, 2, 4) + b"I;16" + np.arange(6, dtype="<u2").tobytes()
    write_mds(tmp_path, {"x": "pil"}, [[{"x": given}]])
    assert pipeline.mds(tmp_path)[0]["x"].tolist() == [[0, 1, 2], [3, 4, 5]]


def test_pickles_are_refused(tmp_path):
    write_mds(tmp_path, {"x": "pkl", "y": "int"}, [[{"x": pickle.dumps({1}), "y": 1}]])
    with raises(InvalidArgumentError, "mds: column 'x' of '", "has pickles, which can run any code"):
        pipeline.mds(tmp_path)
    assert pipeline.mds(tmp_path, ["y"])[0] == {"y": 1}
    assert pipeline.mds(tmp_path, decoders={"x": lambda data: len(pickle.loads(data))})[0] == {"x": 1, "y": 1}


@pytest.mark.parametrize("encoding", ["jpeg2000", "ndarray:complex64", "ndarray:int8:x"])
def test_unknown_encodings_are_refused(tmp_path, encoding):
    write_mds(tmp_path, {"x": "str"}, [[{"x": "a"}]])
    index = tmp_path / "index.json"
    index.write_text(index.read_text().replace('["str"]', f'["{encoding}"]'))
    with raises(
        InvalidArgumentError, "mds: column 'x' of '", f"is encoded as '{encoding}'", "pass decoders={'x': ...}"
    ):
        pipeline.mds(tmp_path)
    assert pipeline.mds(tmp_path, decoders={"x": bytes})[0] == {"x": b"a"}


def test_columns(tmp_path):
    write_mds(tmp_path, COLUMNS, shards())
    assert list(pipeline.mds(tmp_path, ["x", "label"])[3]) == ["x", "label"]
    with raises(InvalidArgumentError, "mds: there is no column 'y'; the columns are 'data', 'label', 'text', 'x'"):
        pipeline.mds(tmp_path, ["y"])
    with raises(InvalidArgumentError, "mds: decoders= has 'y', and the columns are 'data', 'label'"):
        pipeline.mds(tmp_path, decoders={"y": bytes})
    with raises(TypeError, "mds: the decoder of 'x' must be callable"):
        pipeline.mds(tmp_path, decoders={"x": 1})


def test_several_folders(tmp_path):
    write_mds(tmp_path / "a", {"x": "int"}, [[{"x": 1}], [{"x": 2}]])
    write_mds(tmp_path / "b", {"x": "int", "y": "str"}, [[{"x": 3, "y": "c"}]])
    write_mds(tmp_path / "c", {"x": "int"}, [[{"x": 4}]], "zstd")
    both = [tmp_path / "a", tmp_path / "b"]
    with raises(InvalidArgumentError, "differ in the column 'y', which only one of them has: pass columns="):
        pipeline.mds(both)
    assert [int(each["x"]) for each in pipeline.mds(both, ["x"])] == [1, 2, 3]
    assert [int(each["x"]) for each in pipeline.mds([*both, tmp_path / "c"], ["x"])] == [1, 2, 3, 4]


def test_urls(tmp_path):
    write_mds(tmp_path, COLUMNS, shards(), "zstd", ["md5"], keep=True)
    fsspec.filesystem("memory").put(str(tmp_path), "/mds", recursive=True)
    data = pipeline.mds("memory://mds", shuffle=True, seed=3, verify=True)
    assert sorted(int(each["label"]) for each in data) == list(range(COUNT))
    fsspec.filesystem("memory").rm("/mds/shard.00003.mds.zstd")
    with pytest.raises(NotFoundError, match="shard\\.00003"):
        list(pipeline.mds("memory://mds"))


def test_hashes(tmp_path):
    pytest.importorskip("xxhash", reason="needs xxhash: make test-sources")
    write_mds(tmp_path, COLUMNS, shards(), None, ["md5", "xxh64"])
    data = pipeline.mds(tmp_path, verify=True)
    assert len(list(data)) == COUNT
    path = tmp_path / "shard.00003.mds"
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    assert len(list(pipeline.mds(tmp_path))) == COUNT
    with raises(DataLossError, "shard.00003.mds' is damaged: its md5 is not that of its index"):
        list(pipeline.mds(tmp_path, verify=True))


def test_hashes_that_are_not_there(tmp_path):
    write_mds(tmp_path, COLUMNS, shards())
    with raises(InvalidArgumentError, "mds: verify=True, and the index of '", "has no hash: leave out verify="):
        pipeline.mds(tmp_path, verify=True)


def test_missing_files(tmp_path):
    with pytest.raises(NotFoundError, match="none"):
        pipeline.mds(tmp_path / "none")
    write_mds(tmp_path / "a" / "train", COLUMNS, shards())
    with raises(NotFoundError, f"a/index.json': pass one of its folders, such as '{tmp_path}/a/train'"):
        pipeline.mds(tmp_path / "a")
    (tmp_path / "a" / "train" / "shard.00001.mds").unlink()
    with raises(NotFoundError, "mds: there is no '", "shard.00001.mds', which '"):
        pipeline.mds(tmp_path / "a" / "train")


def test_a_shard_that_changes(tmp_path):
    write_mds(tmp_path, COLUMNS, shards())
    data = pipeline.mds(tmp_path)
    with (tmp_path / "shard.00000.mds").open("ab") as file:
        file.write(b"more")
    with raises(FailedPreconditionError, "shard.00000.mds' had"):
        data[0]
    with raises(DataLossError, "bytes, and by '", "index.json' it has"):
        pipeline.mds(tmp_path)


def test_a_large_shard(tmp_path):
    write_mds(tmp_path, COLUMNS, shards(), "gz")
    with raises(ResourceExhaustedError, "is read as a whole and has more than the limit of 100 bytes"):
        list(pipeline.mds(tmp_path, max_record_bytes=100))


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        (lambda index: index.pop("shards"), DataLossError, "is not an index of MDS, or is damaged: KeyError: 'shards'"),
        (lambda index: index.update(version=3), InvalidArgumentError, "has the version 3"),
        (lambda index: index["shards"][0].update(format="csv"), InvalidArgumentError, "have the format 'csv'"),
        (lambda index: index["shards"][0].update(samples=-1), DataLossError, "-1 is not a number of bytes or samples"),
        (lambda index: index["shards"][0].update(column_sizes=[]), DataLossError, "not as many encodings and sizes"),
        (lambda index: index["shards"].clear(), InvalidArgumentError, "there are no samples"),
        (
            lambda index: index["shards"][0]["raw_data"].update(basename="../secret"),
            DataLossError,
            "'../secret' is not the name of a file in this folder",
        ),
        (
            lambda index: index["shards"][0]["raw_data"].update(basename="/etc/passwd"),
            DataLossError,
            "'/etc/passwd' is not the name of a file in this folder",
        ),
    ],
)
def test_a_bad_index(tmp_path, change, error, text):
    write_mds(tmp_path, COLUMNS, shards())
    index = json.loads((tmp_path / "index.json").read_text())
    change(index)
    (tmp_path / "index.json").write_text(json.dumps(index))
    with raises(error, text):
        pipeline.mds(tmp_path)


@pytest.mark.parametrize("text", ["", "[]", "{", "[" * 100_000, '{"version": 2, "shards": 1}'])
def test_an_index_that_is_none(tmp_path, text):
    (tmp_path / "index.json").write_text(text)
    with raises(DataLossError, f"mds: '{tmp_path}/index.json' is not an index of MDS"):
        pipeline.mds(tmp_path)


def test_more_samples_than_there_are(tmp_path):
    write_mds(tmp_path, COLUMNS, shards())
    index = json.loads((tmp_path / "index.json").read_text())
    index["shards"][0]["samples"] = 1 << 40
    (tmp_path / "index.json").write_text(json.dumps(index))
    with raises(DataLossError, "1,099,511,627,776 samples do not fit into the", "bytes of 'shard.00000.mds'"):
        pipeline.mds(tmp_path)
    index["shards"][0]["samples"] = 12
    (tmp_path / "index.json").write_text(json.dumps(index))
    with raises(DataLossError, "shard.00000.mds' is damaged: it should begin with the places of 12 samples"):
        list(pipeline.mds(tmp_path))


def outcome(folder):
    """Return the error from reading all samples, or the sample count."""
    try:
        return None, len(list(pipeline.mds(folder)))
    except (DataLossError, InvalidArgumentError) as error:
        return error, None


@pytest.mark.parametrize("compression", [None, "gz"])
def test_a_changed_byte_is_an_error_or_another_value(tmp_path, compression):
    columns, samples = {"text": "str", "x": "ndarray"}, [{"text": "ab", "x": np.arange(3)}] * 3
    write_mds(tmp_path, columns, [samples], compression)
    [path] = tmp_path.glob("shard*")
    good = path.read_bytes()
    for place in range(len(good)):
        path.write_bytes(good[:place] + bytes([good[place] ^ 0x55]) + good[place + 1 :])
        caught, count = outcome(tmp_path)
        assert count == 3 or "shard.00000.mds" in str(caught)


def test_a_bad_sample_is_skipped(tmp_path):
    values = ["1", "2", "no json", "4"]
    write_mds(tmp_path, {"x": "json"}, [[{"x": value.encode()} for value in values]])
    with raises(InvalidArgumentError, "shard.00000.mds': sample 2: 'x' cannot be decoded"):
        list(pipeline.mds(tmp_path))
    data = pipeline.mds(tmp_path).map(lambda each: each["x"], on_error="skip")
    assert [int(each) for each in data] == [1, 2, 4]


def test_text_that_is_not_utf_8(tmp_path):
    write_mds(tmp_path, {"x": "str"}, [[{"x": b"\xff"}]])
    with raises(DataLossError, "sample 0: 'x': b'\\xff' is not UTF-8: pass decoders={'x': bytes}"):
        list(pipeline.mds(tmp_path))


@pytest.mark.parametrize("compression", [None, "gz"])
@pytest.mark.parametrize("workers", [None, 2])
def test_it_is_a_dataset_like_any_other(tmp_path, compression, workers):
    write_mds(tmp_path, COLUMNS, shards(), compression)
    dataset_contract.check(pipeline.mds(tmp_path).map(number_of, workers=workers), list(range(COUNT)))


def number_of(sample):
    return int(sample["label"])


@pytest.mark.parametrize("compression", [None, "gz"])
def test_it_pickles(tmp_path, compression):
    write_mds(tmp_path, COLUMNS, shards(), compression)
    data = pipeline.mds(tmp_path, shuffle=True, seed=1)
    labels = [int(each["label"]) for each in data]
    assert [int(each["label"]) for each in pickle.loads(pickle.dumps(data))] == labels
