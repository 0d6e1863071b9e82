"""npz: array files with one example each, as NumPy writes them; and dishonest files."""

import io
import os
import pickle
import struct
import zipfile

import dataset_contract
import fsspec
import numpy as np
import pytest
from helpers import run_script
from source_contract import SourceContract
from test_tokens import raises

import pipeline
from pipeline.errors import DataLossError, InvalidArgumentError, NotFoundError, ResourceExhaustedError

COUNT = 20


def arrays_of(number):
    """Return an example's arrays, determined by its number."""
    return {"x": np.full((3, 4), number, np.float32), "y": np.int64(number), "name": np.array(f"n{number}")}


class TestStored(SourceContract):
    count = COUNT
    save = staticmethod(np.savez)

    @pytest.fixture(autouse=True)
    def _files(self, tmp_path):
        self.pattern = tmp_path / "*.npz"
        for number in range(COUNT):
            self.save(tmp_path / f"{number:02}.npz", **arrays_of(number))

    def make(self, **options):
        return pipeline.npz(self.pattern, **options)

    def numbers(self, batch):
        assert list(batch) == ["x", "y", "name"]
        numbers = batch["y"].tolist()
        assert batch["x"].dtype == np.float32
        assert batch["x"].tolist() == [np.full((3, 4), number).tolist() for number in numbers]
        assert batch["name"].tolist() == [f"n{number}" for number in numbers]
        return numbers


class TestCompressed(TestStored):
    save = staticmethod(np.savez_compressed)


class TestNpy(TestStored):
    @pytest.fixture(autouse=True)
    def _files(self, tmp_path):
        self.pattern = tmp_path / "*.npy"
        for number in range(COUNT):
            np.save(tmp_path / f"{number:02}.npy", np.full((3, 4), number))

    def numbers(self, batch):
        assert batch.shape[1:] == (3, 4)
        assert (batch == batch[:, :1, :1]).all()
        return batch[:, 0, 0].tolist()


VALUES = [
    np.arange(24, dtype=">i4").reshape(2, 3, 4),
    np.asfortranarray(np.arange(12.0).reshape(3, 4)),
    np.array(2.5),
    np.zeros((0, 3)),
    np.array(["a", "länger"]),
    np.array([b"a", b"bc"]),
    np.array([True, False]),
    np.arange(3).astype("datetime64[D]"),
    np.array([(1, 2.5)], [("a", "i4"), ("b", "f8")]),
    np.arange(700_000, dtype=np.uint16),  # more than one read
]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: f"{value.dtype} {value.shape}")
@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("verify", [True, False])
def test_values_are_those_of_numpy(tmp_path, value, save, verify):
    path = tmp_path / "0.npz"
    save(path, a=value, b=value)
    example = pipeline.npz(path, verify=verify)[0]
    for each in (example["a"], example["b"], pipeline.npz(saved(tmp_path / "0.npy", value))[0]):
        np.testing.assert_array_equal(each, value)
        if value.dtype.kind not in "SU" and value.ndim:
            assert each.dtype == value.dtype.newbyteorder("=")
            assert each.flags.writeable


def saved(path, value):
    np.save(path, value)
    return path


def test_reused_memory_is_not_visible(tmp_path):
    """Dropped examples give their memory to later ones, but not while a part of them is kept."""
    sizes = [300_000, 500_000, 200_000, 400_000, 600_000, 250_000, 500_000, 150_000]
    for number, size in enumerate(sizes):
        np.savez(tmp_path / f"{number}.npz", x=np.full(size, number, np.uint8))
    kept = []
    with iter(pipeline.npz(tmp_path / "*.npz", num_epochs=4)) as batches:
        for count, example in enumerate(batches):
            array, number = example["x"], count % len(sizes)
            assert len(array) == sizes[number]
            assert (array == number).all()
            if count % 5 == 0:
                kept.append((number, array[1:2]))
            assert all((view == number).all() for number, view in kept)
    assert all((view == number).all() for number, view in kept)


