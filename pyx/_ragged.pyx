"""Join values with different lengths into one array with end offsets, and cut them out again.

Thread safety: no other thread may change a list or the data during a call.
"""

cimport numpy as cnp
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_CheckExact, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.object cimport PyObject
from cpython.unicode cimport PyUnicode_CheckExact, PyUnicode_DecodeUTF8
from libc.stdint cimport int64_t
from libc.string cimport memcpy

from stacking cimport (
    MAX_RANK, Array, are_equivalent, data_of, descr_of, dims_of, empty_like, has_references, intp, is_array,
    is_contiguous, itemsize_of, product, rank_of,
)

import numpy as np

cnp.import_array()

cdef extern from *:
    bint is_ascii "PyUnicode_IS_COMPACT_ASCII"(object text)
    Py_ssize_t length_of "PyUnicode_GET_LENGTH"(object text)
    void* characters_of "PyUnicode_DATA"(object text)

cdef enum:
    RELEASE = 32768             # bytes; releasing the GIL costs more than a smaller copy


def join_texts(list values not None):
    """Join bytes objects, or str encoded as UTF-8; return the bytes and each value's end offset.

    Args:
        values: bytes and str objects. A str may contain lone surrogates.
    """
    cdef Py_ssize_t i, n = len(values), size
    cdef list parts = values
    cdef cnp.ndarray ends = np.empty(n, np.int64), data
    cdef int64_t[::1] end = ends
    cdef int64_t at = 0
    for i in range(n):
        value = parts[i]
        if PyUnicode_CheckExact(value):
            if is_ascii(value):
                at += length_of(value)
                end[i] = at
                continue
            if parts is values:
                parts = list(values)
            value = parts[i] = value.encode("utf-8", "surrogatepass")
        elif not PyBytes_CheckExact(value):
            raise TypeError(f"join_texts: expected str or bytes, got {type(value).__name__}")
        at += PyBytes_GET_SIZE(value)
        end[i] = at
    data = np.empty(at, np.uint8)
    cdef char* to = data_of(<Array*>data)
    at = 0
    for i in range(n):
        value = parts[i]
        size = end[i] - at
        if PyBytes_CheckExact(value):
            memcpy(to + at, PyBytes_AS_STRING(value), size)
        else:
            memcpy(to + at, characters_of(value), size)
        at = end[i]
    return data, ends


def like_arrays(list values not None):
    """Return whether all values are arrays with one dtype and rank, and whether their shapes are equal.

    Returns:
        None unless all are plain arrays with one dtype and a rank of at least 1. Otherwise whether shapes are equal.
    """
    cdef Array* array
    cdef Array* first = NULL
    cdef bint equal = True
    cdef int rank = 0, axis
    for value in values:
        if not is_array(<PyObject*>value):
            return None
        array = <Array*>value
        if first == NULL:
            first, rank = array, rank_of(array)
            if rank == 0 or rank >= MAX_RANK or has_references(array) or itemsize_of(array) == 0:
                return None
            continue
        if rank_of(array) != rank:
            return None
        if descr_of(array) != descr_of(first) and not are_equivalent(descr_of(array), descr_of(first)):
            return None
        for axis in range(rank):
            equal = equal and dims_of(array)[axis] == dims_of(first)[axis]
    return None if first == NULL else equal


def join_arrays(list values not None):
    """Join the items of arrays; return one array, each value's end offset, and the shapes.

    Args:
        values: At least one; `like_arrays` must not have returned None.
    """
    if like_arrays(values) is None:
        raise TypeError("join_arrays: expected arrays of one dtype and rank")
    cdef Py_ssize_t i, n = len(values)
    cdef list parts = values
    cdef Array* first = <Array*>values[0]
    cdef int rank = rank_of(first), axis
    cdef cnp.ndarray ends = np.empty(n, np.int64), shapes = np.empty((n, rank), np.int64)
    cdef int64_t[::1] end = ends
    cdef int64_t[:, ::1] shape = shapes
    cdef int64_t at = 0
    for i in range(n):
        value = parts[i]
        if not is_contiguous(<Array*>value):
            if parts is values:
                parts = list(values)
            value = parts[i] = np.ascontiguousarray(value)
        for axis in range(rank):
            shape[i, axis] = dims_of(<Array*>value)[axis]
        at += product(dims_of(<Array*>value), rank)
        end[i] = at
    cdef intp count = at, item = itemsize_of(first)
    data = empty_like(first, 1, &count)
    cdef char* to = data_of(<Array*>data)
    at = 0
    for i in range(n):
        memcpy(to + at * item, data_of(<Array*>parts[i]), (end[i] - at) * item)
        at = end[i]
    return data, ends, shapes


