"""Blocks larger than a single copying step behave like any other block."""

import numpy as np
import pytest
import reference
from helpers import plain, run_in_thread, start_blocked, wait_until

from pipeline import FIFOQueue, PriorityQueue, RandomShuffleQueue
from pipeline.errors import CancelledError, DeadlineExceededError

ROWS = 150_000  # 4 bytes each
BLOCK = np.arange(ROWS, dtype=np.int32)


def test_in_and_out():
    queue = FIFOQueue(ROWS, np.int32, shapes=())
    queue.enqueue_many([BLOCK], timeout=0)
    assert np.array_equal(queue.dequeue_many(ROWS), BLOCK)


def test_many_bytes():
    rows = np.arange(150, dtype=np.uint8)[:, None] * np.ones(2**20, np.uint8)
    queue = FIFOQueue(7, np.uint8, shapes=(2**20,))
    call = start_blocked(queue, "enqueue_many", [rows])
    for k in range(0, 150, 15):
        assert np.array_equal(queue.dequeue_many(15), rows[k : k + 15])
    assert call.result() is None


def test_strings():
    words = [b"%d" % value for value in range(ROWS)]
    queue = FIFOQueue(ROWS, "string", shapes=())
    queue.enqueue_many([words])
    assert queue.dequeue_many(ROWS).tolist() == words


@pytest.mark.parametrize("capacity", [1000, 100_000])
def test_through_a_smaller_queue(capacity):
    queue = FIFOQueue(capacity, np.int32, shapes=())
    call = start_blocked(queue, "enqueue_many", [BLOCK])
    close = start_blocked(queue, "close")
    assert np.array_equal(queue.dequeue_many(ROWS), BLOCK)
    assert (call.result(), close.result()) == (None, None)


def test_no_other_call_comes_between():
    queue = FIFOQueue(-1, np.int32, shapes=())
    blocks = [run_in_thread(queue.enqueue_many, [BLOCK + ROWS * k]) for k in range(1, 4)]
    others = [run_in_thread(lambda: [queue.enqueue(-1) for _ in range(1000)]) for _ in range(2)]
    for call in blocks + others:
        call.result()
    out = queue.dequeue_many(3 * ROWS + 2000)
    starts = [int(np.flatnonzero(out == ROWS * k)[0]) for k in range(1, 4)]
    for k, start in enumerate(starts, 1):
        assert np.array_equal(out[start : start + ROWS], BLOCK + ROWS * k)


def test_what_fits_stays_when_time_is_up():
    queue = FIFOQueue(100_000, np.int32, shapes=())
    with pytest.raises(DeadlineExceededError):
        queue.enqueue_many([BLOCK], timeout=0)
    assert queue.size() == 100_000
    assert np.array_equal(queue.dequeue_many(100_000), BLOCK[:100_000])
    assert queue.size() == 0


def test_what_fits_stays_when_the_queue_is_closed():
    queue = FIFOQueue(100_000, np.int32, shapes=())
    call = run_in_thread(queue.enqueue_many, [BLOCK])
    wait_until(lambda: queue.size() == 100_000, "a full queue")
    assert np.array_equal(queue.dequeue_many(10), BLOCK[:10])
    queue.close(cancel_pending_enqueues=True)
    assert isinstance(call.exception(), CancelledError)
    assert np.array_equal(queue.dequeue_up_to(ROWS), BLOCK[10:100_010])


@pytest.mark.parametrize("capacity", [100_000, 200_000])
def test_a_waiting_batch_draws_from_all_rows_that_fit(capacity):
    """Draws happen once the queue is full or the block is in, not after a first part."""
    outputs = []
    for module in (RandomShuffleQueue, reference.RandomShuffleQueue):
        queue = module(capacity, 0, np.int32, shapes=(), seed=1)
        call = start_blocked(queue, "dequeue_many", 100)
        late = start_blocked(queue, "dequeue_many", 60_000)
        queue.enqueue_many([BLOCK])
        outputs.append(plain(call.result()) + plain(late.result()))
    assert outputs[0] == outputs[1]


def test_the_least_of_all_rows_leave_first():
    queue = PriorityQueue(ROWS, np.int32, shapes=())
    call = start_blocked(queue, "dequeue_many", 3)
    queue.enqueue_many((-BLOCK.astype(np.int64), BLOCK))
    assert plain(call.result()[1]) == [ROWS - 1, ROWS - 2, ROWS - 3]


def test_a_large_heap_is_that_of_the_reference():
    random = np.random.default_rng(1)
    priorities, values = random.integers(0, 100, 20_000), np.arange(20_000, dtype=np.int32)
    batches = []
    for module in (PriorityQueue, reference.PriorityQueue):
        queue = module(-1, np.int32, shapes=())
        queue.enqueue_many((priorities, values))
        batches.append(plain(queue.dequeue_many(20_000)))
    assert batches[0] == batches[1]
