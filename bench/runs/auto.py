"""Compare workers="auto" with hand-tuned workers, on twenty pipelines: `make bench-auto`.

Each pipeline runs without workers, as "auto" begins; with each choice in HANDS, where the fastest counts; and with
"auto", which gets a given number of seconds to choose. Then the three take turns, and each one's median counts: many
threads deliver in bursts, and the best turn contains the most bursts.
"""

import argparse
import contextlib
import functools
import hashlib
import itertools
import json
import logging
import statistics
import sys
import threading
import time
import zlib

import numpy as np

import pipeline

BATCH = 8
TURNS, TURN = 3, 2.4  # seconds; the first half is not measured, to use up what 32 threads made ahead
LARGE = bytes(1 << 20)
PACKED = zlib.compress(np.arange(1 << 15, dtype=np.float32).tobytes(), 1)
NUMBERS = np.random.default_rng(0).random(1 << 15, dtype=np.float32)
GATE, FEW = threading.Lock(), threading.Semaphore(6)
HANDS = {
    "None": lambda: None,
    **{f"pipeline.threads({number})": functools.partial(pipeline.threads, number) for number in (2, 4, 8, 16, 32)},
    "pipeline.processes(2)": functools.partial(pipeline.processes, 2),
}


def same(number):
    return np.float32(number)


def scaled(number):
    return NUMBERS[:784] * np.float32(number)


def waits(number, seconds):
    time.sleep(seconds)
    return np.float32(number)


def waits_unevenly(number):
    time.sleep(0.001 + 0.019 * (number * 2_654_435_761 % 97 / 97) ** 3)
    return np.float32(number)


def waits_in_turn(number):
    with GATE:
        time.sleep(0.002)
    return np.float32(number)


def waits_for_one_of_few(number):
    with FEW:
        time.sleep(0.004)
    return np.float32(number)


def counts(number, steps):
    """Run Python code that holds the GIL: about 25 ns per step."""
    total = 0
    for i in range(steps):
        total += i
    return np.float32(total)


def waits_and_counts(number):
    time.sleep(0.004)
    return counts(number, 8_000)


def digests(number):
    return np.frombuffer(hashlib.sha256(LARGE).digest(), np.uint8)


def inflates(number):
    return np.frombuffer(zlib.decompress(PACKED), np.float32)


def sorts(number):
    return np.sort(NUMBERS)


def odd(number):
    return number % 2 == 1


def twins(number):
    time.sleep(0.004)
    return [np.float32(number)] * 4


def mapped(function, **settings):
    if settings:
        function = functools.partial(function, **settings)
    return lambda workers: pipeline.dataset(itertools.count()).map(function, workers=workers).batch(BATCH)


def waits_long(workers):
    return pipeline.dataset(itertools.count()).map(functools.partial(waits, seconds=0.02), workers=workers).batch(BATCH)


def filtered(workers):
    function = functools.partial(kept, seconds=0.003)
    return pipeline.dataset(itertools.count()).filter(function, workers=workers).batch(BATCH)


def kept(number, seconds):
    time.sleep(seconds)
    return odd(number)


def flat(workers):
    return pipeline.dataset(itertools.count()).flat_map(twins, workers=workers).batch(BATCH)


def two_steps(workers):
    """Wait, then run Python code; the choice is for the wait."""
    data = pipeline.dataset(itertools.count()).map(functools.partial(waits, seconds=0.004), workers=workers)
    return data.map(functools.partial(counts, steps=4_000)).batch(BATCH)


def serves_one(workers):
    """Allow one call at a time; the lock cannot be sent to processes, where each would have its own."""
    return pipeline.dataset(itertools.count()).map(lambda number: waits_in_turn(number), workers=workers).batch(BATCH)


def serves_few(workers):
    function = lambda number: waits_for_one_of_few(number)  # noqa: E731
    return pipeline.dataset(itertools.count()).map(function, workers=workers).batch(BATCH)


def unsendable(workers):
    """Return a function with a lock, which cannot be sent to processes."""
    lock = threading.Lock()

    def counted(number):
        assert not lock.locked()
        return counts(number, 40_000)

    return pipeline.dataset(itertools.count()).map(counted, workers=workers).batch(BATCH)


