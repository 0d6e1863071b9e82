"""Wait spans for a trace: record the begin and end of each wait in a queue, on request.

They go to a deque, which accepts items from all threads, and only from C: a wait must not run Python code before its
attempt is safe (waiting.pxd), nor after it, when a signal handler could lose its result. See
`pipeline/reports/spans.py`.
"""

from cpython.ref cimport Py_INCREF, PyObject
from libc.stdint cimport int64_t

from sync cimport now

cdef extern from *:
    """
    #include <atomic>
    static std::atomic<PyObject*> pipeline_spans{NULL};
    static inline void pipeline_spans_into(PyObject* events) { pipeline_spans.store(events); }
    static inline PyObject* pipeline_spans_of() { return pipeline_spans.load(std::memory_order_acquire); }
    """
    void set_events "pipeline_spans_into"(PyObject* events) noexcept
    PyObject* get_events "pipeline_spans_of"() noexcept

cdef extern from "pythread.h":
    unsigned long get_ident "PyThread_get_thread_ident"() noexcept

cdef enum:
    WAIT_BEGINS = 0             # as in pipeline/reports/spans.py
    WAIT_ENDS = 1
    MOST = 65_536               # maximum pending events; further waits are only counted


cdef inline int note_into(object events) except -1:
    """Record waits in a deque from now on, or stop for None. It is kept alive, as a thread may be about to use it."""
    if events is None:
        set_events(NULL)
    else:
        Py_INCREF(events)
        set_events(<PyObject*>events)
    return 0


cdef inline int64_t begin_wait(object queue, int call) noexcept:
    """Record that this thread begins to wait; return the time, or 0 if recording is off."""
    cdef PyObject* events = get_events()
    cdef int64_t instant
    if events == NULL:
        return 0
    try:
        if len(<object>events) >= MOST:
            (<object>events).missed += 1
            return 0
        instant = now()
        (<object>events).append((get_ident(), instant, <int>WAIT_BEGINS, call, queue))
        return instant
    except BaseException:       # out of memory: the wait matters more
        return 0


cdef inline void end_wait(int64_t began, int64_t slept) noexcept:
    """Record the end of a wait that began at `began` (0: not recorded), and the time counted by statistics."""
    cdef PyObject* events = get_events()
    if events == NULL:
        return
    try:
        (<object>events).append((get_ident(), now(), <int>WAIT_ENDS, began, slept))
    except BaseException:
        pass
