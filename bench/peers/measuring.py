"""What the peers' scripts share: the command line, the check of a batch, and the clock.

    python peer_NAME.py DIRECTORY SECONDS WORK...

prints one JSON line for each way in which the peer can do each workload: rows per second, or why it failed. With the
word "first" instead of a number of seconds it gives those that passed until the first batch, of seven loops.
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
    """Measure every workload that the command line names.

    Args:
        peer: Name of the peer.
        version: Its version.
        ways: Takes a directory and the name of a workload. Returns a dict from the name of each way to a function that
            returns an endless iterator over batches; an empty dict means that the peer cannot do it.
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
    """Return the rows per second of an iterator over batches, and the processor time of a row in seconds."""
    check(directory, work, next(batches))  # A pool is full after the first.
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
    """Return the seconds from the call that makes an iterator over batches to its first one."""
    start = time.perf_counter()
    batches = make()
    next(batches)
    took = time.perf_counter() - start
    end(batches)
    return took


def processor_time():
    """Return the ticks of the processes of this session, which are ours where `run.py` began it.

    By process: its parent, its own ticks, and those of children that it has waited for.
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
    """Return the processor time between two calls of `processor_time`, in seconds.

    A process that ended meanwhile counts if its parent has waited for it, without what it had used before. The time of
    one that nobody waits for is lost.
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
    """Raise ValueError if a batch is not what the workload asks for, or if it has not the rows that its labels name."""
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
    """Return the values of a batch and its labels, of a pair or of a dict, which may have the columns one by one."""
    if not isinstance(batch, Mapping):
        values, labels = batch
    elif "label" in batch:
        values, labels = np.stack([np.asarray(batch[name]) for name in NAMES], axis=1), batch["label"]
    else:
        values, labels = batch["npy"], batch["cls"]
    return np.asarray(values), np.asarray(labels)


def endless(loop):
    """Iterate over a loader, or over what a function returns, again and again."""
    while True:
        yield from loop() if callable(loop) else loop


def workers(work):
    """Return the number of threads or workers of a decode workload."""
    return int(work.removeprefix("decode_"))


def lines(name):
    """Yield the lines of a file without their ends, in plain Python."""
    with Path(name).open("rb") as file:
        for line in file:
            yield line.rstrip(b"\n")


def records(name):
    """Yield the records of a TFRecord file in plain Python; checksums are not checked."""
    with Path(name).open("rb") as file:
        while header := file.read(12):
            yield file.read(int.from_bytes(header[:8], "little"))
            file.read(4)


def numbers(line):
    """Return the columns of a CSV line without quotes."""
    return np.array(line.split(b","), np.float32)


def by_pillow(name):
    """The middle of the image of a file."""
    from PIL import Image  # not every peer's environment has it

    with Image.open(name) as image:
        return cut(np.asarray(image))


def by_simplejpeg(name):
    import simplejpeg  # not every peer's environment has it

    return cut(simplejpeg.decode_jpeg(Path(name).read_bytes(), fastdct=True))


def pad(rows):
    """Return a batch of rows, padded with NumPy."""
    batch = np.zeros((len(rows), max(map(len, rows))), np.float32)
    for to, row in zip(batch, rows, strict=True):
        to[: len(row)] = row
    return batch


def split(values, splits):
    """Return the rows of various lengths as a list."""
    return [values[begin:end] for begin, end in pairwise(splits)]


def batched(examples, collate):
    """Yield batches of what an endless iterator gives, collected by hand."""
    taken = iter(examples)
    while True:
        yield collate([next(taken) for _ in range(BATCH)])
