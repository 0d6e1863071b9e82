"""arrays: in memory, in files, in HDF5 and Zarr, and any kind of sequence."""

import dataclasses
import os
import re
from typing import Any, NamedTuple

import fsspec
import numpy as np
import pyarrow
import pytest
from helpers import raises, run_script
from source_contract import SourceContract
from tracing import memory_below

import pipeline

COUNT = 30
NUMBERS = np.arange(COUNT, dtype=np.int32)
ROWS = np.outer(NUMBERS, [1, 10, 100]).astype(np.float32)


def check(numbers, rows):
    assert rows.dtype == np.float32
    assert rows.tolist() == [[i, 10 * i, 100 * i] for i in numbers]
    return numbers


class TestInMemory(SourceContract):
    count = COUNT

    def make(self, **options):
        words = [f"{i}é" for i in range(COUNT)]
        return pipeline.arrays({"x": ROWS, "n": (NUMBERS, list(range(COUNT))), "words": words}, **options)

    def numbers(self, batch):
        assert list(batch) == ["x", "n", "words"]
        numbers = batch["n"][0].tolist()
        assert batch["n"][1].tolist() == numbers
        assert batch["words"].tolist() == [f"{i}é" for i in numbers]
        return check(numbers, batch["x"])


class TestFiles(SourceContract):
    count = COUNT
    mapped = False

    @pytest.fixture(autouse=True)
    def _files(self, tmp_path):
        self.folder = tmp_path
        np.save(tmp_path / "x.npy", ROWS)
        np.save(tmp_path / "n.npy", NUMBERS)

    def make(self, **options):
        return pipeline.arrays((self.folder / "x.npy", str(self.folder / "n.npy")), memory_map=self.mapped, **options)

    def numbers(self, batch):
        assert type(batch) is tuple
        return check(batch[1].tolist(), batch[0])


class TestMappedFiles(TestFiles):
    mapped = True


class TestLargeFiles(TestFiles):
    @pytest.fixture(autouse=True)
    def _large(self, monkeypatch):
        monkeypatch.setattr("pipeline.sources.arrays._WHOLE_BYTES", 0)  # so that a small file is read like a large one


class TestFilesOfAnyKind:
    @pytest.fixture(params=["whole", "by row", "mapped"])
    def read(self, request, monkeypatch):
        # A small file is read like a large one.
        monkeypatch.setattr("pipeline.sources.arrays._WHOLE_BYTES", 0 if request.param == "by row" else 1 << 20)
        return lambda path, **options: pipeline.arrays(path, memory_map=request.param == "mapped", **options)

    @pytest.mark.parametrize(
        "rows",
        [
            ROWS.astype(">f4"),
            np.asfortranarray(ROWS),
            NUMBERS.astype("m8[s]"),
            NUMBERS.astype("S3"),
            NUMBERS.astype("U3"),
            np.zeros((COUNT, 0)),
            ROWS.astype(np.complex64).reshape(COUNT, 1, 3),
            NUMBERS > 3,
        ],
        ids=lambda rows: f"{rows.dtype.str}-{rows.shape}",
    )
    def test_rows_are_those_of_the_array(self, rows, read, tmp_path):
        np.save(tmp_path / "x.npy", rows)
        kept = pipeline.arrays(rows, shuffle=True, seed=1)
        for source, given in ((read(tmp_path / "x.npy", shuffle=True, seed=1), kept), (read(tmp_path / "x.npy"), None)):
            got = np.concatenate(list(pipeline.batch(source, 10)))
            wanted = np.concatenate(list(pipeline.batch(given or pipeline.arrays(rows), 10)))
            assert got.dtype == wanted.dtype
            assert got.tolist() == wanted.tolist()

    def test_a_state_is_that_of_the_array(self, read, tmp_path):
        np.save(tmp_path / "x.npy", ROWS)
        with pipeline.batch(pipeline.arrays(ROWS), 3, deterministic=True) as batches:
            next(batches)
            state = batches.state_dict()
        with pipeline.batch(read(tmp_path / "x.npy"), 3, deterministic=True) as batches:
            batches.load_state_dict(state)
            assert check(range(3, 6), next(batches)) == range(3, 6)
        np.save(tmp_path / "x.npy", ROWS + 1)
        with pipeline.batch(read(tmp_path / "x.npy"), 3, deterministic=True) as batches:
            with pytest.raises(pipeline.StateMismatchError, match="arrays: its values differ from those"):
                batches.load_state_dict(state)


