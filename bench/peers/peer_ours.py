"""queue-runner by its native API."""

from itertools import cycle

import numpy as np
from measuring import batched, main, split, workers
from workloads import BATCH, DECODED, WORKS, decode, padded_rows, path, rows

import pipeline


def ways(directory, work):
    if pool := WORKS[work].pool:
        data = rows(directory, work)
        return {"shuffle_batch": lambda: shuffled(data, pool), "queue, in one thread": lambda: by_hand(data, pool)}
    if work == "padded":
        parts = split(*padded_rows(directory))
        return {
            "batch(dynamic_pad)": lambda: pipeline.batch(cycle(parts), BATCH, capacity=8 * BATCH, dynamic_pad=True),
            "pad, in one thread": lambda: batched(cycle(parts), pipeline.pad),
        }
    if work.startswith("decode"):
        return {"batch of a callable": lambda: decoded(workers(work))}
    make = {"lines": values, "csv": table, "tfrecord": values}[work]
    reader = pipeline.TFRecordReader() if work == "tfrecord" else pipeline.TextLineReader()
    files = pipeline.string_input_producer([path(directory, work)], shuffle=False)
    return {type(reader).__name__: lambda: pipeline.batch(make(reader, files), BATCH, capacity=4096, enqueue_many=True)}


def shuffled(data, pool):
    source = pipeline.slice_input_producer([data], shuffle=False, capacity=4096)
    return pipeline.shuffle_batch(source, BATCH, pool + 3 * BATCH, pool)


def by_hand(data, pool):
    """A block of rows in, a batch out, by the thread that wants the batches."""
    data.flags.writeable = False  # large rows need not be copied in
    queue = pipeline.RandomShuffleQueue(pool + BATCH, 0, data.dtype, shapes=[data.shape[1:]], seed=1)
    queue.enqueue_many(data[:pool])
    for begin in cycle(range(0, len(data) - BATCH + 1, BATCH)):
        queue.enqueue_many(data[begin : begin + BATCH])
        yield queue.dequeue_many(BATCH)


def decoded(threads):
    """The numbers come from an iterator; a callable decodes the next one, in as many threads as asked for."""
    numbers = cycle(range(DECODED))
    return pipeline.batch(lambda: decode(next(numbers)), BATCH, num_threads=threads, capacity=8 * BATCH)


def values(reader, files):
    return lambda: [reader.read_up_to(files, 1024).values]


def table(reader, files):
    def block():
        lines = reader.read_up_to(files, 1024).values
        return np.stack(pipeline.decode_csv(lines, [np.float32] * WORKS["csv"].shape[0]), axis=1)

    return block


if __name__ == "__main__":
    main("ours", pipeline.__version__, ways)
