"""`timeout=`: the call gives up, nothing is lost, and the others continue."""

import pickle

import numpy as np
import pytest
from helpers import check_error, plain, raises, start_blocked, waiting

from pipeline import FIFOQueue, RandomShuffleQueue
from pipeline.errors import CancelledError, DeadlineExceededError, InvalidArgumentError

TEXT = "Timed out waiting for notification"
SOON = [0, 0.0, 0.01, np.float32(0.01)]


@pytest.fixture
def queue(queues):
    return queues.FIFOQueue(3, np.int32, shapes=(), name="q")


@pytest.mark.parametrize("timeout", SOON)
def test_dequeues_from_an_empty_queue(queue, timeout):
    with raises(DeadlineExceededError, TEXT):
        queue.dequeue(timeout=timeout)
    for call in (queue.dequeue_many, queue.dequeue_up_to):
        with raises(DeadlineExceededError, TEXT):
            call(2, timeout=timeout)
    assert waiting(queue) == (0, 0)
    queue.enqueue(1)
    assert plain(queue.dequeue()) == 1


@pytest.mark.parametrize("timeout", SOON)
def test_enqueues_into_a_full_queue(queue, timeout):
    queue.enqueue_many([[1, 2, 3]])
    for call, vals in ((queue.enqueue, 4), (queue.enqueue_many, [[4, 5]])):
        with raises(DeadlineExceededError, TEXT):
            call(vals, timeout=timeout)
    assert waiting(queue) == (0, 0)
    assert plain(queue.dequeue_many(3)) == [1, 2, 3]
    assert queue.size() == 0


@pytest.mark.parametrize(("call", "vals"), [("enqueue", 4), ("enqueue_many", [[4]]), ("enqueue_many", [[4, 5]])])
def test_the_text_names_the_call(call, vals):
    queue = FIFOQueue(1, np.int32, shapes=(), name="q")
    queue.enqueue(1)
    with pytest.raises(DeadlineExceededError) as caught:
        getattr(queue, call)(vals, timeout=0)
    assert str(caught.value).splitlines()[1] == f"{call} on FIFOQueue 'q', which now holds 1 of 1 elements"
    assert caught.value.stored == 0


@pytest.mark.parametrize("call", ["enqueue", "enqueue_many", "dequeue", "dequeue_many", "dequeue_up_to", "close"])
def test_a_timeout_that_is_no_number(call):
    queue = FIFOQueue(1, np.int32, shapes=())
    arguments = {"enqueue": [1], "enqueue_many": [[1]], "dequeue_many": [1], "dequeue_up_to": [1]}.get(call, [])
    with raises(TypeError, "timeout must be None or a number of seconds, got '1'"):
        getattr(queue, call)(*arguments, timeout="1")
    assert (queue.size(), queue.is_closed()) == (0, False)


def test_the_error_is_a_timeout_error(queue):
    with pytest.raises(TimeoutError):
        queue.dequeue(timeout=0)


@pytest.mark.parametrize("timeout", [None, 0, 5.0])
def test_calls_that_can_be_served_do_not_time_out(queue, timeout):
    queue.enqueue(1, timeout=timeout)
    queue.enqueue_many([[2, 3]], timeout=timeout)
    assert plain(queue.dequeue(timeout=timeout)) == 1
    assert plain(queue.dequeue_many(1, timeout=timeout)) == [2]
    assert plain(queue.dequeue_up_to(1, timeout=timeout)) == [3]
    queue.close(timeout=timeout)


def test_served_within_the_time(queue):
    call = start_blocked(queue, "dequeue_many", 2, timeout=120)
    queue.enqueue_many([[1, 2]])
    assert plain(call.result()) == [1, 2]


def test_rows_that_are_in_stay_in(queue):
    queue.enqueue(1)
    with raises(DeadlineExceededError, TEXT):
        queue.enqueue_many([[2, 3, 4, 5]], timeout=0.01)
    assert queue.size() == 3
    queue.close()
    assert plain(queue.dequeue_up_to(9)) == [1, 2, 3]