@pytest.mark.parametrize("options", [{}, {"deterministic": True}, {"num_threads": 0}])
@pytest.mark.parametrize("kind", ["array", "file", "list", "items", "HDF5"])
def test_no_rows_are_no_batch(kind, options, tmp_path):
    given = {"array": np.zeros((0, 3)), "file": tmp_path / "x.npy", "list": []}.get(kind)
    if kind == "file":
        np.save(given, np.zeros((0, 3)))
    elif kind == "items":
        given = type("Items", (), {"__len__": lambda _: 0, "__getitem__": lambda _, i: 1 / 0})()
    elif kind == "HDF5":
        file = pytest.importorskip("h5py").File(tmp_path / "x.h5", "w")
        given = file.create_dataset("x", (0, 3), np.float32, chunks=(5, 3), maxshape=(None, 3))
    source = pipeline.arrays({"x": given}, shuffle=True, seed=1)
    assert len(source) == 0
    assert list(pipeline.batch(source, 2, **options)) == []
    with raises(ValueError, "the input has no rows, and num_epochs=None would look for one forever"):
        pipeline.arrays({"x": given}, num_epochs=None)


def test_a_remote_file():
    with fsspec.open("memory://arrays/n.npy", "wb") as file:
        np.save(file, NUMBERS)
    [got] = pipeline.batch(pipeline.arrays("memory://arrays/n.npy"), COUNT)
    assert got.tolist() == NUMBERS.tolist()
    with pytest.raises(pipeline.NotFoundError, match=r"memory://arrays/no\.npy"):
        pipeline.arrays("memory://arrays/no.npy")


class TestHDF5(SourceContract):
    count = COUNT

    @pytest.fixture(autouse=True)
    def _files(self, tmp_path, monkeypatch):
        h5py = pytest.importorskip("h5py")
        monkeypatch.setattr("pipeline.sources.stored._PIECE_BYTES", 1)  # so that a piece is a chunk
        with h5py.File(tmp_path / "data.h5", "w") as file:
            file.create_dataset("x", data=ROWS, chunks=(7, 3), compression="gzip")
            file.create_dataset("words", data=[f"{i}\u00e9" for i in range(COUNT)], chunks=(4,))
            file.create_dataset("bytes", data=[b"%d" % i for i in range(COUNT)], chunks=(4,))
        with h5py.File(tmp_path / "data.h5") as self.file:
            yield

    def make(self, **options):
        columns = {name: self.file[name] for name in ("x", "words", "bytes")}
        return pipeline.arrays({**columns, "n": NUMBERS}, **options)

    def numbers(self, batch):
        numbers = batch["n"].tolist()
        assert batch["words"].tolist() == [f"{i}\u00e9" for i in numbers]
        assert batch["bytes"].tolist() == [b"%d" % i for i in numbers]
        return check(numbers, batch["x"])


class TestZarr(SourceContract):
    count = COUNT

    @pytest.fixture(autouse=True)
    def _files(self, tmp_path, monkeypatch):
        zarr = pytest.importorskip("zarr")
        monkeypatch.setattr("pipeline.sources.stored._PIECE_BYTES", 1)  # a chunk is a piece
        zarr.save(str(tmp_path / "flat.zarr"), ROWS)
        self.x = zarr.open(str(tmp_path / "x.zarr"), mode="w", shape=ROWS.shape, chunks=(8, 2), dtype="float32")
        self.x[:] = ROWS
        self.n = zarr.open(str(tmp_path / "n.zarr"), mode="w", shape=(COUNT,), chunks=(5,), dtype="int32")
        self.n[:] = NUMBERS

    def make(self, **options):
        return pipeline.arrays((self.x, self.n), **options)

    def numbers(self, batch):
        return check(batch[1].tolist(), batch[0])


