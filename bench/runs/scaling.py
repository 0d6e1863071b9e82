"""Measure the cost per element against capacity, waiting threads and queue count: `make bench-scaling`.

None of the three should matter. If a buffer does not fit in the caches, a random row costs a cache miss, so NumPy's
gather from an equally large array is measured too. Writes bench/results/scaling.json, and the table and plot in the
docs.
"""

import json
import queue
import statistics
import threading
import time
from itertools import cycle

import numpy as np
from report import IMAGES, RESULTS, machine, machine_line, put_in_page, table

from pipeline import FIFOQueue, RandomShuffleQueue, errors

BATCH = 128
REPEATS = 7  # The median counts.
SECONDS = 0.05  # per measurement
CAPACITIES = [10**n for n in range(3, 8)]
THREADS = [1, 2, 4, 8, 16, 32, 64]
QUEUES = [1, 10, 100, 1000]


def main():
    known = machine()
    result = {
        "capacity": {str(n): capacity(n) for n in CAPACITIES},
        "threads": {str(n): threads(n) for n in THREADS},
        "queues": {str(n): {"scalar, in and out": many(n)} for n in QUEUES},
    }
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "scaling.json").write_text(
        json.dumps({"machine": known, "ns_per_element": result}, indent=1) + "\n", encoding="utf-8"
    )
    text = "\n\n".join([machine_line(known) + ". Nanoseconds per element.", *tables(result)])
    put_in_page("scaling", text)
    draw(result)
    print(text)


def timed(work, count):
    """Return the nanoseconds per element, for a call of `work` that handles `count` elements."""
    work()
    took = []
    for _ in range(REPEATS):
        calls, start = 0, time.perf_counter()
        while (now := time.perf_counter()) < start + SECONDS:
            work()
            calls += 1
        took.append((now - start) / calls / count * 1e9)
    return round(statistics.median(took), 2)


def capacity(size):
    """Yield queues that are three quarters full."""
    random = np.random.default_rng(1)
    data = random.random((size * 3 // 4, 4), np.float32)
    block = data[:BATCH].copy()
    fifo = FIFOQueue(size, "float32", shapes=[(4,)])
    shuffled = RandomShuffleQueue(size, 0, "float32", shapes=[(4,)], seed=1)
    scalars = FIFOQueue(size, "float32", shapes=[()])
    scalars.enqueue_many(data[:, 0])
    results = {}
    for name, one in (("FIFO f32[4], blocks", fifo), ("shuffle f32[4], blocks", shuffled)):
        one.enqueue_many(data)
        results[name] = timed(lambda one=one: (one.enqueue_many(block), one.dequeue_many(BATCH)), BATCH)
    turns = cycle(random.integers(0, len(data), (20_000, BATCH)))
    results["NumPy's gather of such blocks"] = timed(lambda: data.take(next(turns), axis=0), BATCH)
    results["FIFO scalar, one by one"] = timed(pairs([(scalars.enqueue, scalars.dequeue)] * 1000), 1000)
    return results


def pairs(calls):
    """Enqueue and dequeue one scalar in each queue in turn, by its two methods."""

    def work():
        for put, get in calls:
            put(1.0)
            get()

    return work


def threads(count):
    """Time a queue while `count` threads wait: at another queue; and for room in the measured queue."""
    ours = FIFOQueue(BATCH, "float32", shapes=[(4,)])
    blocks = FIFOQueue(4 * BATCH, "float32", shapes=[(4,)])
    theirs = queue.Queue(BATCH)
    row, rows, ended = np.ones(4, np.float32), np.ones((BATCH, 4), np.float32), threading.Event()

    def put(one):
        if ended.is_set():
            raise errors.CancelledError(None, None, "the end")
        theirs.put(one)

    def stop():
        ended.set()
        while any(thread.is_alive() for thread in threading.enumerate() if thread.name == "waiting"):
            while not theirs.empty():
                theirs.get()
            time.sleep(0.001)

    return {
        "blocks, threads wait at another queue": elsewhere(count, rows),
        "blocks, from waiting threads": served(
            count, lambda: blocks.enqueue_many(rows), lambda: blocks.dequeue_many(BATCH), lambda: blocks.close(True)
        ),
        "single rows, from waiting threads": served(
            count, lambda: ours.enqueue(row), lambda: ours.dequeue_many(BATCH), lambda: ours.close(True)
        ),
        "the same, queue.Queue": served(
            count, lambda: put(row), lambda: np.stack([theirs.get() for _ in range(BATCH)]), stop
        ),
    }


def elsewhere(count, rows):
    empty, used = FIFOQueue(1, "float32", shapes=[()]), FIFOQueue(4 * BATCH, "float32", shapes=[(4,)])
    return served(
        count, empty.dequeue, lambda: (used.enqueue_many(rows), used.dequeue_many(BATCH)), lambda: empty.close(True)
    )


def served(count, wait, work, stop):
    """Return the nanoseconds per element in `work` while `count` threads call `wait` again and again."""

    def call():
        try:
            while True:
                wait()
        except (errors.CancelledError, errors.OutOfRangeError):
            pass

    waiting = [threading.Thread(target=call, name="waiting") for _ in range(count)]
    for thread in waiting:
        thread.start()
    took = timed(work, BATCH)
    stop()
    for thread in waiting:
        thread.join()
    return took


def many(count):
    """Time enqueueing and dequeueing one scalar in each of `count` queues in turn."""
    queues = [FIFOQueue(100, "float32", shapes=[()]) for _ in range(count)]
    calls = [(one.enqueue, one.dequeue) for one in queues] * max(1, 1000 // count)
    return timed(pairs(calls), len(calls))


TITLES = {"capacity": "capacity", "threads": "waiting threads", "queues": "queues in turn"}


def tables(result):
    for what, rows in result.items():
        names = list(next(iter(rows.values())))
        yield table([TITLES[what], *names], [[f"{int(n):,}", *row.values()] for n, row in rows.items()])


def draw(result):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 3, figsize=(14, 4))
    for axis, (what, rows) in zip(axes, result.items(), strict=True):
        numbers = [int(n) for n in rows]
        for name in next(iter(rows.values())):
            style = "--" if "NumPy" in name else "-"
            axis.plot(numbers, [row[name] for row in rows.values()], style, marker="o", label=name)
        axis.set_xscale("log")
        axis.set_yscale("log")
        axis.set_ylim(1, 10_000)
        axis.set_xlabel(TITLES[what])
        axis.set_ylabel("ns per element")
        axis.legend(fontsize=8)
        axis.grid(alpha=0.3)
    IMAGES.mkdir(exist_ok=True)
    figure.tight_layout()
    figure.savefig(IMAGES / "scaling.png", dpi=80)


if __name__ == "__main__":
    main()
