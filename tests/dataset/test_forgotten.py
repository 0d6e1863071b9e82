"""An iterator dropped without `with` or `close` ends its threads at once, without a garbage collection."""

import gc
import weakref

import pytest
from helpers import run_script
from orchestration import no_thread_left, threads_since

import pipeline


def double(x):
    return 2 * x


def fail_later(x):
    if x > 20:
        raise ValueError("later")
    return x


NUMBERS = pipeline.dataset(range(10_000))
CHAINS = {
    "prefetch": NUMBERS.prefetch(4),
    "workers": NUMBERS.map(double, workers=2),
    "workers, prefetch": NUMBERS.map(double, workers=2).prefetch(4),
    "workers, batch, prefetch": NUMBERS.map(double, workers=2).batch(4).prefetch(2),
    "unordered workers, prefetch": NUMBERS.map(double, workers=2, ordered=False).prefetch(4),
    "prefetch, workers, prefetch": NUMBERS.prefetch(4).map(double, workers=2).prefetch(4),
    "two pools": NUMBERS.map(double, workers=2).map(double, workers=2).prefetch(4),
    "shuffle": NUMBERS.shuffle(10, seed=1).map(double, workers=2).prefetch(4),
    "a failure nobody asked for": NUMBERS.map(fail_later, workers=2).prefetch(40),
    "interleave": pipeline.interleave([NUMBERS.map(double, workers=2).prefetch(4), NUMBERS.prefetch(2)]),
}


@pytest.fixture
def _no_collection():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("_no_collection")
@pytest.mark.parametrize("taken", [1, 7])
@pytest.mark.parametrize("name", CHAINS)
def test_threads_end_with_the_iterator(name, taken):
    with no_thread_left():
        since = threads_since()
        iterator = iter(CHAINS[name])
        known = weakref.ref(iterator)
        for _ in range(taken):
            next(iterator)
        begun = bool(since())
        del iterator
        assert known() is None
    assert begun or name in ("interleave", "a failure nobody asked for")  # whose threads end on their own


@pytest.mark.usefixtures("_no_collection")
def test_workers_of_the_users_rest_with_the_iterator():
    executor = pipeline.threads(2)
    with no_thread_left():
        iterator = iter(NUMBERS.map(double, workers=executor).prefetch(4))
        assert next(iterator) == 0
        del iterator


PROGRAM = """
import contextlib
import threading
import pipeline
from pipeline.workers import threads

calls = []

def call(x):
    calls.append(x)
    if len(calls) > 2:
        print("another call", x, flush=True)
    while not any(pool.closed for _, pool in threads._pools.numbered()):  # until the program ends
        threading.Event().wait(0.001)
    return x

iterator = iter(pipeline.dataset(range(100)).map(call, workers=2).prefetch(4))
iterator.start()
reached = threading.Event()

def take():
    with contextlib.suppress(pipeline.AbortedError):  # as there are no workers any more
        next(iterator)

threading.Thread(target=take, daemon=True).start()
while len(calls) < 2:
    reached.wait(0.001)
print("end", flush=True)
"""


def test_workers_begin_nothing_once_the_program_ends():
    done = run_script(PROGRAM)
    assert (done.stdout, done.stderr, done.returncode) == ("end\n", "", 0)
