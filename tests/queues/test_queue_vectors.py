"""Scripts of calls with known outcomes: the served call, its time, and its result."""

import numpy as np
import pytest
from helpers import check_error, plain, raises, run_in_thread, start_blocked, wait_blocked, waiting

from pipeline.errors import CancelledError, DeadlineExceededError, OutOfRangeError


@pytest.fixture
def fifo(queues):
    def make(capacity=10, *values):
        queue = queues.FIFOQueue(capacity, np.int32, shapes=(), name="q")
        queue.enqueue_many([np.array(values, np.int32)], timeout=0)
        return queue

    return make


def short(requested, size, kind="FIFOQueue"):
    return f"{kind} 'q' is closed and has insufficient elements (requested {requested}, current size {size})"


def test_cancelling_close_keeps_the_rows_that_are_in(fifo):
    queue = fifo(3)
    many = start_blocked(queue, "enqueue_many", [[1, 2, 3, 4, 5]])
    queue.close(cancel_pending_enqueues=True)
    check_error(many.exception(), CancelledError, "Enqueue operation was cancelled")
    assert queue.size() == 3
    assert plain(queue.dequeue_many(3)) == [1, 2, 3]
    with raises(OutOfRangeError, short(1, 0)):
        queue.dequeue()


def test_plain_close_waits_in_line(fifo):
    queue = fifo(2, 1, 2)
    many = start_blocked(queue, "enqueue_many", [[3, 4, 5]])
    close = start_blocked(queue, "close")
    late = start_blocked(queue, "enqueue", 9)
    assert [plain(queue.dequeue()) for _ in range(2)] == [1, 2]
    assert waiting(queue) == (3, 0)
    assert not queue.is_closed()
    assert plain(queue.dequeue()) == 3
    assert many.result() is None
    assert close.result() is None
    check_error(late.exception(), CancelledError, "FIFOQueue 'q' is closed.")
    assert plain(queue.dequeue_many(2)) == [4, 5]


def test_cancelling_close_cancels_a_waiting_close(fifo):
    queue = fifo(1, 1)
    enqueue = start_blocked(queue, "enqueue", 2)
    close = start_blocked(queue, "close")
    assert not queue.is_closed()
    queue.close(cancel_pending_enqueues=True)
    for call in (enqueue, close):
        check_error(call.exception(), CancelledError, "Enqueue operation was cancelled")
    with raises(CancelledError, "Queue 'q' is already closed."):
        queue.close()
    assert plain(queue.dequeue()) == 1


def test_a_timeout_loses_nothing(fifo):
    queue = fifo(10, 1, 2, 3)
    with raises(DeadlineExceededError, "Timed out waiting for notification"):
        queue.dequeue_many(5, timeout=0.01)
    assert queue.size() == 3
    queue.enqueue_many([[4, 5]])
    assert plain(queue.dequeue()) == 1
    assert plain(queue.dequeue_many(4)) == [2, 3, 4, 5]


def test_up_to_takes_the_rest_at_close(fifo):
    queue = fifo(10, 1, 2, 3)
    first = start_blocked(queue, "dequeue_up_to", 5)
    second = start_blocked(queue, "dequeue_up_to", 5)
    queue.close()
    assert plain(first.result()) == [1, 2, 3]
    check_error(second.exception(), OutOfRangeError, short(5, 0))


def test_a_blocked_head_blocks_those_behind_it(fifo):
    queue = fifo(10)
    many = start_blocked(queue, "dequeue_many", 3)
    one = start_blocked(queue, "dequeue")
    assert plain(queue.dequeue_many(0)) == []
    queue.enqueue(1)
    queue.enqueue(2)
    assert waiting(queue) == (0, 2)
    assert queue.size() == 0
    queue.enqueue(3)
    assert plain(many.result()) == [1, 2, 3]
    queue.enqueue(4)
    assert plain(one.result()) == 4


def test_rows_of_one_call_stay_together(fifo):
    queue = fifo(2)
    calls = [start_blocked(queue, "enqueue_many", [[1, 2, 3, 4]])]
    calls.append(start_blocked(queue, "enqueue_many", [[5, 6, 7]]))
    calls.append(start_blocked(queue, "enqueue", 8))
    assert [plain(queue.dequeue()) for _ in range(8)] == [1, 2, 3, 4, 5, 6, 7, 8]
    assert [call.result() for call in calls] == [None] * 3


def test_a_timed_out_enqueue_makes_way(fifo):
    queue = fifo(1, 1)
    first = start_blocked(queue, "enqueue", 2, timeout=0.3)
    second = start_blocked(queue, "enqueue", 3)
    check_error(first.exception(), DeadlineExceededError, "Timed out waiting for notification")
    assert [plain(queue.dequeue()), plain(queue.dequeue())] == [1, 3]
    assert second.result() is None