@pytest.mark.parametrize("method", ["dequeue_many", "dequeue_up_to"])
@pytest.mark.parametrize("timeout", SOON)
def test_collected_elements_are_put_back_in_order(queue, method, timeout):
    queue.enqueue_many([[1, 2, 3]])
    with raises(DeadlineExceededError, TEXT):
        getattr(queue, method)(5, timeout=timeout)
    assert queue.size() == 3
    assert plain(queue.dequeue_many(3)) == [1, 2, 3]


def test_put_back_elements_come_before_those_that_came_later(queue):
    for timeout in (0.3, 3, 30):  # on a busy machine it may be over before the others start
        queue.enqueue_many([[1, 2, 3]])
        call = start_blocked(queue, "dequeue_many", 6, timeout=timeout)
        try:
            queue.enqueue_many([[4, 5]], timeout=0)
            break
        except DeadlineExceededError:
            check_error(call.exception(), DeadlineExceededError, TEXT)
            queue.dequeue_many(3)
    check_error(call.exception(), DeadlineExceededError, TEXT)
    assert queue.size() == 5  # more than the capacity, until some were taken
    with raises(DeadlineExceededError, TEXT):
        queue.enqueue(6, timeout=0)
    assert plain(queue.dequeue_many(3)) == [1, 2, 3]
    queue.enqueue(6, timeout=0)
    assert plain(queue.dequeue_many(3)) == [4, 5, 6]


def test_a_call_behind_a_blocked_one_times_out(queue):
    first = start_blocked(queue, "dequeue_many", 2)
    queue.enqueue(1)
    with raises(DeadlineExceededError, TEXT):
        queue.dequeue(timeout=0)
    queue.enqueue(2)
    assert plain(first.result()) == [1, 2]


def test_an_enqueue_behind_a_blocked_one_times_out(queue):
    first = start_blocked(queue, "enqueue_many", [[1, 2, 3, 4]])
    with raises(DeadlineExceededError, TEXT):
        queue.enqueue(5, timeout=0)
    assert plain(queue.dequeue_many(4)) == [1, 2, 3, 4]
    assert first.result() is None
    assert queue.size() == 0


def test_a_close_that_times_out_did_not_happen(queue):
    queue.enqueue_many([[1, 2, 3]])
    enqueue = start_blocked(queue, "enqueue", 4)
    with raises(DeadlineExceededError, TEXT):
        queue.close(timeout=0.01)
    assert not queue.is_closed()
    assert waiting(queue) == (1, 0)
    assert plain(queue.dequeue()) == 1
    assert enqueue.result() is None
    assert not queue.is_closed()
    assert plain(queue.dequeue_many(3)) == [2, 3, 4]


def test_a_cancelling_close_does_not_wait(queue):
    queue.enqueue_many([[1, 2, 3]])
    enqueue = start_blocked(queue, "enqueue", 4)
    queue.close(True, timeout=0)
    assert queue.is_closed()
    check_error(enqueue.exception(), CancelledError, "Enqueue operation was cancelled")


def test_no_time_is_needed_where_nothing_is_waited_for(queue):
    queue.close()
    with raises(CancelledError, "FIFOQueue 'q' is closed."):
        queue.enqueue(1, timeout=0)
    with raises(CancelledError, "Queue 'q' is already closed."):
        queue.close(timeout=0)
    with raises(InvalidArgumentError, "DequeueManyOp requested -1 < 0 elements"):
        queue.dequeue_many(-1, timeout=0)


def test_shuffled_elements_are_put_back(queues):
    queue = queues.RandomShuffleQueue(10, 2, np.int32, shapes=(), seed=1)
    queue.enqueue_many([[1, 2, 3, 4, 5]])
    with raises(DeadlineExceededError, TEXT):
        queue.dequeue_many(4, timeout=0.01)
    assert queue.size() == 5
    queue.close()
    assert sorted(plain(queue.dequeue_many(5))) == [1, 2, 3, 4, 5]


