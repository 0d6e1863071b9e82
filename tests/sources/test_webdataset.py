"""webdataset: samples from tar shards."""

import io
import json
import shutil
import subprocess
import tarfile

import fsspec
import numpy as np
import pytest
from helpers import raises, run_script
from source_contract import SourceContract

import pipeline
from pipeline.sources.webdataset_decoders import DECODERS

COUNT = 40


def npy(array):
    data = io.BytesIO()
    np.save(data, array)
    return data.getvalue()


def files(i):
    """Return a sample's files by extension; a wide sample's name needs a separate header."""
    return {
        "PNG" if i % 3 else "jpg": pipeline.encode_png(np.full((2, 3, 3), i, np.uint8)),
        "cls": b"%d" % (i % 10),
        "meta.json": json.dumps({"n": i, "box": [i, 2 * i], "inner": {"name": f"é{i}"}}).encode(),
        "vector.npy": npy(np.full(3, i, np.float32)),
        "txt": f"text\u00e9 {i}".encode(),
    }


def write(file, numbers, mode="w"):
    with tarfile.open(fileobj=file, mode=mode) as archive:
        archive.addfile(tarfile.TarInfo("readme"), io.BytesIO())  # without an extension it is not a sample
        for i in numbers:
            for extension, data in files(i).items():
                name = f"{'long/' * 30 if i % 5 == 0 else ''}sample.d/{i:04}.{extension}"
                info = tarfile.TarInfo(name)
                info.size = len(data)
                archive.addfile(info, io.BytesIO(data))


COLUMNS = ["jpg;png", "cls", "meta.json", "vector.npy", "txt", "__key__"]


def check(batch):
    assert sorted(batch) == sorted(COLUMNS)
    numbers = batch["meta.json"]["n"].tolist()
    assert batch["jpg;png"].dtype == np.uint8
    assert np.array_equal(batch["jpg;png"], [np.full((2, 3, 3), i) for i in numbers])
    assert batch["cls"].tolist() == [i % 10 for i in numbers]
    assert batch["meta.json"]["box"].tolist() == [[i, 2 * i] for i in numbers]
    assert batch["meta.json"]["inner"]["name"].tolist() == [f"é{i}" for i in numbers]
    assert batch["vector.npy"].tolist() == [[i] * 3 for i in numbers]
    assert batch["txt"].tolist() == [f"text\u00e9 {i}" for i in numbers]
    assert [key.rpartition("/")[2] for key in batch["__key__"]] == [f"{i:04}" for i in numbers]
    return numbers


class Shards(SourceContract):
    count = COUNT
    known = False
    shards = 3
    ending, mode = "tar", "w"

    @pytest.fixture(autouse=True)
    def _files(self, tmp_path, monkeypatch):
        monkeypatch.setattr("pipeline.sources.webdataset._SAMPLES", 3)  # so that a few rows span several pieces
        self.paths = f"{tmp_path}/shard-{{00..02}}.{self.ending}"
        for i, (first, end) in enumerate([(0, 11), (11, 24), (24, COUNT)]):
            with open(tmp_path / f"shard-{i:02}.{self.ending}", "wb") as file:
                write(file, range(first, end), self.mode)

    def make(self, **options):
        return pipeline.webdataset(self.paths, COLUMNS, **options)

    def numbers(self, batch):
        return check(batch)


class TestPlain(Shards):
    def test_another_file_does_not_take_the_state(self, tmp_path):
        with pipeline.batch(self.make(), 3, deterministic=True) as batches:
            next(batches)
            state = batches.state_dict()
        with open(tmp_path / "shard-00.tar", "wb") as file:
            write(file, range(1, 12))
        with pytest.raises(pipeline.StateMismatchError, match=r"shard-00\.tar'"):
            pipeline.batch(self.make(), 3, deterministic=True).load_state_dict(state)

    def test_a_resumed_loop_does_not_read_from_the_start(self, tmp_path):
        with pipeline.batch(self.make(), 4, deterministic=True) as batches:
            for _ in range(9):
                last = self.numbers(next(batches))
            state = batches.state_dict()
        resumed = pipeline.batch(self.make(), 4, deterministic=True)
        resumed.load_state_dict(state)
        with resumed:
            assert self.numbers(next(resumed)) == [last[-1] + 1 + i for i in range(4)]


