"""Datasets with a known bottleneck, the expected verdict, and how to turn the knob.

`CASES` has them by name. `watch` runs one and returns its rate and the report; tests look at the verdict, and
`make verdicts` turns the knob and compares the gain with the prediction.
"""

import contextlib
import hashlib
import itertools
import pathlib
import threading
import time
from typing import Any, NamedTuple

import numpy as np

import pipeline
from pipeline.diagnostics.clocks import processors
from pipeline.reports.facts import HOGGED
from pipeline.reports.sampler import Sampler

BATCH = 8
FEW = 6  # batches
LARGE = bytes(1 << 20)
DIGITS = pathlib.Path(__file__).parents[2] / "examples" / "data" / "digits.csv"
VALUE = object()  # stands for the value proposed by the verdict


class Case(NamedTuple):
    """A dataset.

    Attributes:
        make: A context manager that takes the settings and yields an iterator, and the consumer's function for a batch.
        settings: The slow settings.
        kind, knob: The expected verdict.
        turned: The settings that differ with the knob turned; `VALUE` is the verdict's proposal. None if no setting
            of the dataset helps.
    """

    make: Any
    settings: dict
    kind: str
    knob: str | None
    turned: dict | None

    @property
    def computes(self):
        """Return whether processors are the bottleneck."""
        return self.settings.get("function") in (digest, count_item)

    def turn(self, verdict):
        """Return the settings with the knob turned."""
        return self.settings | {name: verdict.value if each is VALUE else each for name, each in self.turned.items()}


class Watched(NamedTuple):
    """A run's result: the examples per second, and the report."""

    rate: float
    report: Any

    @property
    def given(self):
        """The fraction it got of the processors it could have used; other programs may have had the rest."""
        most = 1 if (self.report.lock or 0) > HOGGED else self.report.processors
        cpu, wanted = (sum(getattr(stage, name) or 0 for stage in self.report.stages) for name in ("cpu", "wanted"))
        return min(1, cpu / max(min(wanted, most), 0.01))


def watch(case, settings, seconds=1.2):
    """Run a dataset for this many seconds, and a few batches; return the examples per second and the report."""
    with Sampler(0.02) as sampler, case.make(**settings) as (iterator, step):
        examples = 0
        begin = time.perf_counter()
        for batches, batch in enumerate(iterator, 1):
            step(batch)
            examples += len(batch)
            if batches >= FEW and time.perf_counter() - begin > seconds:
                break
        seconds = time.perf_counter() - begin
        return Watched(examples / seconds, sampler.report(iterator))


def had(seconds=0.2):
    """Return the processor fraction available to a program that wants them all; others may have the rest."""

    def compute():
        while time.perf_counter() < end:
            digest(0)

    threads = [threading.Thread(target=compute) for _ in range(processors())]
    begin, end, cpu = time.perf_counter(), time.perf_counter() + seconds, time.process_time()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return (time.process_time() - cpu) / (time.perf_counter() - begin) / len(threads)


def nothing(batch):
    pass


def nap(seconds):
    return lambda batch: time.sleep(seconds)


def fetch(number):
    """Wait for something outside, such as a disk."""
    time.sleep(0.004)
    return np.float32(number)


def fetched():
    """Numbers from a slow source."""
    yield from map(fetch, itertools.count())


def lumpy(number):
    """Take long for the first number in every seventh batch."""
    time.sleep(0.12 if number % (7 * BATCH) == 0 else 0.0)
    return np.float32(number)


def uneven(number):
    """Wait long for every sixtieth number, and on average longer than the loop takes."""
    time.sleep(0.2 if number % 60 == 0 else 0.001)
    return np.float32(number)


def words(number):
    """Return many Python objects."""
    return {"text": (f"word {number} " * 3000).split()}


def numbers_of(line):
    return np.array(line.split(","), np.float32)


def count_item(number):
    """Hold the GIL for a while."""
    total = 0
    for i in range(20_000):
        total += i
    return np.float32(total)


def digest(number):
    """Compute without the GIL, 1 ms."""
    return np.frombuffer(hashlib.sha256(LARGE).digest(), np.uint8)


