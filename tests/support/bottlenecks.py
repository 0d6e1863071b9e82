"""Twenty-one pipelines, each slow for a known reason: what the verdict on them must say, and how to turn the knob.

`CASES` has them by name. `watch` runs one and returns its rate and the report; tests look at the verdict, and
`make verdicts` turns the knob and compares the gain with the prediction.
"""

import contextlib
import functools
import hashlib
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

import pipeline
from pipeline.watch.look import processors
from pipeline.watch.remedies import HOGGED
from pipeline.watch.sampler import Sampler

BATCH = 8
FEW = 6  # batches
LARGE = bytes(1 << 20)
HUGE = bytes(1 << 22)
VALUE = object()  # stands for the value that the verdict proposes


class Case(NamedTuple):
    """A pipeline.

    Attributes:
        make: A context manager that takes the settings and yields a loop, and what the consumer does with each batch.
        settings: Those that make it slow.
        kind, knob: What the verdict must say.
        stage: The kind of the stage that it must name.
        turned: The settings with the knob turned, from the verdict.
        finite: It runs to its end; else for as long as one likes.
    """

    make: Any
    settings: dict
    kind: str
    knob: str
    stage: str
    turned: Any
    finite: bool = False

    @property
    def computes(self):
        """Whether processors are what holds it back."""
        return self.kind in ("locked", "computing", "processors", "crowded") or "processes" in self.settings


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


def watch(case, settings, seconds=0.4):
    """Run a pipeline for so many seconds, and a few batches; return the examples per second and the report."""
    with Sampler(0.02) as sampler, case.make(**settings) as (loop, step):
        examples = 0
        begin = time.perf_counter()
        for batches, batch in enumerate(loop, 1):
            step(batch)
            examples += len(batch[0] if isinstance(batch, (list, tuple)) else batch)
            if not case.finite and batches >= FEW and time.perf_counter() - begin > seconds:
                break
        seconds = time.perf_counter() - begin
        return Watched(examples / seconds, sampler.report(loop))


def had(seconds=0.2):
    """Return the share of the processors that a program has here that wants them all: others may have the rest."""

    def compute():
        while time.perf_counter() < end:
            digest()

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


def after(seconds, value=1.0):
    """A function that waits for something outside, such as a disk."""

    def fetch():
        time.sleep(seconds)
        return value

    return fetch


def count_to(number):
    """Hold the interpreter's lock for a while."""
    total = 0
    for i in range(number):
        total += i
    return np.float32(total)


def count_item(item):
    return count_to(20_000)


def digest(times=1):
    """Compute without the interpreter's lock, 1 ms each time."""
    state = hashlib.sha256()
    for _ in range(times):
        state.update(LARGE)
    return np.frombuffer(state.digest(), np.uint8)


def long_digest():
    return np.frombuffer(hashlib.sha256(HUGE).digest(), np.uint8)


def shared_out(number, length):
    """A function that gives so many examples in all, each after a while."""
    left, lock = number, threading.Lock()

    def next_one():
        nonlocal left
        with lock:
            if not left:
                raise pipeline.OutOfRangeError(None, None, "no more")
            left -= 1
        time.sleep(length)
        return np.float32(1)

    return next_one


@contextlib.contextmanager
def plain(source, /, step=nothing, **settings):
    settings = {"num_threads": 1, "capacity": 10 * BATCH, "batch_size": BATCH} | settings
    with pipeline.batch(source, settings.pop("batch_size"), **settings) as loop:
        yield loop, step


@contextlib.contextmanager
def in_processes(processes, **settings):
    """`count_item` in threads, or in the processes of an executor."""
    if not processes:
        with plain(functools.partial(count_item, 0), **settings) as made:
            yield made
        return
    with ProcessPoolExecutor(processes) as executor:
        source = pipeline.map_ahead(count_item, iter(range(10**9)), executor, chunksize=8)
        with plain(source, **settings) as made:
            next(made[0])  # the processes have started
            yield made


