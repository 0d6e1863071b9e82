"""Closing: its effect on earlier, waiting and later calls."""

import numpy as np
import pytest
from helpers import check_error, plain, raises, start_blocked, waiting

from pipeline import FIFOQueue, QueueBase
from pipeline.errors import CancelledError, InvalidArgumentError, OutOfRangeError

KINDS = ["FIFOQueue", "RandomShuffleQueue", "PaddingFIFOQueue", "PriorityQueue"]


def build(queues, kind, capacity=10):
    if kind == "RandomShuffleQueue":
        return queues.RandomShuffleQueue(capacity, 0, np.int32, shapes=(), name="q")
    if kind == "PaddingFIFOQueue":
        return queues.PaddingFIFOQueue(capacity, np.int32, [()], name="q")
    return getattr(queues, kind)(capacity, np.int32, shapes=(), name="q")


def element(kind, value):
    return (value, value) if kind == "PriorityQueue" else value


@pytest.fixture
def queue(queues):
    return queues.FIFOQueue(3, np.int32, shapes=(), name="q")


def test_calls_on_a_closed_queue(queue):
    queue.enqueue_many([[1, 2, 3]])
    assert queue.close() is None
    assert queue.is_closed()
    assert queue.size() == 3
    for call, vals in ((queue.enqueue, 1), (queue.enqueue_many, [[1, 2]])):
        with raises(CancelledError, "FIFOQueue 'q' is closed."):
            call(vals)
    assert plain(queue.dequeue()) == 1
    assert plain(queue.dequeue_many(2)) == [2, 3]
    for call in (queue.dequeue, lambda: queue.dequeue_many(1), lambda: queue.dequeue_up_to(1)):
        with raises(OutOfRangeError, "FIFOQueue 'q' is closed and has insufficient elements"):
            call()


def test_closing_twice(queue):
    queue.close()
    with raises(CancelledError, "Queue 'q' is already closed."):
        queue.close()
    assert queue.close(cancel_pending_enqueues=True) is None
    with raises(CancelledError, "Queue 'q' is already closed."):
        queue.close()


def test_cancelling_twice(queue):
    queue.close(cancel_pending_enqueues=True)
    assert queue.close(True) is None
    with raises(CancelledError, "FIFOQueue 'q' is closed."):
        queue.enqueue(1)
    with raises(OutOfRangeError, "FIFOQueue 'q' is closed and has insufficient elements"):
        queue.dequeue()


@pytest.mark.parametrize("cancel", [False, True])
@pytest.mark.parametrize(("method", "args"), [("dequeue", ()), ("dequeue_many", (2,)), ("dequeue_up_to", (2,))])
def test_waiting_dequeues_hear_of_the_end(queue, cancel, method, args):
    call = start_blocked(queue, method, *args)
    queue.close(cancel)
    text = f"FIFOQueue 'q' is closed and has insufficient elements (requested {args[0] if args else 1}, current size 0)"
    check_error(call.exception(), OutOfRangeError, text)
    assert waiting(queue) == (0, 0)


@pytest.mark.parametrize("cancel", [False, True])
def test_every_waiting_dequeue_hears_of_the_end(queue, cancel):
    calls = [start_blocked(queue, "dequeue") for _ in range(5)]
    queue.close(cancel)
    assert [type(call.exception()) for call in calls] == [OutOfRangeError] * 5


def test_every_waiting_enqueue_is_cancelled(queue):
    queue.enqueue_many([[1, 2, 3]])
    calls = [start_blocked(queue, "enqueue", value) for value in (4, 5)]
    calls.append(start_blocked(queue, "enqueue_many", [[6, 7]]))
    queue.close(cancel_pending_enqueues=True)
    for call in calls:
        check_error(call.exception(), CancelledError, "Enqueue operation was cancelled")
    assert plain(queue.dequeue_many(3)) == [1, 2, 3]


def test_enqueues_before_a_close_get_in(queue):
    queue.enqueue_many([[1, 2, 3]])
    calls = [start_blocked(queue, "enqueue", 4), start_blocked(queue, "close")]
    late = [start_blocked(queue, "enqueue_many", [[5, 6]]), start_blocked(queue, "close")]
    assert not queue.is_closed()
    assert plain(queue.dequeue_up_to(2)) == [1, 2]
    assert [call.result() for call in calls] == [None, None]
    check_error(late[0].exception(), CancelledError, "FIFOQueue 'q' is closed.")
    check_error(late[1].exception(), CancelledError, "Queue 'q' is already closed.")
    assert plain(queue.dequeue_up_to(9)) == [3, 4]


