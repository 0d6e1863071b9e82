"""Philox as a function of NumPy arrays: the random numbers and row orders that the rest of the package asks for."""

from libc.stdint cimport int64_t, uint32_t

cimport numpy as cnp

from philox cimport Philox, philox_next, philox_seed, philox_skip

cnp.import_array()


def philox(seed, seed2, skip, Py_ssize_t count):
    """Return `count` words of Philox4x32-10 as uint32, after skipping `skip` blocks of four words.

    Args:
        seed, seed2: 64-bit seeds: the key, and the upper half of the counter.
        skip: Blocks of four words to skip.
        count: Number of words.
    """
    cdef cnp.npy_intp length = count
    cdef Philox random
    cdef Py_ssize_t i
    if count < 0:
        raise ValueError(f"philox: count must be >= 0, got {count}")
    cdef cnp.ndarray words = cnp.PyArray_EMPTY(1, &length, cnp.NPY_UINT32, 0)
    cdef uint32_t[::1] out = words
    philox_seed(&random, seed, seed2)
    philox_skip(&random, skip)
    with nogil:
        for i in range(count):
            out[i] = philox_next(&random)
    return words


def permutation(seed, seed2, skip, Py_ssize_t count):
    """Return a permutation of `count` row numbers as int64: a Fisher-Yates shuffle with the words of `philox`.

    Args:
        seed, seed2, skip: As for `philox`.
        count: Number of rows; count - 1 words are drawn.
    """
    cdef cnp.npy_intp length = count
    cdef Philox random
    cdef Py_ssize_t i, j
    cdef int64_t row
    if not 0 <= count < 1 << 32:
        raise ValueError(f"permutation: count must be >= 0 and less than 2**32, got {count}")
    cdef cnp.ndarray order = cnp.PyArray_EMPTY(1, &length, cnp.NPY_INT64, 0)
    cdef int64_t[::1] rows = order
    philox_seed(&random, seed, seed2)
    philox_skip(&random, skip)
    with nogil:
        for i in range(count):
            rows[i] = i
        for i in range(count - 1):
            j = i + philox_next(&random) % <uint32_t>(count - i)
            row = rows[i]
            rows[i] = rows[j]
            rows[j] = row
    return order