def test_padded_elements_are_put_back(queues):
    queue = queues.PaddingFIFOQueue(10, np.int32, [(None,)])
    for row in ([1], [2, 3], [4, 5, 6]):
        queue.enqueue([row])
    with raises(DeadlineExceededError, TEXT):
        queue.dequeue_many(4, timeout=0.01)
    assert queue.size() == 3
    assert [plain(queue.dequeue()) for _ in range(3)] == [[1], [2, 3], [4, 5, 6]]


def test_a_priority_queue_never_took_any(queues):
    queue = queues.PriorityQueue(10, np.int32, shapes=())
    queue.enqueue_many(([3, 1, 2], [30, 10, 20]))
    for call in (queue.dequeue_many, queue.dequeue_up_to):
        with raises(DeadlineExceededError, TEXT):
            call(4, timeout=0.01)
    assert queue.size() == 3
    assert plain(queue.dequeue_many(3)) == [[1, 2, 3], [10, 20, 30]]


class TestStored:
    """An enqueue's error has the number of elements stored before; so does its last line."""

    LINE = "of the 4 elements of this call were stored and stay in the queue"

    @pytest.fixture
    def queue(self):
        return FIFOQueue(3, np.int32, shapes=(), name="q")

    def check(self, error, stored):
        assert error.stored == stored
        assert str(error).endswith(f"\n{stored} {self.LINE}")
        assert pickle.loads(pickle.dumps(error)).stored == stored

    def test_timed_out(self, queue):
        with raises(DeadlineExceededError, TEXT) as caught:
            queue.enqueue_many([[1, 2, 3, 4]], timeout=0.01)
        self.check(caught.value, 3)

    def test_cancelled(self, queue):
        queue.enqueue(1)
        enqueue = start_blocked(queue, "enqueue_many", [[1, 2, 3, 4]])
        queue.close(True)
        self.check(enqueue.exception(), 2)

    def test_closed(self, queue):
        queue.close()
        with raises(CancelledError, "FIFOQueue 'q' is closed.") as caught:
            queue.enqueue_many([[1, 2, 3, 4]])
        self.check(caught.value, 0)

    def test_a_single_element_never_went_in(self, queue):
        queue.enqueue_many([[1, 2, 3]])
        with raises(DeadlineExceededError, TEXT) as caught:
            queue.enqueue(4, timeout=0)
        assert caught.value.stored == 0
        assert "stored" not in str(caught.value)

    def test_other_errors_have_none(self, queue):
        with raises(DeadlineExceededError, TEXT) as caught:
            queue.dequeue(timeout=0)
        assert caught.value.stored is None
        queue.close()
        with raises(CancelledError, "Queue 'q' is already closed.") as caught:
            queue.close()
        assert caught.value.stored is None


def test_text_of_a_block_that_waits_for_room():
    queue = FIFOQueue(3, np.int32, shapes=(), name="q")
    with raises(
        DeadlineExceededError, f"{TEXT}\nenqueue_many on FIFOQueue 'q', which now holds 3 of 3 elements\n3 of the 4"
    ):
        queue.enqueue_many([[1, 2, 3, 4]], timeout=0)
    with raises(DeadlineExceededError, f"{TEXT}\nenqueue on FIFOQueue 'q', which now holds"):
        queue.enqueue(5, timeout=0)


def test_text_of_a_pool_that_keeps_elements_back():
    queue = RandomShuffleQueue(9, 3, np.int32, shapes=(), name="q")
    queue.enqueue_many([[1, 2, 3]])
    with raises(DeadlineExceededError) as caught:
        queue.dequeue(timeout=0)
    assert str(caught.value).endswith(
        "which now holds 3 of 9 elements and keeps 3 of them back until it is closed (min_after_dequeue)"
    )
