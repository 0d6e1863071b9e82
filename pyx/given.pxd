"""Given: values that their owner gives away, in a tuple that nobody else may know: arrays that only it refers to."""

from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_New

cdef extern from *:
    """
    static inline PyObject** pipeline_items(PyObject* tuple) { return ((PyTupleObject*)tuple)->ob_item; }
    """
    PyObject** items_of "pipeline_items"(object values)


cdef inline tuple moved(tuple values):
    """All values but the last in a tuple of their own. `values`, which nobody else may know, has None in their places,
    so that arrays that were given away still have one reference."""
    cdef Py_ssize_t i, n = len(values) - 1
    cdef tuple result = PyTuple_New(n)
    cdef PyObject** source = items_of(values)
    cdef PyObject** target = items_of(result)
    for i in range(n):
        target[i] = source[i]
        Py_INCREF(None)
        source[i] = <PyObject*>None
    return result


cdef inline void move_back(tuple values, tuple components) noexcept:
    cdef Py_ssize_t i
    cdef PyObject** target = items_of(values)
    cdef PyObject** source = items_of(components)
    for i in range(len(components)):
        target[i], source[i] = source[i], target[i]
