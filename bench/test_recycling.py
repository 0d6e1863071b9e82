"""Measure large batches in reused memory, one after the other, compared with new NumPy arrays.

Only the dequeue is timed. A loop holds one batch at a time, or collects three and drops them together.
"""

import numpy as np
import pytest

from pipeline import FIFOQueue

ROW = 16_384


@pytest.mark.parametrize("kept", [1, 3])
@pytest.mark.parametrize("mib", [1, 12, 37, 77])
@pytest.mark.parametrize("who", ["ours", "numpy"])
def test_large_batches(measure, who, mib, kept):
    n = mib * 2**20 // ROW
    queue = FIFOQueue(-1, np.uint8, shapes=[(ROW,)])
    rows = np.ones((n, ROW), np.uint8)
    held = []

    def take():
        held.append(queue.dequeue_many(n, out=None if who == "ours" else np.empty((n, ROW), np.uint8)))

    def put():
        queue.enqueue_many(rows)
        if kept == 1:
            del held[:-1]  # as with a loop variable: the old batch is dropped after the next one arrives
        elif len(held) == kept:
            held.clear()

    measure(f"batch of {mib} MiB, {kept} at a time", take, setup=put, rounds=max(20, 400 // mib), warmup_rounds=4)
