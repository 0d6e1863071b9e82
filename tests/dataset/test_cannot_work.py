"""Chains that cannot work raise an error when they are written, not at the first batch."""

import asyncio
import contextlib
import queue
import threading

import pytest
from steps import STREAMED

import pipeline

NUMBERS = pipeline.dataset(range(10))
LIVE = NUMBERS.batch(2, max_wait=1)


def stream():
    yield from range(10)


def double(x):
    return 2 * x


async def later(x):
    return x


async def more_later(x):
    yield x


class Later:
    async def __call__(self, x):
        return x


STREAM = pipeline.dataset(stream)
ONCE = pipeline.dataset(iter([1, 2]))

WRONG = {
    "a range that no length can count": (lambda: pipeline.dataset(range(10**30)), r"fewer than 2\*\*62 items"),
    "shuffle of a stream": (lambda: STREAM.shuffle(), "give a buffer_size"),
    "shuffle of a pool": (lambda: NUMBERS.shuffle(3).shuffle(), "shuffle is a stream: give a"),
    "shuffle of a part of a pool": (lambda: NUMBERS.shuffle(3).map(double).take(5).shuffle(), "give a buffer_size"),
    "shuffle of what is left of a pool": (
        lambda: NUMBERS.shuffle(3).map(double, on_error="skip").shuffle(),
        "give a buffer_size",
    ),
    "shuffle without end": (
        lambda: NUMBERS.repeat().shuffle(),
        "shuffle: repeat has no end: write shuffle before repeat",
    ),
    "sample of a stream": (
        lambda: STREAM.sample([1]),
        "sample: stream is a stream: draw from pipeline.arrays.source.to_arrays",
    ),
    "shuffle of batches of workers": (
        lambda: NUMBERS.map(double, workers=2).batch(2).shuffle(),
        "its input from workers",
    ),
    "weights below zero": (lambda: pipeline.mix([NUMBERS, NUMBERS], [1, -1]), "weights must be"),
    "too few weights": (lambda: NUMBERS.sample([1, 2]), "expected 10 weights, one for each"),
    "no weight": (lambda: NUMBERS.sample([0] * 10), "at least one weight must be above 0"),
    "repeat of nothing": (lambda: pipeline.dataset([]).repeat(), "repeat: there are no elements"),
    "repeat of an iterator": (lambda: ONCE.repeat(2), "which can be read once"),
    "epoch of an iterator": (lambda: ONCE.batch(2).epoch(1), "which can be read once"),
    "epoch without end": (lambda: NUMBERS.repeat().epoch(1), "has no end, so there is one pass"),
    "shard without a seed": (lambda: NUMBERS.shuffle().shard(0, 2), "each host would draw its own order"),
    "shard without an order": (
        lambda: NUMBERS.map(double, workers=2, ordered=False).batch(1).shard(0, 2),
        "results of double in its own order: write shard before map",
    ),
    "shuffle of the first that are not left out": (
        lambda: NUMBERS.map(double, on_error="skip").take(5).map(double).shuffle(),
        "shuffle: map is a stream",
    ),
    "shuffle of equal shards of what is not left out": (
        lambda: NUMBERS.map(double, on_error="skip").shard(0, 2, drop_remainder=True).shuffle(),
        "shuffle: shard is a stream",
    ),
    "batches": (lambda: NUMBERS.batch(3).batch(2), r"last one has 1 of 3 examples.*batch\(3\)"),
    "skip in time": (lambda: LIVE.map(double).skip(2), "skip: the batches of"),
    "shard in time": (lambda: LIVE.prefetch(2).shard(0, 2), "write shard before batch"),
    "shuffle in time": (lambda: pipeline.zip(LIVE, NUMBERS).shuffle(3), "shuffle: the batches of"),
    "enumerate in time": (lambda: LIVE.unbatch().enumerate(), "enumerate: the batches of"),
    "an epoch as an input": (lambda: pipeline.zip(NUMBERS.epoch(1)), "call .epoch\\(\\) on the result"),
    "no datasets": (lambda: pipeline.zip(), "zip: there are no datasets"),
    "boundaries that fall": (lambda: NUMBERS.bucket([3, 2], [1, 1, 1]), "boundaries must ascend"),
}


def odd_under(lock):
    def is_odd(x):
        with lock:
            return x % 2 == 1

    return is_odd


