"""`make soak`: runs whole pipelines with random faults, one after the other, for the given time.

Every round is files -> reader -> decoder -> shuffle queue -> batches, natively or through the drop-in. Some files are
missing, damaged or endless; threads may raise, calls time out, and consumers leave early. The round compares its output
with the files: nothing twice, nothing made up, and nothing missing if it ran to its end. Afterwards no thread and no
open file may be left. Memory must not grow: neither the C allocator's allocations, because that would be a leak, nor
resident memory. Resident memory also rises, ever more slowly, as free memory fragments.

A round is repeated by its seed: `--seed N --rounds 1`.
"""

import argparse
import collections
import gc
import os
import random
import resource
import shutil
import statistics
import sys
import tempfile
import threading
import time
import traceback

from endurance.leaks import allocated
from soak.files import make_inputs
from soak.pipelines import PIPELINES

# Permitted growth in bytes from the second to the last quarter of the time: resident memory, and the C allocator's
# allocations. NumPy keeps small blocks in every size it ever used, 3.5 MiB at most.
GROWTH = 16 << 20
LEAK = 4 << 20


class Wrong(Exception):
    """A round broke a promise."""


def run_round(seed, faults):
    """Run one pipeline; return its example count."""
    rng = random.Random(seed)
    pipeline, kind = rng.choice(PIPELINES), rng.choice(["csv", "tfrecord", "gzip"])
    epochs, threads = rng.choice([1, 1, 2, 3, 8]), rng.choice([1, 2, 4])
    ending = rng.choice(["end", "end", "end", "leave", "raise"])
    directory = tempfile.mkdtemp(prefix="soak")
    try:
        inputs = make_inputs(directory, kind, rng.randrange(1, 12), rng)
        faults.update(one.fault for one in inputs if one.fault)
        after = rng.randrange(3000) if ending != "end" else None
        found, how, timeouts = pipeline(inputs, kind, epochs, threads, ending, after, rng)
    finally:
        shutil.rmtree(directory)
    faults["timed out"] += timeouts
    faults[{"leave": "left early", "raise": "raised"}.get(how, "ran to the end")] += 1
    check(inputs, epochs, found, how, f"{pipeline.__name__}, {kind}")
    return sum(found.values())


def check(inputs, epochs, found, how, what):
    possible = {one for each in inputs for one in each.possible}
    strange = found.keys() - possible
    often = [one for one, count in found.items() if count > epochs]
    lost = []
    if how == "end":
        lost = [one for each in inputs for one in each.certain if found[one] != epochs]
    if strange or often or lost:
        parts = {"made up": sorted(strange), "too often": often, "lost": lost}
        raise Wrong(f"{what}, {how}: " + ", ".join(f"{name} {ids[:5]}" for name, ids in parts.items() if ids))


def settle(count, seconds=20):
    """Wait for a round's threads to end; raise Wrong if they do not."""
    end = time.monotonic() + seconds
    while threading.active_count() > count:
        if time.monotonic() > end:
            raise Wrong(f"threads that do not end: {threading.enumerate()}")
        threading.Event().wait(0.005)


def memory():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def open_files():
    return len(os.listdir("/proc/self/fd"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 10**9)
    parser.add_argument("--rounds", type=int, default=sys.maxsize)
    parser.add_argument("--every", type=float, default=30, help="seconds between two lines")
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    faults, elements, rounds, sizes = collections.Counter(), 0, 0, []
    start = shown = time.monotonic()
    threads, files = threading.active_count(), open_files()
    while time.monotonic() < start + 60 * options.minutes and rounds < options.rounds:
        seed = options.seed + rounds
        try:
            elements += run_round(seed, faults)
            settle(threads)
            gc.collect()
            if rounds > 5 and open_files() > files:
                raise Wrong(f"{open_files() - files} files are still open")
        except Exception:
            traceback.print_exc()
            print(f"failed in round {rounds}: repeat it with --seed {seed} --rounds 1")
            return 1
        files = open_files() if rounds <= 5 else files
        rounds += 1
        if not sizes or time.monotonic() - start >= sizes[-1][0] + 1:  # a record per round would itself take memory
            sizes.append((time.monotonic() - start, memory(), allocated()))
        if time.monotonic() - shown >= options.every or time.monotonic() >= start + 60 * options.minutes:
            shown = time.monotonic()
            counts = ", ".join(f"{count:,} {name}" for name, count in sorted(faults.items()))
            print(
                f"{shown - start:6.0f} s  {rounds:,} rounds  {elements:,} elements  {sizes[-1][1] >> 20} MiB  {counts}"
            )
            sys.stdout.flush()
    return verdict(sizes)


def verdict(sizes):
    """Compare memory in the last quarter of the time with the second one."""
    whole, status = sizes[-1][0], 0
    quarters = [[each for each in sizes if i * whole <= 4 * each[0] <= (i + 1) * whole] for i in range(4)]
    if not all(quarters):
        return 0
    for column, what, growth in (1, "taken", GROWTH), (2, "given out", LEAK):
        medians = [statistics.median(each[column] for each in quarter) for quarter in quarters]
        print(f"memory {what}, medians of the quarters: {', '.join(f'{each / 2**20:.1f}' for each in medians)} MiB")
        status |= medians[3] - medians[1] > growth
    return int(status)


if __name__ == "__main__":
    sys.exit(main())