def test_a_python_without_preadv(tmp_path, monkeypatch):
    """As some Pythons for macOS."""
    monkeypatch.delattr(os, "preadv")
    expected = np.arange(700_000, dtype=np.uint16)
    np.savez(tmp_path / "0.npz", x=expected)
    np.testing.assert_array_equal(pipeline.npz(tmp_path / "0.npz")[0]["x"], expected)
    np.save(tmp_path / "0.npy", expected)
    np.testing.assert_array_equal(pipeline.npz(tmp_path / "0.npy")[0], expected)


@pytest.mark.parametrize("save", ["savez", "savez_compressed"])
def test_without_isal(tmp_path, save):
    """zlib finds the same damage."""
    getattr(np, save)(tmp_path / "0.npz", x=np.arange(100_000) % 7)
    good = (tmp_path / "0.npz").read_bytes()
    for number, place in enumerate([200, len(good) // 2, len(good) // 2 + 1], 1):
        bad = bytearray(good)
        bad[place] ^= 0x55
        (tmp_path / f"{number}.npz").write_bytes(bad)
    found = {}
    for module in ("isal", "no_such_module"):
        done = run_script(WITHOUT.format(module=module), cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        found[module] = done.stdout
    assert found["isal"] == found["no_such_module"]
    assert found["isal"].split() == ["299995", "DataLossError", "DataLossError", "DataLossError"]


WITHOUT = """
import glob, sys
sys.modules["{module}"] = None
import pipeline

for path in sorted(glob.glob("*.npz")):
    try:
        print(pipeline.npz(path)[0]["x"].sum())
    except pipeline.errors.DataLossError as error:
        print(type(error).__name__)
"""


def test_keys(tmp_path):
    path = tmp_path / "0.npz"
    np.savez(path, x=np.ones(3), y=1)
    assert list(pipeline.npz(path, ["y"])[0]) == ["y"]
    assert list(pipeline.npz(path, keys=["y", "x"])[0]) == ["y", "x"]
    with raises(InvalidArgumentError, f"npz: {path}: there is no 'z': it has 'x', 'y'"):
        list(pipeline.npz(path, keys=["z"]))
    with raises(InvalidArgumentError, "npz: keys is empty"):
        pipeline.npz(path, [])
    with raises(TypeError, "npz: keys must be a list of names, got str 'x'"):
        pipeline.npz(path, "x")
    with raises(InvalidArgumentError, "it is a .npy file, which has one array without a key: leave out keys="):
        list(pipeline.npz(saved(tmp_path / "1.npy", np.ones(3)), ["x"]))


def test_nothing_is_unpickled(tmp_path):
    for save in (np.savez, np.savez_compressed):
        save(tmp_path / "0.npz", x=np.array([{}], object), y=1)
        with raises(InvalidArgumentError, "0.npz: 'x': it holds Python objects, which are not unpickled"):
            list(pipeline.npz(tmp_path / "0.npz"))
        assert pipeline.npz(tmp_path / "0.npz", ["y"])[0] == {"y": 1}


def test_missing_files(tmp_path):
    with pytest.raises(NotFoundError):
        pipeline.npz(tmp_path / "none.npz")
    with raises(NotFoundError, "matches no file"):
        pipeline.npz(tmp_path / "*.npz")
    np.savez(tmp_path / "0.npz", x=1)
    data = pipeline.npz(tmp_path / "0.npz")
    (tmp_path / "0.npz").unlink()
    with pytest.raises(NotFoundError, match=r"0\.npz"):
        list(data)
    with pytest.raises(pipeline.errors.FailedPreconditionError, match="Is a directory"):
        list(pipeline.npz(tmp_path))


def test_too_large_for_the_limit(tmp_path):
    np.savez_compressed(tmp_path / "0.npz", x=np.zeros(10_000), y=1)
    with raises(
        ResourceExhaustedError, "0.npz: its arrays have more than the limit of 80,000 bytes; max_record_bytes="
    ):
        list(pipeline.npz(tmp_path / "0.npz", max_record_bytes=80_000))
    assert pipeline.npz(tmp_path / "0.npz", ["y"], max_record_bytes=80_000)[0] == {"y": 1}
    assert len(pipeline.npz(tmp_path / "0.npz", max_record_bytes=None)[0]["x"]) == 10_000
    with pytest.raises(ResourceExhaustedError):
        list(pipeline.npz(saved(tmp_path / "1.npy", np.zeros(10)), max_record_bytes=80))


def archive(members, compression=zipfile.ZIP_STORED):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as made:
        for name, data in members:
            made.writestr(name, data)
    return file.getvalue()


def npy(value):
    file = io.BytesIO()
    np.save(file, value)
    return file.getvalue()


def outcome(path):
    """Return the error from the only file, or its example."""
    try:
        return None, pipeline.npz(path)[0]
    except (DataLossError, InvalidArgumentError, ResourceExhaustedError) as error:
        return error, None


def test_a_changed_byte_is_found(tmp_path):
    """Every byte in the values and headers is covered; meaningless ones may change."""
    value = np.arange(50)
    for compression in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        good = archive([("x.npy", npy(value))], compression)
        path = tmp_path / "0.npz"
        for place in range(len(good)):
            bad = bytearray(good)
            bad[place] ^= 0x55
            path.write_bytes(bad)
            caught, found = outcome(path)
            if caught is not None:
                assert str(path) in str(caught)
            else:
                assert [each.tolist() for each in found.values()] == [value.tolist()]


def test_a_wrong_checksum(tmp_path):
    good = archive([("x.npy", npy(np.arange(5)))])
    at = good.index(np.arange(5).tobytes())
    path = tmp_path / "0.npz"
    path.write_bytes(good[:at] + b"\x07" + good[at + 1 :])
    with raises(DataLossError, "0.npz: 'x': its checksum is wrong"):
        list(pipeline.npz(path))
    assert pipeline.npz(path, verify=False)[0]["x"].tolist() == [7, 1, 2, 3, 4]


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_truncated_file(tmp_path, compression):
    good = archive([("x.npy", npy(np.arange(50))), ("y.npy", npy(np.array(1)))], compression)
    path = tmp_path / "0.npz"
    for size in range(0, len(good), 7):
        path.write_bytes(good[:size])
        with raises(DataLossError, str(path)):
            list(pipeline.npz(path))


def test_members_that_the_directory_lost(tmp_path):
    """An entry claiming a comment swallows the ones after it, and `zipfile` does not count them."""
    path = tmp_path / "0.npz"
    bad = bytearray(archive([(f"{name}.npy", npy(np.array(1))) for name in "abc"]))
    begin = bad.index(b"PK\x01\x02")
    struct.pack_into("<H", bad, begin + 32, 2 * (46 + len("a.npy")))
    path.write_bytes(bad)
    with raises(DataLossError, f"{path}: its directory has 1 of 3 members"):
        list(pipeline.npz(path))


def claims(good, size):
    """Return an archive whose directory and header claim this size for the first member, decompressed or not."""
    bad = bytearray(good)
    begin = good.index(b"PK\x01\x02")
    struct.pack_into("<I", bad, begin + 24, size)
    struct.pack_into("<I", bad, 22, size)
    return bytes(bad)


@pytest.mark.parametrize(
    ("content", "error", "text"),
    [
        (b"", DataLossError, "it is not a .npz or .npy file"),
        (b"no archive" * 10, DataLossError, "it is not a .npz or .npy file"),
        (b"\x93NUMPY\x01\x00v\x00{'descr'", DataLossError, "its header is damaged"),
        (npy(np.arange(5))[:-1], DataLossError, "its header says int64 of shape (5,), and 39 bytes follow"),
        (npy(np.arange(5)) + b"0", DataLossError, "its header says int64 of shape (5,), and 41 bytes follow"),
        (archive([("x.npy", b"text")]), DataLossError, "'x': it is not a .npy file"),
        (archive([("x", npy(1)), ("x.npy", npy(2))]), DataLossError, "it has 'x' twice"),
        (archive([("x.npy", npy(1))], zipfile.ZIP_LZMA), InvalidArgumentError, "'x': it is compressed by method 14"),
        (claims(archive([("x.npy", npy(1))]), 1 << 20), DataLossError, "'x': its 1,048,576 bytes should be stored as"),
        (
            claims(archive([("x.npy", npy(np.zeros(99)))], zipfile.ZIP_DEFLATED), 1 << 28),
            DataLossError,
            "'x': its 268,435,456 bytes should be stored as",
        ),
        (
            claims(archive([("x.npy", npy(np.zeros(99)))], zipfile.ZIP_DEFLATED), 919),
            DataLossError,
            "'x': its header says float64 of shape (99,), and 791 bytes follow",
        ),
    ],
    ids=range(11),  # the archives contain the time
)
def test_files_that_are_none(tmp_path, content, error, text):
    path = tmp_path / "0.npz"
    path.write_bytes(content)
    with raises(error, f"npz: {path}: ", text):
        list(pipeline.npz(path))


def test_a_header_that_claims_much(tmp_path):
    shape = npy(np.zeros(1)).replace(b"(1,), }      ", b"(9999999,), }")
    for content in (shape, archive([("x.npy", shape)], zipfile.ZIP_DEFLATED)):
        path = tmp_path / "0.npz"
        path.write_bytes(content)
        with raises(DataLossError, "its header says float64 of shape (9999999,), and 8 bytes follow"):
            list(pipeline.npz(path))


def test_more_dimensions_than_arrays_have(tmp_path):
    path = tmp_path / "0.npy"
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": "|i1", "fortran_order": False, "shape": 65 * (1,)})
        file.write(b"1")
    with raises(DataLossError, f"{path}: its header says 65 dimensions"):
        list(pipeline.npz(path))


def test_bad_files_are_skipped(tmp_path):
    for number in range(6):
        np.savez(tmp_path / f"{number}.npz", x=number)
    (tmp_path / "3.npz").write_bytes(b"damaged")
    data = pipeline.npz(tmp_path / "*.npz").map(lambda example: example, on_error="skip")
    assert [int(example["x"]) for example in data] == [0, 1, 2, 4, 5]


def test_urls(tmp_path):
    system = fsspec.filesystem("memory")
    for number in range(12):
        file = io.BytesIO()
        np.savez(file, **arrays_of(number))
        system.pipe(f"/npz/{number:02}.npz", file.getvalue())
    data = pipeline.npz("memory://npz/*.npz")
    assert [int(example["y"]) for example in data] == list(range(12))
    assert sorted(int(example["y"]) for example in data.shuffle(seed=1)) == list(range(12))


def test_it_is_a_dataset_like_any_other(tmp_path):
    for number in range(9):
        np.savez(tmp_path / f"{number}.npz", x=number)
    dataset_contract.check(pipeline.npz(tmp_path / "*.npz").map(number_of), list(range(9)))
    dataset_contract.check(pipeline.npz(tmp_path / "*.npz", num_epochs=2).map(number_of, workers=2), [*range(9)] * 2)


def number_of(example):
    return int(example["x"])


def test_it_pickles(tmp_path):
    np.savez(tmp_path / "0.npz", x=7)
    data = pickle.loads(pickle.dumps(pipeline.npz(tmp_path / "0.npz")))
    assert data[0] == {"x": 7}


def test_a_state_is_of_these_files(tmp_path):
    for number in range(6):
        np.savez(tmp_path / f"{number}.npz", x=number)
    with iter(pipeline.npz(tmp_path / "*.npz")) as first:
        next(first)
        state = first.state_dict()
    (tmp_path / "0.npz").rename(tmp_path / "9.npz")
    with iter(pipeline.npz(tmp_path / "*.npz")) as other, pytest.raises(pipeline.errors.StateMismatchError):
        other.load_state_dict(state)