OF_WRONG_TYPE = {
    "async map": (lambda: NUMBERS.map(later), "is async"),
    "async object": (lambda: NUMBERS.filter(Later()), "is async"),
    "async flat_map": (lambda: NUMBERS.flat_map(later), "flat_map: the function.*is async"),
    "async generator": (lambda: NUMBERS.flat_map(more_later), "is async"),
    "generator as map": (lambda: NUMBERS.map(lambda x: (yield x)), "uses yield"),
    "generator as collate": (lambda: NUMBERS.batch(2, collate=lambda x: (yield x)), "collate must return a batch"),
    "async length": (lambda: NUMBERS.bucket([1], [1, 1], length=later), "length must return a number.*async"),
    "async key": (lambda: NUMBERS.sort(2, later), "sort: key must return what to sort by.*async"),
    "a function that cannot be sent": (
        lambda: NUMBERS.filter(odd_under(threading.Lock()), workers=pipeline.processes(1)),
        "filter: workers: <function odd_under.* cannot be sent to other processes .*'lock' is a threading.Lock",
    ),
    "datasets of others": (lambda: pipeline.zip(NUMBERS, [1, 2]), "zip: expected a dataset, got list"),
    "a queue of asyncio": (lambda: pipeline.dataset(asyncio.Queue()), "use a pipeline.FIFOQueue$"),
    "a queue of threads": (lambda: pipeline.dataset(queue.Queue()), "use a pipeline.FIFOQueue, or iter"),
    "a function of nothing": (lambda: NUMBERS.map(lambda: 1), r"map: the function must take one argument.*takes \(\)$"),
    "a function of two": (
        lambda: pipeline.zip(NUMBERS, NUMBERS).filter(lambda x, y: x < y),
        r"filter: .* takes \(x, y\): an example is one argument",
    ),
    "a collate of two": (lambda: NUMBERS.batch(2, collate=lambda x, y: x), "batch: collate must take one argument"),
    "weights that are no numbers": (lambda: pipeline.mix([NUMBERS, NUMBERS], "ab"), "mix: weights must be numbers"),
    "a dataset instead of a list": (lambda: pipeline.mix(NUMBERS), "mix: expected a list of datasets"),
}


@pytest.mark.parametrize("name", WRONG)
def test_values_are_refused_where_the_chain_is_written(name):
    chain, said = WRONG[name]
    with pytest.raises(ValueError, match=said):
        chain()


@pytest.mark.parametrize("name", STREAMED)
def test_steps_that_count_refuse_batches_in_time(name):
    step = STREAMED[name]
    said = rf"{step.name}\S*: the batches of batch\(max_wait=...\) depend on time: write {step.name}"
    with pytest.raises(ValueError, match=said) if step.counts else contextlib.nullcontext():
        step.over(LIVE)


@pytest.mark.parametrize("name", OF_WRONG_TYPE)
def test_types_are_refused_where_the_chain_is_written(name):
    chain, said = OF_WRONG_TYPE[name]
    with pytest.raises(TypeError, match=said):
        chain()


@pytest.mark.parametrize("inner", [False, True])
@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("size", range(1, 6))
@pytest.mark.parametrize("count", range(1, 6))
def test_batches_are_refused_if_they_do_not_stack(size, count, whole, inner):
    """Only batches certain to fail at the end are rejected."""
    try:
        data = NUMBERS.batch(size, drop_remainder=inner).prefetch(1).batch(count, drop_remainder=whole)
    except ValueError:
        data = pipeline.dataset(stream).batch(size, drop_remainder=inner).batch(count, drop_remainder=whole)
        with pytest.raises(ValueError, match="in one example and"):
            list(data)
    else:
        assert len(list(data)) == len(data)


def test_batches_in_time_have_no_draws():
    with pytest.raises(pipeline.FailedPreconditionError, match="example_rng"):
        list(LIVE.map(lambda batch: pipeline.example_rng().integers(9)))


ONE_ARGUMENT = {"two": lambda *xs: xs, "a default": lambda x, y=1: x} | {
    each.__name__: each for each in (double, int, str, abs, max, str.split)
}


@pytest.mark.parametrize("name", ONE_ARGUMENT)
def test_functions_that_take_one_argument(name):
    NUMBERS.map(ONE_ARGUMENT[name])


METHODS = {"padded_batch": r"write \.batch\(n, pad=0\)", "interleave": "write pipeline.interleave", "foo": "'foo'$"}


@pytest.mark.parametrize("name", METHODS)
def test_methods_of_other_libraries(name):
    with pytest.raises(AttributeError, match=METHODS[name]):
        getattr(NUMBERS, name)
