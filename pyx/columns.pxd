"""Columns: the slots' storage for each component, with functions to write, read and drop it.

A fixed-size row is stored in a slab, or, if it is large and its array does not change, is borrowed (borrowed.pxd).
Anything else is a reference in a list, visible to the garbage collector, and accessed with the GIL held.
"""

from cpython.list cimport PyList_GET_ITEM, PyList_SET_ITEM
from cpython.ref cimport Py_DECREF, Py_INCREF, Py_XDECREF, PyObject
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t
from libc.string cimport memcpy

cimport numpy as cnp

from blocks cimport ColumnBlock, drop_block, next_row, open_block
from borrowed cimport Borrowed, borrow, borrow_chosen, borrow_row, borrowed, return_rows
from recycling cimport RECYCLED_BYTES, PyArray_Empty, recycled_array, stop_recycling
from slab cimport CHUNKS, Slab, ahead, bit_length, chunk_first, slab_fill, slab_read, slab_row, slab_write
from streaming cimport STREAM_BATCH, STREAM_ROW, stream, streamed
from span cimport RowSpan, Span, rows_at, slot_t, within
from stacking cimport Array, dims_of

cdef enum:
    LARGE = 2048                # minimum bytes for borrowing a row
    LARGE_ALONE = 16384         # and for borrowing a row with its own array
    NOGIL_BYTES = 32768         # releasing and retaking the GIL costs as much as copying about this much

cdef extern from *:
    """
    /* Returns whether the owners of n references are an object's only owners, without a weak reference for making
       another. */
    static inline int pipeline_sole(PyObject* value, size_t n) {
    #if defined(Py_GIL_DISABLED)
        return 0;
    #else
        const Py_ssize_t weak = Py_TYPE(value)->tp_weaklistoffset;
        return (size_t)Py_REFCNT(value) == n && (weak <= 0 || *(PyObject**)((char*)value + weak) == NULL);
    #endif
    }

    /* Set once, before the affected slots are given out, so their users see it. */
    #define pipeline_set(flag) __atomic_store_n(&(flag), 1, __ATOMIC_RELAXED)
    #define pipeline_is_set(flag) __atomic_load_n(&(flag), __ATOMIC_RELAXED)

    /* A thread that sees the width sees the columns too. */
    #define pipeline_publish_width(columns, value) __atomic_store_n(&(columns)->width, value, __ATOMIC_RELEASE)
    #define pipeline_width(columns) __atomic_load_n(&(columns)->width, __ATOMIC_ACQUIRE)
    """
    bint is_sole "pipeline_sole"(PyObject* value, size_t n)
    void set_flag "pipeline_set"(bint flag) noexcept nogil
    bint is_set "pipeline_is_set"(bint flag) noexcept nogil

cdef extern from "numpy/arrayobject.h":
    object PyArray_Scalar(void* data, cnp.PyArray_Descr* dtype, PyObject* base)

cdef enum Form:
    ROWS                        # fixed size, in a slab
    BYTES                       # a reference to bytes, or to arrays with bytes if the component is not a scalar
    OBJECT                      # a reference to any object
    ARRAY                       # a reference to an array owned by the queue, with variable shape

cdef struct Column:             # one component
    Form form
    bint lends                  # rows are large enough for borrowing
    bint borrows                # and some are borrowed
    bint assembles              # rows are large enough to assemble batches as they arrive; see blocks.pxd
    int type_num                # native NumPy number type; else -1
    int ndim                    # -1: any shape
    cnp.npy_intp* dims          # -1: any size
    void* scalar_type           # native NumPy scalar type, else NULL
    void* descr                 # owned by `Engine._dtypes`
    PyObject* recycler          # for rows: memory for large batches, owned by the column
    Slab slab                   # for rows: their bytes
    Slab borrowed               # for borrowed rows: their addresses
    ColumnBlock block                 # for large rows: the batch being assembled
    void* lists[CHUNKS]         # for the other forms: reference chunks, owned by `QueueColumns.lists`

cdef union Number:              # any native type
    int8_t int8
    int16_t int16
    int32_t int32
    int64_t int64
    uint8_t uint8
    uint16_t uint16
    uint32_t uint32
    float float32
    double float64
    char[32] bytes

cdef cppclass Part:             # the source of one component in a call
    RowSpan rows                   # for rows; one for a single element
    Span[int64_t] numbers       # the selected ones, if chosen
    bint chosen
    PyObject** refs             # for the other forms
    PyObject* ref               # for rows: the array to borrow from, or NULL
    Number number               # for rows: a single one passed as an object

