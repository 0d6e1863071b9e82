"""Measure the first batch from worker processes whose function holds much data: `make bench-worker-start`.

    python bench/peers/start_workers.py [--environments FOLDER] [--rounds N]     all, in alternating rounds
    python bench/peers/start_workers.py --one WAY                                 only one, in this Python's environment

As in SPDL's `benchmark_ipc_dataloader.py`, the function or dataset holds 128 MiB of strings of 64 bytes, and returns
their lengths. The time is that from the iterator to its first batch, in the first epoch and in the next one; CPU time
is that of all processes.
"""

import argparse
import functools
import json
import os
import subprocess
import sys
import time
from pathlib import Path

from measuring import processor_time, seconds_between

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
MIB, WORKERS, BATCH, EXAMPLES, EPOCHS = 128, 2, 256, 4096, 3
STRINGS = (MIB << 20) // 64
ENVIRONMENT = {"torch": "torch", "spdl": "spdl"}


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
    print("| way | first batch, s | CPU s | next epoch, s | CPU s |\n|---|---:|---:|---:|---:|")
    for way, results in found.items():
        failed = [each for each in results if isinstance(each, str)]
        cells = failed[:1] or [f"{min(column):.2f}" for column in zip(*results, strict=True)]
        print(f"| {way} | " + " | ".join(cells) + " |")


def apart(program, way, environments):
    """Run one way of a program in the peer's environment; return its result, or the reason for its absence."""
    peer = ENVIRONMENT.get(way.partition(",")[0])
    python = sys.executable if peer is None else str(environments / peer / "bin/python")
    if not Path(python).exists():
        return "not installed"
    command = [python, program, "--one", way]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)} if peer is None else None
    options = {"capture_output": True, "text": True, "timeout": 600, "start_new_session": True, "check": False}
    done = subprocess.run(command, env=environment, **options)
    if done.returncode:
        return (done.stderr.strip().splitlines() or ["failed"])[-1][:60]
    return json.loads(done.stdout.splitlines()[-1])


def measure(make):
    """Return the seconds and CPU seconds to the first batch, and the least of those in the next epochs."""
    epochs, times = make(), []
    for _ in range(EPOCHS):
        began, processor = time.perf_counter(), processor_time()
        batches = epochs()
        if len(next(batches)) != BATCH:
            raise ValueError("a batch with another length")
        times.append((time.perf_counter() - began, seconds_between(processor, processor_time())))
        for _ in batches:
            pass
    return [*times[0], *(min(each) for each in zip(*times[1:], strict=True))]


class Lengths:
    """A dataset in PyTorch's form, and a function."""

    def __init__(self):
        self.data = [b"/data/imagenet/train/img_%012d.JPEG" % i + bytes(22) for i in range(STRINGS)]

    def __len__(self):
        return EXAMPLES

    def __getitem__(self, index):
        return len(self.data[index])

    def __call__(self, index):
        return self[index]


held = None  # the strings in a worker


def hold():
    global held
    held = Lengths()


def of_held(index):
    return held[index]


def ours(function=None, setup=None, **options):
    import pipeline  # the peers' environments lack it

    function = function or Lengths()
    data = None

    def epoch():
        nonlocal data
        if data is None:  # written once, and timed
            workers = pipeline.processes(WORKERS, setup=setup, **options)
            data = pipeline.dataset(range(EXAMPLES)).map(function, workers=workers).batch(BATCH)
        return iter(data)

    return epoch


def of_torch(method, persistent=False):
    from torch.utils.data import DataLoader

    dataset, loader = Lengths(), None

    def epoch():
        nonlocal loader
        if loader is None or not persistent:
            options = {"multiprocessing_context": method, "persistent_workers": persistent}
            loader = DataLoader(dataset, BATCH, num_workers=WORKERS, **options)
        return iter(loader)

    return epoch


def of_spdl(method):
    from spdl.dataloader import get_pytorch_dataloader

    loader, dataset = None, Lengths()

    def epoch():
        nonlocal loader
        if loader is None:
            loader = get_pytorch_dataloader(dataset, BATCH, num_workers=WORKERS, multiprocessing_context=method)
        return iter(loader)

    return epoch


WAYS = {
    "ours": ours,
    "ours, setup=": functools.partial(ours, of_held, hold),
    'ours, method="spawn"': functools.partial(ours, method="spawn"),
    'ours, method="fork"': functools.partial(ours, method="fork"),
    "torch, spawn": functools.partial(of_torch, "spawn"),
    "torch, forkserver": functools.partial(of_torch, "forkserver"),
    "torch, spawn, persistent": functools.partial(of_torch, "spawn", True),
    "torch, fork": functools.partial(of_torch, "fork"),
    "spdl, spawn": functools.partial(of_spdl, "spawn"),
    "spdl, forkserver": functools.partial(of_spdl, "forkserver"),
}

if __name__ == "__main__":
    main()
