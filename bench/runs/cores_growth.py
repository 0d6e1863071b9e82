"""Compute how many cores a function can use in threads, processes and Ray: a simulation of one loop.

    python bench/runs/cores_growth.py [CONSTANTS]

The constants are those measured by many_cores.py and cluster_costs.py. The consumer claims chunks and delivers them in
order, one at a time, with at most two per worker in progress. A worker takes a chunk under the pool's lock and calls
the function, which takes between 0.5 and 1.5 times its mean time. With the GIL, everything except the function happens
one at a time, because the function releases the GIL or runs in another process. The network costs nothing. Writes the
table in docs/performance.md.
"""

import heapq
import json
import random
import sys
from collections import deque
from pathlib import Path

import numpy as np
from many_cores import ROWS
from report import RESULTS, put_in_page, table

from pipeline.cluster.executor import RayWorkers
from pipeline.stages import crew
from pipeline.workers.executor import seconds_of_chunk

CORES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)
FUNCTIONS = {"10 µs": 1e-5, "100 µs": 1e-4, "1 ms": 1e-3, "10 ms": 1e-2}
ENOUGH = 0.8
WAKE = 2e-5  # seconds until a woken thread runs
BLOCK = 1024  # rows per block in cluster.read
KINDS = [
    ("threads", False, "threads, without the GIL"),
    ("threads", True, "threads, with the GIL"),
    ("processes", True, "processes"),
    ("Ray", True, "`cluster.workers`"),
    ("reader", True, "`cluster.read`"),
]


class Costs:
    """Seconds per chunk: for the consumer, for the threads around it, for a worker, and under the lock."""

    def __init__(self, known, kind, workers, rows):
        def of(part, what):
            """Interpolate between the measured worker counts, and extrapolate linearly beyond them."""
            numbers = [int(each) for each in known[kind]]
            found = [each[part][what] if what else each[part] for each in known[kind].values()]
            slope = (found[-1] - found[-2]) / (numbers[-1] - numbers[-2])
            return max(0.0, np.interp(workers, numbers, found) + max(0, workers - numbers[-1]) * slope)

        def chunk(what, short=0.0, long=0.0):
            one, many = of("short", what) - short, of("long", what) - long
            return max(one + (many - one) / (ROWS - 1) * (rows - 1), 0.0) * 1e-6

        self.consumer, self.threads, self.worker, self.lock = known.get(kind), 0.0, 0.0, 0.0
        if kind in ("Ray", "reader"):
            return
        own = known["alone"]["short"], known["alone"]["long"]
        self.consumer = chunk("consumer")
        self.threads = chunk("threads", *(own if kind == "threads" else ()))
        self.worker = chunk("processes", *own) if kind == "processes" else 0.0
        self.lock = of("held", None) * 1e-6 if kind == "threads" else 0.0


class Server:
    """A resource for one user at a time."""

    def __init__(self):
        self.free = self.busy = 0.0

    def use(self, now, seconds):
        """Return when a user who arrives now has finished."""
        self.free = max(self.free, now) + seconds
        self.busy += seconds
        return self.free


def simulate(costs, kind, workers, seconds, gil):
    """Return the chunks per second, and each server's busy fraction."""
    chunks, window = max(1500, 12 * workers), 2 * workers
    rng = random.Random(1)
    servers = {"consumer": Server(), "lock": Server()}
    if gil:
        servers["GIL"] = Server()
    waiting, idle, done, events = deque(), list(range(workers)), {}, []
    claimed = delivered = 0
    asleep = False
    numbers = iter(range(10**9))

    def at(now, what, *arguments):
        heapq.heappush(events, (now, next(numbers), what, arguments))

    def work(now, seconds, own=None):
        """Run Python code in this process, in its own thread or the consumer's."""
        if own is not None:
            own.busy += seconds
        return servers["GIL"].use(now, seconds) if gil else now + seconds

    def consume(now):
        nonlocal claimed, delivered, asleep
        own = servers["consumer"]
        if claimed - delivered < window and claimed < chunks + window:
            now = servers["lock"].use(work(now, costs.consumer / 2, own), costs.lock / 2)
            waiting.append(claimed)
            claimed += 1
            if idle:
                at(now + WAKE, begin, idle.pop())
        elif done.get(delivered, now + 1) <= now:
            now = work(now, costs.consumer / 2, own)
            delivered += 1
        else:
            asleep = True
            return
        at(now, consume)

    def begin(now, worker):
        if not waiting:
            idle.append(worker)
            return
        number = waiting.popleft()
        now = servers["lock"].use(now, costs.lock / 2)
        if kind == "threads":
            now = work(now, costs.threads / 2)
        at(now + costs.worker + seconds * rng.uniform(0.5, 1.5), end, worker, number)

    def end(now, worker, number):
        at(work(now, costs.threads / 2) if kind == "threads" else now, begin, worker)
        at(work(now, costs.threads / (2 if kind == "threads" else 1)), finish, number)

    def finish(now, number):
        nonlocal asleep
        done[number] = now
        if asleep and number == delivered:
            asleep = False
            at(now + WAKE, consume)

    at(0.0, consume)
    begun = None
    while delivered < chunks:
        now, _, what, arguments = heapq.heappop(events)
        if begun is None and delivered >= chunks // 2:
            begun = now, delivered, {name: each.busy for name, each in servers.items()}
        what(now, *arguments)
    since, first, before = begun
    shares = {name: (each.busy - before[name]) / (now - since) for name, each in servers.items()}
    return (delivered - first) / (now - since), shares


def rate(known, kind, cores, seconds, gil):
    """Return the examples per second with one worker per core, the maximum that the processors allow, and the busiest
    server."""
    of_chunk = RayWorkers.chunk_seconds if kind == "Ray" else seconds_of_chunk(cores)
    rows = max(1, min(int(of_chunk / seconds), crew._MOST))
    rows = BLOCK if kind == "reader" else rows
    costs = Costs(known, kind, cores, rows)
    chunks, shares = simulate(costs, kind, cores, seconds * rows, gil)
    most = cores / (rows * seconds + costs.consumer + costs.threads + costs.worker)
    return min(chunks, most) * rows, most * rows, max(shares, key=shares.get)


def cell(known, kind, seconds, gil):
    """Return the largest core count with nearly the ideal rate, and the bottleneck beyond it."""
    last = 0
    for cores in CORES:
        found, most, busiest = rate(known, kind, cores, seconds, gil)
        if found < ENOUGH * most:
            return f"{last}, {busiest}"
        last = cores
    return f"> {last}"


def checked(known):
    """Return the simulation's largest deviation from the measurements, in percent."""
    off = [abs(rate(known, kind, cores, alone, True)[0] / found - 1) for kind, cores, alone, found in known["really"]]
    return f"{max(off):.0%}"


def main():
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else RESULTS / "many_cores.json"
    known = json.loads(path.read_text())
    ray = json.loads((RESULTS / "cluster_costs.json").read_text())["costs"]
    known |= {"Ray": ray["driver_s"], "reader": ray["block_s"]}
    rows = [[title, *(cell(known, kind, seconds, gil) for seconds in FUNCTIONS.values())] for kind, gil, title in KINDS]
    text = table(["one call takes:", *FUNCTIONS], rows)
    if "really" in known:
        off = f"For one and two cores the simulation is at most {checked(known)} off the rate measured"
        text += f"\n\n{off} per second of processor\ntime."
    print(text)
    if len(sys.argv) == 1:
        put_in_page("cores", text)


if __name__ == "__main__":
    main()
