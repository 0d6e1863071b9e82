"""Keeping: whether a value can be copied into a row of a column, and copying it."""

cimport numpy as cnp
from cpython.object cimport PyObject
from libc.string cimport memcpy

from span cimport rows_at
from stacking cimport (
    Array, are_equivalent, data_of, descr_of, dims_of, has_references, has_shape, intp, is_array, is_contiguous,
    itemsize_of, product, rank_of,
)

cdef enum:
    MAX_RANK = 63               # of a row


cdef inline bint is_row(object value) noexcept:
    """Whether a value is an array that can be copied as bytes."""
    cdef Array* array = <Array*>value
    return (is_array(<PyObject*>value) and 0 < rank_of(array) < MAX_RANK and not has_references(array)
            and itemsize_of(array) > 0)


cdef inline bint fits(object column, object value) noexcept:
    """Whether a value is like the others of its column, which is an array or a list."""
    cdef Array* rows = <Array*>column
    cdef Array* array = <Array*>value
    if type(column) is list:
        return type((<list>column)[0]) is type(value)
    if not is_array(<PyObject*>value) or not has_shape(array, rank_of(rows) - 1, dims_of(rows) + 1):
        return False
    return descr_of(array) == descr_of(rows) or are_equivalent(descr_of(array), descr_of(rows))


cdef inline int put_row(object column, Py_ssize_t at, object value) except -1:
    """Put a value that fits into its column."""
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
        memcpy(rows_at(data_of(rows), dims_of(rows)[0], size).at(at), data_of(array), size)
    return 0
