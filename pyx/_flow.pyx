"""Fingerprints of orders, as arithmetic on the ids of elements: one compiled call a batch."""

from libc.stdint cimport int64_t, uint64_t

cimport numpy as cnp

from mixing cimport STEP, mixed, mixed_number

cnp.import_array()


cdef uint64_t power(uint64_t base, uint64_t exponent) noexcept nogil:
    cdef uint64_t value = 1
    while exponent:
        if exponent & 1:
            value *= base
        base *= base
        exponent >>= 1
    return value


def fold(const int64_t[::1] ids not None, uint64_t value):
    """Return the fingerprint of an order after more elements with these ids.

    Thread safety: no state.
    """
    cdef Py_ssize_t i
    for i in range(ids.shape[0]):
        value = value * <uint64_t>STEP + mixed(<uint64_t>ids[i])
    return value


def fold_range(int64_t first, int64_t step, Py_ssize_t count, uint64_t value):
    """Return the same for the ids `first`, `first + step`, ..."""
    cdef Py_ssize_t i
    if step == 1 and first >= 0:
        for i in range(count):
            value = value * <uint64_t>STEP + mixed_number(first + i)
        return value
    for i in range(count):
        value = value * <uint64_t>STEP + mixed(<uint64_t>(first + i * step))
    return value


def fold_hashes(const uint64_t[::1] hashes not None, const int64_t[::1] counts not None, uint64_t value):
    """Return the fingerprint after more parts of an order: of each the fingerprint, and how many elements it has."""
    cdef Py_ssize_t i
    if hashes.shape[0] != counts.shape[0]:
        raise ValueError(f"fold_hashes: {hashes.shape[0]} hashes and {counts.shape[0]} counts")
    for i in range(hashes.shape[0]):
        value = value * power(STEP, counts[i]) + hashes[i]
    return value


def mix_ids(const int64_t[::1] ids not None):
    """Return the hash of each id, uint64."""
    cdef cnp.npy_intp n = ids.shape[0]
    cdef cnp.ndarray out = cnp.PyArray_EMPTY(1, &n, cnp.NPY_UINT64, 0)
    cdef uint64_t[::1] hashes = out
    cdef Py_ssize_t i
    for i in range(n):
        hashes[i] = mixed(<uint64_t>ids[i])
    return out


def salted(const uint64_t[::1] hashes not None, uint64_t salt):
    """Return other hashes, which differ for each salt."""
    cdef cnp.npy_intp n = hashes.shape[0]
    cdef cnp.ndarray out = cnp.PyArray_EMPTY(1, &n, cnp.NPY_UINT64, 0)
    cdef uint64_t[::1] made = out
    cdef uint64_t base = mixed(salt) * <uint64_t>STEP
    cdef Py_ssize_t i
    for i in range(n):
        made[i] = mixed(base + hashes[i])
    return out
