"""Meters of the parts of a running dataset: how many elements came out, and whose time it was."""

cimport cython
from libc.stdint cimport int64_t
from libcpp.atomic cimport atomic, memory_order_relaxed

from sync cimport now

cdef extern from *:
    """
    /* Of this thread: nanoseconds that meters have counted within the call that is measured now. */
    static thread_local long long pipeline_inner = 0;
    /* Whether this thread works for another one, which waits for it. */
    static thread_local int pipeline_away = 0;
    """
    long long inner "pipeline_inner"
    int away "pipeline_away"


@cython.final
cdef class Meter:
    """Counts what came out of one part of a running dataset, and how long that took.

    What other meters measure meanwhile in the same thread is theirs: the times of all meters of a thread add up.

    Args:
        told: Called with each exception that comes out of the part; None if nobody wants to know.

    Thread safety: every method may be called from every thread.
    """

    cdef atomic[int64_t] _elements, _made, _own, _away, _total, _worked
    cdef object _told

    def __init__(self, told=None):
        self._told = told

    def count(self, n):
        """Count elements that are asked for by number."""
        self._made.fetch_add(n, memory_order_relaxed)

    def make(self, n, function, *args):
        """Call a function that makes elements which came out, or are asked for by number; its time counts."""
        self._made.fetch_add(n, memory_order_relaxed)
        return self.call(function, *args)

    def call(self, function, *args):
        """Call a function; its time counts."""
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
        inner = outer + spent

    def work(self, double seconds):
        """Count time that workers took."""
        self._worked.fetch_add(<int64_t>(seconds * 1e9), memory_order_relaxed)

    @property
    def elements(self):
        """How many elements came out, or were made."""
        return max(self._elements.load(memory_order_relaxed), self._made.load(memory_order_relaxed))

    @property
    def own(self):
        """Seconds in the threads that take elements."""
        return 1e-9 * self._own.load(memory_order_relaxed)

    @property
    def away(self):
        """Seconds in threads that work for these."""
        return 1e-9 * self._away.load(memory_order_relaxed)

    @property
    def total(self):
        """Seconds that those who take elements waited for them, whoever made them."""
        return 1e-9 * self._total.load(memory_order_relaxed)

    @property
    def worked(self):
        """Seconds that workers took, in threads and processes."""
        return 1e-9 * self._worked.load(memory_order_relaxed)


@cython.final
cdef class Gauge:
    """A stream that is measured: two looks at the clock, and nothing for each element.

    Thread safety: as the stream.
    """

    cdef readonly object stream
    cdef readonly Meter meter
    cdef object _element

    def __init__(self, stream, element, Meter meter not None):
        """`element` gives the elements of the stream one by one; see `elements_of`."""
        self.stream, self._element, self.meter = stream, element, meter

    def element(self):
        """Return the next element; None at the end."""
        cdef int64_t outer = inner, began = now()
        global inner
        inner = 0
        try:
            found = self._element()
        except Exception as error:
            self.meter.failed(error)
            raise
        finally:
            self.meter.add(now() - began, outer)
        if found is not None:
            self.meter._elements.fetch_add(1, memory_order_relaxed)
        return found

    def take(self, n):
        """As that of the stream."""
        cdef int64_t outer = inner, began = now()
        global inner
        inner = 0
        try:
            block = self.stream.take(n)
        except Exception as error:
            self.meter.failed(error)
            raise
        finally:
            self.meter.add(now() - began, outer)
        if block is not None:
            self.meter._elements.fetch_add(len(block), memory_order_relaxed)
        return block

    def skip(self, n):
        """As that of the stream."""
        return self.stream.skip(n)

    def position(self):
        """As that of the stream."""
        return self.stream.position()

    def seek(self, position):
        """As that of the stream."""
        self.stream.seek(position)

    def close(self):
        """As that of the stream."""
        self.stream.close()


def working_for_others(bint whether):
    """Say whether this thread works for another one from now on, so that its time is not taken for that of this one."""
    global away
    away = whether
