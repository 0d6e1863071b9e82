"""QueueRunner: outcomes for queue, coordinator and threads, for each way in which enqueue ops end."""

import logging
import threading

import numpy as np
import pytest
from helpers import wait_blocked, wait_until
from orchestration import no_thread_left, out_of_range

from pipeline import (
    CancelledError,
    Coordinator,
    FIFOQueue,
    InvalidArgumentError,
    OutOfRangeError,
    QueueBase,
    QueueRunner,
)


@pytest.fixture(autouse=True)
def _threads_end():
    with no_thread_left():
        yield


@pytest.fixture
def unraised(monkeypatch):
    """Errors that ended threads."""
    errors = []
    monkeypatch.setattr(threading, "excepthook", lambda args: errors.append(args.exc_value))
    return errors


def failing(error, after=None):
    """An op that raises `error`, once the event `after` is set."""

    def op():
        if after is not None:
            assert after.wait(120)
        raise error

    return op


def run(ops, coord=None, **arguments):
    queue = FIFOQueue(10, "int32", name="q")
    runner = QueueRunner(queue, ops, **arguments)
    return queue, runner, runner.create_threads(coord=coord, start=True)


def finish(coord, threads):
    coord.request_stop()
    coord.join(threads)


class TestOutOfRange:
    def test_not_the_last_thread_leaves_the_queue_open(self):
        coord, go = Coordinator(), threading.Event()
        queue, _, threads = run([failing(out_of_range()), failing(out_of_range(), go)], coord)
        threads[0].join()
        assert not queue.is_closed()
        assert not coord.should_stop()
        go.set()
        threads[1].join()
        assert queue.is_closed()
        finish(coord, threads)

    def test_last_thread_closes_the_queue_and_elements_stay(self):
        coord, rest = Coordinator(), [1, 2, 3]
        queue = FIFOQueue(10, "int32")

        def op():
            if not rest:
                raise out_of_range()
            queue.enqueue(rest.pop())

        threads = QueueRunner(queue, [op]).create_threads(coord=coord, start=True)
        assert list(queue) == [3, 2, 1]
        assert not coord.should_stop()
        assert threads[1].is_alive()  # close_on_stop waits for a stop
        finish(coord, threads)

    def test_without_coordinator(self):
        queue, runner, [thread] = run([failing(out_of_range())])
        thread.join()
        assert queue.is_closed()
        assert runner.exceptions_raised == []

    def test_error_of_the_close_op_is_ignored(self):
        queue, runner, [thread] = run([failing(out_of_range())], close_op=failing(ValueError("close")))
        thread.join()
        assert not queue.is_closed()
        assert runner.exceptions_raised == []


def test_listed_type_counts_as_out_of_range():
    coord = Coordinator()
    types = (OutOfRangeError, CancelledError)
    queue, _, threads = run([failing(CancelledError(None, None, "c"))], coord, queue_closed_exception_types=types)
    threads[0].join()
    assert queue.is_closed()
    assert not coord.should_stop()
    finish(coord, threads)


class TestCancelled:
    def test_is_an_error_by_default(self):
        coord = Coordinator()
        queue = FIFOQueue(10, "int32")
        queue.close()
        threads = QueueRunner(queue, [lambda: queue.enqueue(1)]).create_threads(coord=coord, start=True)
        with pytest.raises(CancelledError, match="is closed"):
            coord.join(threads)

    def test_is_dropped_when_stop_was_requested(self):
        coord = Coordinator()
        queue = FIFOQueue(1, "int32")
        threads = QueueRunner(queue, [lambda: queue.enqueue(1)]).create_threads(coord=coord, start=True)
        wait_blocked(queue, enqueues=1)
        coord.request_stop()
        coord.join(threads)

    def test_without_coordinator_it_is_kept(self, unraised, caplog):
        error = CancelledError(None, None, "c")
        queue, runner, [thread] = run([failing(error)])
        thread.join()
        assert runner.exceptions_raised == [error]
        assert unraised == [error]
        assert not queue.is_closed()
        assert "Exception in QueueRunner: c" in caplog.text


