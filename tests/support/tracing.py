"""What Python allocates, traced: tracemalloc starts and stops while no thread is on its way out.

A thread that was joined may still have to free its state. CPython does that without the GIL, by an allocator that it
reads in two steps. If tracemalloc starts between them, the thread calls `tracemalloc_free` without its allocator: a
segmentation fault, in a thread that faulthandler no longer lists. So `tracing` waits for such threads. Threads that
still run must not end while it starts or stops.
"""

import contextlib
import threading
import tracemalloc

import numpy as np
from helpers import wait_until

TASKS = "/proc/self/task"  # of Linux; elsewhere nobody can say whether a thread is gone
_begun: dict[int, str | None] = {}  # of each thread, by its id in the system, when it began; ids come again
_set_native_id = threading.Thread._set_native_id


def _began(thread):
    """When a thread of this process began; None if there is none."""
    try:
        with open(f"{TASKS}/{thread}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[19]
    except OSError:
        return None


def _note(thread):
    _set_native_id(thread)
    _begun[thread.native_id] = _began(thread.native_id)


threading.Thread._set_native_id = _note  # Python tells nobody of its threads once they have ended


def await_ended_threads():
    """Return once no thread is left that Python has started and says has ended."""
    for thread in _begun.keys() - {each.native_id for each in threading.enumerate()}:
        began = _begun.pop(thread)
        if began is not None:
            wait_until(lambda thread=thread, began=began: _began(thread) != began, "the end of a thread")


@contextlib.contextmanager
def tracing():
    """Trace what is allocated within."""
    await_ended_threads()
    tracemalloc.start()
    try:
        yield
    finally:
        await_ended_threads()
        tracemalloc.stop()


@contextlib.contextmanager
def memory_below(most):
    """Fail if Python allocates more than that at a time within."""
    with tracing():
        yield
        _, peak = tracemalloc.get_traced_memory()
    assert peak < most


class ArrayBytes:
    """Counts the bytes of NumPy arrays that are alive, within `with`. Weak references would be noticed by queues."""

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
    """The bytes of the memory that an array keeps alive: its own, or those of what it is a view of."""
    base = array
    while isinstance(base, np.ndarray) and base.base is not None:
        base = base.base
    return memoryview(base).nbytes
