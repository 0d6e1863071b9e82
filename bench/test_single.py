"""Measure single elements: enqueue and dequeue in one thread; and rows from two threads to one batch consumer."""

import queue
import threading
from itertools import repeat

import numpy as np
import pytest
import reference

from pipeline import FIFOQueue

N, BATCH, ROWS = 1000, 128, 128 * 1000


def pairs(put, get, value):
    def work():
        for _ in repeat(None, N):
            put(value)
            get()

    return work


@pytest.mark.parametrize("what", ["scalar", "f32[4]"])
@pytest.mark.parametrize("which", ["ours", "python", "SimpleQueue", "queue.Queue"])
def test_one_in_one_out(measure, which, what):
    value, shape = (1.0, ()) if what == "scalar" else (np.ones(4, np.float32), (4,))
    if which == "ours":
        one = FIFOQueue(100, "float32", shapes=[shape])
        put, get = one.enqueue, one.dequeue
    elif which == "python":
        one = reference.FIFOQueue(100, np.float32, shapes=[shape])
        put, get = one.enqueue, one.dequeue
    else:
        one = queue.SimpleQueue() if which == "SimpleQueue" else queue.Queue(100)
        put, get = one.put, one.get
    measure(f"one {what} in and out", pairs(put, get, value), count=N)


@pytest.mark.parametrize("which", ["ours", "SimpleQueue", "queue.Queue"])
def test_two_producers(measure, which):
    row = np.ones(4, np.float32)

    def make():
        if which == "ours":
            rows = FIFOQueue(10_000, "float32", shapes=[(4,)])
            put, batch = rows.enqueue, lambda: rows.dequeue_many(BATCH)
        else:
            rows = queue.SimpleQueue() if which == "SimpleQueue" else queue.Queue(10_000)
            put, batch = rows.put, lambda: np.stack([rows.get() for _ in range(BATCH)])

        def produce():
            for _ in repeat(None, ROWS // 2):
                put(row)

        return ([threading.Thread(target=produce) for _ in range(2)], batch), {}

    def work(threads, batch):
        for thread in threads:
            thread.start()
        for _ in range(ROWS // BATCH):
            batch()
        for thread in threads:
            thread.join()

    measure(f"two producers of f32[4], batches of {BATCH}", work, count=ROWS, setup=make, rounds=15)