class TestGzip(Shards):
    ending, mode = "tar.gz", "w:gz"


class TestBzip2(Shards):
    ending, mode = "tar.bz2", "w:bz2"


def test_remote_shards():
    for i in range(2):
        with fsspec.open(f"memory://shards/{i}.tar", "wb") as file:
            write(file, range(10 * i, 10 * i + 10))
    for paths in ("memory://shards/*.tar", "memory://shards/{0,1}.tar"):
        [got] = pipeline.batch(pipeline.webdataset(paths, COLUMNS), 20)
        assert check(got) == list(range(20))


def test_all_values_and_decoders(tmp_path):
    with open(tmp_path / "a.tar", "wb") as file:
        write(file, [1, 2])
    decoders = {"txt": lambda data: len(data), "png": np.size, "meta.json": lambda data: b"mine"}
    [got] = pipeline.batch(pipeline.webdataset(tmp_path / "a.tar", decoders=decoders), 2)
    assert sorted(got) == ["__key__", "cls", "meta.json", "png", "txt", "vector.npy"]
    assert got["txt"].tolist() == [8, 8]
    assert got["meta.json"].tolist() == [b"mine", b"mine"]


ARRAYS = {
    "one": np.arange(3.0),
    "scalar": np.int64(7),
    "empty": np.zeros((0, 3), np.uint8),
    "transposed": np.arange(6, dtype=">i4").reshape(2, 3).T,
    "records": np.zeros(2, [("a", np.int8), ("b", np.float64, 2)]),
    "words": np.array(["a", "bc"]),
    "nothing": np.zeros(2, "S0"),
}


@pytest.mark.parametrize("array", ARRAYS.values(), ids=ARRAYS)
def test_arrays_are_those_of_numpy(array):
    data = npy(array)
    got, expected = DECODERS["npy"](data), np.load(io.BytesIO(data))
    assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
    assert got.flags.f_contiguous == expected.flags.f_contiguous
    assert repr(got) == repr(expected)
    assert got.flags.writeable
    assert got.flags.owndata


@pytest.mark.parametrize("extension", ["cls", "id", "index"])
def test_integers(extension, tmp_path):
    """Decimal ones: Python also reads "1_0" as 10, and digits in other scripts."""

    def read(data):
        with tarfile.open(tmp_path / "a.tar", "w") as archive:
            member = tarfile.TarInfo(f"0.{extension}")
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
        [sample] = pipeline.webdataset(tmp_path / "a.tar")
        return sample[extension]

    for data, number in ((b"10", 10), (b"-10\n", -10), (b" +10 ", 10), (b"010", 10)):
        assert read(data) == number
    for data in (b"1_0", b"1.0", b"", b"x", b"0x1", b"1 0", "\u0661".encode()):
        with pytest.raises(ValueError, match=f"'{extension}' cannot be decoded: .* is not an integer"):
            read(data)


def test_arrays_that_are_none():
    whole = npy(np.arange(30))
    for data in (b"", b"text", whole[:50], whole[:-1], b"\x93NUMPY\x07" + whole[7:], whole.replace(b"<i8", b"<q9")):
        with pytest.raises((ValueError, EOFError, TypeError)):
            DECODERS["npy"](data)
    with pytest.raises(ValueError, match="allow_pickle"):
        DECODERS["npy"](npy_of_objects())


def npy_of_objects():
    data = io.BytesIO()
    np.save(data, np.array([[1], None], object), allow_pickle=True)
    return data.getvalue()


BRACES = {
    "s-{00{1,2},010}": ["s-001", "s-002", "s-010"],
    "{a,{b,c}d}e": ["ae", "bde", "cde"],
    "{a..c}": ["a", "b", "c"],
    "{c..a}": ["c", "b", "a"],
    "{a..g..3}": ["a", "d", "g"],
    "{3..1}": ["3", "2", "1"],
    "{1..9..4}": ["1", "5", "9"],
    "{9..1..-4}": ["9", "5", "1"],
    "{098..101}": ["098", "099", "100", "101"],
    "{8..010}": ["008", "009", "010"],
    "{-01..1}": ["-01", "000", "001"],
    "{1,2}{x,y}": ["1x", "1y", "2x", "2y"],
    "{,x}y": ["y", "xy"],
    "{1,1}": ["1", "1"],
    "{a}{}{1..b}": ["{a}{}{1..b}"],
    "a}{b{c,d}": ["a}{bc", "a}{bd"],
    "{a,b{1..2}": ["{a,b1", "{a,b2"],
    r"s-\{a,b\}": ["s-{a,b}"],
    r"s-\{1,{2,3}\}": ["s-{1,2}", "s-{1,3}"],
    r"s-{a\,b,c}": ["s-a,b", "s-c"],
    r"s-{a,b\}": ["s-{a,b}"],
    r"s-{\{,\}}": ["s-{", "s-}"],
    r"s-{a\,b}": ["s-{a,b}"],
    r"s-{1..2\}": ["s-{1..2}"],
    r"s-\\{a,b}": ["s-\\a", "s-\\b"],
}


