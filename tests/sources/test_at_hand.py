"""Tables in memory: batches gather their rows directly, without a thread; other tables are read in a thread."""

import mmap

import numpy as np
import pyarrow
import pytest
from orchestration import threads_since
from pyarrow import ipc

import pipeline
from pipeline.memory import in_memory

ROWS = 1000


def columns():
    return {"n": np.arange(ROWS), "half": np.arange(ROWS) / 2}


def threads_of(batches):
    """Return the threads started by the time a first batch exists."""
    begun = threads_since()
    next(batches)
    started = set(begun())
    batches.close()
    return started


def arrow(given, **options):
    return pipeline.arrow(pyarrow.table(given), **options)


@pytest.mark.parametrize("make", [pipeline.arrays, arrow])
@pytest.mark.parametrize("num_threads", [0, 1, 3])
class TestInMemory:
    def test_there_is_no_thread(self, make, num_threads):
        assert not threads_of(pipeline.batch(make(columns()), 16, num_threads=num_threads))
        assert not threads_of(pipeline.shuffle_batch(make(columns()), 16, 400, 100, num_threads=num_threads))

    def test_each_row_comes_once_in_each_epoch(self, make, num_threads):
        source = make(columns(), num_epochs=3, shuffle=True, seed=1)
        found = list(pipeline.batch(source, 50, num_threads=num_threads))
        assert all(np.array_equal(batch["half"], batch["n"] / 2) for batch in found)
        numbers = np.concatenate([batch["n"] for batch in found]).reshape(3, ROWS)
        assert all(sorted(epoch) == list(range(ROWS)) for epoch in numbers.tolist())
        assert numbers.tolist() == np.array([each["n"] for each in source]).reshape(3, ROWS).tolist()


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("rows", [1, 7, 1000])
def test_rows_of_a_table_are_those_of_its_columns(rows, shuffle):
    """With whole and partial columns; all numeric types, and booleans, stored by Arrow as bits."""
    kinds = ["i1", "u2", "i4", "i8", "f2", "f4", "f8", "?"]
    given = {kind: np.arange(ROWS, dtype="i8").astype(kind) for kind in kinds} | {"all": np.arange(ROWS)}
    whole = pyarrow.table(given)
    table = pyarrow.concat_tables([whole[:300], whole[300:]])[5:]
    options = {"shuffle": shuffle, "seed": 1, "num_epochs": 2}
    of_table = iter(pipeline.arrow(table, **options).batch(rows))
    of_arrays = iter(pipeline.arrays({kind: array[5:] for kind, array in given.items()}, **options).batch(rows))
    middle = None
    for batch, (at, expected) in zip(of_table, enumerate(of_arrays), strict=True):
        assert list(batch) == [*kinds, "all"]
        for kind in batch:
            assert batch[kind].dtype == expected[kind].dtype
            assert batch[kind].flags.writeable
            assert np.array_equal(batch[kind], expected[kind])
        batch["i1"][:] = 1  # changes neither the table nor later rows
        if at == 200 // rows:
            middle = of_table.state_dict(), []
        elif middle:
            middle[1].append(batch["all"].tolist())
    resumed = iter(pipeline.arrow(table, **options).batch(rows))
    resumed.load_state_dict(middle[0])
    assert [batch["all"].tolist() for batch in resumed] == middle[1]


def test_objects_are_read_by_a_thread():
    assert threads_of(pipeline.batch(pipeline.arrays([b"a", b"b"] * 20), 4))
    assert threads_of(pipeline.batch(pipeline.arrow(pyarrow.table({"a": ["a", "b"] * 20})), 4))


def test_files_are_read_by_a_thread(tmp_path, monkeypatch):
    np.save(tmp_path / "n.npy", np.arange(ROWS))
    path = str(tmp_path / "n.npy")
    assert not threads_of(pipeline.batch(pipeline.arrays(path), 4))  # a small one was read before
    assert threads_of(pipeline.batch(pipeline.arrays(path, memory_map=True), 4))
    monkeypatch.setattr("pipeline.sources.arrays._WHOLE_BYTES", 0)  # so that a small file is read like a large one
    assert threads_of(pipeline.batch(pipeline.arrays(path), 4))
    assert threads_of(pipeline.batch(pipeline.arrays(np.load(tmp_path / "n.npy", mmap_mode="r")), 4))


def test_which_arrays_lie_in_files(tmp_path):
    np.save(tmp_path / "n.npy", np.arange(ROWS))
    mapped = np.load(tmp_path / "n.npy", mmap_mode="r")
    table = pyarrow.table(columns())
    with ipc.new_file(str(tmp_path / "t.arrow"), table.schema) as file:
        file.write_table(table)
    with pyarrow.memory_map(str(tmp_path / "t.arrow")) as file:
        of_arrow = ipc.open_file(file).get_batch(0)["n"].to_numpy()
        assert not in_memory([np.arange(3), of_arrow])
    with (tmp_path / "n.npy").open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        assert not in_memory([np.frombuffer(content, np.uint8)])
    assert not in_memory([mapped])
    assert not in_memory([np.asarray(mapped)[3:].reshape(-1, 1)])
    here = pyarrow.array(range(ROWS)).to_numpy(), np.frombuffer(b"abc", np.uint8), np.arange(9)[3:], np.zeros(1 << 25)
    assert in_memory(here)
    assert in_memory([])
