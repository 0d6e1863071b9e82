"""Dequeues count as reads of a call, where an iterator that records them has asked to hear of them."""

import contextlib
import os
from pathlib import Path

import numpy as np
import pytest
import turns
from helpers import plain, raises, run_in_thread, run_script

import pipeline
from pipeline import FIFOQueue, PriorityQueue, RandomShuffleQueue
from pipeline._queue import watch_pulls  # what an iterator that records them calls
from pipeline.errors import DeadlineExceededError, FailedPreconditionError

SUPPORT = Path(turns.__file__).parent, Path(turns.__file__).parents[2]
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
def test_a_dequeue_is_a_read(queue, method, args):
    with watched(), turns.turn() as turn:
        getattr(queue, method)(*args)
        assert (turn.pulls, turn.book.adopted) == (1, [queue])
        getattr(queue, method)(*args)
        assert (turn.pulls, set(turn.book.adopted)) == (2, {queue})


NOBODY = """
import numpy as np
from pipeline import FIFOQueue, RandomShuffleQueue
from pipeline._queue import watch_pulls
import turns

for queue in (FIFOQueue(10, np.int32, shapes=()), RandomShuffleQueue(10, 0, np.int32, shapes=())):
    queue.enqueue_many([[1, 2, 3, 4]])
    for method, args in (("dequeue", ()), ("dequeue_many", (1,)), ("dequeue_up_to", (1,))):
        with turns.turn() as turn:
            getattr(queue, method)(*args)
        assert turn.pulls == 0, method
try:
    watch_pulls(-1)
except RuntimeError as error:
    assert str(error).startswith("watch_pulls: nobody watches"), error
    print("refused")
"""


def test_nobody_watches():
    """In a program of its own: in this one, iterators of other tests may still watch."""
    done = run_script(NOBODY, env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, SUPPORT))})
    assert (done.stdout, done.stderr) == ("refused\n", "")


@pytest.mark.parametrize(("method", "args"), METHODS)
def test_a_thread_without_a_turn_is_not_asked(queue, method, args):
    with watched():
        getattr(queue, method)(*args)


def test_iterating_reads():
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


def test_only_outermost_reads_count(queue):
    with watched(), turns.turn() as turn:
        with turn.pulling(queue):
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


def test_watching_is_begun_or_ended():
    with raises(ValueError, "watch_pulls: expected 1 or -1, got 2"):
        watch_pulls(2)


def test_a_function_that_takes_from_a_queue_has_no_position_and_says_why(queue):
    queue.close()
    with pipeline.batch(queue.dequeue, 2, deterministic=True) as batches:
        assert len(next(batches)) == 2
        with pytest.raises(FailedPreconditionError, match="it reads from 'q', which others fill"):
            batches.state_dict()
        assert len(next(batches)) == 2
