"""Philox as a function of NumPy arrays: random numbers, row orders, and lockstep draws on plain numbers. Also the build
information."""

from libc.stdint cimport int64_t, uint32_t, uint64_t

cimport numpy as cnp

from built cimport COMPILER, CYTHON, LIBC, NUMPY, SIMD, STANDARD
from lockstep cimport draw_last, scan_back
from philox cimport Philox, philox_below, philox_fraction, philox_jump, philox_next, philox_seed, philox_skip
from sync cimport mutex

cnp.import_array()

cdef enum:
    MOST_PLACES = 0xFFFFFFFE            # a word is below 2**32


def philox(seed, seed2, skip, Py_ssize_t count):
    """Return `count` uint32 words from Philox4x32-10, after skipping `skip` blocks of four words.

    Args:
        seed, seed2: 64-bit seeds: the key, and the counter's upper half.
        skip: Number of four-word blocks to skip.
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
    """Return a permutation of `count` row numbers as int64: a Fisher-Yates shuffle with words from `philox`.

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


# Draws in lockstep ----------------------------------------------------------------------------------------------------

cdef cnp.ndarray int64_array(Py_ssize_t n):
    cdef cnp.npy_intp length = n
    return cnp.PyArray_EMPTY(1, &length, cnp.NPY_INT64, 0)


cdef cnp.ndarray uint64_array(Py_ssize_t n):
    cdef cnp.npy_intp length = n
    return cnp.PyArray_ZEROS(1, &length, cnp.NPY_UINT64, 0)


cdef int check_places(Py_ssize_t m, int64_t draws) except -1:
    if not 0 <= m <= <Py_ssize_t>MOST_PLACES:
        raise ValueError(f"lockstep: m must be >= 0 and less than 2**32 - 1, got {m}")
    if not 0 <= draws <= <int64_t>1 << 62:
        raise ValueError(f"lockstep: draws must be >= 0 and at most 2**62, got {draws}")
    return 0


