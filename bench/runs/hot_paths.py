"""Hot paths for counting instructions: `python hot_paths.py NAME CALLS` calls one of them CALLS times."""

import sys
import tempfile
import time
from itertools import cycle, repeat
from pathlib import Path

import numpy as np

import pipeline

N = 128
LINES = 1000


def scalar():
    """Enqueue and dequeue one scalar."""
    queue = pipeline.FIFOQueue(100, "float32", shapes=[()])
    put, get = queue.enqueue, queue.dequeue

    def work():
        put(1.0)
        get()

    return work


def block():
    """Enqueue and dequeue an f32[784] block."""
    queue, rows = pipeline.FIFOQueue(1000, "float32", shapes=[(784,)]), np.ones((N, 784), np.float32)
    out = np.empty_like(rows)

    def work():
        queue.enqueue_many(rows)
        queue.dequeue_many(N, out=out)

    return work


def shuffle():
    """Enqueue an f32[4] block, and dequeue a shuffled one."""
    queue = pipeline.RandomShuffleQueue(20_000, 0, "float32", shapes=[(4,)], seed=1)
    rows = np.ones((15_000, 4), np.float32)
    queue.enqueue_many(rows)
    rows, out = rows[:N], np.empty((N, 4), np.float32)

    def work():
        queue.enqueue_many(rows)
        queue.dequeue_many(N, out=out)

    return work


def stack():
    """Stack separate f32[4] arrays."""
    rows = [np.full(4, k, np.float32) for k in range(N)]
    return lambda: pipeline.stack(rows)


def lines():
    """Read a block of lines from a file, starting again at its end."""
    name = Path(tempfile.mkdtemp()) / "lines"
    name.write_bytes(b"".join(b"%063d\n" % i for i in range(100 * LINES)))
    files = pipeline.FIFOQueue(10, "string", shapes=[()])
    files.enqueue_many([[str(name)] * 10])
    reader = pipeline.TextLineReader()
    return lambda: reader.read_up_to(files, LINES)


def slices():
    """Take a shuffled batch of in-memory array rows, with the defaults."""
    rows = [np.ones((30_000, 4), np.float32), np.arange(30_000)]
    return pipeline.shuffle_batch(pipeline.slice_input_producer(rows, seed=1), N, seed=1).__next__


def dequeue():
    """Dequeue an f32[784] block held by reference; it is enqueued without a copy."""
    queue = pipeline.FIFOQueue(1000, "float32", shapes=[(784,)])
    rows, out = pipeline.freeze(np.ones((N, 784), np.float32)), np.empty((N, 784), np.float32)

    def work():
        queue.enqueue_many(rows)
        queue.dequeue_many(N, out=out)

    return work


def examples():
    """Take a batch from a function called per example. Without threads, because their waits would count too."""
    row = np.ones(4, np.float32)
    return pipeline.batch(lambda: row, N, num_threads=0).__next__


def padded():
    """Take a padded batch with rows of 1 to 100 f32, enqueued singly, without threads."""
    rows = np.split(np.ones(5_050, np.float32), np.arange(1, 100).cumsum())
    return pipeline.batch(cycle(rows), N, num_threads=0, dynamic_pad=True).__next__


def rows_by_number():
    """Take a shuffled batch of in-memory array rows from a dataset.

    Time stands still, because batches are made in blocks that take half a millisecond: under callgrind, of one batch.
    """
    time.perf_counter = repeat(0.0).__next__
    rows = [np.ones((30_000, 4), np.float32), np.arange(30_000)]
    return iter(pipeline.arrays(tuple(rows), shuffle=True, seed=1, num_epochs=100).batch(N)).__next__


def mapped():
    """Take a batch from a function mapped over list items, in the calling thread."""
    rows = list(np.ones((30_000, 4), np.float32))
    return iter(pipeline.dataset(rows).map(lambda row: row).repeat().batch(N)).__next__


def generated():
    """Take a batch from a generator's rows, which refills one array again and again."""
    row = np.ones(4, np.float32)

    def rows():
        while True:
            yield row

    return iter(pipeline.dataset(rows).batch(N)).__next__


def queued():
    """Take a batch from a queue filled just before."""
    queue, rows = pipeline.FIFOQueue(1000, "float32", shapes=[(4,)]), np.ones((N, 4), np.float32)
    take = iter(pipeline.dataset(queue).batch(N)).__next__

    def work():
        queue.enqueue_many(rows)
        take()

    return work


# Function to make the measured call, its call count, and its element count per call.
_ALL = {
    "scalar enqueue + dequeue": (scalar, 20_000, 1),
    "enqueue_many + dequeue_many, 128 x f32[784]": (block, 1_000, N),
    "shuffle: the same, 128 x f32[4] of 15,000": (shuffle, 2_000, N),
    "stack of 128 f32[4]": (stack, 5_000, N),
    "TextLineReader.read_up_to(1000)": (lines, 500, LINES),
    "slices -> shuffle_batch, 128 x f32[4]": (slices, 4_000, N),
    "dequeue_many of 128 x f32[784]": (dequeue, 1_000, N),
    "batch(callable) of 128 x f32[4]": (examples, 100, N),
    "batch(dynamic_pad) of 128 rows of 1 to 100 f32": (padded, 2_000, N),
    "arrays.batch, 128 x f32[4], shuffled": (rows_by_number, 4_000, N),
    "dataset(list).map.batch, 128 x f32[4]": (mapped, 1_000, N),
    "dataset(generator).batch, 128 x f32[4]": (generated, 2_000, N),
    "dataset(queue).batch, 128 x f32[4]": (queued, 1_000, N),
}
PATHS = {name: make for name, (make, _, _) in _ALL.items()}
CALLS = {name: calls for name, (_, calls, _) in _ALL.items()}
ELEMENTS = {name: elements for name, (_, _, elements) in _ALL.items()}


if __name__ == "__main__":
    call = PATHS[sys.argv[1]]()
    for _ in repeat(None, int(sys.argv[2])):
        call()
