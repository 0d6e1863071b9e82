"""Dequeues count as pulls of a call, where a deterministic loop has asked to hear of them."""

import contextlib

import numpy as np
import pytest
import turns
from helpers import plain, raises, run_in_thread

from pipeline import FIFOQueue, PriorityQueue, RandomShuffleQueue
from pipeline._queue import watch_pulls
from pipeline.errors import DeadlineExceededError, FailedPreconditionError
from pipeline.pulls import together

METHODS = [("dequeue", ()), ("dequeue_many", (1,)), ("dequeue_up_to", (1,))]


@contextlib.contextmanager
def watched():
    watch_pulls(1)
    try:
        yield
    finally:
        watch_pulls(-1)


@pytest.fixture(
    params=[FIFOQueue, lambda *args, **kwargs: RandomShuffleQueue(10, 0, np.int32, **kwargs)],
    ids=["FIFOQueue", "RandomShuffleQueue"],
)
def queue(request):
    return filled(request.param(10, np.int32, shapes=(), name="q"))


def filled(queue):
    queue.enqueue_many([[1, 2, 3, 4]])
    return queue


@pytest.mark.parametrize(("method", "args"), METHODS)
def test_a_dequeue_is_a_pull(queue, method, args):
    with watched(), turns.turn() as turn:
        getattr(queue, method)(*args)
        assert (turn.pulls, turn.how, turn.book.adopted) == (1, (queue,), [(queue, ())])
        getattr(queue, method)(*args)
        assert (turn.pulls, turn.book.pulls, len(turn.book.adopted)) == (2, 2, 1)


@pytest.mark.parametrize(("method", "args"), METHODS)
def test_nobody_watches(queue, method, args):
    with turns.turn() as turn:
        getattr(queue, method)(*args)
    assert turn.pulls == 0
    with watched():
        getattr(queue, method)(*args)  # this thread has no turn


def test_iterating_pulls():
    queue = filled(FIFOQueue(10, np.int32, shapes=()))
    queue.close()
    with watched(), turns.turn() as turn:
        assert plain(list(queue)) == [1, 2, 3, 4]
    assert turn.pulls == 5  # the last one found the end


def test_a_priority_queue():
    queue = PriorityQueue(10, np.int32, shapes=())
    queue.enqueue((1, 2))
    with watched(), turns.turn() as turn:
        assert plain(queue.dequeue()) == [1, 2]
    assert turn.pulls == 1


def test_only_outermost_pulls_count(queue):
    with watched(), turns.turn() as turn:
        with together():
            queue.dequeue()
            queue.dequeue()
        assert turn.pulls == 1


def test_a_dequeue_that_fails_is_over(queue):
    with watched(), turns.turn() as turn:
        with raises(DeadlineExceededError):
            queue.dequeue_many(9, timeout=0)
        assert turn.pulls == 1
        queue.dequeue()
        assert turn.pulls == 2


def test_a_call_that_may_not_pull_takes_nothing(queue):
    with watched(), turns.turn() as turn:
        turn.held = False
        for method, args in METHODS:
            with raises(FailedPreconditionError, "the baton has passed"):
                getattr(queue, method)(*args)
    assert queue.size() == 4


def test_threads_without_a_turn(queue):
    with watched(), turns.turn() as turn:
        run_in_thread(queue.dequeue).result()
    assert turn.pulls == 0


def test_several_watch(queue):
    with watched(), turns.turn() as turn:
        with watched():
            queue.dequeue()
        queue.dequeue()
        assert turn.pulls == 2


def test_what_is_not_watched_cannot_be_ended():
    with raises(RuntimeError, "watch_pulls: nobody watches"):
        watch_pulls(-1)
    with raises(ValueError, "watch_pulls: expected 1 or -1, got 2"):
        watch_pulls(2)
    with turns.turn() as turn:
        filled(FIFOQueue(10, np.int32, shapes=())).dequeue()
    assert turn.pulls == 0
