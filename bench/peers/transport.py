"""Measure arrays of 32 MiB sent from a worker process to its parent: `make bench-transport`.

    python bench/peers/transport.py [--environments FOLDER] [--rounds N]     all, in alternating rounds
    python bench/peers/transport.py --one WAY                                 only one, in this Python's environment

As in SPDL's `benchmark_arena_transport.py`, one process sends the same array 16 times per pass, and the parent drops
each. PyTorch sends a new tensor each time, because it moves a tensor into shared memory once and for all. CPU time
is that of all processes, and that of the fastest pass counts.
"""

import argparse
import functools
import json
import multiprocessing
import os
import time
from pathlib import Path

import numpy as np
from measuring import processor_time, seconds_between
from start_workers import apart

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
MIB, ARRAYS, PASSES = 32, 16, 10


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--environments", type=Path, default=ROOT / ".venv-peers")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--one", choices=list(WAYS))
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(WAYS[options.one])))
        return
    found = {}
    for _ in range(options.rounds):
        for way in WAYS:
            found.setdefault(way, []).append(apart(__file__, way, options.environments))
    print("| way | MB/s | CPU ms per array |\n|---|---:|---:|")
    for way, results in found.items():
        failed = [each for each in results if isinstance(each, str)]
        cells = failed[:1]
        if not failed:
            seconds, processor = (min(column) for column in zip(*results, strict=True))
            cells = [f"{MIB * 2**20 / 1e6 / seconds:,.0f}", f"{1e3 * processor:.1f}"]
        print(f"| {way} | " + " | ".join(cells) + " |")


def measure(start):
    """Return the least seconds and CPU seconds per array, over all passes but the first."""
    a_pass, times = start(), []
    for _ in range(PASSES + 1):
        began, processor, count = time.perf_counter(), processor_time(), 0
        for array in a_pass():
            count += len(array) == MIB * 2**18
        if count != ARRAYS:
            raise ValueError(f"{count} arrays")
        times.append((time.perf_counter() - began, seconds_between(processor, processor_time())))
    return [min(each) / ARRAYS for each in zip(*times[1:], strict=True)]


ARRAY = np.zeros(MIB * 2**18, np.float32)


def array_of(index):
    return ARRAY


def ours():
    import pipeline  # the peers' environments lack it

    data = pipeline.dataset(range(ARRAYS)).map(array_of, workers=pipeline.processes(1))
    return lambda: data


def of_pool():
    pool = multiprocessing.get_context("spawn").Pool(1)
    return lambda: pool.imap(array_of, range(ARRAYS))


def tensor_of(index):
    import torch

    return torch.zeros(MIB * 2**18, dtype=torch.float32)


class Tensors:
    def __len__(self):
        return ARRAYS

    __getitem__ = staticmethod(tensor_of)


def of_torch():
    from torch.utils.data import DataLoader

    loader = DataLoader(Tensors(), None, num_workers=1, multiprocessing_context="spawn", persistent_workers=True)
    return lambda: loader


class Arrays:
    def __iter__(self):
        return (array_of(index) for index in range(ARRAYS))


def of_spdl(arena):
    from spdl import pipeline

    unit, slots = MIB << 21, ARRAYS + 2
    shared = None
    if arena == "pool":
        shared = pipeline.SharedMemorySegmentPool(segment_size=unit, count=slots)
    elif arena == "ring":
        shared = pipeline.SharedMemoryRingBuffer(capacity=unit * slots)
    config = pipeline.PipelineBuilder().add_source(Arrays()).add_sink(buffer_size=3).get_config()
    source = pipeline.run_pipeline_in_subprocess(config, num_threads=1, arena=shared, buffer_size=3)
    return lambda: source


WAYS = {
    "ours": ours,
    "spdl, segment pool": functools.partial(of_spdl, "pool"),
    "spdl, ring": functools.partial(of_spdl, "ring"),
    "spdl": functools.partial(of_spdl, None),
    "torch, persistent": of_torch,
    "multiprocessing.Pool": of_pool,
}

if __name__ == "__main__":
    main()
    os._exit(0)  # SPDL's processes would otherwise be waited for
