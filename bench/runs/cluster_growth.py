"""Compute how many cluster workers one driver can serve: arithmetic, and a simulation.

    python bench/runs/cluster_growth.py

A driver's constants are those measured by cluster_costs.py; a network card is assumed to deliver its nominal rate. A
chunk is made by a worker, waits for its turn on the way to the driver, and then for the driver, which takes one at a
time. A worker begins the next one as soon as fewer than `IN_FLIGHT` chunks per worker are in transit. Writes the tables
in docs/cluster.md.
"""

import heapq
import json

from cluster_costs import AT_ONCE
from report import RESULTS, machine_line, number, put_in_page, table

IN_FLIGHT = 4
CARDS = {"10 Gbit/s": 1.25e9, "100 Gbit/s": 1.25e10}  # bytes/s

WORK = {  # bytes and seconds per row, and rows per chunk
    "f32[784], 0.1 ms, 128 a chunk": (3136, 1e-4, 128),
    "f32[784], 0.1 ms, 1,024 a chunk": (3136, 1e-4, 1024),
    "150 KB, 5 ms, 128 a chunk": (150_528, 5e-3, 128),
}
WORKERS = (1, 10, 40, 100, 400, 1000)


def rows_per_second(costs, work, workers, network):
    """Return the rate at which a driver receives rows from this many workers."""
    size, seconds, count = work
    chunks = max(4000, 8 * workers)
    free = [0.0] * workers  # time at which each worker is free
    card = driver = 0.0  # the same for the network card and the driver
    taken = []  # times at which the driver had taken each chunk
    for each in range(chunks):
        room = taken[each - IN_FLIGHT * workers] if each >= IN_FLIGHT * workers else 0.0
        made = max(heapq.heappop(free), room) + seconds * count
        heapq.heappush(free, made)
        card = max(card, made) + size * count / network
        driver = max(driver, card + costs["latency_s"]) + in_driver(costs, work)
        taken.append(driver)
    half = chunks // 2
    return (chunks - half) * count / (taken[-1] - taken[half - 1])


def in_driver(costs, work):
    """Return the driver's seconds per chunk."""
    size, _, count = work
    return costs["driver_s"] + size * count / costs["bytes_s"]


def constants(costs):
    """Yield each constant's meaning, and its source."""
    chunk, crossing = (f"{costs[name] * 1e3:.2g} ms" for name in ("driver_s", "latency_s"))
    byte, transfer = (f"{costs[name] / 1e9:.2g} GB/s" for name in ("bytes_s", "transfer_bytes_s"))
    yield "processor time of the driver for a chunk, in all its threads", chunk, "measured"
    yield "its time for the bytes, from the object store to the batch", byte, "measured"
    yield "a chunk from another node, longer than one of this node", crossing, "measured"
    yield "the network card", "1.25 or 12.5 GB/s", "assumed"
    yield f"between two nodes of this machine, {AT_ONCE} large chunks at once", transfer, "measured, not used"
    yield "tasks that do nothing", f"{number(costs['tasks_s'])}/s", "measured, not used"


def full(costs):
    """Yield for each kind of row what a worker makes, and how many workers saturate a card and the driver."""
    for name, work in WORK.items():
        size, seconds, count = work
        cards = [f"{card / (size / seconds):.0f}" for card in CARDS.values()]
        yield name, f"{number(size / seconds)}B/s", *cards, f"{seconds * count / in_driver(costs, work):.0f}"


def simulated(costs):
    for name, work in WORK.items():
        for card, network in CARDS.items():
            found = [(workers, rows_per_second(costs, work, workers, network)) for workers in WORKERS]
            yield name, card, *(f"{number(rate)}, {rate * work[1] / workers:.0%}" for workers, rate in found)


def main():
    known = json.loads((RESULTS / "cluster_costs.json").read_text())
    costs = known["costs"]
    parts = [
        f"Measured on one machine: {machine_line(known['machine'])}.",
        table(["what", "costs", ""], constants(costs)),
        "How many workers fill what:",
        table(["rows, and what they take", "a worker makes", *CARDS, "the driver"], full(costs)),
        "Simulated: rows a second, and the share of what the workers could make:",
        table(["workers:", "card", *(f"{each:,}" for each in WORKERS)], simulated(costs)),
    ]
    text = "\n\n".join(parts)
    put_in_page("cluster growth", text)
    print(text)


if __name__ == "__main__":
    main()
