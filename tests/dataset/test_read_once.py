"""Iterators as sources: read once, by one iterator at a time, and never by inspection."""

import asyncio
import pickle

import pytest

import pipeline

ITERATOR = r"^spec: list_iterator is an iterator, and reading its first element would use that up"
TWICE = "is an iterator, which can be read once, but is read in two places; pass a list"


def test_a_look_takes_nothing():
    data = pipeline.dataset(iter([1, 2, 3])).map(float)
    with pytest.raises(pipeline.FailedPreconditionError, match=ITERATOR):
        _ = data.spec
    assert "list_iterator" in repr(data)
    assert list(data) == [1.0, 2.0, 3.0]


def test_one_loop_at_a_time():
    data = pipeline.dataset(iter(range(10)))
    first = iter(data.batch(2))
    assert next(first).tolist() == [0, 1]
    with pytest.raises(pipeline.FailedPreconditionError, match="range_iterator is an iterator, and another iterator"):
        next(iter(data.map(float)))
    first.close()
    assert next(iter(data.batch(2))).tolist() == [2, 3]  # and dropped
    assert list(data) == [4, 5, 6, 7, 8, 9]
    with pytest.raises(pipeline.FailedPreconditionError, match="an earlier loop has read it to its end"):
        list(data)


@pytest.mark.parametrize(
    "chain",
    [
        lambda data: pipeline.zip(data, data),
        lambda data: pipeline.mix([data, data.map(float)]),
        lambda data: pipeline.interleave([data.batch(2), data]),
        lambda data: data.concatenate(data.take(2)),
        lambda data: pipeline.zip(pipeline.dataset([1, 2]), data.concatenate(pipeline.dataset([3])), data),
    ],
    ids=["zip", "mix", "interleave", "concatenate", "nested"],
)
def test_two_places_of_a_chain(chain):
    with pytest.raises(ValueError, match=TWICE):
        chain(pipeline.dataset(iter([1, 2, 3])))
    list(chain(pipeline.dataset([1, 2, 3])))


def generator():
    yield from range(5)


class Restarts:
    def __iter__(self):
        return iter(range(3))


@pytest.mark.parametrize(("given", "length"), [(generator, 5), (Restarts(), 3)], ids=["generator", "iterable"])
def test_recipes_of_what_starts_over_pickle(given, length):
    data = pickle.loads(pickle.dumps(pipeline.dataset(given).map(float)))
    assert list(data) == list(data) == [float(i) for i in range(length)]


@pytest.mark.parametrize("module", ["queue", "multiprocessing"])
def test_queues_of_others_are_told_what_to_do(module):
    with pytest.raises(TypeError, match=r"or iter\(q\.get, None\), which ends when q\.get\(\) returns None$"):
        pipeline.dataset(pytest.importorskip(module).Queue())


def test_a_queue_whose_get_must_be_awaited_is_not_read_by_iter():
    with pytest.raises(TypeError, match=r"use a pipeline\.FIFOQueue$"):
        pipeline.dataset(asyncio.Queue())


class Drained:
    """An iterable that does not start anew."""

    def __init__(self):
        self.left = [3, 2, 1]

    def __iter__(self):
        while self.left:
            yield self.left.pop()


class DrainedWithState(Drained):
    def state_dict(self):
        return {"left": [*self.left]}

    def load_state_dict(self, state):
        self.left = [*state["left"]]


def drained_function():
    left = iter([1, 2, 3])

    def more():
        yield from left

    return more


@pytest.mark.parametrize("make", [Drained, DrainedWithState, drained_function])
def test_a_later_epoch_is_not_empty_in_silence(make):
    empty = "gave examples in an earlier loop, and none in this one: an iterable must start anew"
    data = pipeline.dataset(make())
    assert list(data) == [1, 2, 3]
    for again in (data, data.epoch(1), data.batch(2)):
        with pytest.raises(pipeline.FailedPreconditionError, match=empty):
            list(again)
    with pytest.raises(pipeline.FailedPreconditionError, match=empty):
        list(pipeline.dataset(make()).repeat(2))


def test_a_generator_function_without_items_is_no_mistake():
    def nothing():
        yield from ()

    data = pipeline.dataset(nothing)
    assert list(data) == list(data) == list(data.repeat(2)) == []


def test_a_resume_at_the_end_is_no_empty_epoch():
    source = DrainedWithState()
    data = pipeline.dataset(source)
    with iter(data) as iterator:
        assert list(iterator) == [1, 2, 3]
        state = iterator.state_dict()
    with iter(data) as iterator:
        iterator.load_state_dict(state)
        assert list(iterator) == []


class BeginsAnew:
    """An iterator ready only after `iter`; each `iter` restarts it."""

    def __iter__(self):
        self.number = 0
        return self

    def __next__(self):
        if self.number == 4:
            raise StopIteration
        self.number += 1
        return self.number


def test_an_iterator_that_begins_anew():
    data = pipeline.dataset(BeginsAnew())
    for _ in range(2):
        assert list(data) == [1, 2, 3, 4]
    with iter(data.batch(3)) as left:
        assert next(left).tolist() == [1, 2, 3]
    assert list(data) == [1, 2, 3, 4]
