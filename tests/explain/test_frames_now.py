"""frames_now: the frames of all threads, without a collection in between."""

import gc
import sys
import threading

import pytest

from pipeline._tickets import frames_now


@pytest.fixture
def deep():
    """Threads that wait below frames that nobody has asked for yet."""
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
    assert set(found) == set(sys._current_frames())
    assert found[threading.get_ident()].f_code.co_name == "test_the_frames_are_those_of_the_interpreter"
    assert all(found[thread.ident].f_code.co_name == "wait" for thread in deep)


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="collections begin between two steps of Python")
def test_no_collection_begins_meanwhile(deep):
    """In it a finalizer could let another thread run, while a lock is held that threads need to start and to end."""
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
