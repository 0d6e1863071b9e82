"""Other threads run while a kernel works on something large; for something small, that costs more than it gives."""

from cpython.pystate cimport PyThreadState

cdef extern from "Python.h":
    PyThreadState* PyEval_SaveThread() noexcept
    void PyEval_RestoreThread(PyThreadState* state) noexcept


cdef inline PyThreadState* give_up(bint large) noexcept:
    """Release the GIL if the work is large. What follows is `nogil` and cannot fail."""
    return PyEval_SaveThread() if large else NULL


cdef inline void take_back(PyThreadState* state) noexcept:
    if state != NULL:
        PyEval_RestoreThread(state)
