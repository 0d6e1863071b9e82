"""A loop that its own function closes ends, with threads as without; nobody waits for itself."""

import itertools
import threading

import pytest
from helpers import LIMIT, run_in_thread, wait_until
from orchestration import fresh_collection, no_thread_left

import pipeline


@pytest.fixture(autouse=True)
def _alone():
    with fresh_collection(), no_thread_left():
        yield


def function(close, number):
    numbers = itertools.count()

    def following():
        if (this := next(numbers)) == number:
            close()
        return this

    return following, {}


def generator(close, number):
    def following():
        for this in itertools.count():
            if this == number:
                close()
            yield this

    return following, {}


def mapped(close, number):
    return itertools.count(), {"function": lambda this: close() or this if this == number else this}


def in_workers(close, number):
    items, options = mapped(close, number)
    return items, {"workers": pipeline.threads(2), **options}


@pytest.mark.parametrize("deterministic", [False, True])
@pytest.mark.parametrize("num_threads", [0, 1, 3])
@pytest.mark.parametrize("number", [0, 9])
@pytest.mark.parametrize("make", [function, generator, mapped, in_workers])
def test_it_ends(make, number, num_threads, deterministic):
    closed = []

    def close():
        batches.close()
        closed.append(number)

    source, options = make(close, number)
    batches = pipeline.batch(source, 4, num_threads=num_threads, deterministic=deterministic, **options)
    got = run_in_thread(lambda: [row for batch in batches for row in batch.tolist()]).result()
    assert sorted(got) == list(range(len(got)))
    wait_until(lambda: closed == [number], "close to return")
    assert next(batches, None) is None
    batches.close()
    assert repr(batches) == "<Batches 'batch': closed>"


def test_while_another_thread_closes_it():
    """That one waits for the thread with the function, which must not wait for it."""
    called, go, numbers = threading.Event(), threading.Event(), itertools.count()

    def following():
        if next(numbers) == 50:
            called.set()
            assert go.wait(LIMIT)
            batches.close()
        return 1

    batches = pipeline.batch(following, 4, num_threads=1, capacity=100)
    next(batches)
    assert called.wait(LIMIT)
    closing = run_in_thread(batches.close)
    wait_until(batches.coord.should_stop, "the stop")
    go.set()
    assert closing.result() is None
    assert batches.coord.joined