class Dataset:
    """Like a map-style Dataset from PyTorch: it has items, and no iterator."""

    def __len__(self):
        return COUNT

    def __getitem__(self, i):
        if not 0 <= i < COUNT:
            raise IndexError(i)
        return {"x": ROWS[i], "n": (i, f"w{i}")}


class TestItems(SourceContract):
    count = COUNT

    def make(self, **options):
        return pipeline.arrays(Dataset(), **options)

    def numbers(self, batch):
        numbers, words = batch["n"]
        assert words.tolist() == [f"w{i}" for i in numbers]
        return check(numbers.tolist(), batch["x"])


class Point(NamedTuple):
    x: Any
    y: Any


@dataclasses.dataclass
class Sample:
    x: Any
    at: Point


class TestStructure:
    def test_classes(self):
        [got] = pipeline.batch(pipeline.arrays(Sample(ROWS, Point(NUMBERS, [1.5] * COUNT))), COUNT)
        assert type(got) is Sample
        assert type(got.at) is Point
        assert got.at.x.tolist() == NUMBERS.tolist()
        assert pipeline.arrays(Sample(ROWS, Point(NUMBERS, NUMBERS)))[4].at == Point(4, 4)

    @pytest.mark.parametrize("given", [ROWS, ROWS.tolist(), ROWS.astype(">f4"), np.asfortranarray(ROWS), ROWS[:, ::-1]])
    def test_a_single_array(self, given):
        got = np.concatenate(list(pipeline.batch(pipeline.arrays(given), 10)))
        assert got.tolist() == np.asarray(given).tolist()

    def test_the_examples_of_a_loop_are_the_users(self):
        """Changing them changes no array in the source."""
        for got in pipeline.batch(pipeline.arrays({"x": ROWS}), 10):
            got["x"] += 1
        assert ROWS[1].tolist() == [1, 10, 100]


def test_no_value_is_missing_where_none_is_masked():
    source = pipeline.arrays((np.ma.array([1, 2]), pyarrow.array([2**53 + 1, 4])))
    assert [source[0], source[1]] == [(1, 2**53 + 1), (2, 4)]


