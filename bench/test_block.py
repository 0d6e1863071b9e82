"""Measure blocks of 128 rows through a FIFO queue: two copies, so the limit is twice the time of one. Large rows in a
read-only array are copied once."""

import numpy as np
import pytest
import reference

from pipeline import FIFOQueue

N = 128


@pytest.mark.parametrize("columns", [4, 32, 784])
@pytest.mark.parametrize("which", ["ours", "ours, read-only", "python", "copyto"])
def test_fifo_block(measure, which, columns):
    block = np.random.default_rng(1).random((N, columns), np.float32)
    out = np.empty_like(block)
    if which == "copyto":
        work = lambda: np.copyto(out, block)  # noqa: E731
    elif which.startswith("ours"):
        block.flags.writeable = which == "ours"
        queue = FIFOQueue(1000, "float32", shapes=[(columns,)])

        def work():
            queue.enqueue_many(block)
            queue.dequeue_many(N, out=out)
    else:
        queue = reference.FIFOQueue(1000, np.float32, shapes=[(columns,)])

        def work():
            queue.enqueue_many([block])
            queue.dequeue_many(N)

    measure(f"FIFO block {N} x f32[{columns}], in and out", work)
    if which.startswith("ours"):
        assert np.array_equal(out, block)
