"""Signal handlers and finalizers use the queue while it is inside a call."""

import contextlib
import gc
import os
import signal
import threading
import weakref

import numpy as np
import pytest
from helpers import run_in_thread, start_blocked, wait_blocked, wait_until

import pipeline.compat.v1 as tf
from pipeline import CancelledError, FIFOQueue, OutOfRangeError, PriorityQueue, RandomShuffleQueue
from pipeline.errors import DeadlineExceededError, OpError


@pytest.fixture
def when_blocked():
    """Call a function as a signal handler in the main thread, once that thread is blocked in a queue."""
    before = signal.getsignal(signal.SIGUSR1)

    def arrange(handler, blocked):
        def send():
            wait_until(blocked, "the main thread to be blocked")
            os.kill(os.getpid(), signal.SIGUSR1)

        signal.signal(signal.SIGUSR1, lambda *_: handler())
        return run_in_thread(send)

    yield arrange
    signal.signal(signal.SIGUSR1, before)


def waits(queue):
    return lambda: sum(queue.stats()[-2:]) > 0


def full(*values):
    queue = FIFOQueue(len(values), object, shapes=[()])
    queue.enqueue_many([list(values)])
    return queue


class TestSignalHandler:
    def test_makes_room_for_the_enqueue_that_it_interrupts(self, when_blocked):
        queue, taken = full(1, 2), []
        when_blocked(lambda: taken.append(queue.dequeue()), waits(queue))
        queue.enqueue(3)
        assert taken == [1]
        assert queue.dequeue_many(2).tolist() == [2, 3]

    def test_fills_the_batch_that_it_interrupts(self, when_blocked):
        queue = FIFOQueue(2, object, shapes=[()])
        when_blocked(lambda: queue.enqueue_many([[1, 2, 3, 4, 5]]), waits(queue))
        assert queue.dequeue_many(5).tolist() == [1, 2, 3, 4, 5]

    def test_takes_its_turn_behind_the_call_that_it_interrupts(self, when_blocked):
        """The handler waits behind a call that cannot continue before the handler returns; a timeout ends the wait."""
        queue, errors = FIFOQueue(2, object, shapes=[()]), []

        def handler():
            with pytest.raises(DeadlineExceededError) as caught:
                queue.dequeue(timeout=0)
            errors.append(caught.value)
            queue.enqueue(1)

        when_blocked(handler, waits(queue))
        assert queue.dequeue() == 1
        assert len(errors) == 1

    @pytest.mark.parametrize("cancel", [False, True])
    def test_closes_the_queue(self, when_blocked, cancel):
        queue = FIFOQueue(2, object, shapes=[()])
        when_blocked(lambda: queue.close(cancel), waits(queue))
        with pytest.raises(OutOfRangeError):
            queue.dequeue()

    def test_cancels_the_enqueue_that_it_interrupts(self, when_blocked):
        queue = full(1)
        when_blocked(lambda: queue.close(True), waits(queue))
        with pytest.raises(CancelledError):
            queue.enqueue(2)
        assert list(queue) == [1]

    def test_runs_the_session_that_it_interrupts(self, when_blocked):
        with tf.Graph().as_default(), tf.Session() as session:
            queue = tf.FIFOQueue(2, tf.int32, shapes=[[]])
            put, taken = queue.enqueue(7), queue.dequeue()
            native = session.run(queue.queue_ref)
            when_blocked(lambda: session.run(put), waits(native))
            assert session.run(taken) == 7


def uses(queue):
    """Every queue operation that works immediately."""
    for call in (
        queue.size,
        queue.stats,
        lambda: queue.enqueue("late", timeout=0),
        lambda: queue.enqueue_many([["later"]], timeout=0),
        lambda: queue.dequeue(timeout=0),
        lambda: queue.dequeue_many(1, timeout=0),
    ):
        with contextlib.suppress(OpError, TypeError, ValueError):  # a PriorityQueue wants priorities
            call()


class Dying:
    """Uses a queue when it dies."""

    deaths = 0

    def __init__(self, queue):
        self.queue = queue

    def __del__(self):
        uses(self.queue)
        Dying.deaths += 1


