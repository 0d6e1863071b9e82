"""Large rows that processes return are written past the caches: put_past, and batches of such rows.

`put_past` is private: rows look the same, whatever way they came.
"""

import numpy as np
import pytest

import pipeline
from pipeline._batch import put_past

SIZES = [4096, 4097, 4111, 5000, 150_000]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("offset", [0, 1, 15])
def test_rows_of_bytes(size, offset):
    """Rows begin anywhere, and have any number of bytes."""
    memory = np.zeros(3 * size + offset + 16, np.uint8)
    rows = memory[offset : offset + 3 * size].reshape(3, size)
    row = np.random.default_rng(size).integers(1, 255, size, np.uint8)
    assert put_past(rows, 1, row)
    assert np.array_equal(rows[1], row)
    assert not rows[0].any()
    assert not rows[2].any()
    assert not memory[offset + 3 * size :].any()


def test_what_it_does_not_do():
    row = np.ones((64, 64), np.float32)
    rows = np.zeros((2, 64, 64), np.float32)
    cases = [
        (rows, 2, row),
        (rows, -1, row),
        (rows, 0, row.T),
        (rows, 0, row.astype(np.float64)),
        (rows, 0, row.astype(">f4")),
        (rows, 0, row.reshape(-1)),
        (rows, 0, row[:32]),
        (rows[:, ::2], 0, row[::2]),
        (rows[:, :4], 0, row[:4]),  # lies apart
        (np.zeros((2, 4)), 0, np.ones(4)),  # small
        (np.empty((2, 1000), object), 0, np.ones(1000, object)),
        (np.frombuffer(bytes(8192), np.uint8).reshape(2, 4096), 0, np.ones(4096, np.uint8)),
    ]
    for rows, at, row in cases:
        before = rows.copy()
        assert not put_past(rows, at, row)
        assert np.array_equal(rows, before)


def numbered(i):
    row = np.full((300, 300), i, np.float64)
    return {"row": row, "turned": row.T if i % 2 else row, "number": i}


def test_batches_of_processes():
    """720 KB a row, 11 MB a batch; those that are transposed take the other way."""
    dataset = pipeline.dataset(range(64)).map(numbered, workers=pipeline.processes(2)).batch(16)
    with iter(dataset) as batches:
        for i, batch in enumerate(batches):
            wanted = np.arange(16 * i, 16 * i + 16)
            assert batch["number"].tolist() == wanted.tolist()
            for name in ("row", "turned"):
                assert (batch[name] == wanted[:, None, None]).all()
    assert i == 3