@contextlib.contextmanager
def mapped(function, workers=None, prefetch=0, step=nothing, threads=None):
    """Return numbers mapped by a function; workers are processes if it holds the GIL, unless threads are requested."""
    if threads is not None:
        workers = threads
    elif workers is not None and function is count_item:
        workers = pipeline.processes(workers)
    data = pipeline.dataset(itertools.count()).map(function, workers=workers).batch(BATCH)
    if prefetch:
        data = data.prefetch(prefetch)
    with iter(data) as iterator:
        if workers is not None:
            next(iterator)  # they have started
        yield iterator, step


@contextlib.contextmanager
def crews(workers):
    """Workers for a light function, and for a slow one behind it."""
    data = pipeline.dataset(itertools.count()).map(np.float32, workers=4).map(fetch, workers=workers)
    with iter(data.batch(BATCH).prefetch(2)) as iterator:
        next(iterator)
        yield iterator, nothing


@contextlib.contextmanager
def digits(columns):
    """Lines of a CSV file, read as columns or split by a Python function."""
    names = [f"column {i}" for i in range(65)]
    source = pipeline.csv(DIGITS, names=names) if columns else pipeline.text(DIGITS).map(numbers_of)
    with iter(source.batch(64).repeat()) as iterator:
        yield iterator, nothing


@contextlib.contextmanager
def objects():
    with iter(pipeline.dataset(itertools.count()).map(words).batch(BATCH, collate=list)) as iterator:
        yield iterator, nothing


@contextlib.contextmanager
def pool(buffer_size):
    """Slow examples, through a pool holding most of them, for a slow loop."""
    data = pipeline.dataset(fetched).shuffle(buffer_size).batch(BATCH)
    with iter(data) as iterator:
        yield iterator, nap(0.1)


@contextlib.contextmanager
def producer(threads):
    """A user's queue runner slowly fills a queue; the dataset takes from it."""
    queue = pipeline.FIFOQueue(20, ["float32"], [()], name="numbers")
    coord = pipeline.Coordinator()

    def fill():
        queue.enqueue(fetch(1))

    pipeline.QueueRunner(queue, [fill] * threads).create_threads(coord=coord, daemon=True, start=True)
    with iter(pipeline.dataset(queue).map(lambda number: number * 2).batch(BATCH)) as iterator:
        yield iterator, nothing
    coord.request_stop()
    coord.join()


CASES = {
    "slow disk": Case(mapped, {"function": fetch}, "function", "workers", {"workers": VALUE}),
    "function that holds the lock": Case(mapped, {"function": count_item}, "function", "workers", {"workers": VALUE}),
    "threads that hold the lock": Case(
        mapped,
        {"function": count_item, "threads": 4},
        "function",
        "workers",
        {"threads": None, "workers": VALUE},
    ),
    "threads that hold the lock, read ahead": Case(
        mapped,
        {"function": count_item, "threads": 2, "prefetch": 2},
        "function",
        "workers",
        {"threads": None, "workers": VALUE},
    ),
    "workers behind those of a light function": Case(crews, {"workers": 4}, "function", "workers", {"workers": VALUE}),
    "uneven function": Case(
        mapped,
        {"function": uneven, "prefetch": 1, "step": nap(0.024)},
        "function",
        "workers",
        {"workers": VALUE},
    ),
    "lines of a CSV file": Case(digits, {"columns": False}, "function", None, {"columns": True}),
    "many Python objects": Case(objects, {}, "function", None, None),
    "function that releases the lock": Case(mapped, {"function": digest}, "function", "workers", {"workers": VALUE}),
    "few workers": Case(mapped, {"function": fetch, "workers": 2}, "function", "workers", {"workers": VALUE}),
    "small prefetch": Case(
        mapped,
        {"function": lumpy, "prefetch": 2, "step": nap(0.02)},
        "prefetch",
        "prefetch",
        {"prefetch": VALUE},
    ),
    "slow consumer": Case(
        mapped, {"function": np.float32, "step": nap(0.04)}, "consumer", "consumer", {"step": nothing}
    ),
    "consumer that computes": Case(
        mapped,
        {"function": np.float32, "step": lambda batch: [digest(0) for _ in range(40)]},
        "consumer",
        "consumer",
        {"step": nothing},
    ),
    "pool that fills": Case(pool, {"buffer_size": 390}, "pool", "buffer_size", {"buffer_size": 10}),
    "slow producer": Case(producer, {"threads": 1}, "function", "num_threads", {"threads": VALUE}),
}