@contextlib.contextmanager
def executor(workers, buffersize=None, processes=False, item=None):
    """An executor behind `map_ahead`."""
    with (ProcessPoolExecutor if processes else ThreadPoolExecutor)(workers) as pool:
        function = count_item if processes else item
        source = pipeline.map_ahead(function, iter(range(10**9)), pool, chunksize=4, buffersize=buffersize)
        with plain(source) as made:
            next(made[0])
            yield made


@contextlib.contextmanager
def function_in(processes):
    """`count_item` as `function=`, in a thread of the loop or in processes."""
    workers = pipeline.processes(processes) if processes else None
    with plain(range(10**9), function=count_item, workers=workers) as made:
        next(made[0])
        yield made


def slow_item(item):
    time.sleep(0.004)
    return np.float32(item)


@contextlib.contextmanager
def in_bursts(capacity):
    """A consumer that takes ten batches and then works as long as these took."""
    taken = 0

    def step(batch):
        nonlocal taken
        taken += 1
        if taken % 10 == 0:
            time.sleep(0.06)

    block = np.zeros(BATCH, np.float32)
    with plain(after(0.006, block), step, capacity=capacity, enqueue_many=True) as made:
        yield made


@contextlib.contextmanager
def pool(min_after_dequeue):
    """Examples that come as fast as they are consumed, through a pool that holds most of them."""
    source = shared_out(400, 0.001)
    with pipeline.shuffle_batch(source, BATCH, 1000, min_after_dequeue, allow_smaller_final_batch=True) as loop:
        yield loop, nap(0.004)


@contextlib.contextmanager
def shards(lengths):
    """A join of sources, with 100 times these lengths in ms to make their examples."""
    sources = [shared_out(40, length / 1000) for length in lengths]
    with pipeline.batch_join(sources, BATCH, 10 * BATCH, allow_smaller_final_batch=True) as loop:
        yield loop, nothing


class SlowDisk(pipeline.WholeFileReader):
    """Reads take 4 ms."""

    def _read(self, limit):
        time.sleep(0.004)
        return super()._read(limit)


@contextlib.contextmanager
def files(names, threads):
    """Each thread has a reader of its own."""
    queue = pipeline.string_input_producer(names, num_epochs=1, collection=[], capacity=1)

    def source():
        reader = pipeline.IdentityReader()
        todo = []

        def next_one():
            if not todo:
                number = int(reader.read(queue).value)
                todo.extend(range(number))
            time.sleep(0.004)
            return np.float32(todo.pop())

        return next_one

    sources = [source() for _ in range(threads)]
    with pipeline.batch_join(sources, BATCH, 10 * BATCH, allow_smaller_final_batch=True) as loop:
        yield loop, nothing


@contextlib.contextmanager
def one_reader(readers):
    """Four threads, with one reader or one each."""
    names = pipeline.string_input_producer([__file__], collection=[], capacity=100)

    def source(reader):
        def size():
            return np.float32(len(reader.read(names).value))

        return size

    if readers == 1:
        with plain(source(SlowDisk()), num_threads=4) as made:
            yield made
    else:
        sources = [source(SlowDisk()) for _ in range(readers)]
        with pipeline.batch_join(sources, BATCH, 10 * BATCH) as loop:
            yield loop, nothing


@contextlib.contextmanager
def own_producer(threads):
    """A queue runner of the user's that fills a queue slowly; the loop's function takes from it."""
    queue = pipeline.FIFOQueue(20, ["float32"], [()], name="numbers")
    fetch = after(0.004)

    def fill():
        queue.enqueue(fetch())

    def double():
        return queue.dequeue() * 2

    coord = pipeline.Coordinator()
    pipeline.QueueRunner(queue, [fill] * threads).create_threads(coord=coord, daemon=True, start=True)
    with plain(double, num_threads=2) as made:
        yield made
    coord.request_stop()
    coord.join()


@contextlib.contextmanager
def rows(enqueue_many):
    """Rows one by one, or in blocks; a consumer that could take many times as many."""
    block = np.zeros((4096, 4), np.float32)
    source = (lambda: block) if enqueue_many else lambda: block[0]
    settings = {"enqueue_many": enqueue_many, "batch_size": 16384, "capacity": 1 << 17}
    with plain(source, nothing, **settings) as made:
        yield made


