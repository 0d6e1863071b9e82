"""Measurements for reports: step counts and times, thread frames, and waits for the GIL."""

cimport cython
from libc.stdint cimport int64_t
from libcpp.atomic cimport atomic, memory_order_relaxed

from sync cimport now, sleep_for

from _thread import get_ident
from sys import _current_frames as current_frames

cdef extern from "Python.h":
    int PyGC_Disable()
    int PyGC_Enable()

cdef extern from *:
    """
    /* Per thread: nanoseconds already counted by other meters within the current call. */
    static thread_local long long pipeline_inner = 0;
    /* True if this thread works for another thread, which waits for it. */
    static thread_local int pipeline_away = 0;
    """
    long long inner "pipeline_inner"
    int away "pipeline_away"


@cython.final
cdef class Meter:
    """Counts the elements from one part of a running dataset, and their time.

    Time measured by other meters in the same thread is excluded, so the times of all meters in a thread add up.

    Args:
        told: Called with each exception raised in the part; None for no callback.

    Thread safety: every method may be called from every thread.
    """

    cdef atomic[int64_t] _elements, _made, _own, _away, _total, _longest, _worked, _cpu, _delayed
    cdef object _told

    def __init__(self, told=None):
        self._told = told

    def count(self, n):
        """Count elements requested by index."""
        self._made.fetch_add(n, memory_order_relaxed)

    def call(self, function, *args):
        """Call a function and measure its time."""
        cdef int64_t outer = inner, began = now()
        global inner
        inner = 0
        try:
            return function(*args)
        except Exception as error:
            self.failed(error)
            raise
        finally:
            self.add(now() - began, outer)

    cdef int failed(self, error) except -1:
        if self._told is not None:
            self._told(error)
        return 0

    cdef void add(self, int64_t spent, int64_t outer) noexcept:
        global inner
        if away:
            self._away.fetch_add(spent - inner, memory_order_relaxed)
        else:
            self._own.fetch_add(spent - inner, memory_order_relaxed)
        self._total.fetch_add(spent, memory_order_relaxed)
        if spent > self._longest.load(memory_order_relaxed):
            self._longest.store(spent, memory_order_relaxed)
        inner = outer + spent

    def forget_longest(self):
        """Measure the longest call anew, such as after the first element."""
        self._longest.store(0, memory_order_relaxed)

    def take_over(self, Meter other not None, double seconds, Py_ssize_t elements):
        """Count elements, and seconds already counted by another meter."""
        self._elements.fetch_add(elements, memory_order_relaxed)
        self._own.fetch_add(<int64_t>(seconds * 1e9), memory_order_relaxed)
        other._own.fetch_sub(<int64_t>(seconds * 1e9), memory_order_relaxed)

    def work(self, double seconds, double cpu, double delayed):
        """Count time spent in workers, their CPU time, and their time waiting for a processor."""
        self._worked.fetch_add(<int64_t>(seconds * 1e9), memory_order_relaxed)
        self._cpu.fetch_add(<int64_t>(cpu * 1e9), memory_order_relaxed)
        self._delayed.fetch_add(<int64_t>(delayed * 1e9), memory_order_relaxed)

    @property
    def elements(self):
        """Number of elements returned or made."""
        return max(self._elements.load(memory_order_relaxed), self._made.load(memory_order_relaxed))

    @property
    def own(self):
        """Seconds spent in the threads that take elements."""
        return 1e-9 * self._own.load(memory_order_relaxed)

    @property
    def away(self):
        """Seconds spent in threads working for these."""
        return 1e-9 * self._away.load(memory_order_relaxed)

    @property
    def total(self):
        """Seconds that consumers waited for elements, no matter which thread made them."""
        return 1e-9 * self._total.load(memory_order_relaxed)

    @property
    def longest(self):
        """Seconds of the longest call, with its inputs."""
        return 1e-9 * self._longest.load(memory_order_relaxed)

    @property
    def worked(self):
        """Seconds spent in workers, both threads and processes."""
        return 1e-9 * self._worked.load(memory_order_relaxed)

    @property
    def cpu(self):
        """CPU seconds used by workers."""
        return 1e-9 * self._cpu.load(memory_order_relaxed)

    @property
    def delayed(self):
        """Seconds that workers waited for a processor."""
        return 1e-9 * self._delayed.load(memory_order_relaxed)


