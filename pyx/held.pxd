"""Large rows that are not copied in: a slot holds the address of one, and a reference to the array that it lies in.

Such a row is copied once, into the batch. The references are touched with the GIL held; the addresses need no lock, as
a slot belongs to one call at a time.
"""

from cpython.ref cimport Py_DECREF, Py_INCREF, PyObject
from libc.stdint cimport int64_t

from orders cimport slot_t
from slab cimport Slab, slab_row

cdef struct Held:
    const char* row
    PyObject* array             # NULL: the row lies in the slab


cdef inline Held* held(const Slab* s, int bits, slot_t slot) noexcept nogil:
    return <Held*>slab_row(s, bits, slot)


cdef inline void hold(const Slab* s, int bits, const slot_t* slots, size_t n, PyObject* array, const char* rows,
                      size_t row, const int64_t* numbers, size_t offset) noexcept:
    """Let n slots that hold nothing hold rows of an array, from `offset` on: in order, or as `numbers` say."""
    cdef Held* each
    cdef size_t k
    for k in range(n):
        each = held(s, bits, slots[k])
        each.row = rows + (offset + k if numbers == NULL else <size_t>numbers[offset + k]) * row
        each.array = array
        Py_INCREF(<object>array)


cdef inline void let_go(const Slab* s, int bits, const slot_t* slots, size_t n) noexcept:
    """Drop the references. That may run any code, so the slot forgets first."""
    cdef PyObject* array
    cdef Held* each
    cdef size_t k
    for k in range(n):
        each = held(s, bits, slots[k])
        array = each.array
        if array != NULL:
            each.array = NULL
            Py_DECREF(<object>array)
