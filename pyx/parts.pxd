"""What arrays have in common, and copying their raw bytes into one array.

The result is C-contiguous, so arrays one after the other, padding included, are one sequential write.
"""

cimport numpy as cnp
from cpython.object cimport PyObject
from libc.string cimport memcpy, memset

from streaming cimport STREAM_BATCH, STREAM_ROW, stream, streamed

ctypedef cnp.npy_intp intp

cdef extern from *:
    """
    #include <numpy/arrayobject.h>

    static inline PyArrayObject** pipeline_arrays(PyObject* tuple) {
        return (PyArrayObject**)((PyTupleObject*)tuple)->ob_item;
    }
    static inline PyObject* pipeline_empty(PyArrayObject* like, int rank, npy_intp* dims) {
        Py_INCREF((PyObject*)PyArray_DESCR(like));
        return PyArray_NewFromDescr(&PyArray_Type, PyArray_DESCR(like), rank, dims, NULL, NULL, 0, NULL);
    }
    static inline int pipeline_references(PyArrayObject* array) { return PyDataType_REFCHK(PyArray_DESCR(array)); }
    """
    ctypedef struct Array "PyArrayObject":
        pass
    ctypedef struct Descr "PyArray_Descr":
        pass
    Array** arrays_of "pipeline_arrays"(tuple arrays)
    object empty_like "pipeline_empty"(Array* like, int rank, intp* dims)
    bint has_references "pipeline_references"(Array* array) nogil
    bint is_array "PyArray_CheckExact"(PyObject* value) nogil
    bint are_equivalent "PyArray_EquivTypes"(Descr* a, Descr* b)
    bint is_contiguous "PyArray_IS_C_CONTIGUOUS"(Array* array) nogil
    bint is_writeable "PyArray_ISWRITEABLE"(Array* array) nogil
    char* data_of "PyArray_BYTES"(Array* array) nogil
    intp* dims_of "PyArray_DIMS"(Array* array) nogil
    intp* strides_of "PyArray_STRIDES"(Array* array) nogil
    int rank_of "PyArray_NDIM"(Array* array) nogil
    intp itemsize_of "PyArray_ITEMSIZE"(Array* array) nogil
    Descr* descr_of "PyArray_DESCR"(Array* array) nogil
    intp LONGEST "NPY_MAX_INTP"

cdef enum:
    MAX_RANK = 64

cdef enum Status:
    SAME
    OTHER_DTYPE             # another dtype object; it may yet be equivalent
    OTHER_RANK
    OTHER_SHAPE

cdef struct Fill:
    const char* item        # one element
    intp size
    bint uniform            # all its bytes are equal

cdef struct Parts:
    Array** arrays
    intp count
    intp item               # bytes of one element
    int rank
    int fixed               # axes from this one on must agree: 0 for stack, 1 for concatenate, rank for pad
    bint contiguous         # all are
    intp length             # sum of the first dimensions
    intp[MAX_RANK] room     # element-wise maximum of the dimensions


cdef inline intp product(const intp* dims, int rank) noexcept nogil:
    cdef intp size = 1
    cdef int axis
    for axis in range(rank):
        size *= dims[axis]
    return size


cdef inline void copy_intps(intp* to, const intp* source, int count) noexcept nogil:
    """Not memcpy, which must not be given the NULL that an array of rank 0 has for dimensions."""
    cdef int i
    for i in range(count):
        to[i] = source[i]


cdef inline bint has_shape(Array* array, int rank, const intp* dims) noexcept nogil:
    cdef int axis
    if rank_of(array) != rank:
        return False
    for axis in range(rank):
        if dims_of(array)[axis] != dims[axis]:
            return False
    return True


cdef inline Status scan(Parts* p, intp* at) noexcept nogil:
    """Compare the arrays from `at` on with the first, and note what they have in common. `at` is where it stopped."""
    cdef Descr* descr = descr_of(p.arrays[0])
    cdef Array* array
    cdef const intp* dims
    cdef int rank = p.rank, fixed = p.fixed, axis
    cdef intp i
    for i in range(at[0], p.count):
        array = p.arrays[i]
        dims = dims_of(array)
        at[0] = i
        if rank_of(array) != rank:
            return OTHER_RANK
        for axis in range(fixed, rank):
            if dims[axis] != p.room[axis]:
                return OTHER_SHAPE
        for axis in range(fixed):
            p.room[axis] = max(p.room[axis], dims[axis])
        if fixed:
            p.length = p.length + dims[0] if dims[0] < LONGEST - p.length else LONGEST
        if not is_contiguous(array):
            p.contiguous = False
        if descr_of(array) != descr:
            return OTHER_DTYPE
    return SAME


cdef inline char* gather(char* to, Array** arrays, intp count, size_t size) noexcept nogil:
    cdef intp i
    for i in range(count):
        memcpy(to, data_of(arrays[i]), size)
        to += size
    return to


