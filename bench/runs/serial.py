"""What an example costs in the process of the loop, for 1 to 64 workers: this bounds what any number of cores can do.

    python bench/runs/serial.py [ROUNDS]

The functions sleep, so the processor time of this process is that of claims, chunks, hand-over and batches; of threads
also that of their sleep. With the GIL nothing of it runs twice at a time: its inverse is the most examples in a
second. Minima of rounds, which depend less than others on what else the machine does.
"""

import itertools
import sys
import time

import numpy as np

import pipeline

BATCH = 64
SECONDS = 0.4


def number(item):
    time.sleep(0.001)
    return np.float32(item)


def slow_number(item):
    time.sleep(0.01)
    return np.float32(item)


def image(item):
    time.sleep(0.001)
    return np.empty((224, 224, 3), np.uint8)


# Name, the function, and how long it takes.
EXAMPLES = {"f32, 1 ms": (number, 1000), "f32, 10 ms": (slow_number, 10_000), "150 KB, 1 ms": (image, 1000)}
WORKERS = {"threads": (1, 4, 16, 64), "processes": (2, 4, 8, 16)}


def cost(function, workers, rounds):
    """Return the least processor time of an example in microseconds, and the most examples in a second."""
    found = []
    with iter(pipeline.dataset(itertools.count()).map(function, workers=workers).batch(BATCH)) as iterator:
        for _ in range(4):
            next(iterator)
        for _ in range(rounds):
            count, cpu, begin = 0, time.process_time(), time.perf_counter()
            while time.perf_counter() < begin + SECONDS:
                next(iterator)
                count += BATCH
            found.append((time.process_time() - cpu, time.perf_counter() - begin, count))
    return min(cpu / count * 1e6 for cpu, _, count in found), max(count / wall for _, wall, count in found)


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    print("| workers | example | us an example | most/s | reached/s | cores it can keep busy |")
    print("| --- | --- | ---: | ---: | ---: | ---: |")
    for kind, numbers in WORKERS.items():
        for name, (function, takes) in EXAMPLES.items():
            for count in numbers:
                each, reached = cost(function, getattr(pipeline, kind)(count), rounds)
                row = (f"{kind}({count})", name, f"{each:.0f}", f"{1e6 / each:,.0f}", f"{reached:,.0f}")
                print("| " + " | ".join([*row, f"{takes / each:,.0f}"]) + " |", flush=True)


if __name__ == "__main__":
    main()
