"""Tests trace memory only while no thread is exiting: see tests/support/tracing.py."""

import ctypes
import os
import re
import threading
from pathlib import Path

import pytest
from tracing import TASKS, ArrayBytes, memory_below, tracing

TESTS = Path(__file__).parents[1]


def linger(ids):
    """Delay this thread's exit by half a second after Python is done with it."""
    system = ctypes.CDLL(None)
    key = ctypes.c_uint()
    system.pthread_key_create(ctypes.byref(key), ctypes.cast(system.usleep, ctypes.c_void_p))
    system.pthread_setspecific(key, ctypes.c_void_p(500_000))  # at its end the thread calls usleep(500_000)
    ids.append(threading.get_native_id())


@pytest.mark.skipif(not os.path.isdir(TASKS), reason="nobody says here whether a thread is gone")
@pytest.mark.parametrize("traced", [tracing, ArrayBytes, lambda: memory_below(1 << 20)], ids=["all", "arrays", "peak"])
def test_a_thread_that_was_joined_is_gone_before_memory_is_traced(traced):
    ids = []

    def end_one():
        thread = threading.Thread(target=linger, args=(ids,))
        thread.start()
        thread.join()

    end_one()
    with traced():
        assert not os.path.exists(f"{TASKS}/{ids[0]}")
        end_one()
    assert not os.path.exists(f"{TASKS}/{ids[1]}")


def test_nothing_else_starts_or_stops_tracemalloc():
    calls = re.compile(r"tracemalloc\.(start|stop)\(")
    found = {path.name for path in TESTS.rglob("*.py") if calls.search(path.read_text())}
    assert found == {"tracing.py"}