class TestStores:
    def test_each_chunk_is_read_once(self, monkeypatch):
        monkeypatch.setattr("pipeline.sources.stored._PIECE_BYTES", 1)  # a chunk is a piece
        stored = Stored(ROWS, (7, 3))
        source = pipeline.arrays((stored, NUMBERS), shuffle=True, seed=1)
        got = [tuple(each.tolist()) for batch in pipeline.batch(source, 3) for each in batch]
        assert len(got) == 2 * COUNT // 3
        assert sorted(stored.read) == [(0, 7), (7, 14), (14, 21), (21, 28), (28, 30)]
        assert stored.read != sorted(stored.read)

    def test_small_chunks_are_read_together(self):
        stored = Stored(ROWS, (7, 3))
        next(pipeline.batch(pipeline.arrays(stored), COUNT))
        assert stored.read == [(0, COUNT)]

    def test_large_chunks_are_not(self):
        rows = np.zeros((8, 1 << 17))  # 1 MiB each
        stored = Stored(rows, (2, 1 << 17))
        next(pipeline.batch(pipeline.arrays(stored), 8))
        assert stored.read == [(0, 2), (2, 4), (4, 6), (6, 8)]

    def test_a_narrow_column_does_not_make_pieces_large(self):
        x, y = Stored(np.zeros((2000, 1024), np.float32), (128, 1024)), Stored(np.arange(2000), (128,))
        next(pipeline.shuffle_batch(pipeline.arrays((x, y), shuffle=True, seed=1), 16, min_after_dequeue=16))
        assert {end - first for first, end in [*x.read, *y.read]} <= {256, 2000 % 256}  # 256 rows with 4,104 bytes each

    @pytest.mark.parametrize(
        ("x_chunk", "y_chunk", "piece"),
        [
            (4, 6, 264),  # 12 rows with 4,104 bytes each, until a mebibyte is full
            (40, 2000, 2000),  # 8 MB is small enough for all to end together
            (1000, 7, 1000),  # 7,000 rows are too many: those next to the wide rows
            (5000, 1, 5000),  # above the row count
        ],
    )
    def test_pieces_are_whole_chunks(self, x_chunk, y_chunk, piece):
        x, y = Stored(np.zeros((6000, 1024), np.float32), (x_chunk, 1024)), Stored(np.arange(6000), (y_chunk,))
        source = pipeline.arrays((x, y))
        assert (source[0][1], source[5999][1]) == (0, 5999)
        assert x.read == y.read == [(0, piece), (5999 // piece * piece, min(6000, 5999 // piece * piece + piece))]

    def test_hosts_share_the_chunks_of_a_small_file(self):
        def share(index, chunk, **options):
            columns = {"x": Stored(np.zeros((110, 4)), (10, 4)), "y": Stored(np.arange(110), (chunk,))}
            source = pipeline.arrays(columns, shard=(index, 3), **options)
            return [int(example["y"]) for example in source]

        for options in ({}, {"shuffle": True, "seed": 1}):
            for chunk in (10, 110):
                shares = [share(index, chunk, **options) for index in range(3)]
                assert sorted(number for each in shares for number in each) == list(range(110))
                assert [len(each) for each in shares] == [40, 40, 30]

    def test_a_single_chunk_is_not_shared(self):
        with raises(ValueError, "shard=(0, 3): there is only 1 chunk, fewer than hosts, so some would get none. Use "):
            pipeline.arrays(Stored(ROWS, (30, 3)), shard=(0, 3))

    def test_a_state_knows_the_pieces(self):
        """Other pieces change the random order."""

        def loop(chunk):
            source = pipeline.arrays(Stored(ROWS, (chunk, 3)), shuffle=True, seed=1, shard=(0, 2))
            return pipeline.batch(source, 3, deterministic=True)

        with loop(3) as batches:
            next(batches)
            state = batches.state_dict()
        with loop(3) as again:
            again.load_state_dict(state)
            next(again)
        with (
            loop(5) as other,
            pytest.raises(pipeline.StateMismatchError, match="arrays: its values differ from those"),
        ):
            other.load_state_dict(state)

    @pytest.mark.parametrize("chunks", [None, (7, 3)])
    @pytest.mark.parametrize(("kind", "by_number"), [("HDF5", True), ("HDF5", False), ("Zarr", True)])
    def test_a_state_knows_the_values(self, kind, by_number, chunks, tmp_path):
        """Even if the iterator reads the dataset directly."""

        def loop(rows, name):
            if kind == "HDF5":
                data = (
                    pytest.importorskip("h5py").File(tmp_path / name, "w").create_dataset("x", data=rows, chunks=chunks)
                )
            else:
                zarr = pytest.importorskip("zarr")
                path = str(tmp_path / name)
                data = zarr.open(path, mode="w", shape=rows.shape, chunks=chunks or rows.shape, dtype=rows.dtype)
                data[:] = rows
            source = pipeline.arrays({"x": data, "n": NUMBERS}, shuffle=True, seed=1) if by_number else data
            return pipeline.batch(source, 3, deterministic=True)

        with loop(ROWS, "a") as batches:
            next(batches)
            state = batches.state_dict()
        with loop(ROWS, "b") as again:
            again.load_state_dict(state)
            next(again)
        with loop(ROWS + 1, "c") as other:
            with pytest.raises(pipeline.StateMismatchError, match=r"differ from those of the saved run"):
                other.load_state_dict(state)

    def test_a_digest_reads_few_chunks(self):
        stored = Stored(np.zeros((100_000, 64)), (1000, 64))
        with pipeline.batch(pipeline.arrays(stored), 10, deterministic=True) as batches:
            next(batches)
            stored.read.clear()
            batches.state_dict()
            assert len(stored.read) == 16
            assert {end - first for first, end in stored.read} == {1000}
            assert [*stored.read[0], *stored.read[-1]] == [0, 1000, 99_000, 100_000]


class Stored:
    """An array that records the rows read."""

    def __init__(self, rows, chunks):
        self.rows = rows
        self.chunks, self.shape, self.dtype = chunks, rows.shape, rows.dtype
        self.read = []

    def __getitem__(self, rows):
        self.read.append((rows.start, min(rows.stop, self.shape[0])))
        return self.rows[rows]


class TestErrors:
    @pytest.mark.parametrize(
        ("given", "error", "text"),
        [
            ({}, ValueError, "arrays: expected at least one array, got none"),
            (
                {"a": np.ma.array([1, 2, 3], mask=[False, True, False])},
                pipeline.InvalidArgumentError,
                "arrays: component 'a' has 1 of 3 values missing: fill them in first, or leave out their rows",
            ),
            (
                (pyarrow.array([2**53 + 1, None, None]),),
                pipeline.InvalidArgumentError,
                "arrays: component '0' has 2 of 3 values missing: fill them in first, or leave out their rows",
            ),
            (
                {"a": np.zeros(0), "b": NUMBERS},
                ValueError,
                "arrays: all must have the same number of rows: 'a' has 0, 'b' has 30",
            ),
            ({"a": 3}, TypeError, "arrays: component 'a' is neither an array nor a sequence: 3"),
            ({"a": np.float32(3)}, ValueError, "arrays: component 'a' must have rank 1 or more, got the scalar"),
            (b"abc", TypeError, "arrays: the input is neither an array nor a sequence: b'abc'"),
            ("abc", ValueError, "arrays: the input is the path 'abc': only .npy files can be read by row"),
            (
                pyarrow.table({"a": [1]}),
                TypeError,
                "arrays: the input is a Table, whose items are columns: pass a dict of its columns",
            ),
            (
                {"a": NUMBERS, "b": {"c": NUMBERS[1:]}},
                ValueError,
                "arrays: all must have the same number of rows: 'a' has 30, 'b/c' has 29",
            ),
            (
                ([[1, 2], [3]], NUMBERS),
                ValueError,
                "arrays: component '0' is a list of rows of different shapes: use pipeline.dataset(rows).batch(",
            ),
        ],
    )
    def test_of_the_input(self, given, error, text):
        with raises(error, text):
            pipeline.arrays(given)

    def test_of_files(self, tmp_path):
        missing = str(tmp_path / "no.npy")
        with raises(pipeline.NotFoundError, f"No such file or directory: {missing!r}"):
            pipeline.arrays(missing)
        (tmp_path / "bad.npy").write_bytes(b"not an array")
        with pytest.raises(pipeline.DataLossError, match=r"component '0': .*bad\.npy: "):
            pipeline.arrays((tmp_path / "bad.npy",))
        np.save(tmp_path / "scalar.npy", np.array(3))
        with raises(ValueError, f"arrays: component 'a': {tmp_path / 'scalar.npy'} must have rank 1 or more, got the"):
            pipeline.arrays({"a": tmp_path / "scalar.npy"})
        np.save(tmp_path / "objects.npy", np.array([None, {}], object))
        for options in ({}, {"memory_map": True}):
            with raises(
                pipeline.InvalidArgumentError,
                f"arrays: the input: {tmp_path / 'objects.npy'}: it holds Python objects, which are not unpickled",
            ):
                pipeline.arrays(tmp_path / "objects.npy", **options)

    @pytest.mark.parametrize("remote", [False, True])
    @pytest.mark.parametrize("options", [{}, {"memory_map": True}])
    def test_of_headers(self, options, remote, tmp_path):
        """NumPy parses a header as Python, and allocates an array with the size it claims."""
        path = "memory://headers/x.npy" if remote else str(tmp_path / "x.npy")
        for descr, shape, more in [
            ("'<f8'", "(1000000000000000,)", ""),  # MemoryError from NumPy
            ("'<f8'", "(-5,)", ""),
            ("'<f8'", "(2, 'x')", ""),
            ("'|S0'", "(1000000000000,)", ""),
            ("'|V0'", "(1000000000000,)", ""),
            ("'<f8'", "(1000000000000, 0)", ""),
            ("('<f8', (3,))", "(2,)", ""),
            ("'<f8'", "(" * 500 + ")" * 500, ""),  # MemoryError from the parser
            ("[]", "(3,)", ""),
            ("3", "(3,)", ""),
            ("None", "(3,)", ""),
            ("{}", "(3,)", ""),
            ("'<f8'", "(3,)", ", 'more': 1"),
            ("'<f8'", "(3,)", ", [1]: 1"),  # TypeError
        ]:
            header = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}{more}}}\n".encode()
            for version in (1, 2, 3, 4):
                size = len(header).to_bytes(2 if version == 1 else 4, "little")
                with fsspec.open(path, "wb") as file:
                    file.write(b"\x93NUMPY" + bytes([version, 0]) + size + header + bytes(24))
                if remote and options:
                    with raises(
                        ValueError, f"arrays: memory_map=True is for local files, and '{path}' is a URL: leave"
                    ):
                        pipeline.arrays(path, **options)
                else:
                    with raises(pipeline.DataLossError, f"arrays: the input: {path}: it"):
                        pipeline.arrays(path, **options)

    def test_of_any_byte_of_a_header(self, tmp_path):
        path = tmp_path / "x.npy"
        np.save(path, ROWS)
        data, said = path.read_bytes(), []
        for i in range(100):
            for byte in (0, 40, 57, 0x80, 0xFF):
                path.write_bytes(data[:i] + bytes([byte]) + data[i + 1 :])
                try:
                    assert len(list(pipeline.arrays(path))) <= COUNT
                except (pipeline.DataLossError, pipeline.InvalidArgumentError) as error:
                    said.append(str(error))
        assert len(said) > 200
        assert all(str(path) in each for each in said)

    def test_of_a_file_that_becomes_shorter(self, tmp_path):
        """The process survives, whereas reading a mapped file would end it by SIGBUS."""
        path = str(tmp_path / "x.npy")
        np.save(path, np.zeros((200_000, 100)))
        script = f"""
import os
import pipeline
batches = pipeline.batch(pipeline.arrays({path!r}), 100, num_threads=0)
print(next(batches).sum())
os.truncate({path!r}, 100_000)
try:
    list(batches)
except pipeline.DataLossError as error:
    print(error)
"""
        first, error = run_script(script).stdout.splitlines()
        assert first == "0.0"
        assert re.fullmatch(rf"arrays: the input: {path}: the file was cut short: row \d+ is missing", error)

    def test_of_a_damaged_hdf5_file(self, tmp_path):
        h5py = pytest.importorskip("h5py")
        path = tmp_path / "data.h5"
        with h5py.File(path, "w") as file:
            at = (
                file.create_dataset("x", data=ROWS, chunks=ROWS.shape, fletcher32=True).id.get_chunk_info(0).byte_offset
            )
        data = bytearray(path.read_bytes())
        data[at] ^= 1
        path.write_bytes(data)
        with (
            h5py.File(path) as file,
            raises(pipeline.DataLossError, f"arrays: component 'x', '/x' of '{path}', rows 0 to 29 cannot be read: "),
        ):
            list(pipeline.arrays({"x": file["x"]}))

    @pytest.mark.parametrize("kept", [0, 100])
    def test_of_a_file_that_is_written_to(self, tmp_path, kept):
        """The file exceeds the limit for reading whole files, so its rows are read on demand."""
        path = tmp_path / "x.npy"
        np.save(path, np.zeros((90_000, 100)))
        rows = iter(pipeline.arrays(path))
        if kept:
            assert next(rows).sum() == 0
        np.save(path, np.ones((90_000, 100), np.int64))
        os.utime(path, ns=(0, 0))  # its clock may not have advanced since
        text = f"arrays: the input: {path} was written to since the dataset was made: make another one"
        with rows, raises(pipeline.errors.FailedPreconditionError, text):
            list(rows)

    def test_of_numbers_that_no_dtype_holds(self):
        text = "arrays: the input: float64 cannot represent the integer 9007199254740993 exactly"
        with raises(pipeline.InvalidArgumentError, text):
            pipeline.arrays([(1 << 53) + 1, 0.5])

    def test_of_memory_maps(self):
        with raises(ValueError, "arrays: memory_map=True is for paths of .npy files, and there is none: leave it out"):
            pipeline.arrays({"x": ROWS}, memory_map=True)
        with raises(TypeError, "arrays: memory_map must be a bool, got 'no'"):
            pipeline.arrays({"x": ROWS}, memory_map="no")

    def test_of_a_closed_file(self, tmp_path):
        h5py = pytest.importorskip("h5py")
        path = tmp_path / "data.h5"
        for chunks in (None, (5, 3)):
            with h5py.File(path, "w") as file:
                data = file.create_dataset("group/x", data=ROWS, chunks=chunks)
                source = pipeline.arrays({"x": data, "n": NUMBERS})
                batches = pipeline.batch(source, 2)
            said = "cannot be read because its file was closed: keep the file open while you read batches"
            with raises(pipeline.errors.FailedPreconditionError, f"arrays: component 'x' {said}"):
                pipeline.arrays({"x": data, "n": NUMBERS})
            for call in (lambda batches=batches: list(batches), lambda source=source: source[0]):
                with raises(
                    pipeline.errors.FailedPreconditionError,
                    f"arrays: component 'x', '/group/x' of '{path}', {said}",
                ):
                    call()

    @pytest.mark.parametrize("options", [{}, {"num_threads": 0}, {"deterministic": True}])
    def test_of_a_closed_file_without_arrays(self, tmp_path, options):
        """The batches read the dataset directly."""
        h5py = pytest.importorskip("h5py")
        path = tmp_path / "data.h5"
        with h5py.File(path, "w") as file:
            data = file.create_dataset("group/x", data=np.arange(1_000_000))
            begun = pipeline.batch(data, 2, **options)
            assert next(begun).tolist() == [0, 1]
        said = f"arrays: the input, '/group/x' of '{path}', cannot be read because its file was closed"
        with raises(pipeline.errors.FailedPreconditionError, said):
            while True:
                next(begun)
        with raises(pipeline.errors.FailedPreconditionError, "arrays: the input"):
            next(pipeline.batch(data, 2, **options))

    def test_items_of_different_shapes(self):
        items = type("Items", (), {"__len__": lambda _: 3, "__getitem__": lambda _, i: np.zeros(i)})()
        with pytest.raises(ValueError, match=r"has shape \[0\] in one example and \[1\] in another"):
            list(pipeline.batch(pipeline.arrays(items), 3))

    @pytest.mark.parametrize("deterministic", [False, True])
    def test_items_of_different_shapes_are_padded(self, deterministic):
        items = type("Items", (), {"__len__": lambda _: 3, "__getitem__": lambda _, i: np.ones(i)})()
        batches = pipeline.batch(pipeline.arrays(items), 3, dynamic_pad=True, deterministic=deterministic)
        assert [got.tolist() for got in batches] == [[[0, 0], [1, 0], [1, 1]]]

    def test_an_error_of_a_store_ends_the_loop(self):
        stored = Stored(ROWS, (7, 3))
        stored.rows = None
        with pytest.raises(TypeError, match="not subscriptable"):
            list(pipeline.batch(pipeline.arrays(stored), 3))

    def test_another_array_does_not_take_the_state(self):
        def loop(rows):
            return pipeline.shuffle_batch(pipeline.arrays(rows), 3, 20, 5, seed=1, deterministic=True)

        with loop(ROWS) as batches:
            next(batches)
            state = batches.state_dict()
        resumed = loop(ROWS + 1)
        with pytest.raises(pipeline.StateMismatchError, match="arrays: its values differ from those"):
            resumed.load_state_dict(state)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"seed": "a"}, "seed must be an integer, got str 'a'"),
        ({"seed": 1.5, "shuffle": True}, "seed must be an integer, got float 1.5"),
        ({"shuffle": "no"}, "shuffle must be a bool, got 'no'"),
    ],
)
def test_options_of_the_order(options, text):
    with raises(TypeError, text):
        pipeline.arrays([1, 2], **options)


