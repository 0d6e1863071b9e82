"""Batches filled while their large rows arrive: they hold the rows put in, and belong to the caller alone."""

import random
import sys
import threading
import tracemalloc

import numpy as np
import pytest
from tracing import tracing

from pipeline import FIFOQueue
from pipeline.errors import DeadlineExceededError

ROW, N = 20_000, 8
GIL = getattr(sys, "_is_gil_enabled", lambda: True)()


def row(k):
    return np.full(ROW, k % 251, np.uint8)


def queue_of_rows(capacity=64):
    return FIFOQueue(capacity, "uint8", shapes=[(ROW,)])


def put(queue, numbers):
    for k in numbers:
        queue.enqueue(row(k))


def check(batch, numbers):
    assert batch.shape == (len(numbers), ROW)
    np.testing.assert_array_equal(batch, np.stack([row(k) for k in numbers]))


@pytest.fixture
def settled():
    """Return a queue after two batches with the same size."""
    queue = queue_of_rows()
    for _ in range(2):
        put(queue, range(N))
        queue.dequeue_many(N)
    return queue


@pytest.fixture
def traced():
    with tracing():
        yield


def new_memory(work):
    """Return the result of `work`, and its peak allocation in bytes."""
    before, _ = tracemalloc.get_traced_memory()
    tracemalloc.reset_peak()
    result = work()
    return result, tracemalloc.get_traced_memory()[1] - before


@pytest.mark.skipif(not GIL, reason="batches are not made as rows come without the lock of the interpreter")
def test_a_batch_is_there_when_its_rows_are(settled, traced):
    put(settled, range(N))
    batch, grown = new_memory(lambda: settled.dequeue_many(N))
    assert grown < ROW
    check(batch, range(N))


def test_batches_do_not_share_memory_with_rows_or_with_each_other(settled):
    kept, batches = [row(k) for k in range(3 * N)], []
    for i in range(0, 3 * N, N):
        for each in kept[i : i + N]:
            settled.enqueue(each)
            each[:] = 255
        batches.append(settled.dequeue_many(N))
    for i, batch in enumerate(batches):
        check(batch, range(i * N, i * N + N))
        assert batch.flags.writeable
        assert batch.flags.owndata
        batch[:] = 254
    put(settled, range(N))
    check(settled.dequeue_many(N), range(N))


def test_the_rest_of_a_batch_that_was_begun_leaves_one_by_one_or_with_others(settled):
    put(settled, range(3 * N))
    np.testing.assert_array_equal(settled.dequeue(), row(0))
    check(settled.dequeue_many(N), range(1, N + 1))
    check(settled.dequeue_many(N), range(N + 1, 2 * N + 1))
    settled.close()
    check(settled.dequeue_up_to(3 * N), range(2 * N + 1, 3 * N))


def test_a_row_that_finds_no_room_leaves_a_gap_that_nobody_sees():
    queue = queue_of_rows(N + 2)
    for _ in range(2):
        put(queue, range(N))
        queue.dequeue_many(N)
    put(queue, range(N + 2))
    with pytest.raises(DeadlineExceededError):
        queue.enqueue(row(99), timeout=0.01)
    check(queue.dequeue_many(N), range(N))
    put(queue, range(N + 2, 2 * N))
    check(queue.dequeue_many(N), range(N, 2 * N))


def test_a_consumer_that_waits_for_more_than_fits_gets_it():
    queue, batches = queue_of_rows(N // 2), []
    consumer = threading.Thread(target=lambda: batches.extend(queue.dequeue_many(N) for _ in range(4)))
    consumer.start()
    put(queue, range(4 * N))
    consumer.join()
    for i, batch in enumerate(batches):
        check(batch, range(i * N, i * N + N))


def test_components_beside_large_rows_keep_their_places():
    queue = FIFOQueue(64, ["uint8", "int32"], shapes=[(ROW,), ()])
    for begin in range(0, 5 * N, N):
        for k in range(begin, begin + N):
            queue.enqueue((row(k), k))
        images, labels = queue.dequeue_many(N)
        check(images, labels)
        assert labels.tolist() == list(range(begin, begin + N))


@pytest.mark.parametrize("seed", range(10))
def test_whatever_the_calls_the_rows_leave_in_their_order(seed):
    draw = random.Random(seed)
    queue, put_in, taken = queue_of_rows(), 0, 0
    out = np.empty((N, ROW), np.uint8)
    for _ in range(60):
        held = put_in - taken
        what = draw.choice(["put", "put", "one", "many", "many", "block", "out"])
        if what == "put":
            n = min(draw.choice([1, 3, N, N]), 64 - held)
            put(queue, range(put_in, put_in + n))
            put_in += n
        elif what == "block" and held + 3 <= 64:
            queue.enqueue_many([np.stack([row(k) for k in range(put_in, put_in + 3)])])
            put_in += 3
        elif what == "one" and held:
            np.testing.assert_array_equal(queue.dequeue(), row(taken))
            taken += 1
        elif what in ("many", "out") and held >= N:
            n = N if what == "out" else draw.choice([3, N, N, N])
            batch = queue.dequeue_many(n, out=out) if what == "out" else queue.dequeue_many(n)
            check(batch, range(taken, taken + n))
            taken += n
    assert queue.size() == put_in - taken


def test_rows_of_two_producers_arrive_once_and_each_in_its_order():
    queue, each = queue_of_rows(16), 40

    def produce(first):
        for k in range(first, first + each):
            queue.enqueue(row(k))

    threads = [threading.Thread(target=produce, args=(first,)) for first in (0, 100)]
    for thread in threads:
        thread.start()
    got = np.concatenate([queue.dequeue_many(N) for _ in range(2 * each // N)])
    for thread in threads:
        thread.join()
    assert (got == got[:, :1]).all()
    for first in (0, 100):
        numbers = [k for k in got[:, 0].tolist() if first <= k < first + each]
        assert numbers == list(range(first, first + each))


def test_a_queue_that_is_dropped_leaves_nothing_of_a_batch_that_was_begun(traced):
    def cycle():
        queue = queue_of_rows()
        for _ in range(3):
            put(queue, range(N))
            queue.dequeue_many(N)
        put(queue, range(N // 2))

    cycle()
    before, _ = tracemalloc.get_traced_memory()
    cycle()
    assert tracemalloc.get_traced_memory()[0] - before < ROW
