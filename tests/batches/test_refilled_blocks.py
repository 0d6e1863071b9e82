"""Blocks in arrays that are refilled: the output is each block's contents on arrival."""

import numpy as np
import pytest

import pipeline


def refilled(kind):
    """Yield twenty blocks with 7 rows each, all in the same arrays."""
    rows, names = np.empty((7, 3), np.float32), np.empty(7, np.int64)
    for i in range(20):
        names[:] = np.arange(7 * i, 7 * i + 7)
        rows[:] = names[:, None]
        yield {"dict": {"a": rows, "b": names}, "tuple": (rows, names), "array": names, "view": names[::-1]}[kind]


def plain(batches):
    """Return all numbers received, in order; check that rows and names agree."""
    found = []
    for batch in batches:
        columns = list(batch.values()) if isinstance(batch, dict) else batch
        if isinstance(columns, (tuple, list)):
            assert (columns[0] == columns[1][:, None]).all()
            columns = columns[1]
        found += columns.tolist()
    return found


def function_of(blocks):
    blocks = iter(blocks)
    return lambda: next(blocks)


@pytest.mark.parametrize("threads", [0, 1, 2])
@pytest.mark.parametrize("make", [iter, function_of], ids=["iterator", "function"])
@pytest.mark.parametrize("kind", ["dict", "tuple", "array", "view"])
@pytest.mark.parametrize("size", [3, 7, 10])
def test_each_row_comes_once(kind, make, size, threads):
    source = make(refilled(kind))
    if threads == 2 and make is function_of:
        threads = 1  # two at once would refill the arrays during reads
    options = {"num_threads": threads, "enqueue_many": True, "allow_smaller_final_batch": True}
    with pipeline.batch(source, size, **options) as batches:
        found = plain(batches)
    if kind == "view":
        assert found == [7 * i + k for i in range(20) for k in range(6, -1, -1)]
    else:
        assert found == list(range(140))
    with pipeline.shuffle_batch(make(refilled(kind)), size, min_after_dequeue=20, seed=1, **options) as batches:
        assert sorted(plain(batches)) == list(range(140))


@pytest.mark.parametrize("size", [3, 4, 9])
def test_batches_are_nobody_elses(size):
    """A batch stays unchanged while later blocks arrive, and when the caller changes others."""
    with pipeline.batch(refilled("array"), size, enqueue_many=True, num_threads=0) as batches:
        found = []
        for batch in batches:
            found.append((batch, batch.tolist()))
            batch.flags.writeable = batch.flags.writeable  # it is a separate array
            assert batch.base is None
    for batch, then in found:
        assert batch.tolist() == then
        batch[:] = -1
    assert [then for _, then in found] == [list(range(i, i + size)) for i in range(0, 140 - size + 1, size)]


def test_rows_of_other_shapes_in_a_pool():
    """The buffer keeps rows as objects once their shapes differ; those are copies too."""

    def blocks():
        for i in range(30):
            block = np.full((4, 2 + i % 2), i)
            yield block
            block[:] = -1

    data = pipeline.dataset(blocks).unbatch().shuffle(9, seed=1).map(lambda row: int(row[0]))
    assert sorted(data) == sorted(i for i in range(30) for _ in range(4))


def test_collate_gets_rows_that_stay():
    def blocks():
        block = np.empty((5, 2), np.int64)
        for i in range(8):
            block[:] = i
            yield block

    kept = []
    data = pipeline.dataset(blocks).unbatch().batch(3, collate=lambda rows: kept.extend(rows) or len(rows))
    assert sum(data) == 40
    assert [int(row[0]) for row in kept] == [i for i in range(8) for _ in range(5)]


def test_states_within_a_block():
    def blocks():
        yield from refilled("array")

    data = pipeline.dataset(blocks).unbatch()
    expected = [batch.tolist() for batch in data.batch(4)]
    for k in range(0, len(expected), 3):
        first = iter(data.batch(4))
        for _ in range(k):
            next(first)
        again = iter(data.batch(4))
        again.load_state_dict(first.state_dict())
        assert [batch.tolist() for batch in again] == expected[k:]
        assert [batch.tolist() for batch in first] == expected[k:]