@pytest.mark.parametrize("kind", ["NpzFile", "File", "Group"])
def test_arrays_by_name_that_are_no_dict(kind, tmp_path):
    """A zarr group is a dataclass too, but its fields are not columns."""
    if kind == "NpzFile":
        np.savez(tmp_path / "a.npz", x=np.arange(3))
        data = np.load(tmp_path / "a.npz")
    elif kind == "File":
        data = pytest.importorskip("h5py").File(tmp_path / "a.h5", "w")
        data["x"] = np.arange(3)
    else:
        data = pytest.importorskip("zarr").open_group(tmp_path / "a.zarr", mode="w")
        data["x"] = np.arange(3)
    with raises(TypeError, f"arrays: the input is a {kind}, which has arrays by name: pass a dict of the arrays to"):
        pipeline.arrays(data)
    assert [row["x"].item() for row in pipeline.arrays({"x": data["x"]})] == [0, 1, 2]


@pytest.mark.parametrize("memory_map", [False, True])
@pytest.mark.parametrize("version", [1, 2, 3])
def test_npy_headers_cut_short(tmp_path, version, memory_map):
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (0, 3), }"
    size = (116).to_bytes(2 if version == 1 else 4, "little")
    path = tmp_path / "x.npy"
    path.write_bytes(b"\x93NUMPY" + bytes([version, 0]) + size + header)
    with pytest.raises(pipeline.DataLossError, match=r"x\.npy: it is not a .npy file, or its header is damaged: "):
        pipeline.arrays(path, memory_map=memory_map)


