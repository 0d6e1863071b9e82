"""A QueueRunner thread dies at any line: no other thread waits for it forever."""

import contextlib
import logging
import sys
import threading

import pytest
from helpers import LIMIT, run_in_thread, wait_until
from orchestration import no_thread_left, source

import pipeline.compat.v1 as tf
from pipeline import Coordinator, FIFOQueue, QueueRunner
from pipeline.diagnostics.workers import WorkerGroup, WorkerRecord
from pipeline.errors import FailedPreconditionError, OutOfRangeError


class Killed(Exception):
    pass


class Killer:
    """Raise an exception in the first thread that reaches a given line in a function."""

    def __init__(self, function, line, error):
        self._at, self._error = (function.__code__, line), error
        self.victim = None

    def __call__(self, frame, event, _):
        return self._strike if frame.f_code is self._at[0] else None

    def _strike(self, frame, event, _):
        if event == "line" and self.victim is None and (frame.f_code, frame.f_lineno) == self._at:
            self.victim = threading.current_thread()
            raise self._error
        return self._strike


def lines(function):
    """Return the lines in a function's body."""
    code = function.__code__
    return sorted({line for _, _, line in code.co_lines() if line is not None and line > code.co_firstlineno})


# The threads of a runner run these private functions.
LOOP = [QueueRunner._fill, QueueRunner._leave, QueueRunner._note, QueueRunner._callable]
LOOP += [WorkerGroup.leave, WorkerGroup.reached_end, WorkerRecord.fail, WorkerRecord.as_current.__wrapped__]
PLACES = [(function, line) for function in LOOP for line in lines(function)]
NAMES = [f"{function.__name__}+{line - function.__code__.co_firstlineno}" for function, line in PLACES]


@pytest.fixture(autouse=True)
def _threads_end(monkeypatch):
    monkeypatch.setattr(threading, "excepthook", lambda args: None)
    logging.getLogger("pipeline.runners").disabled = True
    with no_thread_left():
        yield
    logging.getLogger("pipeline.runners").disabled = False


def run_killed(error, function, line, coord, threads=2, fail=False):
    """Run a QueueRunner whose threads enqueue 20 elements and end, or fail. Kill one at a line. Return the outcome."""
    queue = FIFOQueue(100, "int32", shapes=[()])
    take = source(range(20))

    def op():
        if fail and queue.size() > 5:
            raise ValueError("mine")
        queue.enqueue(take())

    runner = QueueRunner(queue, [op] * threads)
    killer = Killer(function, line, error)
    threading.settrace(killer)
    try:
        made = runner.create_threads(coord=coord, start=True)
    finally:
        threading.settrace(None)
    return queue, runner, killer, made


@pytest.mark.parametrize("fail", [False, True], ids=["ends", "fails"])
@pytest.mark.parametrize(("function", "line"), PLACES, ids=NAMES)
def test_killed_with_a_coordinator(function, line, fail):
    """The coordinator stops, and the queue is closed."""
    coord = Coordinator()
    queue, runner, killer, made = run_killed(Killed(), function, line, coord, fail=fail)
    for thread in made[:-1]:
        thread.join(LIMIT)
    if killer.victim is None:  # not a line on this path
        assert coord.should_stop() == fail
        coord.request_stop()
    elif not coord.should_stop():  # struck when its work was done
        assert not fail
        coord.request_stop()
    with contextlib.suppress(Killed, ValueError if fail else Killed):
        coord.join(made, stop_grace_period_secs=LIMIT)
    assert queue.is_closed()
    again = runner.create_threads(coord=Coordinator())
    assert len(again) == 3


@pytest.mark.parametrize(("function", "line"), PLACES, ids=NAMES)
def test_killed_without_a_coordinator(function, line):
    """Consumers get all elements or the thread's error."""
    queue, runner, killer, made = run_killed(Killed(), function, line, None, threads=1)
    made[0].join(LIMIT)
    if killer.victim is None:
        assert len(list(queue)) == 20 or runner.exceptions_raised
        return
    outcome = run_in_thread(queue.dequeue_many, 21).exception()
    if queue.is_closed():
        assert isinstance(outcome, OutOfRangeError)
    else:
        assert isinstance(outcome, FailedPreconditionError)
        assert "Killed" in str(outcome)
    assert len(runner.create_threads()) == 1


