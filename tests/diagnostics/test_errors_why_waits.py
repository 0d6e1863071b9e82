"""Waits that cannot end raise at once; long ones report progress; hanging threads are named with their location.

The tests call the queues' private hooks as the core does, so that no test waits for its interval.
"""

import logging
import threading

import pytest
from helpers import LIMIT, run_in_thread, start_blocked, wait_blocked, wait_until
from orchestration import Gate, fresh_collection, no_thread_left, out_of_range

import pipeline
from pipeline import Coordinator, FailedPreconditionError, FIFOQueue, OutOfRangeError, QueueRunner, RandomShuffleQueue
from pipeline._queue import CALLS
from pipeline.queues.waits import CHECK_INTERVAL


@pytest.fixture(autouse=True)
def _fresh():
    with fresh_collection(), no_thread_left():
        yield


@pytest.fixture
def unraised(monkeypatch):
    """Errors that ended threads."""
    errors = []
    monkeypatch.setattr(threading, "excepthook", lambda args: errors.append(args.exc_value))
    return errors


def fill(queue):
    return lambda: queue.enqueue(1)


class TestNeverStarted:
    @pytest.mark.parametrize("method", ["dequeue", "dequeue_many", "dequeue_up_to"])
    def test_raises_at_once_and_names_the_call(self, method):
        queue = FIFOQueue(9, "int64", (), name="files")
        pipeline.add_queue_runner(QueueRunner(queue, [fill(queue)] * 4))
        with pytest.raises(FailedPreconditionError) as caught:
            getattr(queue, method)(*[2] * (method != "dequeue"))
        first, hint = str(caught.value).splitlines()
        text = f"{method} of FIFOQueue 'files' would wait forever: its QueueRunner (4 threads) made at "
        assert first.startswith(text)
        assert "test_errors_why_waits.py:" in first
        assert first.endswith(" was never started.")
        assert hint == "Call pipeline.start_queue_runners(coord=coord) first."
        assert queue.stats().waiting_dequeues == 0

    def test_a_producers_place_is_that_of_its_caller(self):
        files = pipeline.string_input_producer(["a"])
        with pytest.raises(FailedPreconditionError, match=r"made at .*test_errors_why_waits\.py:\d+ was never started"):
            files.dequeue()

    def test_not_on_a_list(self):
        queue = FIFOQueue(9, "int64", ())
        QueueRunner(queue, [fill(queue)])
        with pytest.raises(FailedPreconditionError, match=r"Call runner\.create_threads\(coord=coord, start=True\)"):
            queue.dequeue()

    def test_no_more_on_the_list(self):
        queue = FIFOQueue(9, "int64", ())
        pipeline.add_queue_runner(QueueRunner(queue, [fill(queue)]))
        pipeline.reset()
        with pytest.raises(FailedPreconditionError, match=r"runner\.create_threads"):
            queue.dequeue()

    def test_on_an_own_list(self):
        queue, own = FIFOQueue(9, "int64", ()), []
        pipeline.add_queue_runner(QueueRunner(queue, [fill(queue)]), own)
        with pytest.raises(FailedPreconditionError, match="collection="):
            queue.dequeue()

    def test_several(self):
        queue = FIFOQueue(9, "int64", ())
        for _ in range(2):
            QueueRunner(queue, [fill(queue)] * 3)
        with pytest.raises(FailedPreconditionError, match=r"its 2 QueueRunners \(6 threads\) .* were never started"):
            queue.dequeue()

    def test_one_of_several_is_enough(self):
        queue, coord = FIFOQueue(9, "int64", ()), Coordinator()
        QueueRunner(queue, [fill(queue)])
        QueueRunner(queue, [fill(queue)]).create_threads(coord=coord, start=True)
        assert queue.dequeue_many(20).sum() == 20
        coord.request_stop()
        coord.join()

    def test_somebody_else_enqueues(self):
        queue = FIFOQueue(9, "int64", ())
        QueueRunner(queue, [fill(queue)])
        queue.enqueue(1)
        assert queue.dequeue() == 1
        waiting = start_blocked(queue, "dequeue")
        queue.enqueue(2)
        assert waiting.result() == 2

    def test_what_needs_no_wait_is_served(self):
        queue = FIFOQueue(1, "int64", ())
        QueueRunner(queue, [fill(queue)])
        waiting = run_in_thread(queue.enqueue_many, [[1, 2]])
        wait_blocked(queue, enqueues=1)
        assert [queue.dequeue(), queue.dequeue()] == [1, 2]
        waiting.result()
        queue.close()
        with pytest.raises(OutOfRangeError):
            queue.dequeue()

    def test_runners_are_started_in_any_order(self):
        """The downstream queue comes first, so its thread waits before the other is started."""
        coord, first, second = Coordinator(), FIFOQueue(9, "int64", ()), FIFOQueue(9, "int64", ())
        last = QueueRunner(first, [fill(first)])
        QueueRunner(second, [lambda: second.enqueue(first.dequeue())]).create_threads(coord=coord, start=True)
        wait_blocked(first, dequeues=1)
        last.create_threads(coord=coord, start=True)
        assert second.dequeue() == 1
        coord.request_stop()
        coord.join()

    def test_a_thread_of_a_runner_raises_when_it_is_asked_again(self):
        coord, first, second = Coordinator(), FIFOQueue(9, "int64", ()), FIFOQueue(9, "int64", ())
        QueueRunner(first, [fill(first)])
        QueueRunner(second, [lambda: second.enqueue(first.dequeue())]).create_threads(coord=coord, start=True)
        wait_blocked(first, dequeues=1)
        with pytest.raises(FailedPreconditionError, match="never started"):
            first._still_waiting(CALLS["dequeue"], CHECK_INTERVAL)
        coord.request_stop()
        first.close()
        coord.join()

    def test_threads_that_were_made_only(self):
        queue = FIFOQueue(9, "int64", ())
        [thread] = QueueRunner(queue, [fill(queue)]).create_threads(daemon=True)
        assert queue._about_to_wait(CALLS["dequeue"]) == CHECK_INTERVAL
        with pytest.raises(FailedPreconditionError, match=r"call start\(\) on each"):
            queue._still_waiting(CALLS["dequeue"], CHECK_INTERVAL)
        queue.close()
        with pytest.raises(OutOfRangeError):
            queue.dequeue()
        assert not thread.is_alive()

    def test_queue_without_runners_is_never_looked_at_again(self):
        queue = FIFOQueue(9, "int64", ())
        assert [queue._about_to_wait(call) for call in CALLS.values()] == [None] * len(CALLS)


