"""Batches that are made as their rows come: one copy instead of two.

A large row that enters a first-in first-out queue by itself is copied into memory of the queue, and with the others of
its batch once more when they leave. Once two batches of the same size have left, the rows of the next ones go to where
they will lie in them: a block is an array of as many rows as a batch, whose rows the slots borrow. A dequeue that takes
exactly the rows of a block gets the block itself (`whole_array` in leave.pxd). Anything else copies its rows out of it,
as out of slots: after a batch of another size, or where two producers overtook each other.

All of this is touched with the GIL held, and does not happen in a build of Python without it.
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

cdef struct ColumnBlock:              # of one column
    PyObject* array             # the one that is being filled, or NULL
    size_t rows                 # how many it has
    size_t filled               # how many of them slots have borrowed
    size_t last                 # rows of the last batch
    size_t batch                # the same, if the one before had as many; else 0


cdef inline void note_batch(ColumnBlock* b, size_t n) noexcept:
    """Note that a batch of n rows leaves."""
    b.batch = n if b.last == n and n > 1 else 0
    b.last = n


cdef inline void drop_block(ColumnBlock* b) noexcept:
    """Begin no row in this block any more. The slots keep theirs."""
    cdef PyObject* array = b.array
    b.array = NULL
    Py_XDECREF(array)


cdef inline void open_block(ColumnBlock* b, object array, size_t rows) noexcept:
    Py_INCREF(array)
    b.array = <PyObject*>array
    b.rows = rows
    b.filled = 0


cdef inline size_t next_row(ColumnBlock* b) noexcept:
    """The next row of the block; the caller has a reference to its array, or takes one before anything else."""
    cdef PyObject* array = b.array
    b.filled += 1
    if b.filled == b.rows:
        b.array = NULL
        Py_DECREF(<object>array)
    return b.filled - 1
