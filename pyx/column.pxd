"""Components: what a slot holds for each of them, and how that is written, read and dropped.

A row of fixed size lies in a slab, or, if it is large and in an array that does not change, is held by reference (see
held.pxd). Anything else is a reference in a list, where the garbage collector sees it; those are touched with the GIL
held.
"""

from cpython.list cimport PyList_GET_ITEM, PyList_SET_ITEM
from cpython.ref cimport Py_DECREF, Py_INCREF, PyObject
from libc.stdint cimport int64_t
from libc.string cimport memcpy

cimport numpy as cnp

from held cimport Held, held, hold, let_go
from orders cimport slot_t
from recycling cimport RECYCLED_BYTES, PyArray_Empty, pool_array, pool_close, pool_of
from slab cimport CHUNKS, Slab, ahead, bit_length, chunk_first, slab_fill, slab_read, slab_row, slab_write
from streaming cimport STREAM_BATCH, STREAM_ROW, stream, streamed

cdef enum:
    LARGE = 2048                # bytes from which a row may be held by reference
    LARGE_ALONE = 16384         # and one that has an array of its own
    NOGIL_BYTES = 32768         # giving the GIL away and taking it back costs as much as copying about this much

cdef extern from *:
    """
    #if defined(Py_GIL_DISABLED)
    #define pipeline_sole(value) 0
    #else
    #define pipeline_sole(value) (Py_REFCNT(value) == 1)
    #endif

    /* Set once, before the slots of which it tells are given out: whoever gets one of these sees it. */
    #define pipeline_set(flag) __atomic_store_n(&(flag), 1, __ATOMIC_RELAXED)
    #define pipeline_is_set(flag) __atomic_load_n(&(flag), __ATOMIC_RELAXED)

    /* Who sees the width of a layout sees its columns too. */
    #define pipeline_publish_width(layout, value) __atomic_store_n(&(layout)->width, value, __ATOMIC_RELEASE)
    #define pipeline_width(layout) __atomic_load_n(&(layout)->width, __ATOMIC_ACQUIRE)
    """
    bint is_sole "pipeline_sole"(PyObject* value)
    void set_flag "pipeline_set"(bint flag) noexcept nogil
    bint is_set "pipeline_is_set"(bint flag) noexcept nogil

cdef extern from "numpy/arrayobject.h":
    object PyArray_Scalar(void* data, cnp.PyArray_Descr* dtype, PyObject* base)

cdef enum Form:
    ROWS                        # fixed size, in a slab
    BYTES                       # a reference to bytes; arrays of them where the component is not a scalar
    OBJECT                      # a reference to anything
    ARRAY                       # a reference to an array of the queue's own, of varying shape

cdef struct Column:
    Form form
    bint mixed                  # rows, large enough to be held by reference
    bint holds                  # and some were
    int type_num                # of a native NumPy number; else -1
    int ndim                    # -1: any shape
    cnp.npy_intp* dims          # -1: any size
    void* scalar_type           # of a native NumPy number, else NULL
    void* descr                 # `Engine._keep` owns it
    PyObject* pool              # of rows: what large batches are made of; `Engine` owns it
    Slab slab                   # of rows: their bytes
    Slab held                   # of mixed rows: those that are held
    void* lists[CHUNKS]         # of the other forms: chunks of references; `Engine._lists` owns them

cdef struct Part:               # what one component of a call is copied from
    char* rows
    const int64_t* numbers      # of rows: which ones; NULL for all in order
    PyObject** refs
    PyObject* ref               # of rows: the array that is held by reference, or NULL
    char[32] scratch            # holds one number

cdef struct Layout:
    Column* columns
    int width                   # components; 0 until they are known
    size_t row_bytes            # of all slabs together


cdef extern from *:
    void publish_width "pipeline_publish_width"(Layout* layout, int width) noexcept nogil
    int width_of "pipeline_width"(const Layout* layout) noexcept nogil


cdef inline object empty(const Column* c, size_t n, bint many):
    """A fresh array for one row, or for n."""
    cdef cnp.npy_intp[64] dims
    cdef int i, lead = 1 if many else 0
    dims[0] = n
    for i in range(c.ndim):
        dims[i + lead] = c.dims[i]
    if n * c.slab.row >= RECYCLED_BYTES:
        return pool_array(<object>c.pool, c.ndim + lead, dims, <object>c.descr)
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


