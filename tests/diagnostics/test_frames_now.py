"""frames_now: the frames of all threads, without running the garbage collector.

It is private; errors and traces take their stacks from it.
"""

import gc
import sys
import threading
import weakref

import pytest
from helpers import wait_until

import pipeline
from pipeline._meter import frames_now
from pipeline.diagnostics.frames import whereabouts


@pytest.fixture
def deep():
    """Threads waiting below frames not yet requested by any code."""
    stop = threading.Event()

    def down(levels):
        return down(levels - 1) if levels else stop.wait()

    threads = [threading.Thread(target=down, args=(5,), daemon=True) for _ in range(20)]
    for thread in threads:
        thread.start()
    yield threads
    stop.set()
    for thread in threads:
        thread.join()


def test_the_frames_are_those_of_the_interpreter(deep):
    found = frames_now()
    assert set(found) == set(sys._current_frames()) - {threading.get_ident()}
    assert all(found[thread.ident].f_code.co_name == "wait" for thread in deep)


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="collections begin between two steps of Python")
def test_no_collection_begins_meanwhile(deep):
    """A finalizer in it could let another thread run, while holding a lock needed to start and end threads."""
    within, begun, thresholds = [False], [], gc.get_threshold()

    def note(phase, info):
        if within[0]:
            begun.append(phase)

    gc.callbacks.append(note)
    gc.set_threshold(1, 1, 1)
    try:
        within[0] = True
        frames_now()
        within[0] = False
    finally:
        gc.set_threshold(*thresholds)
        gc.callbacks.remove(note)
    assert begun == []
    assert gc.isenabled()


def test_a_collector_that_is_off_stays_off():
    gc.disable()
    try:
        frames_now()
        assert not gc.isenabled()
    finally:
        gc.enable()


class Held:
    """A thread's local variable."""


def trace_for_a_moment(tmp_path):
    with pipeline.trace(tmp_path / "run.json", interval=0.001) as trace:
        wait_until(lambda: trace._tracer.samples > 5, "samples")  # until its end a trace does not show them


def ask_where_it_is(tmp_path):
    for thread in threading.enumerate():
        whereabouts(thread)


@pytest.mark.parametrize("watch", [trace_for_a_moment, ask_where_it_is])
def test_what_threads_hold_goes_with_them(tmp_path, watch):
    """Inspecting frames leaves no reference cycle for the garbage collector."""
    reached, stop, known = threading.Event(), threading.Event(), []

    def work():
        held = Held()
        known.append(weakref.ref(held))
        reached.set()
        stop.wait()

    thread = threading.Thread(target=work)
    gc.collect()
    gc.disable()
    try:
        thread.start()
        reached.wait()
        watch(tmp_path)
        stop.set()
        thread.join()
        assert known[0]() is None
    finally:
        gc.enable()


def test_a_thread_knows_where_it_is_itself():
    assert " is in test_a_thread_knows_where_it_is_itself() at " in whereabouts(threading.current_thread())
