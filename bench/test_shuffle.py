"""Measure shuffled batches of 128 rows from a buffer of 15,000, enqueued and dequeued, compared with NumPy's
gather for equally many random rows.

The enqueued block is in the cache, as if just decoded. "read-only" means blocks that are views on the data, whose large
rows are not copied in. The baseline only gathers: its random indices are drawn beforehand, and nothing is enqueued.
`mode="clip"` saves np.take the check of its indices and, with out=, a second copy.
"""

from itertools import cycle

import numpy as np
import pytest
import reference

from pipeline import RandomShuffleQueue

N, POOL, CAPACITY, MINIMUM = 128, 15_000, 20_000, 10_000


@pytest.mark.parametrize("shape", [(), (4,), (32,), (784,)], ids=str)
@pytest.mark.parametrize("which", ["ours", "ours, read-only", "python", "take", "take clip"])
def test_shuffle(measure, which, shape):
    rng = np.random.default_rng(1)
    data = rng.random((POOL, *shape), np.float32)
    out = np.empty((N, *shape), np.float32)
    if which.startswith("take"):
        batches = cycle([rng.integers(0, POOL, N) for _ in range(500)])
        mode = "clip" if which == "take clip" else "raise"
        work = lambda: np.take(data, next(batches), axis=0, out=out, mode=mode)  # noqa: E731
    else:
        module = reference.RandomShuffleQueue if which == "python" else RandomShuffleQueue
        queue = module(CAPACITY, MINIMUM, np.float32, shapes=[shape], seed=1)
        blocks = cycle([data[:N].copy()])
        if which == "ours, read-only":
            data.flags.writeable = False
            blocks = cycle([data[begin : begin + N] for begin in range(0, POOL - N, N)])
        queue.enqueue_many([data])
        if which != "python":

            def work():
                queue.enqueue_many(next(blocks))
                queue.dequeue_many(N, out=out)
        else:

            def work():
                queue.enqueue_many([next(blocks)])
                queue.dequeue_many(N)

    measure(f"shuffle {N} x f32{list(shape)}, in and out of {POOL}", work)