cdef struct QueueColumns:
    Column* column
    int width                   # component count; 0 until known
    size_t row_bytes            # total for all slabs
    size_t piece                # rows of one enqueue_many to write before storing them
    bint direct                 # values need no `_convert`: the queue has no names
    bint small                  # an element is a few small rows
    bint quick                  # or also has references: it may take the fast path
    bint batches                # every component can be batched
    bint assembles              # some component has such rows
    PyObject* lists             # a dict with the reference chunks, owned by `Engine`


cdef extern from *:
    void publish_width "pipeline_publish_width"(QueueColumns* columns, int width) noexcept nogil
    int width_of "pipeline_width"(const QueueColumns* columns) noexcept nogil


cdef inline object empty(const Column* c, size_t n, bint many):
    """Return a new array for one row, or for n."""
    cdef cnp.npy_intp[64] dims
    cdef int i, lead = 1 if many else 0
    dims[0] = n
    for i in range(c.ndim):
        dims[i + lead] = c.dims[i]
    if n * c.slab.row >= RECYCLED_BYTES:
        return recycled_array(<object>c.recycler, c.ndim + lead, dims, <object>c.descr)
    Py_INCREF(<object>c.descr)
    return PyArray_Empty(c.ndim + lead, dims, <cnp.PyArray_Descr*>c.descr, 0)


cdef inline PyObject* reference(const Column* c, int bits, slot_t slot) noexcept:
    """Return a slot's object, borrowed."""
    cdef int chunk = bit_length(slot >> bits)
    return PyList_GET_ITEM(<object>c.lists[chunk], slot - chunk_first(bits, chunk))


cdef inline void swap_reference(const Column* c, int bits, slot_t slot, PyObject* value) noexcept:
    """Replace a slot's object. The old one is dropped last, because that may run any code."""
    cdef int chunk = bit_length(slot >> bits)
    cdef Py_ssize_t place = slot - chunk_first(bits, chunk)
    cdef PyObject* old = PyList_GET_ITEM(<object>c.lists[chunk], place)
    Py_INCREF(<object>value)
    PyList_SET_ITEM(<object>c.lists[chunk], place, <object>value)
    Py_DECREF(<object>old)


cdef inline bint take_place(Column* c, int bits, slot_t slot) except -1:
    """Let a slot borrow the next row in the current batch, or in a new one."""
    if c.block.array == NULL:
        array = empty(c, c.block.batch, True)
        if c.block.array == NULL:       # the collector may have run any code
            open_block(&c.block, array, <size_t>cnp.PyArray_DIM(<cnp.ndarray>array, 0))
    array = <object>c.block.array
    set_flag(c.borrows)
    borrow_row(borrowed(&c.borrowed, bits, slot),
               cnp.PyArray_BYTES(<cnp.ndarray>array) + next_row(&c.block) * c.slab.row, <PyObject*>array)
    return True


cdef inline void take_places(QueueColumns* columns, int bits, slot_t slot, const Part* parts, size_t before,
                             bint crowded) noexcept:
    """Assign one element's large rows to the batches in which they will leave. A batch starts only after whole batches;
    `before` counts earlier elements, and if it is `crowded`, other calls' elements too."""
    cdef Column* c
    cdef int i
    for i in range(columns.width):
        c = &columns.column[i]
        if c.form != ROWS or parts[i].ref != NULL:
            continue
        if c.block.array != NULL and c.block.rows != c.block.batch:
            drop_block(&c.block)
        if c.block.batch and (c.block.array != NULL or not crowded and before % c.block.batch == 0):
            try:
                take_place(c, bits, slot)
            except MemoryError:
                c.block.batch = 0       # then the row is stored in the slot


cdef inline void write_place(const Column* c, int bits, slot_t slot, RowSpan rows, size_t at) noexcept nogil:
    """Copy a row to the place found by `take_places`. By now `c.block` may be another one."""
    cdef const Borrowed* found = borrowed(&c.borrowed, bits, slot)
    cdef char* place = <char*>found.row
    if c.slab.row >= STREAM_ROW and dims_of(<Array*>found.array)[0] * c.slab.row >= STREAM_BATCH:
        stream(place, rows.at(at), c.slab.row)
        streamed()
    else:
        memcpy(place, rows.at(at), c.slab.row)


cdef inline void write_rows(const QueueColumns* columns, int bits, Span[slot_t] slots, size_t n, const Part* parts,
                            size_t at) noexcept nogil:
    cdef const Column* c
    cdef int i
    for i in range(columns.width):
        c = &columns.column[i]
        if c.form != ROWS or parts[i].ref != NULL:
            continue
        if n == 1 and is_set(c.borrows) and borrowed(&c.borrowed, bits, slots[0]).array != NULL:
            write_place(c, bits, slots[0], parts[i].rows, at)
        elif parts[i].chosen:
            slab_fill(&c.slab, bits, slots, n, parts[i].rows, parts[i].numbers, at)
        else:
            slab_write(&c.slab, bits, slots, n, parts[i].rows, at)