def test_leftovers_stay_for_those_who_ask_for_less(fifo):
    queue = fifo(10, 1, 2, 3, 4)
    queue.close()
    assert plain(queue.dequeue_many(3)) == [1, 2, 3]
    with raises(OutOfRangeError, short(3, 1)):
        queue.dequeue_many(3)
    assert plain(queue.dequeue_up_to(3)) == [4]
    with raises(OutOfRangeError, short(3, 0)):
        queue.dequeue_up_to(3)


@pytest.mark.parametrize("method", ["dequeue_many", "dequeue_up_to"])
def test_more_than_the_capacity(fifo, method):
    queue = fifo(2)
    call = start_blocked(queue, method, 5)
    for value in range(4):
        queue.enqueue(value, timeout=0)
        assert queue.size() == 0
    assert waiting(queue) == (0, 1)  # up_to waits for all elements, too, while the queue is open
    queue.enqueue(4)
    assert plain(call.result()) == [0, 1, 2, 3, 4]


def test_a_blocked_dequeue_frees_capacity(fifo):
    queue = fifo(3, 1, 2, 3)
    call = start_blocked(queue, "dequeue_many", 5)
    assert queue.size() == 0
    queue.enqueue(4, timeout=0)
    queue.enqueue_many([[5, 6, 7]], timeout=0)
    assert plain(call.result()) == [1, 2, 3, 4, 5]
    assert queue.size() == 2


def test_waiting_many_forms_alternate(fifo):
    queue = fifo(2)
    out = start_blocked(queue, "dequeue_many", 5)
    queue.enqueue_many([list(range(7))])
    assert plain(out.result()) == [0, 1, 2, 3, 4]
    assert plain(queue.dequeue_many(2)) == [5, 6]


def test_numbers_in_the_error_of_a_partly_filled_call(fifo):
    queue = fifo(10, 1, 2, 3)
    call = start_blocked(queue, "dequeue_many", 5)
    queue.close()
    check_error(call.exception(), OutOfRangeError, short(2, 0))
    assert queue.size() == 3
    assert plain(queue.dequeue_many(3)) == [1, 2, 3]


def test_what_was_put_back_goes_to_those_behind(fifo):
    queue = fifo(10, 1, 2, 3)
    calls = [start_blocked(queue, "dequeue_many", n) for n in (5, 2)]
    calls += [start_blocked(queue, "dequeue") for _ in range(2)]
    queue.close()
    check_error(calls[0].exception(), OutOfRangeError, short(2, 0))
    assert plain(calls[1].result()) == [1, 2]
    assert plain(calls[2].result()) == 3
    check_error(calls[3].exception(), OutOfRangeError, short(1, 0))


def test_what_was_put_back_goes_to_up_to(fifo):
    queue = fifo(10, 1, 2, 3)
    first, second = (start_blocked(queue, "dequeue_many", n) for n in (5, 4))
    third = start_blocked(queue, "dequeue_up_to", 7)
    queue.close()
    check_error(first.exception(), OutOfRangeError, short(2, 0))
    check_error(second.exception(), OutOfRangeError, short(4, 3))
    assert plain(third.result()) == [1, 2, 3]


def test_what_was_put_back_at_a_timeout_goes_to_those_behind(fifo):
    queue = fifo(10, 1, 2, 3)
    first = start_blocked(queue, "dequeue_many", 5, timeout=0.3)
    second = run_in_thread(queue.dequeue_many, 2)
    check_error(first.exception(), DeadlineExceededError, "Timed out waiting for notification")
    assert plain(second.result()) == [1, 2]
    assert plain(queue.dequeue()) == 3


def test_a_late_row_completes_a_waiting_call_before_the_close(fifo):
    queue = fifo(2, 1, 2)
    many = start_blocked(queue, "enqueue_many", [[3, 4, 5]])
    close = start_blocked(queue, "close")
    assert plain(queue.dequeue_many(5)) == [1, 2, 3, 4, 5]
    assert (many.result(), close.result()) == (None, None)
    assert queue.is_closed()
    with raises(OutOfRangeError, short(1, 0)):
        queue.dequeue()


def test_no_capacity_is_no_hand_off(fifo):
    queue = fifo(0)
    dequeue = start_blocked(queue, "dequeue")
    enqueue = start_blocked(queue, "enqueue", 1)
    wait_blocked(queue, enqueues=1, dequeues=1)
    queue.close(cancel_pending_enqueues=True)
    check_error(enqueue.exception(), CancelledError, "Enqueue operation was cancelled")
    check_error(dequeue.exception(), OutOfRangeError, short(1, 0))
