"""Measure what a driver pays for receiving data from cluster workers: `make bench-cluster`.

The constants for cluster_growth.py, on a two-node cluster on this machine: bench/results/cluster_costs.json.
"""

import json
import resource
import statistics
import time

import numpy as np
from ray_nodes import clusters
from report import RESULTS, machine

import pipeline
from pipeline.stages import crew

ROWS = 128  # per chunk
SMALL, LARGE = ROWS * 4 * 784, ROWS * 150_528  # bytes per chunk, for f32[784] and for images
TASKS = 1000
PARTS = 64  # read at once
AT_ONCE = 8  # large blocks in transit
TURNS = 5


def main():
    known = machine()
    with clusters(2, 2):
        import ray  # only installed for this bench

        costs = {
            **driver(),
            **crossings(ray),
            "tasks_s": tasks(ray),
            "block_s": block(),
        }
    RESULTS.mkdir(exist_ok=True)
    text = json.dumps(
        {"machine": known, "costs": {name: float(f"{each:.3g}") for name, each in costs.items()}}, indent=1
    )
    (RESULTS / "cluster_costs.json").write_text(text + "\n", encoding="utf-8")
    print(text)


def small(i):
    return np.full(784, i, np.float32)


def large(i):
    return np.full((224, 224, 3), i % 256, np.uint8)


def driver():
    """Return what a program pays per chunk and per byte, from the task to the batch: CPU time over all its threads.

    The difference between a longer and a shorter loop over batches, with the minimum of several runs for each. Such
    cheap rows come in chunks with the maximum row count, so that maximum is set to the measured size.
    """
    crew._MOST = ROWS
    workers = pipeline.cluster.workers(4)

    def spent(function, chunks):
        before = resource.getrusage(resource.RUSAGE_SELF)
        for _ in pipeline.dataset(range(ROWS * chunks)).map(function, workers=workers).batch(ROWS).prefetch(2):
            pass
        after = resource.getrusage(resource.RUSAGE_SELF)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    def chunk(function, chunks):
        spent(function, 10)
        short, long = (min(spent(function, count) for _ in range(TURNS)) for count in (chunks, 3 * chunks))
        return (long - short) / (2 * chunks)

    few, many = chunk(small, 80), chunk(large, 20)
    byte = (many - few) / (LARGE - SMALL)
    return {"driver_s": few - SMALL * byte, "bytes_s": 1 / byte}


def crossings(ray):
    """Return the cost of a block from another node: seconds in addition to a local one, and bytes per second for
    several."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy as On  # as above

    here = ray.get_runtime_context().get_node_id()
    there = next(node["NodeID"] for node in ray.nodes() if node["NodeID"] != here)
    made = ray.remote(num_cpus=1)(lambda size: np.zeros(size, np.uint8))

    def got(node, size, count):
        """Return the seconds from when all are ready remotely until they are here."""
        strategy = On(node_id=node, soft=False)
        found = [made.options(scheduling_strategy=strategy).remote(size) for _ in range(count)]
        ray.wait(found, num_returns=count, fetch_local=False)
        begin = time.perf_counter()
        ray.get(found)
        return time.perf_counter() - begin

    times = {node: [got(node, SMALL, 1) for _ in range(5 * TURNS)] for node in (here, there)}
    most = max(AT_ONCE * LARGE / got(there, LARGE, AT_ONCE) for _ in range(TURNS))
    return {
        "latency_s": statistics.median(times[there]) - statistics.median(times[here]),
        "transfer_bytes_s": most,
    }


def blocks(part):
    for _ in range(60):
        yield np.zeros((1024, 16), np.float32)


def block():
    """Return the cost of a block from `cluster.read`, while others are read, with as many parts as workers."""
    source = pipeline.cluster.read(blocks, range(200), workers=pipeline.cluster.workers(PARTS), enqueue_many=True)
    found = []
    with iter(source.batch(1024)) as loop:
        for _ in range(2 * TURNS):
            before = time.process_time()
            for _ in range(60):
                next(loop)
            found.append((time.process_time() - before) / 60)
    return min(found)


def tasks(ray):
    """Return the number of empty tasks per second; the best of several runs."""
    nothing = ray.remote(num_cpus=1)(lambda: None)
    rates = []
    for _ in range(TURNS):
        begin = time.perf_counter()
        ray.get([nothing.remote() for _ in range(TASKS)])
        rates.append(TASKS / (time.perf_counter() - begin))
    return max(rates)


if __name__ == "__main__":
    main()
