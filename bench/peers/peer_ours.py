"""queue-runner with its native API."""

from itertools import count, cycle
from pathlib import Path

import numpy as np
from measuring import batched, endless, main, split, workers
from workloads import (
    BATCH,
    CHAINS,
    COLUMNS,
    DECODED,
    MIDDLE,
    PACKED,
    STRIDE,
    WEIGHTS,
    WINDOW,
    WORKS,
    decode,
    doubled,
    halves,
    padded_rows,
    passes,
    path,
    paths,
    rows,
    two_arrays,
)

import pipeline


def ways(directory, work):
    if pool := WORKS[work].pool:
        data = rows(directory, work)
        return {
            "shuffle_batch": lambda: shuffled(data, pool),
            "shuffle_batch with labels, all defaults": lambda: by_default(data),
            "arrays": lambda: iter(pipeline.arrays(data, shuffle=True, seed=1, num_epochs=None).batch(BATCH)),
            "queue, in one thread": lambda: by_hand(data, pool),
        }
    if work == "once":
        kept = pipeline.arrays(rows(directory, "f32_784")).map(doubled).cache(Path(directory) / "once")
        return {"cache, shuffle": lambda: iter(kept.shuffle(seed=1).repeat().batch(BATCH))}
    if work == "padded":
        parts = split(*padded_rows(directory))
        options = {"capacity": 8 * BATCH, "dynamic_pad": True}
        return {
            "batch(dynamic_pad)": lambda: pipeline.batch(cycle(parts), BATCH, **options),
            "batch(dynamic_pad), no threads": lambda: pipeline.batch(cycle(parts), BATCH, num_threads=0, **options),
            "batch(dynamic_pad) of a list, no threads": lambda: endless(
                lambda: pipeline.batch(parts, BATCH, num_threads=0, **options)
            ),
            "pad, in one thread": lambda: batched(cycle(parts), pipeline.pad),
        }
    if work.startswith("decode"):
        number = workers(work)
        alone = {"batch of a callable, no threads": lambda: decoded(0)} if number == 1 else {}
        return alone | {
            "batch of a callable": lambda: decoded(number),
            "workers=threads": lambda: by_function(pipeline.threads(number)),
            "workers=processes": lambda: by_function(pipeline.processes(number)),
        }
    if work == "jpeg":
        root = Path(directory) / "jpeg"
        return {
            "image_folder, 1 thread": lambda: images(root),
            "image_folder, 2 threads": lambda: images(root, workers=2),
            "image_folder, 2 processes": lambda: images(root, workers=pipeline.processes(2)),
        }
    if work in CHAINS:
        return chains(directory, work)
    if make := {"parquet": by_parquet, "arrow": by_arrow, "tar": by_shards}.get(work):
        return make(directory)
    return from_files(work, path(directory, work))


def chains(directory, work):
    """Return datasets with several transformations."""
    if work == "mix":
        inputs = [pipeline.arrays(data).repeat() for data in two_arrays(directory)]
        return {"mix, batch": lambda: iter(pipeline.mix(inputs, WEIGHTS, seed=1).batch(BATCH))}
    if work == "pack":
        packed = pipeline.dataset(split(*padded_rows(directory))).repeat().flat_map(halves).pack(PACKED)
        return {"flat_map, pack, batch": lambda: iter(packed.batch(BATCH).map(tokens))}
    if work == "filter":
        kept = pipeline.dataset(range(DECODED)).repeat().filter(passes)
        makers = {"threads": 2, "processes": pipeline.processes(2)}
        return {
            f"filter, map({way}), batch": lambda workers=workers: iter(kept.map(decode, workers=workers).batch(BATCH))
            for way, workers in makers.items()
        }
    data = pipeline.arrays(rows(directory, "f32_4")).repeat()
    return {"window, batch": lambda: iter(data.window(WINDOW, STRIDE).batch(BATCH))}


def tokens(row):
    return row["tokens"]


def by_parquet(directory):
    rows = pipeline.parquet(paths(directory, "parquet"), num_epochs=None).batch(BATCH)
    return {"parquet": lambda: iter(rows)}


