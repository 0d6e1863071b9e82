"""Release the GIL around a kernel with a lot of work; for small work, that costs more than it gains."""

from cpython.pystate cimport PyThreadState

cdef extern from "Python.h":
    PyThreadState* PyEval_SaveThread() noexcept
    void PyEval_RestoreThread(PyThreadState* state) noexcept


cdef inline PyThreadState* give_up(bint large) noexcept:
    """Release the GIL if there is a lot of work. The code after it is `nogil` and cannot fail."""
    return PyEval_SaveThread() if large else NULL


cdef inline void take_back(PyThreadState* state) noexcept:
    if state != NULL:
        PyEval_RestoreThread(state)
