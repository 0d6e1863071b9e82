"""lance: rows from Lance datasets. `make test-sources` installs its library; elsewhere these are skipped."""

import contextlib
import pickle
import re
import shutil

import numpy as np
import pyarrow as pa
import pytest
from dataset_contract import check as check_elements
from source_contract import SourceContract

import pipeline
from pipeline.errors import DataLossError, InvalidArgumentError, NotFoundError

library = pytest.importorskip("lance", reason="make test-sources installs it")

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


class TestRows(SourceContract):
    count = COUNT

    @pytest.fixture(autouse=True)
    def _dataset(self, tmp_path):
        self.path = str(tmp_path / "rows.lance")
        library.write_dataset(table(), self.path, max_rows_per_file=13)

    def make(self, **options):
        return pipeline.lance(self.path, ["n", "word", "vector", "inner"], **options)

    def numbers(self, batch):
        return check(batch)


class TestRowsThatAreLeft(TestRows):
    """From a dataset with deleted rows."""

    @pytest.fixture(autouse=True)
    def _dataset(self, tmp_path):
        self.path = str(tmp_path / "rows.lance")
        library.write_dataset(pa.concat_tables([table(-20, 30), table(100, 110), table(30, COUNT)]), self.path)
        library.dataset(self.path).delete("n < 0 or n >= 100")


def test_rows_are_as_of_other_tables(tmp_path):
    library.write_dataset(table(), tmp_path / "a.lance")
    options = {"dtypes": {"n": "float32"}, "codes": {"word": [f"{i}é" for i in range(COUNT)]}}
    for each in ({}, options):
        ours = list(pipeline.lance(tmp_path / "a.lance", **each))
        arrow = list(pipeline.arrow(table(), **each))
        assert len(ours) == len(arrow) == COUNT
        for one, other in zip(ours, arrow, strict=True):
            assert list(one) == list(other)
            assert str(one) == str(other)
    assert type(ours[0]["data"]) is bytes
    assert type(next(iter(pipeline.lance(tmp_path / "a.lance")))["word"]) is str


def test_rows_in_any_order(tmp_path):
    library.write_dataset(table(), tmp_path / "a.lance", max_rows_per_file=7)
    data = pipeline.lance(tmp_path / "a.lance")
    for batch in data.sample([1.0] * COUNT, 200, seed=1).batch(50, pad=-1):
        assert check(batch) == batch["n"].tolist()
        assert [[i for i in row if i >= 0] for row in batch["ids"].tolist()] == [[*range(i % 4)] for i in batch["n"]]
    for first, count in ((0, 3), (3, 40), (43, 17), (10, 5), (15, 5), (7, 1)):
        [batch] = data.skip(first).take(count).batch(count, pad=-1)
        assert check(batch) == list(range(first, first + count))


@pytest.mark.parametrize("workers", [None, 2])
def test_every_element_resumes(tmp_path, workers):
    library.write_dataset(table(0, 20), tmp_path / "a.lance", max_rows_per_file=7)
    data = pipeline.lance(tmp_path / "a.lance", num_epochs=2)
    check_elements(data.map(lambda row: int(row["n"]), workers=workers), [*range(20)] * 2)


def test_a_version_stays(tmp_path):
    path = tmp_path / "a.lance"
    library.write_dataset(table(0, 10), path)
    data = pipeline.lance(path)
    library.write_dataset(table(10, 20), path, mode="append")
    assert [row["n"] for row in data] == list(range(10))
    assert [row["n"] for row in pipeline.lance(path)] == list(range(20))
    assert [row["n"] for row in pipeline.lance(library.dataset(path, version=1))] == list(range(10))
    assert [row["n"] for row in pickle.loads(pickle.dumps(data))] == list(range(10))


