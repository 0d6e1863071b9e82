"""Shared code for the peer scripts: the command line, the batch check, and the clock.

    python peer_NAME.py DIRECTORY SECONDS WORK...

It prints one JSON line per way and workload: rows per second, or the reason for a failure. Given the word "first"
instead of a number of seconds, it prints the seconds until the first batch, for seven loops.
"""

import json
import os
import platform
import sys
import time
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

import numpy as np
from workloads import BATCH, CLASSES, NAMES, WORKS, cut, rows

WARM_UP = 8  # batches, and at least
WARM_SECONDS = 0.25


def main(peer, version, ways):
    """Measure every workload named on the command line.

    Args:
        peer: The peer's name.
        version: Its version.
        ways: Takes a directory and a workload name. Returns a dict from way names to functions that return an endless
            iterator over batches; an empty dict if the peer does not support the workload.
    """
    directory, seconds, *works = sys.argv[1:]
    for work in works:
        for way, make in ways(directory, work).items():
            result = {"peer": peer, "version": version, "python": platform.python_version(), "work": work, "way": way}
            try:
                if seconds == "first":
                    result["first"] = [first(make) for _ in range(8)][1:]
                else:
                    result["rate"], result["processor"] = rate(directory, work, make(), float(seconds))
            except Exception as error:
                result["error"] = f"{type(error).__name__}: {error}".splitlines()[0][:300]
            print(json.dumps(result), flush=True)


def rate(directory, work, batches, seconds):
    """Return an iterator's rows per second, and the CPU seconds per row."""
    check(directory, work, next(batches))  # the buffer is full after the first one
    count, start = 1, time.perf_counter()
    while count < WARM_UP or time.perf_counter() < start + WARM_SECONDS:
        next(batches)
        count += 1
    count, start, processor = 0, time.perf_counter(), processor_time()
    while (now := time.perf_counter()) < start + seconds or not count:
        next(batches)
        count += BATCH
    processor = seconds_between(processor, processor_time())
    end(batches)
    return count / (now - start), processor / count


def first(make):
    """Return the seconds from making an iterator over batches to its first batch."""
    start = time.perf_counter()
    batches = make()
    next(batches)
    took = time.perf_counter() - start
    end(batches)
    return took


def processor_time():
    """Return the CPU ticks of the processes in this session; all of them are ours if `run.py` began it.

    Per process: its parent, its own ticks, and those of reaped children.
    """
    found = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        if int(fields[3]) == os.getsid(0):
            own, children = sum(map(int, fields[11:13])), sum(map(int, fields[13:15]))
            found[stat.parent.name] = fields[1], own, children
    return found


def seconds_between(before, after):
    """Return the CPU time between two calls of `processor_time`, in seconds.

    A process that ended in between counts if its parent reaped it, except for its earlier use. The time of an unreaped
    process is lost.
    """
    ticks = 0
    for number, (_, own, children) in after.items():
        _, own_before, children_before = before.get(number, (None, 0, 0))
        ended = [each for key, each in before.items() if key not in after and each[0] == number]
        waited = children - children_before - sum(own + children for _, own, children in ended)
        ticks += own - own_before + max(0, waited)
    return ticks / os.sysconf("SC_CLK_TCK")


def end(batches):
    if callable(close := getattr(batches, "close", None)):
        close()


def check(directory, work, batch):
    """Raise ValueError if a batch does not match the workload, or if its rows do not match its labels."""
    work = WORKS[work]
    if work.labels:
        batch, labels = apart(batch)
        known = range(CLASSES) if work.labels == "class" else None
        if len(labels) != BATCH or labels.dtype != np.int64 or (known and not np.isin(labels, known).all()):
            raise ValueError(f"labels {labels.dtype}{list(labels.shape)}: {labels}")
        if not known and not np.array_equal(batch, rows(directory, work.labels)[labels][:, : work.shape[0]]):
            raise ValueError("rows that are not those of their labels")
    if work.shape is not None or work.dtype is not None:
        batch = np.asarray(batch)
        if batch.dtype != work.dtype or (work.shape is not None and batch.shape[1:] != work.shape):
            raise ValueError(f"a batch of {batch.dtype}{list(batch.shape)} instead of {work.dtype}{work.shape}")
    elif not isinstance(batch[0], bytes) and np.asarray(batch).dtype.itemsize != 1:
        raise ValueError(f"a batch of {type(batch[0]).__name__} instead of bytes")
    if len(batch) != BATCH:
        raise ValueError(f"a batch of {len(batch)} instead of {BATCH}")


def apart(batch):
    """Return a batch's values and labels, from a pair or from a dict, perhaps with separate columns."""
    if not isinstance(batch, Mapping):
        values, labels = batch
    elif "label" in batch:
        values, labels = np.stack([np.asarray(batch[name]) for name in NAMES], axis=1), batch["label"]
    else:
        values, labels = batch["npy"], batch["cls"]
    return np.asarray(values), np.asarray(labels)


def endless(loop):
    """Iterate over a loader, or over a function's results, again and again."""
    while True:
        yield from loop() if callable(loop) else loop


def workers(work):
    """Return the thread or worker count for a decode workload."""
    return int(work.removeprefix("decode_"))


def lines(name):
    """Yield a file's lines without their ends, in plain Python."""
    with Path(name).open("rb") as file:
        for line in file:
            yield line.rstrip(b"\n")


def records(name):
    """Yield a TFRecord file's records in plain Python; checksums are not checked."""
    with Path(name).open("rb") as file:
        while header := file.read(12):
            yield file.read(int.from_bytes(header[:8], "little"))
            file.read(4)


def numbers(line):
    """Return the columns in a CSV line without quotes."""
    return np.array(line.split(b","), np.float32)


def by_pillow(name):
    """Return the middle of an image file."""
    from PIL import Image  # some peer environments lack it

    with Image.open(name) as image:
        return cut(np.asarray(image))


def by_simplejpeg(name):
    import simplejpeg  # some peer environments lack it

    return cut(simplejpeg.decode_jpeg(Path(name).read_bytes(), fastdct=True))


def pad(rows):
    """Return a batch with rows padded by NumPy."""
    batch = np.zeros((len(rows), max(map(len, rows))), np.float32)
    for to, row in zip(batch, rows, strict=True):
        to[: len(row)] = row
    return batch


def split(values, splits):
    """Return rows with different lengths as a list."""
    return [values[begin:end] for begin, end in pairwise(splits)]


def batched(examples, collate):
    """Yield batches from an endless iterator, collected by hand."""
    taken = iter(examples)
    while True:
        yield collate([next(taken) for _ in range(BATCH)])
