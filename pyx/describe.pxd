"""Turn component descriptions (dtype, form, shape) into columns."""

from cpython.ref cimport Py_INCREF, Py_XDECREF, PyObject
from libc.stdint cimport INT32_MAX
from libc.stdlib cimport calloc, free, malloc

cimport numpy as cnp

from blocks cimport ASSEMBLES
from borrowed cimport Borrowed, borrowed
from columns cimport (
    ARRAY, BYTES, LARGE, LARGE_ALONE, OBJECT, ROWS, Column, QueueColumns, Form, close_recyclers, publish_width,
)
from fastpath cimport PAYLOAD
from growth cimport kept_chunks
from limits cimport PIECE_BYTES, PIECE_SLOTS
from recycling cimport new_recycler
from slab cimport bit_length, chunk_first
from state cimport FIFO, PRIORITY, Queue
from span cimport slot_t

cdef enum:
    MOST_BITS = 48              # for row bytes: no memory has more, and sums do not overflow


cdef inline int check_order(int order, size_t capacity, size_t min_after_dequeue) except -1:
    if not 0 <= order <= <int>PRIORITY or capacity > <size_t>INT32_MAX or min_after_dequeue > capacity:
        raise ValueError(
            f"expected an order from 0 to {<int>PRIORITY}, a capacity of at most {INT32_MAX} and no more held back, "
            f"got order {order}, capacity {capacity} and {min_after_dequeue} held back")
    return 0


cdef inline int check_component(object dtype, int form, tuple shape) except -1:
    """Raise if a slot could not hold this component."""
    if not cnp.PyArray_DescrCheck(dtype):
        raise TypeError(f"expected a dtype, got {type(dtype).__name__}")
    if form != <int>ROWS and form != <int>BYTES and form != <int>OBJECT and form != <int>ARRAY:
        raise ValueError(f"expected the form of rows, bytes, objects or arrays, got {form}")
    row = dtype.itemsize
    for size in shape or ():
        if size is not None and size < 0 or size is None and form == <int>ROWS:
            raise ValueError(f"expected a shape of sizes from 0 on, known for rows, got {shape}")
        row *= size or 1
    if form == <int>ROWS and (shape is None or dtype.hasobject or row >> MOST_BITS):
        raise ValueError(f"expected rows of a fixed size below 2**{<int>MOST_BITS} bytes, got {dtype} of shape {shape}")
    return 0


cdef inline int describe_column(Column* c, object dtype, int form, object shape) except -1:
    """Fill in one component's column; a None shape or size is unknown."""
    cdef int k
    check_component(dtype, form, shape)
    c.form = <Form>form
    c.descr = <void*>dtype
    c.type_num = -1
    c.ndim = -1 if shape is None else len(shape)
    if dtype.isnative and dtype.isbuiltin == 1 and dtype.kind in "biufc":
        c.type_num = dtype.num
        c.scalar_type = <void*>dtype.type
    if shape is not None:
        c.dims = <cnp.npy_intp*>malloc(max(1, c.ndim) * sizeof(cnp.npy_intp))
        if c.dims == NULL:
            raise MemoryError
        for k in range(c.ndim):
            c.dims[k] = -1 if shape[k] is None else shape[k]
    if c.form == ROWS:
        c.slab.row = dtype.itemsize
        for k in range(c.ndim):
            c.slab.row *= c.dims[k]
        recycler = new_recycler()
        Py_INCREF(recycler)
        c.recycler = <PyObject*>recycler
        c.lends = c.slab.row >= LARGE
        c.borrowed.row = sizeof(Borrowed)
    return 0


cdef inline void forget_columns(Column* column, int width) noexcept:
    """Free everything allocated by `describe_column`."""
    cdef int i
    for i in range(width):
        Py_XDECREF(column[i].recycler)
        free(column[i].dims)
    free(column)


cdef inline int describe(Queue* q, QueueColumns* columns, object owner, list components) except -1:
    """Set the components once: a list of (dtype, form, shape). Allocating may run a finaliser that enqueues the first
    element itself, so the last check comes just before the change."""
    cdef int width = len(components), i
    cdef size_t total = 0
    cdef Column* column = <Column*>calloc(max(1, width), sizeof(Column))
    if column == NULL:
        raise MemoryError
    try:
        for i in range(width):
            dtype, form, shape = components[i]
            describe_column(&column[i], dtype, form, shape)
            total += column[i].slab.row
        if q.order == PRIORITY and (width == 0 or column[0].type_num != cnp.NPY_INT64 or column[0].ndim != 0):
            got = "none" if width == 0 else f"{components[0][0]} of shape {components[0][2]}"
            raise ValueError(
                f"{type(owner).__name__}: expected priorities as first component, int64 scalars; got {got}")
    except BaseException:
        forget_columns(column, width)
        raise
    if columns.width:
        forget_columns(column, width)
        raise RuntimeError(f"{type(owner).__name__}: the components are fixed already")
    columns.batches = columns.small = True
    columns.quick = total <= PAYLOAD
    for i in range(width):
        columns.batches = columns.batches and column[i].ndim >= 0
        columns.small = columns.small and column[i].form == ROWS
        column[i].assembles = ASSEMBLES and q.order == FIFO and column[i].form == ROWS
        column[i].assembles = column[i].assembles and column[i].slab.row >= LARGE_ALONE
        columns.assembles = columns.assembles or column[i].assembles
    columns.small = columns.small and total <= PAYLOAD
    columns.row_bytes = total
    columns.piece = max(<size_t>1, min(<size_t>PIECE_SLOTS, <size_t>PIECE_BYTES // max(total, <size_t>1)))
    q.bits = max(0, min(12, bit_length(<unsigned int>(65536 // max(total, <size_t>1))) - 1))
    q.kept = kept_chunks(q.bits, total)
    q.priorities = &column[0].slab
    columns.column = column
    publish_width(columns, width)
    return 0


cdef inline void forget(Queue* q, QueueColumns* columns) noexcept:
    """Free the columns and all chunks of slots."""
    cdef int i, k
    cdef Column* c
    cdef size_t slot
    close_recyclers(columns)
    for i in range(columns.width):
        c = &columns.column[i]
        if c.lends:
            for slot in range(q.fresh):
                Py_XDECREF(borrowed(&c.borrowed, q.bits, <slot_t>slot).array)
        for k in range(q.chunks):
            if c.form == ROWS:
                free(<void*>(c.slab.origin[k] + chunk_first(q.bits, k) * c.slab.row))
            if c.lends:
                free(<void*>(c.borrowed.origin[k] + chunk_first(q.bits, k) * sizeof(Borrowed)))
    forget_columns(columns.column, columns.width)