@contextlib.contextmanager
def iterator(turns):
    """Threads that share an iterator, or call a function."""
    fetch = after(0.004)
    with plain(iter(fetch, None) if turns else fetch, num_threads=4) as made:
        yield made


@contextlib.contextmanager
def buckets(batch_size):
    """Eight buckets, all of which are nearly full before there is a first batch."""
    number, fetch = iter(range(10**9)), shared_out(8 * 40, 0.001)

    def example():
        fetch()
        return np.zeros(next(number) % 8 + 1, np.float32)

    loop = pipeline.bucket_by_sequence_length(
        len, example, batch_size, list(range(2, 9)), capacity=100, allow_smaller_final_batch=True
    )
    with loop:
        yield loop, lambda batch: time.sleep(0.0005 * len(batch[1]))


def case(make, settings, kind, knob, stage="function", finite=False, **turned):
    """A case whose turned settings are these."""

    def turn(verdict):
        new = {name: verdict.value if each is VALUE else each for name, each in turned.items()}
        return {**settings, **new}

    return Case(make, settings, kind, knob, stage, turn, finite)


def plain_case(function, kind, knob, settings=None, **turned):
    made = functools.partial(plain, function)
    return case(made, settings or {}, kind, knob, **turned)


CASES = {
    "slow disk": plain_case(after(0.004), "waiting", "num_threads", num_threads=VALUE),
    "remote items": plain_case(
        after(0.008),
        "waiting",
        "num_threads",
        {"num_threads": 2, "step": nap(0.008)},
        num_threads=VALUE,
    ),
    "function that holds the lock": case(
        in_processes, {"processes": 0, "num_threads": 4}, "locked", "processes", processes=VALUE, num_threads=1
    ),
    "function= that holds the lock": case(
        function_in, {"processes": 0}, "locked", "processes", "workers", processes=VALUE
    ),
    "function that releases the lock": plain_case(digest, "computing", "num_threads", num_threads=VALUE),
    "all processors busy": plain_case(
        digest, "processors", "function", {"num_threads": processors()}, num_threads=2 * processors()
    ),
    "too many threads": plain_case(
        long_digest, "crowded", "num_threads", {"num_threads": 8 * processors()}, num_threads=VALUE
    ),
    "small capacity": case(in_bursts, {"capacity": BATCH}, "capacity", "capacity", "queue", capacity=VALUE),
    "pool that fills": case(
        pool, {"min_after_dequeue": 390}, "pool", "min_after_dequeue", "queue", True, min_after_dequeue=10
    ),
    "slow consumer": plain_case(after(0.002), "consumer", "consumer", {"step": nap(0.04)}, stage="loop", step=nothing),
    "consumer that computes": plain_case(
        after(0.004), "consumer", "consumer", {"step": lambda batch: digest(120)}, stage="loop", step=nothing
    ),
    "few files": case(files, {"names": [b"80"], "threads": 4}, "uneven", "files", finite=True, names=[b"20"] * 4),
    "slow shard": case(shards, {"lengths": [1, 1, 1, 12]}, "uneven", "files", finite=True, lengths=[15 / 4] * 4),
    "slow producer": case(own_producer, {"threads": 1}, "waiting", "enqueue_ops", threads=VALUE),
    "single rows": case(rows, {"enqueue_many": False}, "singles", "enqueue_many", enqueue_many=True),
    "one reader": case(one_reader, {"readers": 1}, "reader", "readers", "reader", readers=VALUE),
    "iterator": case(iterator, {"turns": True}, "turns", "function", turns=False),
    "buckets that wait": case(buckets, {"batch_size": 38}, "buckets", "batch_size", "loop", True, batch_size=2),
    "few workers": case(executor, {"workers": 1, "item": slow_item}, "workers", "workers", "workers", workers=VALUE),
    "few processes": case(executor, {"workers": 1, "processes": True}, "workers", "workers", "workers", workers=VALUE),
    "small buffersize": case(
        executor,
        {"workers": 4, "buffersize": 1, "item": slow_item},
        "buffersize",
        "buffersize",
        "workers",
        buffersize=VALUE,
    ),
}
