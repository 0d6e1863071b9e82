"""Measure how long a consumer waits for a batch: `make bench-latency`.

From the enqueue of a batch's last row until its waiting consumer has the batch, compared with the standard library's
queues; and from the call that makes a loop or loader to its first batch, compared with the installed libraries from
`make bench-peers`. Writes the tables in the docs.
"""

import argparse
import gc
import json
import os
import queue
import statistics
import sys
import threading
import time
from pathlib import Path

import numpy as np
from report import ROOT, machine, machine_line, put_in_page, run_apart, table

import pipeline

BATCH, POOL, ROWS = 128, 10_000, 30_000
PEERS = Path(__file__).resolve().parents[1] / "peers"
ENVIRONMENTS = {"torch": "torch", "grain": "grain", "tfdata": "tensorflow"}
FIRST_WORKS = {"f32_784": f"shuffled among {POOL:,}, f32[784]", "padded": "padded", "decode_2": "decode, 2 workers"}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--environments", type=Path, default=ROOT / ".venv-peers")
    parser.add_argument("--batches", type=int, default=3000)
    options = parser.parse_args()
    known = machine()
    parts = [
        machine_line(known) + ".",
        table(["from the last row to the batch, us", "p50", "p99"], waits(options.batches)),
        table(["from the call to the first batch, ms", "median of 7", "least"], firsts(options.environments)),
    ]
    text = "\n\n".join(parts)
    put_in_page("latency", text)
    print(text)


# From the last row to the batch -------------------------------------------------------------------------------------


def waits(batches):
    """Yield one table row per queue kind, measured in turns."""
    row = np.ones(4, np.float32)
    kinds = {}
    for size in (1, BATCH):
        kinds[f"FIFOQueue, {size} x f32[4]"] = size, ours(size)
        kinds[f"SimpleQueue{' and np.stack' * (size > 1)}, {size} x f32[4]"] = size, theirs(queue.SimpleQueue(), size)
        kinds[f"queue.Queue{' and np.stack' * (size > 1)}, {size} x f32[4]"] = size, theirs(queue.Queue(), size)
    took = {name: [] for name in kinds}
    for _ in range(10):
        for name, (size, (put, get)) in kinds.items():
            took[name] += delays(put, get, row, size, batches // 10)
    for name, found in took.items():
        half, most = np.quantile(found, [0.5, 0.99]) * 1e6
        yield name, f"{half:.1f}", f"{most:.1f}"


def ours(size):
    rows = pipeline.FIFOQueue(4 * BATCH, "float32", shapes=[(4,)])
    return rows.enqueue, rows.dequeue if size == 1 else lambda: rows.dequeue_many(size)


def theirs(rows, size):
    return rows.put, rows.get if size == 1 else lambda: np.stack([rows.get() for _ in range(size)])


def delays(put, get, row, size, batches):
    """Return the seconds from just before each batch's last row is enqueued until the consumer has the batch.

    The consumer waits before the first row arrives, and the producer does nothing after the last one.
    """
    taken, asked, put_at, found = threading.Event(), threading.Event(), [0.0], []

    def consume():
        for _ in range(batches):
            asked.set()
            get()
            found.append(time.perf_counter() - put_at[0])
            taken.set()

    consumer = threading.Thread(target=consume)
    consumer.start()
    for _ in range(batches):
        asked.wait()
        asked.clear()
        time.sleep(0.0002)  # so that the consumer sleeps in the queue
        for _ in range(size - 1):
            put(row)
        put_at[0] = time.perf_counter()
        put(row)
        taken.wait()
        taken.clear()
    consumer.join()
    return found


# From the call to the first batch -----------------------------------------------------------------------------------


def firsts(environments):
    """Yield one table row per function of ours, then per way for each installed peer."""
    data = np.random.default_rng(1).random((ROWS, 784), np.float32)
    for name, make in functions(data).items():
        yield name, *shown([first(make) for _ in range(8)][1:])
    for peer, environment in ENVIRONMENTS.items():
        python = environments / environment / "bin/python"
        if not python.exists():
            print(f"{peer}: left out, as {environments / environment} is not there", file=sys.stderr)
            continue
        for found in by_peer(python, f"peer_{peer}.py"):
            name = f"{found['peer']}: {found['way']}" if found["peer"] != found["way"] else found["peer"]
            yield f"{name}, {FIRST_WORKS[found['work']]}", *shown(found["first"])


def shown(seconds):
    return f"{statistics.median(seconds) * 1e3:.2f}", f"{min(seconds) * 1e3:.2f}"


def first(make):
    """Return the seconds until the first batch."""
    gc.collect()
    began = time.perf_counter()
    with make() as batches:
        next(batches)
        return time.perf_counter() - began


def functions(data):
    def rows():
        return pipeline.slice_input_producer([data])

    pool = {"capacity": POOL + 3 * BATCH, "min_after_dequeue": POOL}
    made = {
        "batch": lambda: pipeline.batch(rows(), BATCH),
        "batch_join": lambda: pipeline.batch_join([rows(), rows()], BATCH),
        f"shuffle_batch, {POOL:,}": lambda: pipeline.shuffle_batch(rows(), BATCH, **pool),
        f"shuffle_batch_join, {POOL:,}": lambda: pipeline.shuffle_batch_join([rows(), rows()], BATCH, **pool),
    }
    named = {f"{name} of f32[784]": make for name, make in made.items()}
    parts = np.split(data[:200].reshape(-1), np.arange(50, 150_000, 50)) * 4
    named["bucket_by_sequence_length of rows of 50"] = lambda: pipeline.bucket_by_sequence_length(
        len, iter(parts), BATCH, [20, 80]
    )
    return named


def by_peer(python, script):
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONWARNINGS": "ignore"}
    command = [str(python), str(PEERS / script), str(ROOT / "build/bench-peers"), "first", *FIRST_WORKS]
    done = run_apart(command, environment, timeout=600)
    if done.returncode:
        print(done.stderr[-2000:], file=sys.stderr)
    found = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return [each for each in found if "first" in each]


if __name__ == "__main__":
    main()
