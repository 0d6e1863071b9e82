"""Measure batches with rows made by workers in a Ray cluster: `make bench-cluster`.

The same rows are made in this process, by threads, by processes, by Ray on one node and on three, all on this machine,
and by Ray Data on the same clusters. All ways take turns, so that other load on the machine affects each of them.
Writes the table in docs/cluster.md.
"""

import hashlib
import json
import logging
import math
import os
import statistics
import subprocess
import sys
import time

import numpy as np
from ray_nodes import clusters
from report import machine, machine_line, number, put_in_page, table

import pipeline

TURNS = 3
SECONDS = 1.2  # per measurement, roughly
DECODE = 5e-3  # seconds per image
NODES = {"one node": 1, "three nodes": 3}
WORKERS = 2  # per node, and for the ways without Ray
DATA = os.urandom(1 << 18)


# Functions that make a row -------------------------------------------------------------------------------------------


def row(i):
    return np.full(784, i, np.float32)


def image(i):
    return np.full((224, 224, 3), i % 256, np.uint8)


def waited(i):
    """Return an image after a wait, as for remote storage."""
    time.sleep(DECODE)
    return image(i)


def computed(i):
    """Return an image after work with the GIL released, as by decoders: a fixed CPU time, however busy the machine
    is."""
    end = time.thread_time() + DECODE
    while time.thread_time() < end:
        hashlib.blake2b(DATA)
    return image(i)


# Name: function, rows per batch.
WORK = {
    "f32[784], np.full": (row, 1024),
    "150 KB, waits 5 ms": (waited, 32),
    "150 KB, computes 5 ms": (computed, 32),
}


# Ways to call them ---------------------------------------------------------------------------------------------------


def ours(workers):
    """Yield batches made by this package."""

    def batches(function, size, count):
        return iter(pipeline.dataset(range(size * count)).map(function, workers=workers).batch(size).prefetch(2))

    return batches


def ray_data(workers):
    """Yield batches made by Ray Data, in order of completion: its tasks run where processors are free.

    With `concurrency=`, separate tasks would make numbers and rows, which is slower.
    """
    import ray.data  # only installed for this bench

    logging.getLogger("ray.data").setLevel(logging.WARNING)
    ray.data.DataContext.get_current().enable_progress_bars = False

    def batches(function, size, count):
        def rows(numbers):
            return {"x": np.stack([function(int(i)) for i in numbers["id"]])}

        made = ray.data.range(size * count, override_num_blocks=count).map_batches(rows, batch_size=size)
        return (each["x"] for each in made.iter_batches(batch_size=size, prefetch_batches=workers))

    return batches


def ways(place):
    """Return what a process measures: each way's workers and batches."""
    if place not in NODES:
        return {
            "this process": (1, ours(None)),
            f"threads({WORKERS})": (WORKERS, ours(pipeline.threads(WORKERS))),
            f"processes({WORKERS})": (WORKERS, ours(pipeline.processes(WORKERS))),
        }
    count = NODES[place] * WORKERS
    return {
        f"cluster.workers({count}), {place}": (count, ours(pipeline.cluster.workers(count))),
        f"Ray Data, {count} tasks, {place}": (count, ray_data(count)),
    }


def rate(batches, function, size, count, workers):
    """Return rows per second, from when each worker may have made its first batch to the last one."""
    found = 0
    for found, batch in enumerate(batches(function, size, workers + count), 1):
        assert len(batch) == size
        if found == workers:
            begin = time.perf_counter()
    assert found == workers + count
    return size * count / (time.perf_counter() - begin)


def serve(place):
    """Serve as a place's process: for each line with a way, a work and a batch count, print the rate."""
    with clusters(NODES.get(place, 0), WORKERS):
        known = ways(place)
        print(json.dumps({name: workers for name, (workers, _) in known.items()}), flush=True)
        for line in sys.stdin:
            way, work, count = json.loads(line)
            workers, batches = known[way]
            print(rate(batches, *WORK[work], count, workers), flush=True)


# The table -----------------------------------------------------------------------------------------------------------


class Place:
    """A measuring process."""

    def __init__(self, name):
        command = [sys.executable, __file__, name]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.ways = json.loads(self._line())

    def measure(self, way, work, count):
        print(json.dumps([way, work, count]), file=self._process.stdin, flush=True)
        return float(self._line())

    def close(self):
        self._process.stdin.close()
        self._process.wait()

    def _line(self):
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"a measurement failed, with status {self._process.wait()}")
        return line


def most(work, workers):
    """Return the rows per second that this many workers could make without other work; None if unknown."""
    if WORK[work][0] is row:
        return None
    return (min(workers, os.cpu_count()) if WORK[work][0] is computed else workers) / DECODE


def lines(work, found, workers):
    """Yield the table's lines for one kind of work."""
    size = WORK[work][0](0).nbytes
    for way, rates in found.items():
        middle, limit = statistics.median(rates), most(work, workers[way])
        share = "-" if limit is None else f"{middle / limit:.0%}"
        spread = f"{number(min(rates))} to {number(max(rates))}"
        yield work, way, f"{number(middle)}/s", spread, f"{number(middle * size)}B/s", share


def main():
    known = machine()
    places = [Place(name) for name in ("here", *NODES)]
    where = {way: place for place in places for way in place.ways}
    workers = {way: place.ways[way] for way, place in where.items()}
    head = ["rows, what they take", "by", "rows, median", f"of {TURNS}", "bytes", "of what the workers could make"]
    rows = []
    for work, (_, size) in WORK.items():
        counts = {}
        for way, place in where.items():  # the first time, processes are started
            first = place.measure(way, work, 2 * workers[way])
            counts[way] = max(3 * workers[way], math.ceil(first * SECONDS / size))
        found = {way: [] for way in where}
        for _ in range(TURNS):
            for way, place in where.items():
                found[way].append(place.measure(way, work, counts[way]))
        rows += lines(work, found, workers)
    for place in places:
        place.close()
    text = f"{machine_line(known)}.\n\n{table(head, rows)}"
    put_in_page("cluster", text)
    print(text)


if __name__ == "__main__":
    serve(sys.argv[1]) if len(sys.argv) > 1 else main()