@pytest.fixture(autouse=True)
def _count():
    Dying.deaths = 0


class TestObjectThatDies:
    def test_as_it_is_taken(self):
        queue = FIFOQueue(3, object, shapes=[()])
        queue.enqueue_many([[Dying(queue), Dying(queue)]])
        queue.dequeue_many(2)
        assert Dying.deaths == 2
        assert queue.size() == 0

    def test_as_its_enqueue_gives_up(self):
        queue = full(1, 2)
        with pytest.raises(DeadlineExceededError):
            queue.enqueue_many([[Dying(queue), Dying(queue)]], timeout=0)
        gc.collect()
        assert Dying.deaths == 2
        assert queue.size() <= 2

    def test_as_its_enqueue_is_cancelled(self):
        queue = full(1, 2)
        call = start_blocked(queue, "enqueue", Dying(queue))
        queue.close(True)
        assert isinstance(call.exception(), CancelledError)
        del call
        gc.collect()
        assert Dying.deaths == 1
        assert queue.is_closed()

    @pytest.mark.parametrize("kind", [FIFOQueue, RandomShuffleQueue, PriorityQueue])
    def test_with_the_queue(self, kind):
        """The queue is in a cycle: the collector drops it and its elements, in any order."""
        arguments = (9, 0) if kind is RandomShuffleQueue else (9,)
        queue = kind(*arguments, object, shapes=[()])
        for number in range(5):
            dying = Dying(queue)
            queue.enqueue((number, dying) if kind is PriorityQueue else dying)
        gone = weakref.ref(queue)
        del queue, dying
        gc.collect()
        assert Dying.deaths == 5
        assert gone() is None or gone().size() >= 0  # it may have been put to use again
        gc.collect()

    def test_while_a_large_batch_is_made(self):
        """The collector may run while a batch's arrays are made, with the queue's own memory in use."""
        queue = FIFOQueue(8, np.uint8, shapes=[(2**19,)])
        row = np.arange(2**19).astype(np.uint8)

        class Garbage:
            def __init__(self):
                self.me = self

            def __del__(self):
                with contextlib.suppress(DeadlineExceededError):
                    queue.enqueue(row, timeout=0)
                    assert np.array_equal(queue.dequeue(timeout=0), row)

        threshold = gc.get_threshold()
        gc.set_threshold(1)
        try:
            for _ in range(30):
                Garbage()
                queue.enqueue_many([np.stack([row, row])])
                for got in queue.dequeue_many(2):
                    assert np.array_equal(got, row)
        finally:
            gc.set_threshold(*threshold)


class TestQueueIsDropped:
    def test_while_others_wait(self):
        """Waiting threads keep the queue alive. Then it is freed, with its elements."""
        queue = full(1, 2)
        calls = [start_blocked(queue, "enqueue", 3), start_blocked(queue, "enqueue_many", [[4, 5]])]
        gone, close = weakref.ref(queue), run_in_thread(weakref.ref(queue)().close)
        wait_blocked(queue, enqueues=3)
        del queue
        gc.collect()
        gone().close(cancel_pending_enqueues=True)
        assert all(isinstance(call.exception(), CancelledError) for call in [*calls, close])
        del calls, close
        gc.collect()
        assert gone() is None

    def test_by_the_call_that_waits_in_it(self):
        queue = FIFOQueue(2, object, shapes=[()])
        gone = weakref.ref(queue)
        call = run_in_thread(lambda: gone().dequeue(timeout=0.05))
        del queue
        assert isinstance(call.exception(), (DeadlineExceededError, AttributeError))
        del call
        gc.collect()
        assert gone() is None

    def test_a_batch_that_is_made_lives_on(self):
        queue = FIFOQueue(8, np.uint8, shapes=[(2**20,)])
        queue.enqueue_many([np.ones((4, 2**20), np.uint8)])
        batches = []
        thread = threading.Thread(target=lambda queue: batches.append(queue.dequeue_many(4)), args=(queue,))
        del queue
        thread.start()
        thread.join()
        gc.collect()
        assert batches.pop().all()