@pytest.mark.parametrize("braces", BRACES)
def test_braces(tmp_path, braces):
    """As bash expands them."""
    for number, name in enumerate(dict.fromkeys(BRACES[braces])):
        with tarfile.open(tmp_path / f"{name}.tar", "w") as archive:
            member = tarfile.TarInfo("a.cls")
            member.size = 1
            archive.addfile(member, io.BytesIO(b"%d" % number))
    source = pipeline.webdataset(f"{tmp_path}/{braces}.tar", ["cls"])
    [got] = pipeline.batch(source, len(BRACES[braces]))
    names = list(dict.fromkeys(BRACES[braces]))
    assert [names[number] for number in got["cls"]] == BRACES[braces]


def test_braces_are_those_of_bash():
    if shutil.which("bash") is None:
        pytest.skip("there is no bash")
    for braces, found in BRACES.items():
        done = subprocess.run(["bash", "-c", f"echo {braces}"], capture_output=True, text=True, check=True)
        assert done.stdout.split() == found, braces


def test_files_that_belong_to_no_sample(tmp_path):
    """As in webdataset, they are left out; an archive with nothing else is a mistake."""

    def shard(names):
        with tarfile.open(tmp_path / "a.tar", "w") as archive:
            for name in names:
                archive.addfile(tarfile.TarInfo(name))
        return pipeline.webdataset(tmp_path / "a.tar")

    assert list(shard([])) == []
    assert [sample["__key__"] for sample in shard(["README", "a.txt", ".hidden", "d.e/f", "b.txt"])] == ["a", "b"]
    with raises(ValueError, f"webdataset: {tmp_path}/a.tar: no file belongs to a sample") as raised:
        list(shard(["README", "d.e/f"]))
    assert str(raised.value).endswith("the first is 'README'")


def test_braces_for_too_many():
    for braces in ("{0..999999999}", "{0..99999999999999999999}", "{0..9999}" * 2, "{a,b}" * 30):
        with raises(ValueError, f"{braces[:80]}: the braces stand for more than 1,000,000 paths"):
            pipeline.webdataset(braces)
    with raises(ValueError, "{{{"):
        pipeline.webdataset("{" * 100_000)
    with raises(pipeline.NotFoundError, "No such file or directory: '}}}"):
        pipeline.webdataset("}" * 100_000)


