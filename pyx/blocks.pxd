"""Batches assembled as their rows arrive: one copy instead of two.

A large row that enters a FIFO queue singly is copied into the queue's memory, and copied again into its batch when it
leaves. Once two batches with the same size have left, later rows are copied directly to their final position: a block
is an array with one batch of rows, borrowed by slots. A dequeue that takes exactly a block's rows gets the block itself
(`whole_array` in leave.pxd). Any other dequeue copies its rows out, as from slots: after a batch with another size, or
where one producer overtook another.

All this needs the GIL, and is disabled in a Python build without it.
"""

from cpython.object cimport PyObject
from cpython.ref cimport Py_DECREF, Py_INCREF, Py_XDECREF

cdef extern from *:
    """
    #if defined(Py_GIL_DISABLED)
    enum { pipeline_assembles = 0 };
    #else
    enum { pipeline_assembles = 1 };
    #endif
    """
    bint ASSEMBLES "pipeline_assembles"

cdef struct ColumnBlock:              # for one column
    PyObject* array             # the array being filled, or NULL
    size_t rows                 # its row count
    size_t filled               # rows borrowed by slots
    size_t last                 # rows in the last batch
    size_t batch                # the same, if the one before had equally many; else 0


cdef inline void note_batch(ColumnBlock* b, size_t n) noexcept:
    """Record that a batch with n rows leaves."""
    b.batch = n if b.last == n and n > 1 else 0
    b.last = n


cdef inline void drop_block(ColumnBlock* b) noexcept:
    """Stop adding rows to this block. The slots keep theirs."""
    cdef PyObject* array = b.array
    b.array = NULL
    Py_XDECREF(array)


cdef inline void open_block(ColumnBlock* b, object array, size_t rows) noexcept:
    Py_INCREF(array)
    b.array = <PyObject*>array
    b.rows = rows
    b.filled = 0


cdef inline size_t next_row(ColumnBlock* b) noexcept:
    """Return the block's next row; the caller must own or first take a reference to its array."""
    cdef PyObject* array = b.array
    b.filled += 1
    if b.filled == b.rows:
        b.array = NULL
        Py_DECREF(<object>array)
    return b.filled - 1