cdef int span_of(const int64_t[::1] ends, int64_t at, int64_t size, int64_t* begin) except -1:
    """Find a value's start, and check that it lies within the data."""
    if not 0 <= at < ends.shape[0]:
        raise IndexError(f"there is no value {at}: there are {ends.shape[0]}")
    begin[0] = ends[at - 1] if at else 0
    if not 0 <= begin[0] <= ends[at] <= size:
        raise ValueError(f"value {at} lies from {begin[0]} to {ends[at]} of {size}")
    return 0


def cut_texts(const unsigned char[::1] data not None, const int64_t[::1] ends not None,
              const int64_t[::1] which not None, bint text):
    """Return the selected values as bytes objects, or as str decoded from UTF-8.

    Args:
        data: The values.
        ends: End offsets; the first value starts at 0.
        which: Indices of the values.
        text: True to return str, possibly with lone surrogates.

    Raises:
        IndexError: There is no such value.
        ValueError: A value ends before its start or after the data, or is not text.
    """
    cdef Py_ssize_t i, n = which.shape[0]
    cdef int64_t begin, end
    cdef const char* first = NULL
    cdef list made = []
    if data.shape[0]:
        first = <const char*>&data[0]
    for i in range(n):
        span_of(ends, which[i], data.shape[0], &begin)
        end = ends[which[i]]
        if begin == end:
            made.append("" if text else b"")
        elif text:
            made.append(PyUnicode_DecodeUTF8(first + begin, end - begin, "surrogatepass"))
        else:
            made.append(PyBytes_FromStringAndSize(first + begin, end - begin))
    return made


def cut_arrays(cnp.ndarray data not None, const int64_t[::1] ends not None, const int64_t[:, ::1] shapes not None,
               const int64_t[::1] which not None):
    """Return the selected values as new arrays. Large copies release the GIL, as a mapped file may have to be read.

    Args:
        data: The items of all arrays, contiguous, without references.
        ends: End offsets in items; the first array starts at 0.
        shapes: One shape per array.
        which: Indices of the arrays.

    Raises:
        IndexError: There is no such array.
        ValueError: An array ends before its start or after the data, or its item count contradicts its shape.
    """
    cdef Py_ssize_t i, n = which.shape[0]
    cdef int rank = shapes.shape[1], axis
    cdef Array* source = <Array*>data
    cdef intp item = itemsize_of(source), size, room
    cdef intp[MAX_RANK] dims
    cdef int64_t begin
    cdef bint fits, empty
    cdef list made = []
    cdef char* to
    cdef const char* at
    if has_references(source) or not is_contiguous(source) or rank_of(source) != 1:
        raise ValueError("cut_arrays: expected a flat array of bytes")
    if shapes.shape[0] != ends.shape[0] or rank >= MAX_RANK:
        raise ValueError(f"cut_arrays: there are {ends.shape[0]} ends and {shapes.shape[0]} shapes")
    for i in range(n):
        span_of(ends, which[i], dims_of(source)[0], &begin)
        size = room = ends[which[i]] - begin
        fits, empty = True, False
        for axis in range(rank):
            dims[axis] = shapes[which[i], axis]
            if dims[axis] == 0:
                empty = True
            elif size and (dims[axis] < 0 or room % dims[axis]):
                fits = False
            elif size:
                room = room // dims[axis]
        if not fits or empty != (size == 0) or (size and room != 1):
            raise ValueError(f"array {which[i]} has {size} items, and another shape")
        array = empty_like(source, rank, dims)
        to, at = data_of(<Array*>array), data_of(source) + begin * item
        if size * item >= RELEASE:
            with nogil:
                memcpy(to, at, size * item)
        else:
            memcpy(to, at, size * item)
        made.append(array)
    return made
