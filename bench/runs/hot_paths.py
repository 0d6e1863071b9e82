"""The hot paths whose instructions are counted: `python hot_paths.py NAME CALLS` calls one of them CALLS times."""

import sys
import tempfile
from itertools import cycle, repeat
from pathlib import Path

import numpy as np

import pipeline

N = 128
LINES = 1000


def scalar():
    """One scalar in and out."""
    queue = pipeline.FIFOQueue(100, "float32", shapes=[()])
    put, get = queue.enqueue, queue.dequeue

    def work():
        put(1.0)
        get()

    return work


def block():
    """A block of f32[784] in and out."""
    queue, rows = pipeline.FIFOQueue(1000, "float32", shapes=[(784,)]), np.ones((N, 784), np.float32)
    out = np.empty_like(rows)

    def work():
        queue.enqueue_many(rows)
        queue.dequeue_many(N, out=out)

    return work


def shuffle():
    """A block of f32[4] into a pool, and a shuffled block out of it."""
    queue = pipeline.RandomShuffleQueue(20_000, 0, "float32", shapes=[(4,)], seed=1)
    rows = np.ones((15_000, 4), np.float32)
    queue.enqueue_many(rows)
    rows, out = rows[:N], np.empty((N, 4), np.float32)

    def work():
        queue.enqueue_many(rows)
        queue.dequeue_many(N, out=out)

    return work


def stack():
    """Separate f32[4] arrays into one."""
    rows = [np.full(4, k, np.float32) for k in range(N)]
    return lambda: pipeline.stack(rows)


def lines():
    """A block of lines from a file, which starts again when it ends."""
    name = Path(tempfile.mkdtemp()) / "lines"
    name.write_bytes(b"".join(b"%063d\n" % i for i in range(100 * LINES)))
    files = pipeline.FIFOQueue(10, "string", shapes=[()])
    files.enqueue_many([[str(name)] * 10])
    reader = pipeline.TextLineReader()
    return lambda: reader.read_up_to(files, LINES)


def slices():
    """A shuffled batch of rows of arrays in memory, with the defaults."""
    rows = [np.ones((30_000, 4), np.float32), np.arange(30_000)]
    return pipeline.shuffle_batch(pipeline.slice_input_producer(rows, seed=1), N, seed=1).__next__


def dequeue():
    """A block of f32[784] that is held by reference, out; it goes in without a copy."""
    queue = pipeline.FIFOQueue(1000, "float32", shapes=[(784,)])
    rows, out = pipeline.freeze(np.ones((N, 784), np.float32)), np.empty((N, 784), np.float32)

    def work():
        queue.enqueue_many(rows)
        queue.dequeue_many(N, out=out)

    return work


def examples():
    """A batch of what a function returns, one by one. Without threads, whose waits would count too."""
    row = np.ones(4, np.float32)
    return pipeline.batch(lambda: row, N, num_threads=0).__next__


def padded():
    """A padded batch of rows of 1 to 100 f32, one by one, without threads."""
    rows = np.split(np.ones(5_050, np.float32), np.arange(1, 100).cumsum())
    return pipeline.batch(cycle(rows), N, num_threads=0, dynamic_pad=True).__next__


def rows_by_number():
    """A shuffled batch of rows of arrays in memory, of a dataset."""
    rows = [np.ones((30_000, 4), np.float32), np.arange(30_000)]
    return iter(pipeline.arrays(tuple(rows), shuffle=True, seed=1, num_epochs=100).batch(N)).__next__


def mapped():
    """A batch of what a function makes of the items of a list, in the thread that asks."""
    rows = list(np.ones((30_000, 4), np.float32))
    return iter(pipeline.dataset(rows).map(lambda row: row).repeat().batch(N)).__next__


def generated():
    """A batch of the rows of a generator, which fills one array again and again."""
    row = np.ones(4, np.float32)

    def rows():
        while True:
            yield row

    return iter(pipeline.dataset(rows).batch(N)).__next__


def queued():
    """A batch of what a queue has, which was put into it just before."""
    queue, rows = pipeline.FIFOQueue(1000, "float32", shapes=[(4,)]), np.ones((N, 4), np.float32)
    take = iter(pipeline.dataset(queue).batch(N)).__next__

    def work():
        queue.enqueue_many(rows)
        take()

    return work


# What makes the function that is called, how often, and how many elements it handles.
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