def lockstep_pool(uint64_t seed, uint64_t seed2, Py_ssize_t m, int64_t draws):
    """Return the pool's contents before draw number `draws` in a shuffle queue with deterministic=True.

    It takes about m ln m random words, independent of the number of draws.

    Args:
        seed, seed2: The generator's two seeds.
        m: min_after_dequeue.
        draws: Earlier draws; at most 2**62. At least `draws + m` elements have arrived.

    Returns:
        An int64 array [m] with arrival numbers, counted from 0. The pool's last place has arrival `m + draws`.

    Raises:
        ValueError: `m` or `draws` is out of range.

    Thread safety: no state.
    """
    check_places(m, draws)
    cdef cnp.ndarray pool = int64_array(m)
    cdef int64_t[::1] places = pool
    cdef uint64_t[::1] seen = uint64_array(m // 64 + 1)
    with nogil:
        scan_back(seed, seed2, draws, places, seen)
    return pool


def lockstep_end(uint64_t seed, uint64_t seed2, Py_ssize_t m, int64_t arrivals, int64_t draws):
    """Return the pool below place m as `lockstep_pool` does, for an input that ended after `arrivals` elements.

    Args:
        seed, seed2, m: As for `lockstep_pool`.
        arrivals: Total number of elements.
        draws: How many were drawn.

    Returns:
        An int64 array with arrival numbers in place order: m, or fewer once the pool is no longer refilled.

    Raises:
        ValueError: `m`, `arrivals` or `draws` is out of range, or more elements were drawn than arrived.

    Thread safety: no state.
    """
    cdef int64_t refilled = max(0, arrivals - m)    # draws after which the pool was refilled
    cdef size_t count
    cdef Philox random
    check_places(m, draws)
    if draws > arrivals:
        raise ValueError(f"lockstep_end: {draws} draws from {arrivals} arrivals")
    if draws <= refilled:
        return lockstep_pool(seed, seed2, m, draws)[:arrivals]
    pool = lockstep_pool(seed, seed2, m, refilled)
    cdef int64_t[::1] places = pool
    count = min(m, arrivals)
    philox_seed(&random, seed, seed2)
    philox_jump(&random, refilled)
    with nogil:
        while refilled < draws:
            draw_last(places, count, &random)
            count -= 1
            refilled += 1
    return pool[:count]


cdef class NumberPool:
    """A shuffle queue with deterministic=True for plain numbers: it returns them in the order in which the queue would
    return elements arriving in the same order. For sources with random access.

    Args:
        seed, seed2: The generator's two seeds.
        m: min_after_dequeue.
        draws: Draws before the first one here; then call `load` first.

    Raises:
        ValueError: `m` or `draws` is out of range.

    Thread safety: all methods may be called from any thread.
    """

    cdef mutex lock
    cdef Philox random
    cdef int64_t[::1] places
    cdef size_t count           # filled places
    cdef bint ended             # numbers were drained

    def __cinit__(self, uint64_t seed, uint64_t seed2, Py_ssize_t m, int64_t draws=0):
        check_places(m, draws)
        self.places = int64_array(m)
        philox_seed(&self.random, seed, seed2)
        philox_jump(&self.random, draws)

    def load(self, const int64_t[::1] numbers not None):
        """Fill the places with these numbers, as returned by `lockstep_pool` or `lockstep_end`.

        Raises:
            ValueError: There are more than m numbers; nothing has changed.
        """
        cdef Py_ssize_t i, n = numbers.shape[0]
        if n > self.places.shape[0]:
            raise ValueError(f"NumberPool.load: expected at most {self.places.shape[0]} numbers, got {n}")
        with nogil:
            self.lock.lock()
            for i in range(n):
                self.places[i] = numbers[i]
            self.count = n
            self.ended = False
            self.lock.unlock()

    def exchange(self, const int64_t[::1] numbers not None):
        """Add numbers in order of arrival; each one that finds all places filled draws one.

        Returns:
            An int64 array with the drawn numbers, in order.

        Raises:
            RuntimeError: Numbers were already drained, so the input has ended.
        """
        cdef Py_ssize_t n = numbers.shape[0]
        cdef Py_ssize_t drawn
        cdef cnp.ndarray result = int64_array(n)
        cdef int64_t[::1] out = result
        with nogil:
            self.lock.lock()
            drawn = -1 if self.ended else self.put(numbers, out)
            self.lock.unlock()
        if drawn < 0:
            raise RuntimeError("NumberPool.exchange: numbers were drained, so the input has ended")
        return result if drawn == n else result[:drawn].copy()

    cdef Py_ssize_t put(self, const int64_t[::1] numbers, int64_t[::1] out) noexcept nogil:
        """Take numbers in, write the drawn ones to `out`, and return their count."""
        cdef size_t m = self.places.shape[0], place
        cdef uint64_t fraction = philox_fraction(<uint32_t>(m + 1))
        cdef Py_ssize_t i = 0, n = numbers.shape[0], drawn = 0
        while i < n and self.count < m:
            self.places[self.count] = numbers[i]
            self.count += 1
            i += 1
        for i in range(i, n):
            place = philox_below(philox_next(&self.random), fraction, <uint32_t>(m + 1))
            if place == m:
                out[drawn] = numbers[i]
            else:
                out[drawn] = self.places[place]
                self.places[place] = numbers[i]
            drawn += 1
        return drawn

    def drain(self, limit=None):
        """Draw the remaining numbers; the input has ended.

        Args:
            limit: Maximum count; None for all.

        Returns:
            An int64 array with the drawn numbers, in order.

        Raises:
            ValueError: `limit` is negative.
        """
        cdef Py_ssize_t most = self.places.shape[0] if limit is None else min(limit, self.places.shape[0]), drawn = 0
        if most < 0:
            raise ValueError(f"NumberPool.drain: limit must be >= 0, got {limit}")
        cdef cnp.ndarray result = int64_array(most)
        cdef int64_t[::1] out = result
        with nogil:
            self.lock.lock()
            self.ended = True
            while drawn < most and self.count:
                out[drawn] = draw_last(self.places, self.count, &self.random)
                self.count -= 1
                drawn += 1
            self.lock.unlock()
        return result if drawn == most else result[:drawn].copy()


def built_with():
    """Return the build information; `simd` lists the extensions used without asking the processor, because every
    processor with this architecture has them."""
    return {
        "compiler": COMPILER.decode(),
        "standard": f"C++{STANDARD // 100 % 100}",
        "C library": LIBC.decode(),
        "Cython": f"{CYTHON >> 24}.{CYTHON >> 16 & 255}.{CYTHON >> 8 & 255}",
        "NumPy": NUMPY.decode(),
        "simd": SIMD.decode().split(),
    }
