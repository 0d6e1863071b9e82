"""Check whether a value can be copied into a column's row, or kept as it is, and copy it."""

cimport numpy as cnp
from cpython.object cimport PyObject
from cpython.pystate cimport PyThreadState
from libc.string cimport memcpy

from gil cimport give_up, take_back
from span cimport rows_at
from stacking cimport (
    Array, are_equivalent, data_of, descr_of, dims_of, has_references, has_shape, intp, is_array, is_contiguous,
    is_writeable, itemsize_of, product, rank_of,
)
from streaming cimport STREAM_BATCH, stream, streamed

cdef extern from *:
    """
    /* Returns whether the caller has the only reference to an object, even counting weak ones. */
    static inline int pipeline_is_sole(PyObject* value) {
        const Py_ssize_t weak = Py_TYPE(value)->tp_weaklistoffset;
        return Py_REFCNT(value) == 1 && (weak <= 0 || *(PyObject**)((char*)value + weak) == NULL);
    }
    """
    bint is_sole "pipeline_is_sole"(PyObject* value) noexcept nogil

cdef enum:
    MAX_RANK = 63               # for a row
    WHOLE_BYTES = 1 << 16       # array size from which keeping beats copying


cdef inline bint is_given(PyObject* value) noexcept:
    """Return whether a value is a large array with its own memory and no other reference, so it stays unchanged."""
    cdef Array* array = <Array*>value
    return (is_array(value) and is_sole(value) and cnp.PyArray_BASE(<cnp.ndarray>value) == NULL
            and cnp.PyArray_CHKFLAGS(<cnp.ndarray>value, cnp.NPY_ARRAY_OWNDATA) and is_contiguous(array)
            and is_writeable(array) and product(dims_of(array), rank_of(array)) * itemsize_of(array) >= WHOLE_BYTES)


cdef inline bint is_row(object value) noexcept:
    """Return whether a value is an array that can be copied as bytes."""
    cdef Array* array = <Array*>value
    return (is_array(<PyObject*>value) and 0 < rank_of(array) < MAX_RANK and not has_references(array)
            and itemsize_of(array) > 0)


cdef inline bint fits(object column, object value) noexcept:
    """Return whether a value is like the others in its column, an array or a list."""
    cdef Array* rows = <Array*>column
    cdef Array* array = <Array*>value
    if type(column) is list and not is_array(<PyObject*>(<list>column)[0]):
        return type((<list>column)[0]) is type(value)
    if type(column) is list:
        first = (<list>column)[0]
        rows = <Array*>first
        return (is_array(<PyObject*>value) and descr_of(array) == descr_of(rows)
                and has_shape(array, rank_of(rows), dims_of(rows)))
    if not is_array(<PyObject*>value) or not has_shape(array, rank_of(rows) - 1, dims_of(rows) + 1):
        return False
    return descr_of(array) == descr_of(rows) or are_equivalent(descr_of(array), descr_of(rows))


cdef inline void copy_large(Array* rows, char* to, const char* source, size_t size) noexcept:
    """Copy a large row into a column without the GIL. A column may be part of a batch, which is then its base."""
    cdef PyObject* base = <PyObject*>cnp.PyArray_BASE(<cnp.ndarray>rows)
    cdef cnp.ndarray whole = <cnp.ndarray>(base if base != NULL and is_array(base) else <PyObject*>rows)
    cdef bint past = cnp.PyArray_NBYTES(whole) >= STREAM_BATCH
    cdef PyThreadState* state = give_up(True)
    if past:
        stream(to, source, size)
        streamed()
    else:
        memcpy(to, source, size)
    take_back(state)


cdef inline void copy_row(Array* rows, Py_ssize_t at, const char* source, size_t size) noexcept:
    """Copy a row into a column."""
    cdef char* to = rows_at(data_of(rows), dims_of(rows)[0], size).at(at)
    if size < WHOLE_BYTES:
        memcpy(to, source, size)
    else:
        copy_large(rows, to, source, size)


cdef inline int put_row(object column, Py_ssize_t at, object value) except -1:
    """Store a matching value in its column."""
    cdef Array* rows = <Array*>column
    cdef Array* array = <Array*>value
    cdef intp size
    if type(column) is list:
        (<list>column).append(value)
        return 0
    if not is_contiguous(array):
        column[at] = value
        return 0
    size = itemsize_of(array) * product(dims_of(array), rank_of(array))
    if size:
        copy_row(rows, at, data_of(array), size)
    return 0
