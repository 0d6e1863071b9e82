"""How many workers of a cluster one driver can take from: a simulation with measured costs.

    python bench/runs/cluster_growth.py [gigabits per second of the driver's network card]

A chunk is made by a worker, waits for its turn on the way to the driver, and then for the driver, which takes one at a
time. Costs are those of docs/cluster.md. A chunk begins as soon as a worker is free and less than `IN_FLIGHT` bytes are
on their way.
"""

import heapq
import sys

DRIVER = 1.5e-3  # seconds of the driver for a chunk, without the copy
COPY = 5e9  # bytes/s into the pool
LATENCY = 9e-3  # seconds that a chunk from another machine takes, whatever its size
IN_FLIGHT = 4  # chunks for each worker

WORK = {  # bytes and seconds of an example, and examples of a chunk
    "f32[784], 0.1 ms, 128": (3136, 1e-4, 128),
    "f32[784], 0.1 ms, 1024": (3136, 1e-4, 1024),
    "150 KB, 5 ms, 128": (150_000, 5e-3, 128),
}
WORKERS = (1, 10, 40, 100, 400, 1000)


def examples_per_second(size, seconds, count, workers, network, chunks=4000):
    """What a driver gets from so many workers."""
    free = [0.0] * workers  # when each worker is free
    card = driver = 0.0  # when the network card and the driver are
    taken = []  # when the driver had taken each chunk
    for number in range(chunks):
        room = taken[number - IN_FLIGHT * workers] if number >= IN_FLIGHT * workers else 0.0
        made = max(heapq.heappop(free), room) + seconds * count
        heapq.heappush(free, made)
        card = max(card, made) + size * count / network
        driver = max(driver, card + LATENCY) + DRIVER + size * count / COPY
        taken.append(driver)
    half = chunks // 2
    return (chunks - half) * count / (taken[-1] - taken[half - 1])


def main(gigabits="10"):
    network = float(gigabits) * 1e9 / 8
    print(f"examples/s at {gigabits} Gbit/s, and of what the workers could make")
    print(f"{'workers':24}" + "".join(f"{workers:>16,}" for workers in WORKERS))
    for name, (size, seconds, count) in WORK.items():
        cells = []
        for workers in WORKERS:
            rate = examples_per_second(size, seconds, count, workers, network, max(4000, 8 * workers))
            cells.append(f"{rate:>10,.0f} {rate * seconds / workers:>5.0%}")
        print(f"{name:24}" + "".join(cells))


if __name__ == "__main__":
    main(*sys.argv[1:])
