"""Queues constructed wrongly or used in odd ways raise errors and do not crash."""

import contextlib
import copy
import gc
import pickle

import numpy as np
import pytest
from helpers import run_in_thread, run_script

from pipeline import FIFOQueue, PaddingFIFOQueue, PriorityQueue, QueueBase, RandomShuffleQueue
from pipeline._queue import FORMS, ORDERS, Engine  # the compiled queue, before it has components

KINDS = [FIFOQueue, RandomShuffleQueue, PaddingFIFOQueue, PriorityQueue]
CALLS = [
    lambda queue: queue.enqueue(1),
    lambda queue: queue.enqueue((1, 1)),
    lambda queue: queue.enqueue_many([[1]]),
    lambda queue: queue.dequeue(timeout=0),
    lambda queue: queue.dequeue_many(1, timeout=0),
    lambda queue: queue.dequeue_up_to(1, timeout=0),
    lambda queue: queue.dequeue_many(0),
    lambda queue: queue.close(),
    lambda queue: queue.close(True),
    lambda queue: queue.size(),
    lambda queue: queue.is_closed(),
    lambda queue: queue.stats(),
    lambda queue: list(queue),
]


@pytest.mark.parametrize("kind", KINDS)
def test_a_queue_that_was_never_made(kind):
    for call in CALLS:
        with pytest.raises((RuntimeError, AttributeError)):
            call(kind.__new__(kind))


def test_a_subclass_that_forgets_its_base():
    class Forgetful(FIFOQueue):
        def __init__(self):
            pass

    for call in CALLS:
        with pytest.raises((RuntimeError, AttributeError)):
            call(Forgetful())


def test_made_twice():
    done = run_script("""
import numpy as np
from pipeline import FIFOQueue

queue = FIFOQueue(10, np.int8, shapes=())
queue.enqueue_many([range(5)])
try:
    queue.__init__(10, [np.float64, object], shapes=[(1000,), ()])
except Exception:
    pass
for call in (lambda: queue.enqueue((np.ones(1000), "x"), timeout=0), lambda: queue.dequeue_up_to(5, timeout=0)):
    try:
        call()
    except Exception:
        pass
del queue
""")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("how", [pickle.dumps, copy.copy, copy.deepcopy])
def test_queues_cannot_be_copied(how):
    with pytest.raises(TypeError):
        how(FIFOQueue(1, np.int32))


def test_a_base_forwards_to_its_queue():
    queue = FIFOQueue(5, np.int32, shapes=(), name="q")
    front = QueueBase(queue.dtypes, queue.shapes, queue.names, queue.queue_ref)
    front.enqueue(1)
    assert (front.size(), queue.size(), front.name) == (1, 1, "q")
    assert (front.dtypes, front.shapes, front.names) == (queue.dtypes, queue.shapes, None)
    assert int(front.dequeue()) == 1


def test_a_value_that_uses_the_queue_while_it_is_converted():
    queue = FIFOQueue(5, np.int32, shapes=())

    class Value:
        def __array__(self, dtype=None, copy=None):
            queue.enqueue(7)
            return np.array(queue.size(), np.int32)

    queue.enqueue(Value())
    assert [int(queue.dequeue()), int(queue.dequeue())] == [7, 1]


def test_a_first_value_that_uses_the_queue_while_it_is_looked_at():
    queue = FIFOQueue(5)

    class Value:
        def __array__(self, dtype=None, copy=None):
            if queue.size() == 0:
                queue.enqueue(np.int32(7))
            return np.array(1, np.int32)

    running = run_in_thread(queue.enqueue, Value())
    assert running.exception() is None
    assert [int(queue.dequeue()), int(queue.dequeue())] == [7, 1]


def test_a_value_that_fails_while_it_is_converted():
    queue = FIFOQueue(5, [np.int32, np.int32], shapes=[(), ()])

    class Value:
        def __array__(self, dtype=None, copy=None):
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        queue.enqueue((1, Value()))
    assert queue.size() == 0


def test_an_object_that_uses_the_queue_when_it_dies():
    queue = FIFOQueue(2, object, shapes=())

    class Thing:
        def __del__(self):
            with contextlib.suppress(TimeoutError):
                queue.enqueue_many([[1]], timeout=0)

    queue.enqueue([Thing()])
    queue.dequeue()
    assert queue.dequeue() == 1
    with pytest.raises(TimeoutError):
        queue.enqueue_many([[2, 3, Thing()]], timeout=0)
    assert [queue.dequeue(), queue.dequeue()] == [2, 3]


def test_first_elements_that_race():
    for _ in range(50):
        queue = FIFOQueue(-1)
        values = [np.int32(1), np.zeros(3, np.float32), b"x", np.zeros((2, 2), np.int8)]
        calls = [run_in_thread(queue.enqueue, value) for value in values]
        stored = sum(call.exception() is None for call in calls)
        assert queue.size() == stored >= 1
        assert len(queue.dequeue_many(stored)) == stored


@pytest.mark.parametrize("soon", range(1, 40))
def test_a_finaliser_that_is_first(soon):
    """The collector runs while a queue is configured, and a finalizer enqueues the first element.

    A queue calls `_open` and `_configure` when it is made and at its first element.
    """
    queue, block = Engine(), np.zeros(3)
    queue._open(ORDERS["fifo"], 10, 0, 0, 0, True)
    outcome = []

    class Last:
        def __del__(self):
            try:
                queue._configure([(block.dtype, FORMS["rows"], (3,))])
                queue.enqueue(block)
                outcome.append("first")
            except RuntimeError:
                outcome.append("second")

    mine = [(np.dtype(np.float32), FORMS["rows"], (2,))]
    threshold = gc.get_threshold()
    gc.collect()
    gc.disable()
    last = Last()
    last.itself = last
    del last
    try:
        gc.set_threshold(gc.get_count()[0] + soon, 1000, 1000)
        gc.enable()
        try:
            queue._configure(mine)
            outcome.append("mine")
        except RuntimeError:
            outcome.append("too late")
    finally:
        gc.set_threshold(*threshold)
        gc.enable()
    gc.collect()
    assert outcome in (["first", "too late"], ["mine", "second"], ["second", "mine"])
    if outcome[0] == "first":
        assert queue.dequeue().tolist() == [0, 0, 0]
