"""Datasets that are slow for a known reason: what the verdict on them must say, and how to turn the knob.

`CASES` has them by name. `watch` runs one and returns its rate and the report; tests look at the verdict, and
`make verdicts` turns the knob and compares the gain with the prediction.
"""

import contextlib
import hashlib
import itertools
import threading
import time
from typing import Any, NamedTuple

import numpy as np

import pipeline
from pipeline.reports.looks import processors
from pipeline.reports.sampler import Sampler
from pipeline.reports.verdict import HOGGED

BATCH = 8
FEW = 6  # batches
LARGE = bytes(1 << 20)
VALUE = object()  # stands for the value that the verdict proposes


class Case(NamedTuple):
    """A dataset.

    Attributes:
        make: A context manager that takes the settings and yields an iterator, and what the consumer does with a batch.
        settings: Those that make it slow.
        kind, knob: What the verdict must say.
        turned: The settings that differ with the knob turned; `VALUE` is what the verdict proposes. None if no setting
            of the dataset helps.
    """

    make: Any
    settings: dict
    kind: str
    knob: str | None
    turned: dict | None

    @property
    def computes(self):
        """True if processors are what holds it back."""
        return self.settings.get("function") in (digest, count_item)

    def turn(self, verdict):
        """Return the settings with the knob turned."""
        return self.settings | {name: verdict.value if each is VALUE else each for name, each in self.turned.items()}


class Watched(NamedTuple):
    """What came of a run: the examples per second, and the report."""

    rate: float
    report: Any

    @property
    def given(self):
        """The share of the processors that it could have used that it had: other programs may have had the rest."""
        most = 1 if (self.report.lock or 0) > HOGGED else self.report.processors
        cpu, wanted = (sum(getattr(stage, name) or 0 for stage in self.report.stages) for name in ("cpu", "wanted"))
        return min(1, cpu / max(min(wanted, most), 0.01))


def watch(case, settings, seconds=1.2):
    """Run a dataset for so many seconds, and a few batches; return the examples per second and the report."""
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
    """Return the share of the processors that a program has here that wants them all: others may have the rest."""

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
    """Numbers that come slowly."""
    yield from map(fetch, itertools.count())


def lumpy(number):
    """Take long for the first number of every seventh batch."""
    time.sleep(0.12 if number % (7 * BATCH) == 0 else 0.0)
    return np.float32(number)


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
    """Numbers through a function; workers that are processes where it holds the lock, unless threads are asked for."""
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
def pool(buffer_size):
    """Examples that come slowly, through a pool that holds most of them."""
    data = pipeline.dataset(fetched).shuffle(buffer_size).batch(BATCH)
    with iter(data) as iterator:
        yield iterator, nothing


@contextlib.contextmanager
def producer(threads):
    """A queue runner of the user's that fills a queue slowly; the dataset takes from it."""
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
    "slow producer": Case(producer, {"threads": 1}, "queue", None, None),
}