cdef inline void gather_rows(char* to, Array** arrays, intp count, size_t size) noexcept nogil:
    """Copy arrays of `size` contiguous bytes. With the size a constant, a small row is one move and not a call."""
    cdef intp i
    if size == 4:
        gather(to, arrays, count, 4)
    elif size == 8:
        gather(to, arrays, count, 8)
    elif size == 16:
        gather(to, arrays, count, 16)
    elif size == 1:
        gather(to, arrays, count, 1)
    elif size == 2:
        gather(to, arrays, count, 2)
    elif size >= STREAM_ROW and <size_t>count * size >= STREAM_BATCH:
        for i in range(count):
            stream(to + <size_t>i * size, data_of(arrays[i]), size)
        streamed()
    else:
        gather(to, arrays, count, size)


cdef inline char* step(char* to, const char* source, intp count, intp stride, size_t size) noexcept nogil:
    cdef intp i
    for i in range(count):
        memcpy(to, source + i * stride, size)
        to += size
    return to


cdef inline char* step_items(char* to, const char* source, intp count, intp stride, size_t size) noexcept nogil:
    if size == 4:
        return step(to, source, count, stride, 4)
    if size == 8:
        return step(to, source, count, stride, 8)
    if size == 1:
        return step(to, source, count, stride, 1)
    if size == 2:
        return step(to, source, count, stride, 2)
    return step(to, source, count, stride, size)


cdef inline char* fill_with(char* to, intp size, const Fill* fill) noexcept nogil:
    """Repeat the element over `size` bytes, by doubling what is there already."""
    cdef intp done
    if size == 0:
        return to
    if fill.uniform:
        memset(to, fill.item[0], size)
    else:
        done = min(size, fill.size)
        memcpy(to, fill.item, done)
        while done < size:
            memcpy(to + done, to, min(done, size - done))
            done += min(done, size - done)
    return to + size


cdef inline char* place(char* to, const intp* room, const char* source, const intp* dims, const intp* strides,
                        int rank, intp item, const Fill* fill) noexcept nogil:
    """Write the array and then what its axes lack of `room`, in the order of memory; return the end."""
    cdef intp i
    if rank == 0:
        memcpy(to, source, item)
        return to + item
    if rank == 1 and strides[0] == item:
        memcpy(to, source, dims[0] * item)
        to += dims[0] * item
    elif rank == 1:
        to = step_items(to, source, dims[0], strides[0], item)
    else:
        for i in range(dims[0]):
            to = place(to, room + 1, source + i * strides[0], dims + 1, strides + 1, rank - 1, item, fill)
    if dims[0] == room[0]:
        return to
    return fill_with(to, (room[0] - dims[0]) * product(room + 1, rank - 1) * item, fill)


cdef inline char* place_array(char* to, const intp* room, const char* source, const intp* dims, const intp* strides,
                              int rank, intp item, const Fill* fill) noexcept nogil:
    """Place one array whose last axes, where they are whole and contiguous, count as one large element."""
    if product(dims, rank) * item == 0:
        return fill_with(to, product(room, rank) * item, fill)
    while rank and dims[rank - 1] == room[rank - 1] and (dims[rank - 1] == 1 or strides[rank - 1] == item):
        rank -= 1
        item *= dims[rank]
    return place(to, room, source, dims, strides, rank, item, fill)


cdef inline void place_arrays(char* to, const Parts* p, const intp* layout, const intp* room,
                              const Fill* fill) noexcept nogil:
    """`layout` has address, dimensions and strides of each array; without `room` nothing is padded."""
    cdef const intp* dims
    cdef const intp* end = layout + p.count * (1 + 2 * p.rank)
    while layout != end:
        dims = layout + 1
        to = place_array(to, room if room != NULL else dims, <const char*>layout[0], dims, dims + p.rank, p.rank,
                         p.item, fill)
        layout = dims + 2 * p.rank


cdef inline const char* span(Array* array, const char** end) noexcept nogil:
    cdef const char* begin = data_of(array)
    cdef intp reach
    cdef int axis
    end[0] = begin
    if product(dims_of(array), rank_of(array)) == 0:
        return begin
    end[0] += itemsize_of(array)
    for axis in range(rank_of(array)):
        reach = (dims_of(array)[axis] - 1) * strides_of(array)[axis]
        if reach < 0:
            begin += reach
        else:
            end[0] += reach
    return begin


cdef inline intp overlapping(Parts* p, Array* out) noexcept nogil:
    """The index of an array with bytes in common with the memory that `out` spans, or -1."""
    cdef const char* out_end
    cdef const char* end
    cdef const char* out_begin = span(out, &out_end)
    cdef const char* begin
    cdef intp i
    for i in range(p.count):
        begin = span(p.arrays[i], &end)
        if begin < out_end and out_begin < end:
            return i
    return -1
