"""Python's allocations, traced: tracemalloc starts and stops while no thread is exiting.

A joined thread may still have to free its state. CPython does that without the GIL, through an allocator read in two
steps. If tracemalloc starts between them, the thread calls `tracemalloc_free` without its allocator: a segmentation
fault, in a thread no longer listed by faulthandler. So `tracing` waits for such threads. Threads still running must not
end while it starts or stops.
"""

import contextlib
import threading
import tracemalloc

import numpy as np
from helpers import wait_until

TASKS = "/proc/self/task"  # Linux only; elsewhere an exited thread cannot be detected
_begun: dict[int, str | None] = {}  # each thread's start time, by its system id, because ids are reused
_set_native_id = threading.Thread._set_native_id


def _began(thread):
    """Return when a thread in this process began, or None if there is none."""
    try:
        with open(f"{TASKS}/{thread}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[19]
    except OSError:
        return None


def _note(thread):
    _set_native_id(thread)
    _begun[thread.native_id] = _began(thread.native_id)


threading.Thread._set_native_id = _note  # Python has no record of ended threads


def await_ended_threads():
    """Return once every ended thread that Python started is gone from the system."""
    for thread in _begun.keys() - {each.native_id for each in threading.enumerate()}:
        began = _begun.pop(thread)
        if began is not None:
            wait_until(lambda thread=thread, began=began: _began(thread) != began, "the end of a thread")


@contextlib.contextmanager
def tracing():
    """Trace allocations within the body."""
    await_ended_threads()
    tracemalloc.start()
    try:
        yield
    finally:
        await_ended_threads()
        tracemalloc.stop()


@contextlib.contextmanager
def memory_below(most):
    """Fail if Python's allocations within the body ever exceed this."""
    with tracing():
        yield
        _, peak = tracemalloc.get_traced_memory()
    assert peak < most


class ArrayBytes:
    """Counts the bytes in living NumPy arrays, within `with`. Queues would notice weak references."""

    def __enter__(self):
        self._tracing = tracing()
        self._tracing.__enter__()
        return self

    def __exit__(self, *error):
        self._tracing.__exit__(*error)

    def __call__(self):
        traces = tracemalloc.take_snapshot().filter_traces([tracemalloc.DomainFilter(True, np.lib.tracemalloc_domain)])
        return sum(trace.size for trace in traces.traces)


def kept_alive(array):
    """Return how many bytes an array keeps alive: its own, or its base's if it is a view."""
    base = array
    while isinstance(base, np.ndarray) and base.base is not None:
        base = base.base
    return memoryview(base).nbytes