def test_another_dataset_does_not_take_the_state(tmp_path):
    library.write_dataset(table(0, 10), tmp_path / "a.lance")
    library.write_dataset(table(1, 11), tmp_path / "b.lance")
    with iter(pipeline.lance(tmp_path / "a.lance")) as rows:
        next(rows)
        state = rows.state_dict()
    with pytest.raises(pipeline.StateMismatchError):
        iter(pipeline.lance(tmp_path / "b.lance")).load_state_dict(state)


def test_missing_values(tmp_path):
    rows = pa.table({"n": pa.array([1, None, 3], pa.int64()), "x": pa.array([1.0, None, 3.0])})
    library.write_dataset(rows, tmp_path / "a.lance")
    with raises(InvalidArgumentError, "column 'n' of type int64 has missing values"):
        list(pipeline.lance(tmp_path / "a.lance"))
    [batch] = pipeline.lance(tmp_path / "a.lance", defaults={"n": 0}).batch(3)
    assert batch["n"].tolist() == [1, 0, 3]
    assert np.isnan(batch["x"][1])


def test_wrong_columns(tmp_path):
    library.write_dataset(table(0, 3), tmp_path / "a.lance")
    with raises(InvalidArgumentError, "there is no column 'm'", "'n', 'word'"):
        pipeline.lance(tmp_path / "a.lance", ["m"])
    with raises(TypeError, "lance: dataset must be a path"):
        pipeline.lance(3)


class TestDamage:
    def test_no_dataset(self, tmp_path):
        with raises(NotFoundError, str(tmp_path / "none.lance")):
            pipeline.lance(tmp_path / "none.lance")
        (tmp_path / "file.lance").write_bytes(b"x")
        (tmp_path / "empty.lance").mkdir()
        for name in ("file.lance", "empty.lance"):
            with raises(DataLossError, name):
                pipeline.lance(tmp_path / name)

    @pytest.mark.parametrize("damage", ["remove", "cut", "empty"])
    def test_a_damaged_file(self, tmp_path, damage):
        path = tmp_path / "a.lance"
        library.write_dataset(table(), path)
        data = pipeline.lance(path)
        [file] = (path / "data").iterdir()
        contents = file.read_bytes()
        if damage == "remove":
            file.unlink()
        else:
            file.write_bytes(contents[: len(contents) // 2] if damage == "cut" else b"")
        with raises(DataLossError, "a.lance"):
            list(pipeline.lance(path))
        shutil.rmtree(path)
        with raises(DataLossError, "a.lance"):
            list(data)

    def test_a_manifest_that_lost_bytes(self, tmp_path):
        """Lance panics at some of these, and a panic is not an Exception by itself."""
        path = tmp_path / "a.lance"
        library.write_dataset(table(), path)
        manifest = next((path / "_versions").glob("*.manifest"))
        contents = manifest.read_bytes()
        for place in range(0, len(contents), 40):
            manifest.write_bytes(contents[:place] + contents[place + 7 :])
            with contextlib.suppress(DataLossError):
                pipeline.lance(path)

    @pytest.mark.parametrize("size", [1, 4])
    def test_errors_come_after_the_rows_before_them(self, tmp_path, size):
        """Reading ahead must not show."""
        path = tmp_path / "a.lance"
        library.write_dataset(table(0, 20), path)
        library.write_dataset(table(20, 40), path, mode="append")
        library.write_dataset(table(110, 140), tmp_path / "b.lance")
        taken = []
        with raises(InvalidArgumentError, "column 'n'", "does not become int8"):
            for batch in pipeline.lance(tmp_path / "b.lance", ["n"], dtypes={"n": "int8"}).batch(size):
                taken += batch["n"].tolist()
        assert taken == list(range(110, 128))[: 18 // size * size]
        last = max((path / "data").iterdir(), key=lambda file: file.stat().st_mtime_ns)
        last.unlink()
        taken = []
        with raises(DataLossError, "a.lance"):
            for batch in pipeline.lance(path, ["n"]).batch(size):
                taken += batch["n"].tolist()
        assert taken == list(range(20))
