"""Plain Python and NumPy: a loop without a library."""

import csv
import io
import queue
import random
import tarfile
import threading
from itertools import cycle
from pathlib import Path

import numpy as np
from measuring import batched, by_pillow, by_simplejpeg, endless, lines, main, pad, records, split, workers
from workloads import BATCH, DECODED, WORKS, Line, TokenRow, decode, jpegs, padded_rows, path, paths, rows


def ways(directory, work):
    if WORKS[work].pool:
        data = rows(directory, work)
        return {
            "gather of a permutation": lambda: gather(data),
            "gather of a permutation into one array": lambda: gather_into(data),
            "pool of rows, np.array": lambda: batched(pooled(data, WORKS[work].pool), np.array),
        }
    if work == "padded":
        parts = split(*padded_rows(directory))
        return {"loop": lambda: batched(cycle(parts), pad)}
    if work.startswith("decode"):
        number = workers(work)
        loop = {"loop, np.array": lambda: batched(map(decode, cycle(range(DECODED))), np.array)} if number == 1 else {}
        return loop | {"threads, a whole batch each": lambda: by_threads(number)}
    if work == "csv":
        return {"csv, np.array": lambda: batched(endless(lambda: table(path(directory, work))), to_array)}
    if work == "jpeg":
        ways = {"Pillow, np.array": by_pillow, "simplejpeg, np.array": by_simplejpeg}
        return {way: lambda read=read: batched(images(directory, read), columns) for way, read in ways.items()}
    if work == "tar":
        return {"tarfile, np.array": lambda: batched(endless(lambda: samples(paths(directory, work))), columns)}
    if work in ("indexed", "tokens"):
        data, collate = (
            (Line(path(directory, work)), list) if work == "indexed" else (TokenRow(path(directory, work)), np.stack)
        )
        return {"loop over a permutation": lambda: batched(by_number(data), collate)}
    if work in ("lines", "tfrecord"):
        read = {"lines": lines, "tfrecord": records}[work]
        return {"loop": lambda: batched(endless(lambda: read(path(directory, work))), list)}
    return {}


def by_number(data):
    """Yield all items by index in another order per epoch."""
    generator = np.random.default_rng(1)
    while True:
        yield from map(data.__getitem__, generator.permutation(len(data)).tolist())


def gather(data):
    """Permute all rows in each epoch; a batch is one NumPy call."""
    generator = np.random.default_rng(1)
    while True:
        order = generator.permutation(len(data))
        for begin in range(0, len(order) - BATCH + 1, BATCH):
            yield data.take(order[begin : begin + BATCH], axis=0)


def gather_into(data):
    """Gather without new memory, and without the index check, for which np.take makes a second copy."""
    generator = np.random.default_rng(1)
    out = np.empty((BATCH, *data.shape[1:]), data.dtype)
    while True:
        order = generator.permutation(len(data))
        for begin in range(0, len(order) - BATCH + 1, BATCH):
            yield np.take(data, order[begin : begin + BATCH], axis=0, mode="clip", out=out)


def pooled(data, size):
    """Draw rows singly from a shuffle buffer."""
    pool = [row.copy() for row in data[:size]]
    for row in endless(data):
        k = int(random.random() * size)
        out, pool[k] = pool[k], row.copy()
        yield out


def images(directory, read):
    """Yield the images and their classes, in another order per epoch."""
    files = list(zip(*jpegs(directory), strict=True))
    while True:
        random.shuffle(files)
        yield from ((read(name), label) for name, label in files)


def by_threads(number):
    """Yield batches made by threads, each making a whole batch at a time, so that they share next to nothing."""
    batches, over = queue.Queue(8), threading.Event()

    def fill(first):
        numbers = cycle(range(first, DECODED))
        while not over.is_set():
            batches.put(np.array([decode(next(numbers)) for _ in range(BATCH)]))

    threads = [threading.Thread(target=fill, args=(i,), daemon=True) for i in range(number)]
    for thread in threads:
        thread.start()
    try:
        while True:
            yield batches.get()
    finally:
        over.set()
        while any(thread.is_alive() for thread in threads):  # which may wait for room
            batches.get(timeout=0.1) if batches.qsize() else threads[0].join(0.01)


def samples(names):
    """Yield pairs of consecutive files in tar shards."""
    for name in names:
        with tarfile.open(name) as archive:
            values = None
            for member in archive:
                data = archive.extractfile(member)
                if member.name.endswith(".npy"):
                    values = np.load(io.BytesIO(data.read()))
                else:
                    yield values, int(data.read())


def columns(pairs):
    values, labels = zip(*pairs, strict=True)
    return np.array(values), np.array(labels)


def table(name):
    with Path(name).open(newline="") as file:
        yield from csv.reader(file)


def to_array(block):
    return np.array(block, np.float32)


if __name__ == "__main__":
    main("python", np.__version__, ways)
