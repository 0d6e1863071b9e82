"""Coordinator.close_on_stop: a stop closes queues filled by the user's own threads, with its reason."""

import gc
import logging
import os
import signal
import threading
import weakref

import pytest
from helpers import raises, run_in_thread, start_blocked, wait_blocked
from orchestration import no_thread_left

import pipeline.compat.v1 as tf
from pipeline import CancelledError, Coordinator, FIFOQueue, OutOfRangeError, QueueBase, RandomShuffleQueue, batch
from pipeline.queues.causes import StoppedByCoordinator, because


@pytest.fixture(autouse=True)
def _threads_end():
    with no_thread_left():
        yield


def fill(coord, queue, values, error):
    """A user's thread: enqueues, then fails."""
    with coord.stop_on_exception():
        for value in values:
            queue.enqueue(value)
        raise error


def end_of(queue):
    """Return the queue's final error."""
    with pytest.raises(OutOfRangeError) as caught:
        queue.dequeue()
    return caught.value


class TestFailedThread:
    def test_the_consumer_gets_what_is_there_and_then_the_reason(self):
        coord = Coordinator()
        queue = coord.close_on_stop(FIFOQueue(9, "int64", (), name="q"))
        bad = ValueError("bad row")
        consumer = start_blocked(queue, "dequeue_many", 3)
        thread = threading.Thread(target=fill, args=(coord, queue, range(2), bad), name="reader")
        thread.start()
        error = consumer.exception()
        thread.join()
        assert isinstance(error, OutOfRangeError)
        first, why = str(error).splitlines()
        assert first == "FIFOQueue 'q' is closed and has insufficient elements (requested 1, current size 0)"
        assert why.startswith("closed because thread 'reader' reported an error to its Coordinator at ")
        assert why.endswith(": ValueError: bad row")
        assert error.__cause__ is bad
        assert [queue.dequeue(), queue.dequeue()] == [0, 1]
        assert end_of(queue).__cause__ is bad

    def test_enqueues_that_wait_are_cancelled(self):
        coord = Coordinator()
        queue = coord.close_on_stop(FIFOQueue(1, "int64", ()))
        queue.enqueue(0)
        producer = start_blocked(queue, "enqueue", 1)
        coord.request_stop()
        with raises(CancelledError, "Enqueue operation was cancelled"):
            producer.result()

    def test_a_pool_gives_out_what_it_kept_back(self):
        coord = Coordinator()
        queue = coord.close_on_stop(RandomShuffleQueue(9, 8, "int64", ()))
        queue.enqueue_many([range(3)])
        consumer = start_blocked(queue, "dequeue")
        coord.request_stop()
        assert {consumer.result(), queue.dequeue(), queue.dequeue()} == {0, 1, 2}

    def test_a_clean_stop_has_no_cause(self):
        coord = Coordinator()
        queue = coord.close_on_stop(FIFOQueue(9, "int64", ()))
        coord.request_stop(OutOfRangeError(None, None, "end"))
        error = end_of(queue)
        assert error.__cause__ is None
        assert "closed by coord.request_stop() at " in str(error)

    def test_several_queues_and_each_only_once(self):
        coord = Coordinator()
        queues = [coord.close_on_stop(FIFOQueue(9, "int64", ())) for _ in range(5)]
        assert coord.close_on_stop(queues[0]) is queues[0]
        consumers = [start_blocked(queue, "dequeue") for queue in queues]
        bad = KeyError("a")
        coord.request_stop(bad)
        assert [consumer.exception().__cause__ for consumer in consumers] == [bad] * 5

    def test_a_selected_queue(self):
        coord, queues = Coordinator(), [FIFOQueue(9, "int64", ()) for _ in range(2)]
        selected = coord.close_on_stop(QueueBase.from_list(1, queues))
        coord.request_stop()
        assert [queue.is_closed() for queue in queues] == [False, True]
        assert selected.is_closed()


class TestMoments:
    def test_after_the_stop_it_closes_at_once(self):
        coord, bad = Coordinator(), ValueError("bad")
        coord.request_stop(bad)
        assert end_of(coord.close_on_stop(FIFOQueue(9, "int64", ()))).__cause__ is bad

    def test_a_queue_that_is_closed_already_keeps_its_reason(self):
        coord = Coordinator()
        queue = coord.close_on_stop(FIFOQueue(9, "int64", ()))
        queue.close()
        coord.request_stop(ValueError("bad"))
        assert "closed by close() at " in str(end_of(queue))

    def test_a_new_stop_closes_the_queues_given_since(self):
        coord, first, second = Coordinator(), ValueError("first"), ValueError("second")
        queues = [coord.close_on_stop(FIFOQueue(9, "int64", ()))]
        coord.request_stop(first)
        coord.clear_stop()
        queues.append(coord.close_on_stop(FIFOQueue(9, "int64", ())))
        assert not queues[1].is_closed()
        coord.request_stop(second)
        assert [end_of(queue).__cause__ for queue in queues] == [first, second]