class TestLost:
    def test_all_threads_failed_and_nobody_heard(self, unraised, caplog):
        queue, error = FIFOQueue(9, "int64", (), name="q"), ValueError("bad")

        def op():
            raise error

        [thread] = QueueRunner(queue, [op]).create_threads(start=True)
        thread.join()
        with pytest.raises(FailedPreconditionError) as caught:
            queue.dequeue()
        first, hint = str(caught.value).splitlines()
        text = "dequeue of FIFOQueue 'q' would wait forever: thread 1 of 1 of its QueueRunner failed after 0 elements"
        assert first == f"{text}: ValueError: bad"
        assert "Coordinator" in hint
        assert caught.value.__cause__ is error
        assert unraised == [error]

    def test_consumer_that_waits_already_hears_when_it_is_asked_again(self, unraised):
        queue, go = FIFOQueue(9, "int64", ()), threading.Event()

        def op():
            assert go.wait(LIMIT)
            raise ValueError("bad")

        [thread] = QueueRunner(queue, [op]).create_threads(start=True)
        assert queue._about_to_wait(CALLS["dequeue"]) == CHECK_INTERVAL
        assert queue._still_waiting(CALLS["dequeue"], CHECK_INTERVAL) == CHECK_INTERVAL
        go.set()
        thread.join()
        with pytest.raises(FailedPreconditionError, match="ValueError: bad"):
            queue._still_waiting(CALLS["dequeue"], 2 * CHECK_INTERVAL)

    def test_others_reached_the_end(self, unraised):
        queue, error, go = FIFOQueue(9, "int64", ()), ValueError("bad"), threading.Event()

        def op():
            raise error

        def end():
            assert go.wait(LIMIT)
            raise out_of_range()

        threads = QueueRunner(queue, [op, end]).create_threads(start=True)
        threads[0].join()
        go.set()
        with pytest.raises(OutOfRangeError) as caught:
            queue.dequeue()
        why = (
            "1 of 2 threads reached the end of the input, but thread 1 of 2 of its QueueRunner failed after 0 elements"
        )
        assert str(caught.value).splitlines()[1] == f"{why}: ValueError: bad"
        assert caught.value.__cause__ is error