cdef inline void write_rows(const Layout* l, int bits, const slot_t* slots, size_t n, const Part* parts,
                            size_t offset) noexcept nogil:
    cdef const Column* c
    cdef int i
    for i in range(l.width):
        c = &l.columns[i]
        if c.form != ROWS or parts[i].ref != NULL:
            continue
        if parts[i].numbers == NULL:
            slab_write(&c.slab, bits, slots, n, parts[i].rows + offset * c.slab.row)
        else:
            slab_fill(&c.slab, bits, slots, n, parts[i].rows, parts[i].numbers + offset)


cdef inline size_t copied_bytes(const Layout* l, const Part* parts) noexcept nogil:
    """What of one element is copied."""
    cdef size_t total = l.row_bytes
    cdef int i
    for i in range(l.width):
        if l.columns[i].mixed and parts[i].ref != NULL:
            total -= l.columns[i].slab.row
    return total


cdef inline void write(const Layout* l, int bits, const slot_t* slots, size_t n, const Part* parts,
                       size_t offset) noexcept:
    """Put n elements, from `offset` on, into their slots."""
    cdef const Column* c
    cdef size_t k
    cdef int i
    if n * copied_bytes(l, parts) < NOGIL_BYTES:
        write_rows(l, bits, slots, n, parts, offset)
    else:
        with nogil:
            write_rows(l, bits, slots, n, parts, offset)
    for i in range(l.width):
        c = &l.columns[i]
        if c.form != ROWS:
            for k in range(n):
                swap_reference(c, bits, slots[k], parts[i].refs[offset + k])
        elif parts[i].ref != NULL:
            set_flag(l.columns[i].holds)
            hold(&c.held, bits, slots, n, parts[i].ref, parts[i].rows, c.slab.row, parts[i].numbers, offset)


cdef inline const char* mixed_row(const Column* c, int bits, slot_t slot) noexcept nogil:
    """Where a row lies: in an array, or in the slab."""
    cdef const Held* each = held(&c.held, bits, slot)
    if each.array != NULL:
        return each.row
    return slab_row(&c.slab, bits, slot)


cdef inline void read_mixed(const Column* c, int bits, const slot_t* slots, size_t n, char* rows) noexcept nogil:
    cdef size_t row = c.slab.row, i = 0, length
    cdef bint past = row >= STREAM_ROW and n * row >= STREAM_BATCH
    cdef const char* source = mixed_row(c, bits, slots[0]) if n else NULL
    cdef const char* following = NULL
    while i < n:
        length = 0
        while True:             # neighbours are one copy
            length += 1
            if i + length == n:
                break
            following = mixed_row(c, bits, slots[i + length])
            if following != source + length * row:
                ahead(following)
                break
        if past:
            stream(rows + i * row, source, length * row)
        else:
            memcpy(rows + i * row, source, length * row)
        source = following
        i += length
    if past:
        streamed()


cdef inline void read_in(const Column* c, int bits, const slot_t* slots, size_t n, char* rows) noexcept nogil:
    if is_set(c.holds):
        read_mixed(c, bits, slots, n, rows)
    else:
        slab_read(&c.slab, bits, slots, n, rows)


cdef inline void read_rows(const Column* c, int bits, const slot_t* slots, size_t n, char* rows) noexcept:
    if n * c.slab.row < NOGIL_BYTES:
        read_in(c, bits, slots, n, rows)
    else:
        with nogil:
            read_in(c, bits, slots, n, rows)


cdef inline void drop_references(const Layout* l, int bits, const slot_t* slots, size_t n) noexcept:
    cdef size_t k
    cdef int i
    for i in range(l.width):
        if is_set(l.columns[i].holds):
            let_go(&l.columns[i].held, bits, slots, n)
        elif l.columns[i].form != ROWS:
            for k in range(n):
                swap_reference(&l.columns[i], bits, slots[k], <PyObject*>None)


cdef inline void close_pools(const Layout* l) noexcept:
    """Free the memory that is kept for batches to come, and keep none from now on."""
    cdef int i
    for i in range(l.width):
        if l.columns[i].pool != NULL:
            pool_close(pool_of(<object>l.columns[i].pool))