class Stubborn(FIFOQueue):
    """A queue whose `close` raises each given error in turn."""

    errors = ()

    def close(self, *args, **kwargs):
        if self.errors:
            raise self.errors.pop()
        super().close(*args, **kwargs)


class TestClosingFails:
    def test_the_other_queues_are_closed(self, caplog):
        caplog.set_level(logging.WARNING, "pipeline")
        coord = Coordinator()
        queues = [coord.close_on_stop(Stubborn(9, "int64", ())) for _ in range(5)]
        queues[2].errors = [RuntimeError("stuck")]
        coord.request_stop()
        assert [queue.is_closed() for queue in queues] == [True, True, False, True, True]
        assert "could not be closed when its Coordinator stopped: RuntimeError('stuck')" in caplog.text
        coord.request_stop()
        assert queues[2].is_closed()

    @pytest.mark.parametrize("next_call", ["request_stop", "join"])
    def test_an_interrupt_leaves_the_rest_to_the_next_call(self, next_call):
        coord = Coordinator()
        queues = [coord.close_on_stop(Stubborn(9, "int64", ())) for _ in range(5)]
        for queue in queues:
            queue.errors = [KeyboardInterrupt()]
        for _ in queues:
            with pytest.raises(KeyboardInterrupt):
                coord.request_stop()
        getattr(coord, next_call)()
        assert all(queue.is_closed() for queue in queues)


class TestSignals:
    def test_a_handler_stops_while_the_main_thread_waits(self):
        coord, bad = Coordinator(), ValueError("signalled")
        queue = coord.close_on_stop(FIFOQueue(9, "int64", ()))
        before = signal.signal(signal.SIGUSR1, lambda *_: coord.request_stop(bad))
        try:

            def strike():
                wait_blocked(queue, dequeues=1)
                os.kill(os.getpid(), signal.SIGUSR1)

            striking = run_in_thread(strike)
            assert end_of(queue).__cause__ is bad
            striking.result()
        finally:
            signal.signal(signal.SIGUSR1, before)

    def test_a_handler_within_a_close_for_another_reason(self):
        outer, coord = StoppedByCoordinator(KeyError("outer")), Coordinator()
        queues = [coord.close_on_stop(FIFOQueue(9, "int64", ())), FIFOQueue(9, "int64", ())]
        with because(outer):
            coord.request_stop(ValueError("inner"))  # as a handler does
            queues[1].close()
        assert [type(end_of(queue).__cause__) for queue in queues] == [ValueError, KeyError]


class TestGarbage:
    def test_queues_are_not_kept_alive(self):
        coord = Coordinator()
        queue = coord.close_on_stop(FIFOQueue(9, "int64", ()))
        gone = weakref.ref(queue)
        del queue
        gc.collect()
        assert gone() is None
        coord.request_stop()

    def test_many_queues_leave_nothing_behind(self):
        coord = Coordinator()
        kept = coord.close_on_stop(FIFOQueue(9, "int64", ()))
        for _ in range(100):
            coord.close_on_stop(FIFOQueue(9, "int64", ()))
        assert len(coord._tied) <= 3  # only this test and its memory use show that it keeps the others
        coord.request_stop()
        assert kept.is_closed()
        assert not coord._tied  # as above


class TestArguments:
    @pytest.mark.parametrize("thing", [None, "q", threading.Lock(), FIFOQueue], ids=["None", "str", "lock", "class"])
    def test_what_is_no_queue(self, thing):
        with raises(TypeError, "queue must be a queue of pipeline, such as pipeline.FIFOQueue, got "):
            Coordinator().close_on_stop(thing)

    def test_a_loop_and_a_queue_of_a_graph(self):
        with tf.Graph().as_default():
            of_graph = tf.FIFOQueue(9, tf.int64)
        for thing in (batch([1, 2], 1), of_graph):
            with raises(TypeError, "queue must be a queue of pipeline"):
                tf.train.Coordinator().close_on_stop(thing)