@pytest.mark.parametrize("error", [InvalidArgumentError(None, None, "bad"), ValueError("bad"), StopIteration("bad")])
class TestOtherErrors:
    def test_stop_the_coordinator_cancel_the_queue_and_end_the_siblings(self, error):
        coord, go = Coordinator(), threading.Event()
        queue = FIFOQueue(1, "int32")
        ops = [failing(error, go), lambda: queue.enqueue(1)]
        threads = QueueRunner(queue, ops).create_threads(coord=coord, start=True)
        wait_blocked(queue, enqueues=1)
        go.set()
        with pytest.raises(type(error), match="bad") as caught:
            coord.join(threads)
        assert caught.value is error
        assert queue.is_closed()

    def test_without_coordinator_the_siblings_go_on(self, error, unraised):
        go = threading.Event()
        queue, runner, threads = run([failing(error), failing(out_of_range(), go)])
        threads[0].join()
        assert runner.exceptions_raised == [error]
        assert unraised == [error]
        assert not queue.is_closed()
        go.set()
        threads[1].join()
        assert queue.is_closed()  # the count reached 0 in the thread at the end

    def test_last_without_coordinator_leaves_the_queue_open(self, error, unraised):
        go = threading.Event()
        queue, _, threads = run([failing(out_of_range()), failing(error, go)])
        threads[0].join()
        go.set()
        threads[1].join()
        assert not queue.is_closed()
        assert unraised == [error]


def test_clean_type_of_the_coordinator_stops_without_an_exception():
    coord = Coordinator(clean_stop_exception_types=(ValueError,))
    queue, _, threads = run([failing(ValueError("clean"))], coord)
    coord.join(threads)
    assert coord.should_stop()
    assert queue.is_closed()


def test_op_that_is_no_callable():
    coord = Coordinator()
    _, _, threads = run(["op"], coord)
    with pytest.raises(TypeError, match="must be a callable"):
        coord.join(threads)


def test_stop_before_the_start_runs_no_op():
    coord, called = Coordinator(), []
    coord.request_stop()
    queue, _, threads = run([lambda: called.append(1)], coord)
    coord.join(threads)
    assert called == []
    assert queue.is_closed()


def test_thread_leaves_at_the_next_check():
    coord, calls = Coordinator(), []

    def op():
        calls.append(1)
        coord.request_stop()

    _, _, threads = run([op], coord)
    coord.join(threads)
    assert calls == [1]


def test_ops_that_do_nothing_never_close_the_queue():
    coord = Coordinator()
    nothing = {"close_op": lambda: None, "cancel_op": lambda: None}
    queue, _, threads = run([failing(out_of_range())], coord, **nothing)
    threads[0].join()
    finish(coord, threads)
    assert not queue.is_closed()


def test_exceptions_of_the_last_run_are_forgotten(unraised):
    outcomes = [out_of_range(), ValueError("first")]

    def op():
        raise outcomes.pop()

    _, runner, [thread] = run([op])
    thread.join()
    assert len(runner.exceptions_raised) == 1
    [thread] = runner.create_threads(start=True)
    thread.join()
    assert runner.exceptions_raised == []


def test_errors_are_logged_only_where_nobody_else_hears(unraised, caplog):
    coord = Coordinator()
    with caplog.at_level(logging.ERROR):
        _, _, threads = run([failing(ValueError("heard"))], coord)
        wait_until(coord.should_stop, "the stop")
        with pytest.raises(ValueError, match="heard"):
            coord.join(threads)
    assert caplog.text == ""
    assert unraised == []


def test_selected_queue_that_went_missing_does_not_hide_the_error(unraised):
    """The queue's index becomes invalid during the run: closing it fails, without consequences."""
    coord, index = Coordinator(), np.array(1)
    queue = QueueBase.from_list(index, [FIFOQueue(3, "int32", name=name) for name in "ab"])

    def op():
        index[...] = 9
        raise ValueError("bad")

    threads = QueueRunner(queue, [op]).create_threads(coord=coord, start=True)
    with pytest.raises(ValueError, match="bad"):
        coord.join(threads)
    assert unraised == []