cdef inline size_t copied_bytes(const QueueColumns* columns, const Part* parts) noexcept nogil:
    """Return how many bytes are copied for one element."""
    cdef size_t total = columns.row_bytes
    cdef int i
    for i in range(columns.width):
        if columns.column[i].lends and parts[i].ref != NULL:
            total -= columns.column[i].slab.row
    return total


cdef inline void write(QueueColumns* columns, int bits, Span[slot_t] slots, size_t n, const Part* parts,
                       size_t at) noexcept:
    """Write n elements, starting at index `at` in the parts, into their slots."""
    cdef Column* c
    cdef size_t k
    cdef int i
    if n * copied_bytes(columns, parts) < NOGIL_BYTES:
        write_rows(columns, bits, slots, n, parts, at)
    else:
        with nogil:
            write_rows(columns, bits, slots, n, parts, at)
    for i in range(columns.width):
        c = &columns.column[i]
        if c.form != ROWS:
            for k in range(n):
                swap_reference(c, bits, slots[k], parts[i].refs[at + k])
        elif parts[i].ref != NULL:
            set_flag(c.borrows)
            if parts[i].chosen:
                borrow_chosen(&c.borrowed, bits, slots, n, parts[i].ref, parts[i].rows, parts[i].numbers, at)
            else:
                borrow(&c.borrowed, bits, slots, n, parts[i].ref, parts[i].rows, at)


cdef inline const char* row_in(const Column* c, int bits, slot_t slot) noexcept nogil:
    """Return a row's address: in the array it is borrowed from, or in the slab."""
    cdef const Borrowed* each = borrowed(&c.borrowed, bits, slot)
    if each.array != NULL:
        return each.row
    return slab_row(&c.slab, bits, slot)


cdef inline void read_borrowed(const Column* c, int bits, Span[slot_t] slots, size_t n,
                               RowSpan rows) noexcept nogil:
    cdef size_t row = c.slab.row, i = 0, length
    cdef bint past = row >= STREAM_ROW and n * row >= STREAM_BATCH
    cdef const char* source = row_in(c, bits, slots[0]) if n else NULL
    cdef const char* following = NULL
    while i < n:
        length = 0
        while True:             # neighbours are copied together
            length += 1
            if i + length == n:
                break
            following = row_in(c, bits, slots[i + length])
            if following != source + length * row:
                ahead(following)
                break
        within(rows.at(i + length - 1))
        if past:
            stream(rows.at(i), source, length * row)
        else:
            memcpy(rows.at(i), source, length * row)
        source = following
        i += length
    if past:
        streamed()


cdef inline void read_nogil(const Column* c, int bits, Span[slot_t] slots, size_t n,
                            RowSpan rows) noexcept nogil:
    if is_set(c.borrows):
        read_borrowed(c, bits, slots, n, rows)
    else:
        slab_read(&c.slab, bits, slots, n, rows)


cdef inline void read_rows(const Column* c, int bits, Span[slot_t] slots, size_t n, char* out) noexcept:
    """Copy the rows in n slots to `out`, an address because `out` may be a single number."""
    cdef RowSpan rows = rows_at(out, n, c.slab.row)
    if n * c.slab.row < NOGIL_BYTES:
        read_nogil(c, bits, slots, n, rows)
    else:
        with nogil:
            read_nogil(c, bits, slots, n, rows)


cdef inline void read_references(const Column* c, int bits, Span[slot_t] slots, size_t n,
                                 PyObject** out) noexcept:
    """Store the objects from n slots in an object array, one at a time: NumPy would test whether each element is itself
    an array. Old objects are dropped last, because that may run any code."""
    cdef PyObject* old
    cdef size_t k
    for k in range(n):
        old = out[k]
        out[k] = reference(c, bits, slots[k])
        Py_INCREF(<object>out[k])
        Py_XDECREF(old)


cdef inline void drop_references(const QueueColumns* columns, int bits, Span[slot_t] slots, size_t begin,
                                 size_t end) noexcept:
    cdef size_t k
    cdef int i
    for i in range(columns.width):
        if is_set(columns.column[i].borrows):
            return_rows(&columns.column[i].borrowed, bits, slots, begin, end)
        elif columns.column[i].form != ROWS:
            for k in range(begin, end):
                swap_reference(&columns.column[i], bits, slots[k], <PyObject*>None)


cdef inline void close_recyclers(QueueColumns* columns) noexcept:
    """Free the memory kept for later batches, and keep none from now on."""
    cdef int i
    for i in range(columns.width):
        if columns.column[i].assembles:     # otherwise leave blocks alone: without the GIL no lock guards them
            columns.column[i].block.batch = 0
            drop_block(&columns.column[i].block)
        if columns.column[i].recycler != NULL:
            stop_recycling(<object>columns.column[i].recycler)
