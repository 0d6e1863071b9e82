"""vortex: rows from Vortex files. `make test-sources` installs its library; elsewhere these are skipped."""

import os
import pickle
import re

import numpy as np
import pyarrow as pa
import pytest
from dataset_contract import check as check_elements
from source_contract import SourceContract

import pipeline
from pipeline.errors import DataLossError, FailedPreconditionError, InvalidArgumentError, NotFoundError

library = pytest.importorskip("vortex", reason="make test-sources installs it")

COUNT = 60


def raises(cls, *parts):
    """Expect an error with these texts in order."""
    return pytest.raises(cls, match="(?s)" + ".*".join(map(re.escape, parts)))


def table(first=0, end=COUNT):
    rows = range(first, end)
    return pa.table(
        {
            "n": pa.array(rows, pa.int64()),
            "word": pa.array([f"{i}é" for i in rows], pa.string()),
            "data": pa.array([b"%d" % i for i in rows], pa.binary()),
            "vector": pa.array([[i, i / 2] for i in rows], pa.list_(pa.float32(), 2)),
            "ids": pa.array([list(range(i % 4)) for i in rows], pa.list_(pa.int32())),
            "inner": pa.array([{"x": i, "y": -i} for i in rows], pa.struct({"x": pa.int64(), "y": pa.int64()})),
        }
    )


def check(batch):
    numbers = batch["n"].tolist()
    assert batch["word"].tolist() == [f"{i}é" for i in numbers]
    assert batch["vector"].dtype == np.float32
    assert batch["vector"].tolist() == [[i, i / 2] for i in numbers]
    assert batch["inner"]["y"].tolist() == [-i for i in numbers]
    return numbers


ENDS = [(0, 11), (11, 11), (11, 40), (40, COUNT)]  # rows in each file; one is empty


class TestRows(SourceContract):
    count = COUNT

    @pytest.fixture(autouse=True)
    def _files(self, tmp_path):
        self.paths = [str(tmp_path / f"{i}.vortex") for i in range(len(ENDS))]
        for path, ends in zip(self.paths, ENDS, strict=True):
            library.io.write(table(*ends), path)

    def make(self, **options):
        return pipeline.vortex(self.paths, ["n", "word", "vector", "inner"], **options)

    def numbers(self, batch):
        return check(batch)


@pytest.fixture
def path(tmp_path):
    library.io.write(table(), str(tmp_path / "a.vortex"))
    return str(tmp_path / "a.vortex")


def test_rows_are_as_of_other_tables(path):
    options = {"dtypes": {"n": "float32"}, "codes": {"word": [f"{i}é" for i in range(COUNT)]}}
    for each in ({}, options):
        ours = list(pipeline.vortex(path, **each))
        arrow = list(pipeline.arrow(table(), **each))
        assert len(ours) == len(arrow) == COUNT
        for one, other in zip(ours, arrow, strict=True):
            assert list(one) == list(other)
            assert str(one) == str(other)
    first = next(iter(pipeline.vortex(path)))
    assert type(first["word"]) is str
    assert type(first["data"]) is bytes


def test_rows_in_any_order(path):
    data = pipeline.vortex(path)
    for batch in data.sample([1.0] * COUNT, 200, seed=1).batch(50, pad=-1):
        assert check(batch) == batch["n"].tolist()
        assert [[i for i in row if i >= 0] for row in batch["ids"].tolist()] == [[*range(i % 4)] for i in batch["n"]]
    for first, count in ((0, 3), (3, 40), (43, 17), (10, 5), (15, 5), (7, 1)):
        [batch] = data.skip(first).take(count).batch(count, pad=-1)
        assert check(batch) == list(range(first, first + count))
    assert [row["n"] for row in pickle.loads(pickle.dumps(data))] == list(range(COUNT))


def test_a_file_of_several_chunks(tmp_path):
    count = 100_000
    rows = pa.table({"n": range(count), "x": np.random.default_rng(1).normal(size=count)})
    library.io.write(rows, str(tmp_path / "a.vortex"))
    data = pipeline.vortex(tmp_path / "a.vortex")
    assert [n for batch in data.batch(1000) for n in batch["n"]] == list(range(count))
    [batch] = data.shuffle(seed=1).take(5000).batch(5000)
    np.testing.assert_array_equal(batch["x"], rows["x"].to_numpy()[batch["n"]])


@pytest.mark.parametrize("workers", [None, 2])
def test_every_element_resumes(tmp_path, workers):
    for i in range(2):
        library.io.write(table(10 * i, 10 * i + 10), str(tmp_path / f"{i}.vortex"))
    data = pipeline.vortex(tmp_path / "*.vortex", num_epochs=2)
    check_elements(data.map(lambda row: int(row["n"]), workers=workers), [*range(20)] * 2)


def test_missing_values(tmp_path):
    rows = pa.table({"n": pa.array([1, None, 3], pa.int64()), "x": pa.array([1.0, None, 3.0])})
    library.io.write(rows, str(tmp_path / "a.vortex"))
    with raises(InvalidArgumentError, "column 'n' of type int64 has missing values"):
        list(pipeline.vortex(tmp_path / "a.vortex"))
    [batch] = pipeline.vortex(tmp_path / "a.vortex", defaults={"n": 0}).batch(3)
    assert batch["n"].tolist() == [1, 0, 3]
    assert np.isnan(batch["x"][1])


def test_wrong_columns_and_files(tmp_path, path):
    with raises(InvalidArgumentError, "there is no column 'm'", "'n', 'word'"):
        pipeline.vortex(path, ["m"])
    other = str(tmp_path / "b.vortex")
    library.io.write(pa.table({"n": [1.5]}), other)
    with raises(InvalidArgumentError, f"'{other}' has other columns than '{path}'", "'n' double"):
        pipeline.vortex([path, other])
    with raises(NotFoundError, "none.vortex"):
        pipeline.vortex(tmp_path / "none.vortex")
    with raises(InvalidArgumentError, "'s3://bucket/a.vortex' is a URL"):
        pipeline.vortex("s3://bucket/a.vortex")


class TestDamage:
    @pytest.mark.parametrize("kept", [0, 0.1, 0.5, 0.9, 0.999])
    def test_a_file_that_is_cut(self, path, kept):
        os.truncate(path, int(kept * os.path.getsize(path)))
        with raises(DataLossError, f"vortex: '{path}' cannot be read: "):
            list(pipeline.vortex(path))

    def test_no_vortex_file(self, tmp_path):
        (tmp_path / "a.vortex").write_bytes(b"x" * 10_000)
        with raises(DataLossError, "a.vortex"):
            pipeline.vortex(tmp_path / "a.vortex")

    def test_a_panic(self, path, monkeypatch):
        """Vortex panics at some damage, and a panic is not an Exception by itself."""
        panic = type("PanicException", (BaseException,), {})

        def opened(_):
            raise panic("index out of bounds")

        monkeypatch.setattr(library, "open", opened)
        with raises(DataLossError, f"vortex: '{path}' cannot be read: index out of bounds"):
            pipeline.vortex(path)

    def test_a_changed_file(self, path):
        data = pipeline.vortex(path)
        assert len(list(data)) == COUNT
        library.io.write(table(0, 10), path)
        with raises(FailedPreconditionError, path, "has changed since the dataset was made"):
            list(data)
