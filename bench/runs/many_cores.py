"""Count the overhead of calling a function in 1 to 64 workers, for cores_growth.py: `make bench-cores`.

A machine with few cores cannot show how a loop scales on many, but it can count the deciding costs: CPU time per chunk
and example for the consumer and for the workers, how long their pool's lock is held, how often threads have to be
woken, and instructions, by callgrind. The functions sleep, so no thread waits for a processor. Writes
bench/results/many_cores.json.
"""

import contextlib
import hashlib
import json
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from unittest import mock

import numpy as np
from instructions import HERE, STEADY
from report import RESULTS, machine

import pipeline
from pipeline.stages import crew

WORKERS, COUNTED = (1, 4, 16, 64), (1, 64)  # the latter by callgrind, which takes long
BATCH = 64
ROUNDS, CHUNKS = 4, 200
ROWS = 512  # per long chunk
CORES, FUNCTIONS = (1, 2), (1e-5, 1e-4, 1e-3)  # available, to validate the simulation
IMAGE = (224, 224, 3)
everywhere = os.sched_getaffinity(0)


class Sleeping:
    """A function that sleeps once per chunk, long enough for the consumer to wait for it."""

    def __init__(self, workers, rows, shape=()):
        self.seconds, self.rows, self.shape = 0.0004 * workers, rows, shape

    def __call__(self, item):
        if item % self.rows == 0:
            time.sleep(self.seconds)
        return np.zeros(self.shape, np.uint8) if self.shape else np.float32(item)


class TimedLock:
    """A lock that records how long it is held."""

    def __init__(self):
        self._lock, self.held, self._since = threading.RLock(), [], 0

    def __enter__(self):
        self._lock.acquire()
        self._since = time.perf_counter_ns()

    def __exit__(self, *exc_info):
        self.held.append(time.perf_counter_ns() - self._since)
        self._lock.release()