@pytest.mark.parametrize("memory_map", [False, True])
@pytest.mark.parametrize("order", "<>")
def test_npy_files_with_characters_that_are_none(tmp_path, order, memory_map):
    path = tmp_path / "x.npy"
    np.save(path, np.array(["a", "\U0010ffff"], f"{order}U1"))
    assert list(pipeline.arrays(path, memory_map=memory_map)) == ["a", "\U0010ffff"]
    data = path.read_bytes()
    path.write_bytes(data[:-4] + (b"\0\0\x11\0" if order == "<" else b"\0\x11\0\0"))
    with pytest.raises(pipeline.DataLossError, match=r"x\.npy: it has a character U\+110000, and there is none"):
        pipeline.arrays(path, memory_map=memory_map)


BROADCAST = {
    "dataset": lambda array: next(iter(pipeline.dataset(array).take(10))),
    "batch": lambda array: next(iter(pipeline.dataset(array).shuffle(100, seed=1).batch(4))),
    "workers": lambda array: next(iter(pipeline.dataset(array).map(np.negative, workers=1).batch(4))),
    "producer": lambda array: next(pipeline.batch(pipeline.slice_input_producer([array]), 4)),
}


@pytest.mark.parametrize("read", BROADCAST.values(), ids=BROADCAST)
def test_a_broadcast_array_is_not_copied_whole(read):
    """A copy would take 240 MB: `ndarray.take` makes an array contiguous before it takes one row."""
    array = np.broadcast_to(np.arange(200, dtype=np.float32), (300_000, 200))
    with memory_below(64 << 20):
        read(array)


def test_an_hdf5_dataset_without_a_shape(tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("x", data=h5py.Empty("f4"))
        with raises(ValueError, "arrays: the input must have rank 1 or more, got an empty one, <HDF5 dataset"):
            pipeline.arrays(file["x"])