def test_a_partly_filled_up_to_returns_what_there_is(queue):
    queue.enqueue_many([[1, 2]])
    call = start_blocked(queue, "dequeue_up_to", 4)
    assert queue.size() == 0
    queue.close()
    assert plain(call.result()) == [1, 2]
    assert queue.size() == 0


def test_wrong_shapes_are_seen_before_the_end(queues):
    queue = queues.FIFOQueue(1, [np.int32, np.int32], shapes=[(), (3, 3)])
    queue.enqueue((0, np.zeros((3, 3), np.int32)))
    for _ in range(2):  # on a full queue, where a correct shape would block, then on a closed one
        with raises(InvalidArgumentError, "Shape mismatch in tuple component 1. Expected [3,3], got [3,4]"):
            queue.enqueue((1, np.zeros((3, 4), np.int32)))
        with raises(InvalidArgumentError, "Shape mismatch in tuple component 1. Expected [2,3,3], got [2,3,4]"):
            queue.enqueue_many(([1, 2], np.zeros((2, 3, 4), np.int32)))
        with raises(InvalidArgumentError, "DequeueManyOp requested -1 < 0 elements"):
            queue.dequeue_many(-1)
        queue.close(cancel_pending_enqueues=True)


@pytest.mark.parametrize("kind", KINDS)
def test_the_kind_in_messages(queues, kind):
    queue = build(queues, kind)
    single = "FIFOQueue" if kind == "PaddingFIFOQueue" else kind  # the padding queue's single calls are FIFOQueue's
    queue.close()
    with raises(CancelledError, f"{single} 'q' is closed."):
        queue.enqueue(element(kind, 1))
    with raises(CancelledError, f"{single} 'q' is closed."):
        queue.enqueue_many(element(kind, [1]) if kind == "PriorityQueue" else [[1]])
    short = "is closed and has insufficient elements (requested {}, current size 0)"
    with raises(OutOfRangeError, f"{single} 'q' " + short.format(1)):
        queue.dequeue()
    for call in (queue.dequeue_many, queue.dequeue_up_to):
        with raises(OutOfRangeError, f"{kind} 'q' " + short.format(3)):
            call(3)
    with raises(CancelledError, "Queue 'q' is already closed."):
        queue.close()


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_in_stays_in(queues, kind):
    queue = build(queues, kind)
    for value in (3, 1, 2):
        queue.enqueue(element(kind, value))
    queue.close()
    assert queue.size() == 3
    out = queue.dequeue_up_to(5)
    values = out[1] if kind == "PriorityQueue" else out
    assert sorted(plain(values)) == [1, 2, 3]


class TestWith:
    """Leaving the block closes the queue."""

    def test_elements_stay(self):
        with FIFOQueue(9, "int64", [()]) as queue:
            queue.enqueue_many(([1, 2],))
        assert queue.is_closed()
        assert list(queue) == [1, 2]

    def test_enqueues_that_wait_are_cancelled(self):
        with FIFOQueue(1, "int64", [()]) as queue:
            queue.enqueue(1)
            late = start_blocked(queue, "enqueue", 2)
        assert type(late.exception()) is CancelledError
        assert list(queue) == [1]

    def test_a_queue_that_is_closed(self):
        with FIFOQueue(1, "int64", [()]) as queue:
            queue.close()
        with raises(KeyError), queue:
            raise KeyError("of the block")

    def test_the_block_raises(self):
        with raises(KeyError), FIFOQueue(9, "int64", [()], name="q") as queue:
            queue.enqueue(1)
            raise KeyError("of the block")
        assert queue.dequeue() == 1
        with pytest.raises(OutOfRangeError, match=r"left the queue's `with` block at .*: 'of the block'") as caught:
            queue.dequeue()
        assert type(caught.value.__cause__) is KeyError

    def test_one_of_several(self):
        first, second = FIFOQueue(9, "int64", [()]), FIFOQueue(9, "int64", [()])
        with QueueBase.from_list(1, [first, second]) as selected:
            selected.enqueue(5)
        assert second.is_closed()
        assert not first.is_closed()
