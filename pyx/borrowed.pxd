"""Large rows held without copying: a slot borrows a row by its address and owns a reference to its array.

Such a row is copied once, into the batch. References are accessed with the GIL held; addresses need no lock, because a
slot belongs to one call at a time.
"""

from cpython.ref cimport Py_DECREF, Py_INCREF, PyObject
from libc.stdint cimport int64_t

from slab cimport Slab, slab_row
from span cimport RowSpan, Span, slot_t

cdef struct Borrowed:
    const char* row
    PyObject* array             # NULL: nothing is borrowed; the row is in the slab


cdef inline Borrowed* borrowed(const Slab* s, int bits, slot_t slot) noexcept nogil:
    return <Borrowed*>slab_row(s, bits, slot)


cdef inline void borrow_row(Borrowed* each, const char* row, PyObject* array) noexcept:
    each.row = row
    each.array = array
    Py_INCREF(<object>array)


cdef inline void borrow(const Slab* s, int bits, Span[slot_t] slots, size_t n, PyObject* array,
                        RowSpan rows, size_t at) noexcept:
    """Let n empty slots borrow an array's rows from `at` on."""
    cdef size_t k
    for k in range(n):
        borrow_row(borrowed(s, bits, slots[k]), rows.at(at + k), array)


cdef inline void borrow_chosen(const Slab* s, int bits, Span[slot_t] slots, size_t n, PyObject* array,
                               RowSpan rows, Span[int64_t] numbers, size_t at) noexcept:
    """Let n empty slots borrow the rows selected by the numbers from `at` on."""
    cdef size_t k
    for k in range(n):
        borrow_row(borrowed(s, bits, slots[k]), rows.at(numbers[at + k]), array)


cdef inline void return_rows(const Slab* s, int bits, Span[slot_t] slots, size_t begin, size_t end) noexcept:
    """Drop the references. The slot clears them first, because dropping may run any code."""
    cdef PyObject* array
    cdef Borrowed* each
    cdef size_t k
    for k in range(begin, end):
        each = borrowed(s, bits, slots[k])
        array = each.array
        if array != NULL:
            each.array = NULL
            Py_DECREF(<object>array)