def by_arrow(directory):
    from pyarrow import feather  # imported late, as free-threaded Pythons may have no pyarrow

    rows = pipeline.arrow(feather.read_table(path(directory, "arrow")), shuffle=True, seed=1, num_epochs=None)
    return {"arrow": lambda: iter(rows.batch(BATCH))}


def by_shards(directory):
    examples = pipeline.webdataset(paths(directory, "tar"), columns=["npy", "cls"], num_epochs=None).batch(BATCH)
    return {"webdataset": lambda: iter(examples)}


def from_files(work, name):
    """Return lines, records and CSV: by a reader, with a thread and without, and CSV by its source too; and token
    rows."""
    if work == "indexed":
        lines = pipeline.text(name, index=True, index_folder=Path(name).parent / "index")
        return {"text(index=True)": lambda: iter(lines.shuffle(seed=1).repeat().batch(BATCH))}
    if work == "tokens":
        rows = pipeline.tokens(name, PACKED, dtype="uint16")
        return {"tokens": lambda: iter(rows.shuffle(seed=1).repeat().batch(BATCH))}
    make = {"lines": values, "csv": table, "tfrecord": values}[work]
    reader = pipeline.TFRecordReader if work == "tfrecord" else pipeline.TextLineReader
    options = {"capacity": 4096, "enqueue_many": True}

    def read(num_threads):
        files = pipeline.string_input_producer([name], shuffle=False)
        return pipeline.batch(make(reader(), files), BATCH, num_threads=num_threads, **options)

    made = {reader.__name__: lambda: read(1), f"{reader.__name__}, no threads": lambda: read(0)}
    if work == "csv":
        names = [f"{i}" for i in range(COLUMNS)]
        rows = pipeline.csv(name, dtypes=dict.fromkeys(names, "float32"), names=names, num_epochs=None)
        made["csv"] = lambda: iter(rows.batch(BATCH).map(stacked))
    return made


def shuffled(data, pool):
    source = pipeline.slice_input_producer([data], shuffle=False)
    return pipeline.shuffle_batch(source, BATCH, pool + 3 * BATCH, pool)


def by_default(data):
    """Return rows and their indices in a new order per epoch, drawn from a buffer with 1,000."""
    source = pipeline.slice_input_producer([data, np.arange(len(data))])
    return (rows for rows, _ in pipeline.shuffle_batch(source, BATCH))


def by_hand(data, pool):
    """Enqueue a block and dequeue a batch, in the consumer's thread."""
    data = pipeline.freeze(data)  # large rows need not be copied in
    queue = pipeline.RandomShuffleQueue(pool + BATCH, 0, data.dtype, shapes=[data.shape[1:]], seed=1)
    queue.enqueue_many(data[:pool])
    for begin in cycle(range(0, len(data) - BATCH + 1, BATCH)):
        queue.enqueue_many(data[begin : begin + BATCH])
        yield queue.dequeue_many(BATCH)


def decoded(threads):
    """Decode numbers with a callable, in this many threads."""
    numbers = count()  # without the GIL, threads must not share a cycle
    return pipeline.batch(lambda: decode(next(numbers) % DECODED), BATCH, num_threads=threads, capacity=8 * BATCH)


def by_function(workers):
    """Decode numbers with a function and its workers."""
    return iter(pipeline.dataset(range(DECODED)).repeat().map(decode, workers=workers).batch(BATCH))


def images(root, **options):
    """Read, decode and cut images; the options are passed to `map`."""
    encoded = pipeline.image_folder(root, None, shuffle=True, seed=1, num_epochs=None)
    return iter(encoded.map(image, **options).batch(BATCH).prefetch(2))


def image(example):
    data, label = example
    return pipeline.decode_jpeg(data, crop=MIDDLE), label


def stacked(columns):
    return np.stack(list(columns.values()), axis=1)


def values(reader, files):
    return lambda: [reader.read_up_to(files, 1024).values]


def table(reader, files):
    def block():
        lines = reader.read_up_to(files, 1024).values
        return np.stack(pipeline.decode_csv(lines, [np.float32] * COLUMNS), axis=1)

    return block


if __name__ == "__main__":
    main("ours", pipeline.__version__, ways)
