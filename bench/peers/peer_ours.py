"""queue-runner by its native API."""

from concurrent.futures import ProcessPoolExecutor
from itertools import cycle
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from measuring import batched, main, split, workers
from workloads import BATCH, DECODED, WORKS, cut, decode, jpegs, padded_rows, path, rows

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
        made = {"batch of a callable": lambda: decoded(workers(work))}
        if workers(work) > 1:
            made[f"map_ahead, {workers(work)} processes"] = lambda: by_processes(workers(work))
        return made
    if work == "jpeg":
        names = jpegs(directory)
        made = {f"batch, {n} thread{'s' * (n > 1)}": lambda n=n: images(names, num_threads=n) for n in (1, 2)}
        return {**made, "batch, 2 processes": lambda: images(names, workers=pipeline.processes(2))}
    make = {"lines": values, "csv": table, "tfrecord": values}[work]
    reader = pipeline.TFRecordReader() if work == "tfrecord" else pipeline.TextLineReader()
    files = pipeline.string_input_producer([path(directory, work)], shuffle=False)
    return {type(reader).__name__: lambda: pipeline.batch(make(reader, files), BATCH, capacity=4096, enqueue_many=True)}


def shuffled(data, pool):
    source = pipeline.slice_input_producer([data], shuffle=False)
    return pipeline.shuffle_batch(source, BATCH, pool + 3 * BATCH, pool)


def by_hand(data, pool):
    """Put a block of rows in and take a batch out, in the thread that wants the batches."""
    data = pipeline.freeze(data)  # large rows need not be copied in
    queue = pipeline.RandomShuffleQueue(pool + BATCH, 0, data.dtype, shapes=[data.shape[1:]], seed=1)
    queue.enqueue_many(data[:pool])
    for begin in cycle(range(0, len(data) - BATCH + 1, BATCH)):
        queue.enqueue_many(data[begin : begin + BATCH])
        yield queue.dequeue_many(BATCH)


def decoded(threads):
    """Decode the numbers of an iterator with a callable, in this many threads."""
    numbers = cycle(range(DECODED))
    return pipeline.batch(lambda: decode(next(numbers)), BATCH, num_threads=threads, capacity=8 * BATCH)


def by_processes(count):
    """Send the same numbers, in chunks of a batch, to the processes of an executor."""
    with ProcessPoolExecutor(count, mp_context=get_context("forkserver")) as executor:
        source = pipeline.map_ahead(decode, cycle(range(DECODED)), executor, chunksize=BATCH)
        with pipeline.batch(source, BATCH, capacity=8 * BATCH) as batches:
            yield from batches


def images(names, **options):
    """Read, decode and cut images; with `workers` as a function that they call with the name of a file."""
    if "workers" in options:
        return pipeline.batch(cycle(names), BATCH, capacity=2 * BATCH, function=image, **options)
    files, reader = pipeline.string_input_producer(names, shuffle=False), pipeline.WholeFileReader()
    return pipeline.batch(
        lambda: cut(pipeline.decode_jpeg(reader.read(files).value)), BATCH, capacity=2 * BATCH, **options
    )


def image(name):
    return cut(pipeline.decode_jpeg(Path(name).read_bytes()))


def values(reader, files):
    return lambda: [reader.read_up_to(files, 1024).values]


def table(reader, files):
    def block():
        lines = reader.read_up_to(files, 1024).values
        return np.stack(pipeline.decode_csv(lines, [np.float32] * WORKS["csv"].shape[0]), axis=1)

    return block


if __name__ == "__main__":
    main("ours", pipeline.__version__, ways)
