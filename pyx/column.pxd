"""Components: what a slot holds for each of them, and how that is written, read and dropped.

A row of fixed size lies in a slab. Anything else is a reference in a list, where the garbage collector sees it; those
are touched with the GIL held. A large row may be either: one that arrives as an array that nobody else can write to is
held by reference, and copied once, into the batch.
"""

from cpython.list cimport PyList_GET_ITEM, PyList_SET_ITEM
from cpython.ref cimport Py_DECREF, Py_INCREF, PyObject
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

cimport numpy as cnp

from orders cimport slot_t
from recycling cimport RECYCLED_BYTES, PyArray_Empty, pool_array, pool_close, pool_of
from slab cimport CHUNKS, Slab, bit_length, chunk_first, slab_read, slab_row, slab_write

cdef enum:
    LARGE = 16384               # bytes from which a row may be held by reference
    NOGIL_BYTES = 32768         # giving the GIL away and taking it back costs as much as copying about this much

cdef extern from *:
    """
    #if defined(Py_GIL_DISABLED)
    #define pipeline_sole(value) 0
    #else
    #define pipeline_sole(value) (Py_REFCNT(value) == 1)
    #endif
    """
    bint is_sole "pipeline_sole"(PyObject* value)

cdef extern from "numpy/arrayobject.h":
    object PyArray_Scalar(void* data, cnp.PyArray_Descr* dtype, PyObject* base)

cdef enum Form:
    ROWS                        # fixed size, in a slab
    BYTES                       # a reference to bytes; arrays of them where the component is not a scalar
    OBJECT                      # a reference to anything
    ARRAY                       # a reference to an array of the queue's own, of varying shape

cdef struct Column:
    Form form
    Slab slab
    bint mixed                  # rows, large enough to be held by reference
    void* lists[CHUNKS]          # chunks of references; `Engine._lists` owns them
    void* descr                 # `Engine._keep` owns it
    PyObject* pool              # of rows: what large batches are made of; `Engine` owns it
    void* scalar_type           # of a native NumPy number, else NULL
    int type_num                # the same; -1
    int ndim                    # -1: any shape
    cnp.npy_intp* dims          # -1: any size

cdef struct Part:               # what one component of a call is copied from
    char* rows
    PyObject** refs
    PyObject* ref               # of rows: the array to hold by reference, or NULL
    char[32] scratch            # holds one number

cdef struct Layout:
    Column* columns
    int width                   # components; 0 until they are known
    size_t row_bytes            # of all slabs together


cdef inline bint refers(const Column* c) noexcept nogil:
    """Whether slots may hold references."""
    return c.form != ROWS or c.mixed


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
    cdef int i
    for i in range(l.width):
        if l.columns[i].form == ROWS and parts[i].ref == NULL:
            slab_write(&l.columns[i].slab, bits, slots, n, parts[i].rows + offset * l.columns[i].slab.row)


cdef inline void write(const Layout* l, int bits, const slot_t* slots, size_t n, const Part* parts,
                       size_t offset) noexcept:
    """Put n elements, from `offset` on, into their slots."""
    cdef size_t k
    cdef int i
    if n * l.row_bytes < NOGIL_BYTES:
        write_rows(l, bits, slots, n, parts, offset)
    else:
        with nogil:
            write_rows(l, bits, slots, n, parts, offset)
    for i in range(l.width):
        if l.columns[i].form != ROWS:
            for k in range(n):
                swap_reference(&l.columns[i], bits, slots[k], parts[i].refs[offset + k])
        elif parts[i].ref != NULL:
            swap_reference(&l.columns[i], bits, slots[0], parts[i].ref)


cdef inline int read_mixed(const Column* c, int bits, const slot_t* slots, size_t n, char* rows) except -1:
    """Copy rows that lie in the slab or in arrays of their own."""
    cdef const char** sources = <const char**>malloc(n * sizeof(char*))
    cdef PyObject* array
    cdef size_t k
    if sources == NULL:
        raise MemoryError
    for k in range(n):
        array = reference(c, bits, slots[k])
        if array == <PyObject*>None:
            sources[k] = slab_row(&c.slab, bits, slots[k])
        else:
            sources[k] = <const char*>cnp.PyArray_DATA(<cnp.ndarray>array)
    with nogil:
        for k in range(n):
            memcpy(rows + k * c.slab.row, sources[k], c.slab.row)
    free(sources)
    return 0


cdef inline int read_rows(const Column* c, int bits, const slot_t* slots, size_t n, char* rows) except -1:
    if c.mixed:
        return read_mixed(c, bits, slots, n, rows)
    if n * c.slab.row < NOGIL_BYTES:
        slab_read(&c.slab, bits, slots, n, rows)
    else:
        with nogil:
            slab_read(&c.slab, bits, slots, n, rows)
    return 0


cdef inline void drop_references(const Layout* l, int bits, const slot_t* slots, size_t n) noexcept:
    cdef size_t k
    cdef int i
    for i in range(l.width):
        if refers(&l.columns[i]):
            for k in range(n):
                swap_reference(&l.columns[i], bits, slots[k], <PyObject*>None)


cdef inline void close_pools(const Layout* l) noexcept:
    """Free the memory that is kept for batches to come, and keep none from now on."""
    cdef int i
    for i in range(l.width):
        if l.columns[i].pool != NULL:
            pool_close(pool_of(<object>l.columns[i].pool))
