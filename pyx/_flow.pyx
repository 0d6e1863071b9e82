"""Fingerprints of orders, as arithmetic on the ids of elements, and batches of rows of arrays: one compiled call a batch."""

from libc.stdint cimport int64_t, uint64_t

cimport numpy as cnp

from mixing cimport STEP, folded, mixed, mixed_number
from picking cimport Table, pick_rows, view_table
from stacking cimport Array, data_of, dims_of, empty_like, has_references, intp, is_contiguous, itemsize_of, product, rank_of

cnp.import_array()

cdef enum:
    MAX_RANK = 64
    RELEASE = 32768             # bytes; releasing the GIL costs more than a smaller copy


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


def fold_on(uint64_t value, uint64_t hash, uint64_t count):
    """Return the fingerprint of an order after `count` more elements, whose fingerprint is `hash`."""
    return value * power(STEP, count) + hash


def gathers(tuple arrays not None, Py_ssize_t rows):
    """Whether rows of these arrays, each with so many, can be copied as bytes."""
    for array in arrays:
        if type(array) is not cnp.ndarray or rank_of(<Array*>array) == 0 or dims_of(<Array*>array)[0] != rows:
            return False
        if has_references(<Array*>array) or not is_contiguous(<Array*>array) or itemsize_of(<Array*>array) == 0:
            return False
        if rank_of(<Array*>array) >= MAX_RANK:
            return False
    return True


cdef class Gather:
    """Batches of rows of arrays.

    Args:
        arrays: C-contiguous, without objects: `gathers` says so.
        pack: What is made of the columns of a batch: None for the only one, `tuple`, or a function of their tuple.
        numbers: Which rows come, one after the other.
        ids: What tells them apart in the fingerprint, as many.

    Attributes:
        left: How many rows did not come yet.

    Raises:
        IndexError: An array has no row of a number.

    Thread safety: one thread at a time.
    """

    cdef tuple arrays
    cdef object pack
    cdef const int64_t[::1] numbers, ids
    cdef Py_ssize_t at
    cdef readonly Py_ssize_t left

    def __cinit__(self, tuple arrays not None, pack, const int64_t[::1] numbers not None,
                  const int64_t[::1] ids not None):
        cdef Py_ssize_t i
        cdef int64_t rows = dims_of(<Array*>arrays[0])[0]
        if not gathers(arrays, rows) or ids.shape[0] != numbers.shape[0]:
            raise ValueError("Gather: the arrays, numbers or ids do not fit")
        for i in range(numbers.shape[0]):
            if not 0 <= numbers[i] < rows:
                raise IndexError(f"there is no row {numbers[i]}: the arrays have {rows}")
        self.arrays, self.pack, self.numbers, self.ids = arrays, pack, numbers, ids
        self.at, self.left = 0, numbers.shape[0]

    def next(self, Py_ssize_t n):
        """Return the next n rows, at most as many as are left, and the fingerprint of their ids."""
        cdef uint64_t hash
        cdef list columns = []
        if not 0 < n <= self.left:
            raise ValueError(f"Gather: {n} rows of {self.left}")
        for array in self.arrays:
            columns.append(self.rows_of(array, n))
        hash = folded(<const uint64_t*>&self.ids[self.at], n, 0)
        self.at += n
        self.left -= n
        if self.pack is None:
            return columns[0], hash
        if self.pack is tuple:
            return tuple(columns), hash
        return self.pack(columns), hash

    def skip(self, Py_ssize_t n):
        """Leave the next n rows out, at most as many as are left."""
        if not 0 <= n <= self.left:
            raise ValueError(f"Gather: {n} rows of {self.left}")
        self.at += n
        self.left -= n

    cdef object rows_of(self, array, Py_ssize_t n):
        """Return the next n rows of an array."""
        cdef Array* given = <Array*>array
        cdef Table source, made
        cdef intp[MAX_RANK] dims
        cdef int rank = rank_of(given), axis
        cdef intp row = itemsize_of(given) * product(dims_of(given) + 1, rank - 1)
        for axis in range(rank):
            dims[axis] = dims_of(given)[axis]
        dims[0] = n
        out = empty_like(given, rank, dims)
        view_table(&source, data_of(given), dims_of(given)[0], row)
        view_table(&made, data_of(<Array*>out), n, row)
        if n * row >= RELEASE:
            with nogil:
                pick_rows(made.rows, source.rows, self.numbers, self.at, row)
        else:
            pick_rows(made.rows, source.rows, self.numbers, self.at, row)
        return out
