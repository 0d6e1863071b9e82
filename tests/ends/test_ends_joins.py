"""Signal handlers raise while threads are started, joined and left: no live thread counts as ended, nothing leaks."""

import contextlib
import functools
import gc
import signal
import sys
import threading
import weakref

import pytest
from helpers import LIMIT, run_in_thread, wait_until
from orchestration import Gate, fresh_collection, no_thread_left, threads_since

import pipeline
from pipeline import Coordinator, FIFOQueue, QueueRunner


@pytest.fixture(autouse=True)
def _fresh():
    with fresh_collection(), no_thread_left():
        yield


def stands_in(names):
    """Return whether the main thread is in one of these functions."""
    frame = sys._current_frames()[threading.main_thread().ident]
    while frame is not None:
        if frame.f_code.co_name in names:
            return True
        frame = frame.f_back
    return False


@contextlib.contextmanager
def interrupted_in(*names):
    """Send Ctrl-C to the main thread as soon as it is in one of these functions; the body must raise it."""

    def strike():
        wait_until(lambda: stands_in(names), f"the main thread to come to {names}")
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    call = run_in_thread(strike)
    with pytest.raises(KeyboardInterrupt):
        yield
    call.result()


def test_a_thread_that_runs_counts_as_running_after_an_interrupted_join():
    with Gate("laggard") as gate:
        for _ in range(5):
            coord = Coordinator()
            coord.register_thread(gate.thread)
            coord.request_stop()
            with interrupted_in("join"):
                coord.join()
            assert gate.thread.is_alive()
            with pytest.raises(RuntimeError, match="laggard"):
                coord.join(stop_grace_period_secs=0)


def test_a_thread_of_a_runner_counts_as_running_after_an_interrupted_join():
    go, waits = threading.Event(), threading.Event()

    def wait():
        waits.set()
        go.wait(LIMIT)

    coord = Coordinator()
    threads = QueueRunner(FIFOQueue(1, "int32"), [wait]).create_threads(coord=coord, daemon=True, start=True)
    assert waits.wait(LIMIT)  # a thread that begins after the request ends at once
    coord.request_stop()
    for _ in range(5):
        with interrupted_in("join"):
            coord.join()
        assert threads[0].is_alive()
    with pytest.raises(RuntimeError, match="wait"):
        coord.join(stop_grace_period_secs=0)
    go.set()
    coord.join(threads)
    assert not any(thread.is_alive() for thread in threads)


def test_a_loop_that_is_closed_again_after_an_interrupted_close():
    """And its `grace` is how long it waits for its threads."""
    go, asked = threading.Event(), threading.Event()

    def rows():
        yield 1
        asked.set()
        go.wait(LIMIT)

    batches = pipeline.batch(rows(), 1)
    next(batches)
    assert asked.wait(LIMIT)
    with interrupted_in("wait_for_end"):
        batches.close()
    batches.grace = 0
    with pytest.raises(RuntimeError, match=r"still running after 0 seconds\n'batch/prefetch' is in "):
        batches.close()
    go.set()
    batches.grace = LIMIT
    batches.close()


def test_a_handler_that_raises_in_the_finalizer_of_a_loop(monkeypatch):
    """A profile function stands in for the handler. The threads end all the same."""
    unraised, begun = [], threads_since()
    monkeypatch.setattr(sys, "unraisablehook", unraised.append)

    def strike(frame, event, _):
        if event == "call" and frame.f_code.co_name == "stop":
            sys.setprofile(None)
            raise KeyboardInterrupt

    with contextlib.ExitStack() as stack:
        for coord in (None, Coordinator()):
            batches = pipeline.batch(iter(int, 1), 1, coord=coord)
            next(batches)
            if coord is not None:
                stack.callback(coord.request_stop)
            sys.setprofile(strike)
            try:
                del batches
                gc.collect()
            finally:
                sys.setprofile(None)
            wait_until(lambda: not any("prefetch" in thread.name for thread in begun()), "the thread to end")
    assert [each.exc_type for each in unraised] == [KeyboardInterrupt] * 2


class Source:
    """Endless; weak references may refer to it."""

    def __call__(self):
        return 1


# Called by `Thread.start`: from CPython 3.13 on, and before.
STARTS = next(name for name in ("_start_joinable_thread", "_start_new_thread") if hasattr(threading, name))


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_start_that_is_interrupted(monkeypatch, number):
    """The thread being started begins late. Before it does, the loop is already cleaned up, and stays so afterwards."""
    real, left, late = getattr(threading, STARTS), number, []

    def start(*args, **options):
        nonlocal left
        left -= 1
        if left == 0:
            late.append(functools.partial(real, *args, **options))
            raise KeyboardInterrupt
        return real(*args, **options)

    source, begun = Source(), threads_since()
    known = weakref.ref(source)
    batches = pipeline.batch(source, 1, num_threads=2)
    loop = weakref.ref(batches)
    with monkeypatch.context() as patched:
        patched.setattr(threading, STARTS, start)
        with pytest.raises(KeyboardInterrupt):
            next(batches)
    del batches, source
    gc.collect()
    try:
        # Python lists the thread that has not begun.
        wait_until(lambda: len(begun()) == 1, "the other threads to end")
        gc.collect()
        assert loop() is None
        assert known() is None
    finally:
        late.pop()()
        wait_until(lambda: not begun(), "the late thread to end")


def test_a_loop_whose_start_was_interrupted_goes_on(monkeypatch):
    def rows():
        yield from range(5)

    batches = pipeline.batch(rows, 2, allow_smaller_final_batch=True)

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Thread, "start", interrupt)
    with pytest.raises(KeyboardInterrupt):
        next(batches)
    monkeypatch.undo()
    assert [row for batch in batches for row in batch.tolist()] == [0, 1, 2, 3, 4]