@pytest.mark.parametrize("coordinated", [False, True])
def test_a_thread_dies_before_its_first_line(coordinated):
    """The call fails as it would without memory: waiting consumers get the error."""

    def die():
        raise Killed

    coord = Coordinator() if coordinated else None
    queue = FIFOQueue(1, "int32", shapes=[()])
    made = QueueRunner(queue, [lambda: queue.enqueue(1)]).create_threads(coord=coord)
    made[0].run = die
    for thread in made:
        thread.start()
    made[0].join(LIMIT)
    text = "thread 1 of 1 of its QueueRunner failed: RuntimeError: the thread ended before it began"
    with pytest.raises(FailedPreconditionError, match=text):
        queue.dequeue()
    if coordinated:
        coord.request_stop()


def test_the_closing_thread_is_killed(monkeypatch):
    """The thread dies before the coordinator stops, so no other thread would close the queue."""

    def killed():
        raise Killed

    coord = Coordinator()
    queue = FIFOQueue(1, "int32", shapes=[()])
    monkeypatch.setattr(coord, "wait_for_stop", killed)
    made = QueueRunner(queue, [lambda: queue.enqueue(1)]).create_threads(coord=coord, start=True)
    with pytest.raises(Killed):
        coord.join(made)
    assert queue.is_closed()


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), GeneratorExit()], ids=lambda each: repr(each))
def test_an_exit_in_a_thread(error):
    """In Python, `sys.exit` ends only the calling thread; consumers waiting for its elements must get an error."""

    def leave():
        raise error

    queue = FIFOQueue(1, "int32", shapes=[()])
    coord = Coordinator()
    threads = QueueRunner(queue, [leave]).create_threads(coord=coord, start=True)
    with pytest.raises(type(error)) as raised:
        coord.join(threads)
    assert raised.value is error
    assert queue.is_closed()

    queue = FIFOQueue(1, "int32", shapes=[()])
    [thread] = QueueRunner(queue, [leave]).create_threads(start=True)
    thread.join()
    with pytest.raises(FailedPreconditionError, match=type(error).__name__):
        queue.dequeue()


def test_an_exit_in_a_thread_of_a_session():
    with tf.Graph().as_default(), tf.Session() as session:
        queue = tf.FIFOQueue(10, tf.int32, shapes=[[]])
        enqueue = queue.enqueue(tf.py_func(lambda: sys.exit(3), [], tf.int32))
        coord = tf.train.Coordinator()
        threads = tf.train.QueueRunner(queue, [enqueue]).create_threads(session, coord, start=True)
        with pytest.raises((SystemExit, tf.errors.OpError)):
            coord.join(threads)
        assert session.run(queue.is_closed())


@pytest.mark.parametrize("fail", [1, 2, 3])
def test_a_thread_cannot_be_started(monkeypatch, fail):
    """The system cannot start another thread: the caller gets the error, and the rest stops with its coordinator."""
    coord = Coordinator()
    queue = FIFOQueue(1, "int32", shapes=[()])
    runner = QueueRunner(queue, [lambda: queue.enqueue(1)] * 2)
    start, calls = threading.Thread.start, []

    def starting(thread):
        calls.append(thread)
        if len(calls) == fail:
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", starting)
    with pytest.raises(RuntimeError, match="can't start"):
        runner.create_threads(coord=coord, start=True)
    monkeypatch.undo()
    coord.request_stop()
    coord.join()
    assert queue.is_closed() == (fail > 1)  # one of the started threads closes it
    wait_until(lambda: len(runner.create_threads(coord=Coordinator())) == 3, "all threads to count as ended")


def test_no_thread_is_left_for_the_closing(monkeypatch):
    """Threads already running end: the queue is closed at once, and the coordinator stops."""
    coord = Coordinator()
    queue = FIFOQueue(1, "int32", shapes=[()])
    runner = QueueRunner(queue, [lambda: queue.enqueue(1)] * 2)
    start, calls = threading.Thread.start, []

    def starting(thread):
        calls.append(thread)
        if len(calls) > 2:
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", starting)
    with pytest.raises(RuntimeError, match="can't start"):
        runner.create_threads(coord=coord, daemon=True, start=True)
    assert coord.should_stop()
    assert queue.is_closed()
    coord.join()


def test_threads_start_in_the_order_of_the_list():
    """`threading.enumerate()` then lists close_on_stop last, as with TensorFlow."""
    coord = Coordinator()
    queue = FIFOQueue(1, "int32", shapes=[()])
    threads = QueueRunner(queue, [lambda: queue.enqueue(1)] * 2).create_threads(coord=coord, daemon=True, start=True)
    assert [each for each in threading.enumerate() if each in threads] == threads
    assert threads[-1].name.endswith("-close_on_stop")
    coord.request_stop()
    coord.join(threads)