@cython.final
cdef class Metered:
    """A measured stream; it ends when its iterator is closed.

    Thread safety: as the stream.
    """

    cdef readonly object stream
    cdef readonly Meter meter
    cdef object clock, bell, _take, _state
    cdef bint others                    # other code may end the iterator

    def __cinit__(self, stream, Meter meter not None, clock):
        self.stream, self.meter, self.clock, self.bell = stream, meter, clock, clock.bell
        self.others = clock.stops_with is not None
        self._take, self._state = stream.take, stream.state

    def take(self, n):
        """Call the stream's `take`."""
        cdef int64_t outer = inner, began = now()
        global inner
        if self.others or self.bell.raised:
            self.clock.check()
        inner = 0
        try:
            block = self._take(n)
        except Exception as error:
            self.meter.failed(error)
            raise
        finally:
            self.meter.add(now() - began, outer)
        if block is not None:
            self.meter._elements.fetch_add(len(block), memory_order_relaxed)
        return block

    def drop(self, n):
        """Call the stream's `drop`; the time counts as `take`."""
        return self.meter.call(self.stream.drop, n)

    def state(self):
        """Call the stream's `state`."""
        return self._state()

    def wait(self, timeout):
        """Call the stream's `wait`; the time counts as `take`."""
        return self.meter.call(self.stream.wait, timeout)

    def begin(self):
        """Call the stream's `begin`."""
        self.stream.begin()

    def into(self, rows):
        """Call the stream's `into`."""
        self.stream.into(rows)

    def close(self):
        """Call the stream's `close`."""
        self.stream.close()


@cython.final
cdef class MeteredIndex:
    """A measured index.

    Thread safety: as the index.
    """

    cdef readonly object source, step, stop, ahead, of_numbers, of_sources
    cdef readonly Meter meter
    cdef object _block

    def __cinit__(self, source, Meter meter not None):
        self.source, self.step, self.stop = source, source.step, source.stop
        self.ahead, self.of_numbers, self.of_sources = source.ahead, source.of_numbers, source.of_sources
        self.meter, self._block = meter, source.block

    def __len__(self):
        return len(self.source)

    def block(self, places):
        """Call the index's `block`."""
        cdef int64_t outer = inner, began = now()
        global inner
        inner = 0
        try:
            block = self._block(places)
            if block.error is not None:
                self.meter.failed(block.error)
        except Exception as error:
            self.meter.failed(error)
            raise
        finally:
            self.meter.add(now() - began, outer)
        self.meter._elements.fetch_add(len(block), memory_order_relaxed)
        return block

    def into(self, empty):
        """Call the index's `into`."""
        self.source.into(empty)

    def runs(self, starts, size):
        """Call the index's `runs`."""
        cdef int64_t outer = inner, began = now()
        global inner
        inner = 0
        try:
            found = self.source.runs(starts, size)
        finally:
            self.meter.add(now() - began, outer)
        if found is not None:
            self.meter._elements.fetch_add(len(starts) * size, memory_order_relaxed)
        return found


def working_for_others(bint whether):
    """Set whether this thread works for another one from now on, so that the time is counted as that thread's."""
    global away
    away = whether


def frames_now():
    """Return each other thread's innermost frame by thread identifier, as `sys._current_frames` does.

    The calling thread's frame is removed: it would refer to itself through this dict, and this cycle would keep the
    other frames' references alive until the next garbage collection.

    Up to Python 3.11, `sys._current_frames` holds an interpreter lock while it makes frames. If a garbage collection
    starts there, and a finalizer switches to a thread that starts or ends a thread, both wait forever. Between the two
    calls here no other thread runs, so none can see the collector disabled.
    """
    cdef int was_on = PyGC_Disable()
    cdef dict frames
    try:
        frames = current_frames()
        del frames[get_ident()]
        return frames
    finally:
        if was_on:
            PyGC_Enable()


def lock_delay(double seconds):
    """Sleep for `seconds`, and return how many seconds this thread then waited for the GIL."""
    cdef int64_t woken
    with nogil:
        sleep_for(<int64_t>(seconds * 1e9))
        woken = now()
    return (now() - woken) * 1e-9
