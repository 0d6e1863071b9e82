"""collate="row_splits" gives (values, row_splits) per batch, even if all its rows have the same length."""

import numpy as np
import pytest

import pipeline

ROWS = [[1, 2], [3, 4], [5], [6, 7], [], []]


def generator():
    yield from map(np.array, ROWS)


SOURCES = {
    "lists": lambda: pipeline.dataset(ROWS),
    "arrays of map": lambda: pipeline.dataset(ROWS).map(lambda row: np.array(row, np.int64)),
    "arrays of workers": lambda: pipeline.dataset(ROWS).map(lambda row: np.array(row, np.int64), workers=2),
    "a list of arrays": lambda: pipeline.dataset([np.array(row, np.int64) for row in ROWS]),
    "a generator": lambda: pipeline.dataset(generator),
    "shuffle, sorted": lambda: pipeline.dataset(ROWS).map(np.array).shuffle(1, seed=1),
}


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.parametrize("keyed", [False, True])
def test_each_batch_is_a_pair(name, n, keyed):
    data = SOURCES[name]()
    if keyed:
        data = data.map(lambda row: {"a": row, "n": len(row)})
    batches = list(data.batch(n, collate="row_splits"))
    assert len(batches) == len(ROWS) // n
    for i, batch in enumerate(batches):
        rows = ROWS[i * n : i * n + n]
        values, splits = batch["a"] if keyed else batch
        assert values.tolist() == [each for row in rows for each in row]
        assert splits.tolist() == np.cumsum([0, *map(len, rows)]).tolist()
        if keyed:
            assert batch["n"].tolist() == list(map(len, rows))


def test_tables_too():
    ((values, splits),) = pipeline.arrays(np.arange(6).reshape(3, 2)).batch(3, collate="row_splits")
    assert (values.tolist(), splits.tolist()) == ([0, 1, 2, 3, 4, 5], [0, 2, 4, 6])
    (batch,) = pipeline.arrays(np.arange(3)).batch(3, collate="row_splits")
    assert batch.tolist() == [0, 1, 2]