class TestErrors:
    @pytest.fixture
    def path(self, tmp_path):
        with open(tmp_path / "a.tar", "wb") as file:
            write(file, range(1, 9))
        return tmp_path / "a.tar"

    def test_of_arguments(self, path):
        with raises(TypeError, "webdataset: columns must be a list of names, such as ['jpg'], not 'jpg'"):
            pipeline.webdataset(path, "jpg")
        with raises(ValueError, "webdataset: no columns are chosen"):
            pipeline.webdataset(path, [])
        with raises(
            TypeError, "webdataset: the decoder of 'txt' must be callable, not 3; bytes leaves values as they are"
        ):
            pipeline.webdataset(path, decoders={"txt": 3})
        for extension in (".txt", "TXT"):
            with raises(ValueError, f"webdataset: no value has the extension '{extension}', as names are in lower"):
                pipeline.webdataset(path, decoders={extension: bytes.upper})
        with raises(TypeError, "webdataset: decoders must be a dict of functions by extension, not [3]"):
            pipeline.webdataset(path, decoders=[3])
        with raises(pipeline.NotFoundError, f"No such file or directory: '{path}0'. Did you mean '{path}'?"):
            pipeline.webdataset(f"{path}{{0..3}}")

    def test_of_samples(self, path):
        def batches(*given, **options):
            return list(pipeline.batch(pipeline.webdataset(path, *given, **options), 2))

        where = f"webdataset: {path}: sample 'sample.d/0001'"
        with raises(ValueError, f"{where} has no 'mp3;wav'; it has 'cls', 'meta.json', 'png', 'txt', 'vector.npy'"):
            batches(["mp3;wav"])
        text = "'txt' cannot be decoded: invalid literal for int() with base 10: b'text\\xc3\\xa9 1'"
        with raises(ValueError, f"{where}: {text}"):
            batches(["txt"], {"txt": int})
        both = rf"\({path}:sample\.d/0003 and {path}:sample\.d/0004\)"
        with pytest.raises(ValueError, match=rf"batch: examples differ in structure: .*'png', 'txt'.* {both}"):
            batches()  # the third has a jpg
        both = rf"\({path}:sample\.d/0001 and {path}:sample\.d/0002\)"
        with pytest.raises(
            ValueError, match=rf"batch: component 'txt' has shape \[1\] in one example and \[2\] .* {both}"
        ):
            batches(["txt"], {"txt": lambda data: np.zeros(int(data[-1:]))})

    def test_a_decoder_that_returns_one_array_again(self, path):
        filled = np.zeros(1, int)

        def decode(data):
            filled[:] = int(data[-1:])
            return filled

        found = list(pipeline.webdataset(path, ["txt"], {"txt": decode}).batch(3))
        assert [batch["txt"].tolist() for batch in found] == [[[1], [2], [3]], [[4], [5], [6]], [[7], [8]]]

    @pytest.mark.parametrize("deterministic", [False, True])
    def test_bad_samples_are_left_out(self, path, deterministic):
        def decode(data):
            if data.endswith(b"3"):
                raise ValueError("a wrong digit")
            return int(data[-1:])

        source = pipeline.webdataset(path, ["txt"], {"txt": decode})
        with pipeline.batch(source, 1, on_error="skip", deterministic=deterministic) as batches:
            assert [batch["txt"].item() for batch in batches] == [1, 2, 4, 5, 6, 7, 8]
        assert [str(error) for error in batches.errors] == [
            f"webdataset: {path}: sample 'sample.d/0003': 'txt' cannot be decoded: a wrong digit"
        ]

    def test_of_archives(self, path):
        data = path.read_bytes()
        with tarfile.open(path) as archive:
            inside = archive.getmembers()[9]
        for end in (inside.offset, inside.offset + 100, inside.offset_data, inside.offset_data + 1):
            path.write_bytes(data[:end])
            with raises(pipeline.DataLossError, f"webdataset: {path}: "):
                list(pipeline.batch(pipeline.webdataset(path, ["cls"]), 1))
        path.write_bytes(b"no archive" * 100)
        with raises(pipeline.DataLossError, f"webdataset: {path}: "):
            list(pipeline.batch(pipeline.webdataset(path, ["cls"]), 1, on_error="skip"))

    def test_of_damage_in_the_middle(self, path):
        data = path.read_bytes()
        with tarfile.open(path) as archive:
            inside = archive.getmembers()[9]
        for damage, why in (
            (
                b"\xff" * tarfile.BLOCKSIZE,
                f"the archive is damaged: at byte {inside.offset:,} there is no header of a file: bad checksum",
            ),
            (bytes(2 * tarfile.BLOCKSIZE), f"it continues after the end of the archive at byte {inside.offset:,}"),
        ):
            path.write_bytes(data[: inside.offset] + damage + data[inside.offset + len(damage) :])
            with raises(pipeline.DataLossError, f"webdataset: {path}: {why}"):
                list(pipeline.batch(pipeline.webdataset(path, ["cls"]), 1))

    @pytest.mark.parametrize("ending", ["tar.gz", "tgz", "tar.bz2", "tar.xz"])
    def test_of_compressed_archives(self, tmp_path, ending):
        path = tmp_path / f"a.{ending}"
        with open(path, "wb") as file:
            write(file, range(20), {"tgz": "w:gz"}.get(ending, ending.replace("tar.", "w:")))
        data = path.read_bytes()
        source = pipeline.webdataset(path, ["cls"])
        assert len(list(pipeline.batch(source, 1))) == 20
        flipped = bytearray(data)
        flipped[-8 if ending.endswith("gz") else len(data) // 2] ^= 1  # in gzip, a bit in the checksum
        for damaged in (data[: len(data) // 2], data[:-1], flipped):
            path.write_bytes(damaged)
            with raises(pipeline.DataLossError, f"webdataset: {path}: "):
                list(pipeline.batch(source, 1))

    def test_of_a_name_that_comes_twice(self, path):
        with tarfile.open(path, "a") as archive:
            for _ in range(2):
                archive.addfile(tarfile.TarInfo("x.cls"), io.BytesIO())
        with raises(ValueError, f"webdataset: {path}: sample 'x' has 'cls' twice"):
            list(pipeline.batch(pipeline.webdataset(path, ["cls"]), 1))

    @pytest.mark.parametrize("mode", ["w", "w:gz"])
    def test_of_files_of_a_sample_that_are_no_neighbours(self, tmp_path, mode):
        path = tmp_path / ("a.tar" if mode == "w" else "a.tar.gz")

        def written(*names):
            with tarfile.open(path, mode) as archive:
                for name in names:
                    archive.addfile(tarfile.TarInfo(name), io.BytesIO())
            return [sample["__key__"] for sample in pipeline.webdataset(path, ["__key__"])]

        refused = f"webdataset: {path}: sample '0' has 'a' and, after other samples, 'b': the files of a sample must be"
        with raises(pipeline.InvalidArgumentError, refused):
            written("0.a", "1.a", "0.b", "1.b")
        with raises(pipeline.InvalidArgumentError, refused.replace("'0'", "'7'")):
            written(*(f"{i}.a" for i in range(7)), "7.a", *(f"{i}.a" for i in range(8, 99)), "7.b")
        assert written("0.a", "readme", "0.b", "1.a", "1.b") == ["0", "1"]
        assert written("0.a", "0.b", "1.a", "0.a", "0.b") == ["0", "1", "0"]  # whole, as for webdataset

    @pytest.mark.parametrize("mode", ["w", "w:gz"])
    def test_a_resumed_run_refuses_the_same_samples(self, tmp_path, mode):
        path = tmp_path / ("a.tar" if mode == "w" else "a.tar.gz")
        with tarfile.open(path, mode) as archive:
            for name in ("readme", *(f"{i}.{extension}" for extension in "ab" for i in range(100))):
                archive.addfile(tarfile.TarInfo(name), io.BytesIO())
        states, refused = [], f"webdataset: {path}: sample '0' has 'a' and, after other samples, 'b'"
        with raises(pipeline.InvalidArgumentError, refused), iter(pipeline.webdataset(path)) as samples:
            for _ in samples:
                states.append(samples.state_dict())
        for before in (1, 40, len(states)):
            with iter(pipeline.webdataset(path)) as samples:
                samples.load_state_dict(states[before - 1])
                for _ in range(len(states) - before):
                    next(samples)
                with raises(pipeline.InvalidArgumentError, refused):
                    next(samples)


def test_shards_that_webdataset_writes(tmp_path):
    """In a separate process, because it leaves files open."""
    pytest.importorskip("webdataset", reason="make test-sources installs it")
    script = f"""
import json, numpy as np, webdataset
with webdataset.ShardWriter({str(tmp_path / "w-%02d.tar")!r}, maxcount=4, verbose=0) as sink:
    for i in range(10):
        sink.write({{"__key__": f"k{{i:03}}", "cls": i, "npy": np.full(2, i), "json": {{"a": [i]}}, "txt": f"t{{i}}"}})
for each in webdataset.WebDataset({str(tmp_path / "w-{00..02}.tar")!r}, shardshuffle=False).decode():
    print(json.dumps([each["__key__"], each["cls"], each["npy"].tolist(), each["json"]["a"], each["txt"]]))
"""
    theirs = [json.loads(line) for line in run_script(script).stdout.splitlines()]
    [got] = pipeline.batch(pipeline.webdataset(f"{tmp_path}/w-{{00..02}}.tar"), 10)
    columns = [got["__key__"], got["cls"], got["npy"], got["json"]["a"], got["txt"]]
    ours = zip(*(column.tolist() for column in columns), strict=True)
    assert [list(each) for each in ours] == theirs
    assert len(theirs) == 10