@contextlib.contextmanager
def loop_of(kind, workers, rows, shape=(), lock=None):
    """Enter a started loop over batches with `rows` rows per chunk, and yield it and its executor."""
    with mock.patch.object(crew, "_MOST", rows), getattr(pipeline, kind)(workers) as executor:
        with mock.patch.object(type(executor), "chunk_seconds", 1e9):
            if lock is not None:
                executor._pool._lock = lock
            function = Sleeping(workers, rows, shape)
            with iter(pipeline.dataset(range(10**9)).map(function, workers=executor).batch(BATCH)) as loop:
                for _ in range(4 * workers * max(1, rows // BATCH) + 20):
                    next(loop)
                yield loop, executor


def clocks(executor):
    """Return the CPU time of this thread, of this process, and of worker processes."""
    pids = executor.numbers() if hasattr(executor, "check") else ()
    return np.array([time.thread_time(), time.process_time(), sum(time.clock_gettime((~pid << 3) | 2) for pid in pids)])


def chunk(kind, workers, rows, shape=()):
    """Return the minimum microseconds per chunk for the consumer, for this process's other threads, and for worker
    processes; and how often the consumer had to be woken."""
    batches = max(CHUNKS * rows // BATCH, 10) if not shape else 20
    found = []
    with loop_of(kind, workers, rows, shape) as (loop, executor):
        for _ in range(ROUNDS):
            slept, before = resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw, clocks(executor)
            for _ in range(batches):
                next(loop)
            here, process, others = (clocks(executor) - before) * 1e6
            slept = resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw - slept
            found.append(np.array([here, process - here, others, slept]) * rows / (batches * BATCH))
    return dict(zip(("consumer", "threads", "processes", "woken"), np.min(found, axis=0).tolist(), strict=True))


def held(workers):
    """Return how many microseconds per chunk the thread pool's lock is held."""
    lock = TimedLock()
    with loop_of("threads", workers, 1, lock=lock) as (loop, _):
        lock.held.clear()
        batches = CHUNKS // BATCH + 1
        for _ in range(batches):
            next(loop)
        times = lock.held[:]
    return statistics.median(times) * len(times) / (batches * BATCH) / 1e3


def alone(rows, shape=()):
    """Return the CPU microseconds per chunk for the function itself."""
    function, found = Sleeping(1, rows, shape), []
    for _ in range(ROUNDS):
        before = time.thread_time()
        for item in range(20 * rows):
            function(item)
        found.append((time.thread_time() - before) / 20 * 1e6)
    return min(found)


def produced(producers):
    """Return the CPU microseconds per element, and how often a thread had to be woken for one: rows from several
    threads through one queue into batches."""
    queue, row = pipeline.FIFOQueue(1024, "float32", shapes=[(4,)]), np.ones(4, np.float32)

    def produce():
        with contextlib.suppress(pipeline.errors.CancelledError):
            while True:
                queue.enqueue(row)

    threads = [threading.Thread(target=produce) for _ in range(producers)]
    for thread in threads:
        thread.start()
    found, batches = [], 400
    for _ in range(ROUNDS):
        slept, before = resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw, time.process_time()
        for _ in range(batches):
            queue.dequeue_many(BATCH)
        took = (time.process_time() - before) * 1e6
        found.append(
            (
                (took / (batches * BATCH)),
                (resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw - slept) / (batches * BATCH),
            )
        )
    queue.close(cancel_pending_enqueues=True)
    for thread in threads:
        thread.join()
    return dict(zip(("process", "woken"), np.min(found, axis=0).tolist(), strict=True))


class Hashing:
    """A function that computes for about `seconds`, without the GIL."""

    def __init__(self, seconds):
        data, spent = bytes(1 << 20), []
        for _ in range(20):
            before = time.thread_time()
            hashlib.sha256(data)
            spent.append(time.thread_time() - before)
        self._data = bytes(max(2048, int(seconds * len(data) / min(spent))))

    def __call__(self, item):
        return np.float32(hashlib.sha256(self._data).digest()[0])


def really(kind, cores, seconds):
    """Return the seconds for a function alone, and the examples per second on this many cores with as many workers:
    both in CPU time, because other programs may use the cores."""
    os.sched_setaffinity(0, sorted(everywhere)[:cores])
    function, alone, rates = Hashing(seconds), [], []
    count = max(1, int(0.05 / seconds))
    for _ in range(10):
        before = time.thread_time()
        for item in range(count):
            function(item)
        alone.append((time.thread_time() - before) / count)
    with getattr(pipeline, kind)(cores) as executor:
        with iter(pipeline.dataset(range(10**9)).map(function, workers=executor).batch(BATCH)) as loop:
            for _ in range(100):
                next(loop)
            for _ in range(ROUNDS):
                got, begin, before = 0, time.perf_counter(), clocks(executor)
                while time.perf_counter() < begin + 1:
                    next(loop)
                    got += BATCH
                rates.append(got * cores / (clocks(executor) - before)[1:].sum())
    os.sched_setaffinity(0, everywhere)
    return [min(alone), max(rates)]


def counted(workers, chunks):
    """Make this many chunks in threads, for callgrind."""
    with loop_of("threads", workers, 1) as (loop, _):
        for _ in range(chunks // BATCH):
            next(loop)


def instructions(workers):
    """Return the instructions per chunk with one example, over all threads, by callgrind."""
    few, many = 128, 640
    totals = []
    for chunks in (few, many):
        with tempfile.TemporaryDirectory() as folder:
            command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out", sys.executable, __file__]
            command += ["counted", str(workers), str(chunks)]
            done = subprocess.run(
                command,
                capture_output=True,
                text=True,
                env={**os.environ, **STEADY, "PYTHONPATH": str(HERE.parents[1])},
                check=True,
            )
            totals.append(int(re.search(r"Collected : (\d+)", done.stderr)[1]))
    return round((totals[1] - totals[0]) / (many - few))


def main():
    known = machine()
    found = {"machine": known, "alone": {"short": alone(1), "long": alone(ROWS), "images": alone(1, IMAGE)}}
    for kind in ("threads", "processes"):
        print(kind, flush=True)
        found[kind] = {
            str(n): {
                "short": chunk(kind, n, 1),
                "long": chunk(kind, n, ROWS),
                **({"images": chunk(kind, n, 1, IMAGE)} if n == 4 else {}),
                **({"held": held(n)} if kind == "threads" else {}),
                **(
                    {"instructions": instructions(n)}
                    if kind == "threads" and n in COUNTED and shutil.which("valgrind")
                    else {}
                ),
            }
            for n in WORKERS
        }
    found["really"] = [
        [kind, cores, *really(kind, cores, seconds)]
        for kind in ("threads", "processes")
        for cores in CORES
        for seconds in FUNCTIONS
    ]
    found["producers"] = {str(n): produced(n) for n in WORKERS}
    text = json.dumps(found, indent=1)
    text = re.sub(r"\d+\.\d+(e-\d+)?", lambda found: f"{float(found[0]):.4g}", text)
    (RESULTS / "many_cores.json").write_text(text + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    if sys.argv[1:2] == ["counted"]:
        counted(*map(int, sys.argv[2:]))
    else:
        main()