class TestFilling:
    def test_one_line_of_progress(self, caplog):
        queue = RandomShuffleQueue(20_000, 10_000, "int64", (), name="examples")
        caplog.set_level(logging.INFO, "pipeline")
        assert queue._about_to_wait(CALLS["dequeue_many"]) == CHECK_INTERVAL
        queue.enqueue_many([range(3120)])
        assert queue._still_waiting(CALLS["dequeue_many"], CHECK_INTERVAL) is None
        [record] = caplog.records
        assert (record.name, record.levelname) == ("pipeline.queues", "INFO")
        text = record.getMessage()
        assert text.startswith("filling RandomShuffleQueue 'examples': 3,120 elements of min_after_dequeue=10,000")
        assert text.endswith(" s left)")
        assert queue._about_to_wait(CALLS["dequeue_many"]) is None

    def test_nothing_came(self, caplog):
        queue = RandomShuffleQueue(20, 10, "int64", ())
        caplog.set_level(logging.INFO, "pipeline")
        queue._about_to_wait(CALLS["dequeue"])
        queue._still_waiting(CALLS["dequeue"], CHECK_INTERVAL)
        hint = "coord.close_on_stop(queue) ends this wait when a thread of yours fails"
        assert caplog.messages[0].endswith(f" (none arrived recently). {hint}")

    def test_nothing_came_from_a_runner(self, caplog):
        queue = RandomShuffleQueue(20, 10, "int64", ())
        caplog.set_level(logging.INFO, "pipeline")
        with Gate() as gate:
            [thread] = QueueRunner(queue, [gate.thread.join]).create_threads(coord=(coord := Coordinator()))[:1]
            thread.start()
            queue._about_to_wait(CALLS["dequeue"])
            queue._still_waiting(CALLS["dequeue"], CHECK_INTERVAL)
            coord.request_stop()
        thread.join()
        assert caplog.messages[0].endswith("(none arrived recently)")

    def test_a_full_pool_says_nothing(self, caplog):
        queue = RandomShuffleQueue(20, 10, "int64", ())
        caplog.set_level(logging.INFO, "pipeline")
        queue._about_to_wait(CALLS["dequeue"])
        queue.enqueue_many([range(10)])
        queue._still_waiting(CALLS["dequeue"], CHECK_INTERVAL)
        assert caplog.records == []


class TestWhereabouts:
    def join(self, *threads):
        coord = Coordinator()
        coord.request_stop()
        with pytest.raises(RuntimeError) as caught:
            coord.join(threads, stop_grace_period_secs=0)
        return str(caught.value).splitlines()

    def test_calls_of_queues_and_other_places(self):
        queue = FIFOQueue(1, "int64", (), name="files")
        full = FIFOQueue(1, "int64", (), name="full")
        full.enqueue(1)
        threads = [
            threading.Thread(target=queue.dequeue, name="decode-2", daemon=True),
            threading.Thread(target=lambda: full.enqueue(2), name="feed-1", daemon=True),
        ]
        for thread in threads:
            thread.start()
        wait_blocked(queue, dequeues=1)
        wait_blocked(full, enqueues=1)
        with Gate("gate") as gate:
            first, *rest = self.join(*threads, gate.thread)
        assert first == "Coordinator stopped with threads still running: decode-2 feed-1 gate"
        assert rest[:2] == [
            "'decode-2' is blocked in dequeue of FIFOQueue 'files'",
            "'feed-1' is blocked in enqueue of FIFOQueue 'full'",
        ]
        assert rest[2].startswith("'gate' is in wait() at ")
        queue.enqueue(1)
        full.dequeue()

    def test_own_code_that_waited_for_a_queue_before(self):
        queue, go = FIFOQueue(1, "int64", ()), threading.Event()
        here = threading.Event()

        def work():
            queue.dequeue()
            here.set()
            assert go.wait(LIMIT)

        thread = threading.Thread(target=work, name="worker", daemon=True)
        thread.start()
        wait_blocked(queue, dequeues=1)
        queue.enqueue(1)
        wait_until(here.is_set, "the element")
        _, line = self.join(thread)
        assert line.startswith("'worker' is in work() at ")
        assert "test_errors_why_waits.py:" in line
        go.set()
