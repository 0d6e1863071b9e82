"""A Coordinator as a context manager: leaving the block stops the threads, joins them, and raises a reported error."""

import threading
import traceback

import pytest
from helpers import raises, run_script, wait_until
from orchestration import no_thread_left

import pipeline
from pipeline import Coordinator, FIFOQueue, LooperThread, OutOfRangeError


@pytest.fixture(autouse=True)
def _nothing_left():
    with no_thread_left():
        yield


def started(coord, target):
    """A thread registered with the Coordinator, which passes on its target's errors."""

    def run():
        with coord.stop_on_exception():
            target()

    thread = threading.Thread(target=run)
    coord.register_thread(thread)
    thread.start()
    return thread


def fail(error):
    raise error


class TestLeft:
    def test_threads_are_stopped_and_joined(self):
        with Coordinator() as coord:
            threads = [started(coord, coord.wait_for_stop) for _ in range(3)]
            assert not coord.should_stop()
        assert coord.joined
        assert coord.should_stop()
        assert not any(thread.is_alive() for thread in threads)

    def test_threads_of_all_kinds(self):
        queue = FIFOQueue(2, "int64", [()])
        runner = pipeline.QueueRunner(queue, [lambda: queue.enqueue(1)] * 2)
        with Coordinator() as coord:
            threads = runner.create_threads(coord=coord, start=True)
            threads.append(LooperThread.loop(coord, None, lambda: coord.wait_for_stop()))
            assert queue.dequeue() == 1
        assert not any(thread.is_alive() for thread in threads)
        assert queue.is_closed()

    def test_what_a_thread_raised(self):
        with raises(KeyError, "'of a thread'"), Coordinator() as coord:
            started(coord, lambda: fail(KeyError("of a thread")))
            coord.wait_for_stop()

    def test_what_a_thread_raised_at_the_stop(self):
        """The block stops without an error, so the thread's error is too late, as with `request_stop` and `join`."""
        with Coordinator() as coord:
            started(coord, lambda: coord.wait_for_stop() and fail(KeyError("late")))

    def test_a_clean_stop(self):
        with Coordinator() as coord:
            started(coord, lambda: fail(OutOfRangeError(None, None, "the end")))
            coord.wait_for_stop()
        assert coord.joined

    def test_threads_that_do_not_end(self, monkeypatch):
        monkeypatch.setattr(pipeline.runners.coordinator, "_GRACE", 0.0)  # no two-minute wait
        go = threading.Event()
        try:
            with raises(RuntimeError, "Coordinator stopped with threads still running: stubborn"):
                with Coordinator() as coord:
                    thread = started(coord, go.wait)
                    thread.name = "stubborn"
        finally:
            go.set()

    def test_after_a_join_in_the_block(self):
        with Coordinator() as coord:
            thread = started(coord, coord.wait_for_stop)
            coord.request_stop()
            coord.join([thread])
        with raises(KeyError, "'again'"), Coordinator() as coord:
            coord.request_stop()
            coord.join()
            fail(KeyError("again"))


class TestTheBlockRaises:
    @pytest.mark.parametrize("error", [KeyError("of the block"), KeyboardInterrupt(), SystemExit(3)], ids=repr)
    def test_it_goes_on(self, error):
        with raises(type(error)) as caught, Coordinator() as coord:
            thread = started(coord, coord.wait_for_stop)
            raise error
        assert caught.value is error
        assert not thread.is_alive()
        assert [frame.name for frame in traceback.extract_tb(error.__traceback__)] == ["test_it_goes_on"]
        assert error.__context__ is None

    def test_the_end_of_the_input_goes_on(self):
        with raises(OutOfRangeError, "the end"), Coordinator():
            fail(OutOfRangeError(None, None, "the end"))

    def test_what_it_followed_from_is_raised(self):
        """The queue's error mentions a failed thread; the thread's own error matters."""
        with raises(KeyError, "'of a thread'") as caught, Coordinator() as coord:
            queue = coord.close_on_stop(FIFOQueue(9, "int64", [()]))
            started(coord, lambda: fail(KeyError("of a thread")))
            queue.dequeue()
        assert caught.value.__context__ is None

    def test_another_error_stays_its_context(self):
        with raises(KeyError, "'of a thread'") as caught, Coordinator() as coord:
            started(coord, lambda: fail(KeyError("of a thread")))
            coord.wait_for_stop()
            fail(ValueError("of the block"))
        assert type(caught.value.__context__) is ValueError

    def test_a_thread_that_does_not_end_hides_nothing(self, monkeypatch):
        monkeypatch.setattr(pipeline.runners.coordinator, "_GRACE", 0.0)  # no two-minute wait
        go = threading.Event()
        try:
            with raises(KeyError, "'of the block'"), Coordinator() as coord:
                started(coord, go.wait)
                fail(KeyError("of the block"))
        finally:
            go.set()

    def test_threads_that_wait_for_room_end(self):
        with raises(KeyError, "'of the block'"), Coordinator() as coord:
            queue = coord.close_on_stop(FIFOQueue(1, "int64", [()]))

            def fill():
                while not coord.should_stop():
                    queue.enqueue(1)

            started(coord, fill)
            wait_until(lambda: queue.stats().waiting_enqueues, "the thread to wait for room")
            fail(KeyError("of the block"))


PROGRAM = """
import threading
import pipeline

with pipeline.Coordinator() as coord:
    queue = coord.close_on_stop(pipeline.FIFOQueue(2))

    def fill():
        with coord.stop_on_exception():
            while not coord.should_stop():
                queue.enqueue(1)

    thread = threading.Thread(target=fill)
    coord.register_thread(thread)
    thread.start()
    for example in queue:
        raise KeyError("of the main thread")
"""


def test_a_program_whose_main_thread_raises_exits():
    done = run_script(PROGRAM)
    assert done.returncode == 1
    assert done.stderr.count("Traceback") == 1
    assert done.stderr.rstrip().endswith("KeyError: 'of the main thread'")
