"""Columns: what the slots hold for each component, and how that is written, read and dropped.

A row of fixed size lies in a slab, or, if it is large and its array does not change, is borrowed (borrowed.pxd).
Anything else is a reference in a list, where the garbage collector sees it, and is touched with the GIL held.
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
    LARGE = 2048                # bytes from which a row may be borrowed
    LARGE_ALONE = 16384         # and one that has an array of its own
    NOGIL_BYTES = 32768         # releasing the GIL and taking it back costs as much as copying about this much

cdef extern from *:
    """
    /* Whether nobody else has an object than those who own n references: no other one, and no weak one from which one
       could be made. */
    static inline int pipeline_sole(PyObject* value, size_t n) {
    #if defined(Py_GIL_DISABLED)
        return 0;
    #else
        const Py_ssize_t weak = Py_TYPE(value)->tp_weaklistoffset;
        return (size_t)Py_REFCNT(value) == n && (weak <= 0 || *(PyObject**)((char*)value + weak) == NULL);
    #endif
    }

    /* Set once, before the slots that it speaks of are given out: whoever gets one of them sees it. */
    #define pipeline_set(flag) __atomic_store_n(&(flag), 1, __ATOMIC_RELAXED)
    #define pipeline_is_set(flag) __atomic_load_n(&(flag), __ATOMIC_RELAXED)

    /* Whoever sees the width sees the columns too. */
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
    BYTES                       # a reference to bytes; arrays of them where the component is not a scalar
    OBJECT                      # a reference to anything
    ARRAY                       # a reference to an array of the queue's own, of varying shape

cdef struct Column:             # of one component
    Form form
    bint lends                  # rows so large that they may be borrowed
    bint borrows                # and some were
    bint assembles              # rows so large that batches are made of them as they come; see blocks.pxd
    int type_num                # of a native NumPy number; else -1
    int ndim                    # -1: any shape
    cnp.npy_intp* dims          # -1: any size
    void* scalar_type           # of a native NumPy number, else NULL
    void* descr                 # `Engine._dtypes` owns it
    PyObject* recycler          # of rows: memory for large batches; the column owns it
    Slab slab                   # of rows: their bytes
    Slab borrowed               # of rows that may be borrowed: from where
    ColumnBlock block                 # of large rows: the batch that is being made
    void* lists[CHUNKS]         # of the other forms: chunks of references; `QueueColumns.lists` owns them

cdef union Number:              # of any native type
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

cdef cppclass Part:             # where one component of a call is copied from
    RowSpan rows                   # of rows; one for a single element
    Span[int64_t] numbers       # which of them, if they are chosen
    bint chosen
    PyObject** refs             # of the other forms
    PyObject* ref               # of rows: the array that they are borrowed from, or NULL
    Number number               # of rows: the only one, where it comes as an object

cdef struct QueueColumns:
    Column* column
    int width                   # components; 0 until they are known
    size_t row_bytes            # of all slabs together
    size_t piece                # rows of one enqueue_many that are written before they are stored
    bint direct                 # values may be taken without `_convert`: the queue has no names
    bint small                  # an element is a few small rows
    bint quick                  # or has references beside them: it may take the fast path
    bint batches                # every component can be batched
    bint assembles              # some component has such rows
    PyObject* lists             # a dict that owns the chunks of references; `Engine` owns it


cdef extern from *:
    void publish_width "pipeline_publish_width"(QueueColumns* columns, int width) noexcept nogil
    int width_of "pipeline_width"(const QueueColumns* columns) noexcept nogil


cdef inline object empty(const Column* c, size_t n, bint many):
    """A fresh array for one row, or for n."""
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
    """What a slot refers to, borrowed."""
    cdef int chunk = bit_length(slot >> bits)
    return PyList_GET_ITEM(<object>c.lists[chunk], slot - chunk_first(bits, chunk))


cdef inline void swap_reference(const Column* c, int bits, slot_t slot, PyObject* value) noexcept:
    """Let a slot refer to something else. Dropping the old object may run any code, so it comes last."""
    cdef int chunk = bit_length(slot >> bits)
    cdef Py_ssize_t place = slot - chunk_first(bits, chunk)
    cdef PyObject* old = PyList_GET_ITEM(<object>c.lists[chunk], place)
    Py_INCREF(<object>value)
    PyList_SET_ITEM(<object>c.lists[chunk], place, <object>value)
    Py_DECREF(<object>old)


cdef inline bint take_place(Column* c, int bits, slot_t slot) except -1:
    """Let a slot borrow the next row of the batch that is being made, or that begins here."""
    if c.block.array == NULL:
        array = empty(c, c.block.batch, True)
        if c.block.array == NULL:       # the collector may have run anything
            open_block(&c.block, array, <size_t>cnp.PyArray_DIM(<cnp.ndarray>array, 0))
    array = <object>c.block.array
    set_flag(c.borrows)
    borrow_row(borrowed(&c.borrowed, bits, slot),
               cnp.PyArray_BYTES(<cnp.ndarray>array) + next_row(&c.block) * c.slab.row, <PyObject*>array)
    return True


cdef inline void take_places(QueueColumns* columns, int bits, slot_t slot, const Part* parts, size_t before,
                             bint crowded) noexcept:
    """Let the large rows of one element go to the batches that they will leave in. A batch begins only where whole
    ones leave before it; `before` elements do, and other calls too if it is `crowded`."""
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
                c.block.batch = 0       # then the row lies in the slot


cdef inline void write_place(const Column* c, int bits, slot_t slot, RowSpan rows, size_t at) noexcept nogil:
    """Copy a row to the place that `take_places` has found for it. `c.block` may be another one by now."""
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
    """How much of one element is copied."""
    cdef size_t total = columns.row_bytes
    cdef int i
    for i in range(columns.width):
        if columns.column[i].lends and parts[i].ref != NULL:
            total -= columns.column[i].slab.row
    return total


cdef inline void write(QueueColumns* columns, int bits, Span[slot_t] slots, size_t n, const Part* parts,
                       size_t at) noexcept:
    """Put n elements, from number `at` of the parts on, into their slots."""
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
    """Where a row lies: in the array that it is borrowed from, or in the slab."""
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
        while True:             # neighbours are one copy
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
    """Copy the rows of n slots to `out`, which has room for as many: an address, as `out` may be a single number."""
    cdef RowSpan rows = rows_at(out, n, c.slab.row)
    if n * c.slab.row < NOGIL_BYTES:
        read_nogil(c, bits, slots, n, rows)
    else:
        with nogil:
            read_nogil(c, bits, slots, n, rows)


cdef inline void read_references(const Column* c, int bits, Span[slot_t] slots, size_t n,
                                 PyObject** out) noexcept:
    """Put what n slots refer to into an array of objects, one by one: NumPy would ask each element whether it is an
    array itself. What was there is dropped last, as that may run any code."""
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
    """Free the memory that is kept for batches to come, and keep none from now on."""
    cdef int i
    for i in range(columns.width):
        if columns.column[i].assembles:     # else blocks are not touched, as no lock guards them without the GIL
            columns.column[i].block.batch = 0
            drop_block(&columns.column[i].block)
        if columns.column[i].recycler != NULL:
            stop_recycling(<object>columns.column[i].recycler)