# Name: the pipeline for given workers, and how long the consumer sleeps per batch.
CASES = {
    "a disk, 4 ms": (mapped(waits, seconds=0.004), 0),
    "a network, 20 ms": (waits_long, 0),
    "a fast disk, 0.5 ms": (mapped(waits, seconds=0.0005), 0),
    "waits of 1 to 20 ms": (mapped(waits_unevenly), 0),
    "4 ms, a consumer of 10 ms": (mapped(waits, seconds=0.004), 0.01),
    "4 ms, a consumer of 40 ms": (mapped(waits, seconds=0.004), 0.04),
    "a server that serves 6 at once": (serves_few, 0),
    "a server that serves one": (serves_one, 0),
    "a filter that waits 3 ms": (filtered, 0),
    "flat_map that waits 4 ms": (flat, 0),
    "a wait, then Python code": (two_steps, 0),
    "a wait and Python code": (mapped(waits_and_counts), 0),
    "a cast": (mapped(same), 0),
    "NumPy on 784 numbers": (mapped(scaled), 0),
    "a cast, a consumer of 40 ms": (mapped(same), 0.04),
    "Python code, 1 ms": (mapped(counts, steps=40_000), 0),
    "Python code that no process can have": (unsendable, 0),
    "Python code, a consumer of 10 ms": (mapped(counts, steps=40_000), 0.01),
    "SHA-256 of 1 MiB": (mapped(digests), 0),
    "zlib, 128 KiB": (mapped(inflates), 0),
}


def main():
    options = parse()
    logging.disable(logging.WARNING)
    print(f"{'pipeline':<40}{'start':>9}{'by hand':>9}{'auto':>9}{'/hand':>7}{'/start':>8}  by hand; auto")
    results = []
    for name, (make, nap) in CASES.items():
        if options.only and not any(each in name for each in options.only):
            continue
        results.append(compared(name, make, nap, options.seconds))
    near = sum(row["auto"] >= 0.9 * row["hand"] for row in results)
    never = sum(row["auto"] >= 0.95 * row["start"] for row in results)
    print(f"within 10% of the best by hand: {near} of {len(results)}; at least 0.95 of the start: {never}")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(results, file, indent=1)


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("only", nargs="*", help="parts of names of pipelines")
    parser.add_argument("--seconds", type=float, default=20, help="how long auto may choose")
    parser.add_argument("--json", help="a file for the results")
    return parser.parse_args()


def compared(name, make, nap, seconds):
    """Measure one pipeline, print its line and return it."""
    by_hand = {}
    for text, workers in HANDS.items():
        try:
            with iter(make(workers())) as iterator:
                next(iterator)
                by_hand[text] = rate(iterator, nap, TURN)
        except TypeError:  # the function cannot be sent to processes
            if "processes" not in text:
                raise
    likely = sorted(by_hand, key=by_hand.get)[-2:]
    found: dict[str, list[float]] = {}
    with contextlib.ExitStack() as stack:
        loops = {text: stack.enter_context(iter(make(HANDS[text]()))) for text in {"None", *likely}}
        loops["auto"] = stack.enter_context(iter(make("auto")))
        whole = rate(loops["auto"], nap, seconds, 0)
        chosen = choice(loops["auto"])
        for _ in range(TURNS):
            for text, iterator in loops.items():  # a restarted one would delay less at first than later
                found.setdefault(text, []).append(rate(iterator, nap, TURN))
    rates = {text: statistics.median(each) for text, each in found.items()}
    best = max(likely, key=rates.get)
    row = {"name": name, "start": rates["None"], "hand": rates[best], "auto": rates["auto"], "whole": whole}
    row |= {"best": best, "chosen": chosen, "grid": by_hand}
    start, hand, mine = (row[each] for each in ("start", "hand", "auto"))
    line = f"{name:<40}{start:>9,.0f}{hand:>9,.0f}{mine:>9,.0f}{mine / hand:>7.2f}{mine / start:>8.2f}"
    print(f"{line}  {short(best)}; {short(chosen)}   ({whole / hand:.2f} from the first second on)", flush=True)
    return row


def rate(iterator, nap, seconds, settle=0.5):
    """Return the examples per second, without the settling time."""
    examples, begin, first = 0, time.perf_counter(), None
    while (now := time.perf_counter()) < begin + seconds:
        if first is None and now >= begin + settle * seconds:
            first, examples = now, 0
        examples += len(next(iterator))
        if nap:
            time.sleep(nap)
    return examples / (now - first)


def choice(iterator):
    """Return the current workers, according to the report."""
    stage = next(stage for stage in iterator.report().stages if "made_by" in stage.settings)
    made_by = stage.settings["made_by"]
    return "None" if made_by == "None" else f"{made_by}({stage.threads})"


def short(workers):
    return str(workers).removeprefix("pipeline.")


if __name__ == "__main__":
    sys.exit(main())
