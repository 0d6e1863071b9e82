"""Trail: the numbers of the elements of a queue, which follow beside it.

Threads that fill the queue note them and whoever takes batches looks them up, so they cost no component of it.
"""

cimport cython
from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport free, malloc

cimport numpy as cnp

from beside cimport Beside, beside_arrange, beside_begin, beside_end, beside_room, beside_skip, beside_take
from given cimport move_back, moved
from mixing cimport base_of, mix_to
from resume cimport is_permutation
from sync cimport mutex

cnp.import_array()


@cython.final
cdef class Trail:
    """The numbers of the elements of a queue. They follow beside it, so that it holds the elements alone: in order, or
    in lockstep with its draws.

    Args:
        put_one: Puts the components of an element into the queue, a tuple.
        put_many: Puts those of a block in.
        entered: How many elements have ever entered the queue.
        closed: Whether it is closed, so that none will enter.
        seeds: Of its draws.
        held_back: How many elements it keeps while it is open; None if it is first in, first out.

    Thread safety: one thread at a time puts elements in, and one at a time takes their numbers; a mutex guards these.
    """

    cdef mutex lock
    cdef object one, many, entered, closed
    cdef Beside beside
    cdef uint64_t added         # how many numbers ever came, less those that `trim` has dropped
    cdef bint final             # no element will enter, and all numbers are of elements that did

    @cython.boundscheck(True)
    def __cinit__(self, put_one, put_many, entered, closed, tuple seeds=(0, 0), held_back=None):
        self.one, self.many, self.entered, self.closed = put_one, put_many, entered, closed
        self.added, self.final = 0, False
        beside_begin(&self.beside, held_back is not None, held_back or 0, seeds[0], seeds[1])

    def __dealloc__(self):
        beside_end(&self.beside)

    @cython.boundscheck(True)
    def put_one(self, tuple values not None):
        """Put an element in. Its number comes after its components in `values`, which nobody else may know.

        Raises:
            Exception: What the queue raised.
        """
        cdef uint64_t number = <uint64_t><int64_t>values[len(values) - 1]
        self.add(&number, 0, 1)
        self.put(self.one, values)

    @cython.boundscheck(True)
    def put_many(self, tuple values not None):
        """As `put_one`, for a block; its numbers are an int64 array.

        Raises:
            Exception: What the queue raised.
            ValueError: The numbers are something else.
        """
        cdef cnp.ndarray numbers = values[len(values) - 1]
        if numbers is None or cnp.PyArray_TYPE(numbers) != cnp.NPY_INT64 or numbers.ndim != 1:
            raise ValueError(f"Trail.put_many: numbers must be an int64 array, got {numbers!r:.80}")
        numbers = cnp.PyArray_GETCONTIGUOUS(numbers)
        self.add(<const uint64_t*>cnp.PyArray_DATA(numbers), 0, numbers.shape[0])
        self.put(self.many, values)

    def put_block(self, tuple values not None, int64_t ticket, Py_ssize_t rows):
        """As `put_many`, for a block without numbers, whose rows are at least 1: those of a call with that ticket.

        Raises:
            Exception: What the queue raised.
            ValueError: There are no rows.
        """
        cdef uint64_t number = <uint64_t>ticket
        if rows < 1:
            raise ValueError(f"Trail.put_block: expected at least 1 row, got {rows}")
        if rows == 1:
            self.add(&number, 0, 1)
        else:
            self.add(NULL, base_of(number), rows)
        self.many(values)

    cdef int put(self, object put, tuple values) except -1:
        """Before, the numbers were added: the consumer may take elements while others still wait for room."""
        cdef tuple components = moved(values)
        try:
            put(components)
        except BaseException:
            move_back(values, components)
            self.trim()
            raise
        return 0

    cpdef trim(self):
        """Drop the numbers of elements that did not enter the queue: a put was interrupted, or has failed."""
        cdef uint64_t entered = self.entered()
        self.lock.lock()
        if self.added > entered:
            self.beside.count -= min(self.beside.count, self.added - entered)
            self.added = entered
        self.lock.unlock()

    def skip_draws(self, uint64_t draws):
        """Leave out the draws that a saved run has made; before the first one."""
        self.lock.lock()
        beside_skip(&self.beside, draws)
        self.lock.unlock()

    def arrange(self, const int64_t[::1] places not None):
        """Move the numbers to the places in the pool that their elements have, as the queue moves these.

        Args:
            places: The place of each, in the order in which they were put in; a permutation.

        Raises:
            RuntimeError: The pool has more of them, or fewer.
            ValueError: It is no permutation.
        """
        if not is_permutation(places):
            raise ValueError(f"Trail.arrange: the {places.shape[0]} places are not 0, 1, ... in some order")
        cdef uint64_t* there = <uint64_t*>malloc((places.shape[0] + 1) * sizeof(uint64_t))
        if there == NULL:
            raise MemoryError("no memory for the numbers of elements")
        self.lock.lock()
        cdef bint fits = beside_arrange(&self.beside, places, there)
        self.lock.unlock()
        free(there)
        if not fits:
            raise RuntimeError(f"Trail: the pool has not {places.shape[0]} numbers")

    cdef int add(self, const uint64_t* numbers, uint64_t base, size_t n) except -1:
        """Add these numbers; without them those that `mixed_ids` gives, from `base_of` their first."""
        cdef size_t at, first
        self.lock.lock()
        if self.final:          # their put fails, and the last draws may happen meanwhile
            self.lock.unlock()
            return 0
        if not beside_room(&self.beside, n):
            self.lock.unlock()
            raise MemoryError("no memory for the numbers of elements")
        at = (self.beside.first + self.beside.count) & (self.beside.room - 1)
        first = min(n, self.beside.room - at)
        mix_to(&self.beside.ring[at], numbers, base, 0, first)
        mix_to(self.beside.ring, numbers, base, first, n)
        self.beside.count += n
        self.added += n
        self.lock.unlock()
        return 0

    def follow(self, size_t n, size_t begin, size_t end, uint64_t value):
        """Take the numbers of n elements.

        Args:
            n: As many have just left the queue.
            begin, end: Which of them count, a part of n.
            value: The fingerprint before.

        Returns:
            The fingerprint after those that count.

        Raises:
            RuntimeError: There are fewer numbers.
            ValueError: `begin` and `end` are no part of n.
        """
        if not begin <= end <= n:
            raise ValueError(f"Trail.follow: {begin} to {end} is no part of {n}")
        if self.beside.draws and not self.final and self.closed():
            self.trim()         # the last draws depend on how many there are
            self.final = True
        self.lock.lock()
        if n > self.beside.count + self.beside.held:
            self.lock.unlock()
            raise RuntimeError(f"Trail: {n} elements have come without their numbers")
        value = beside_take(&self.beside, n, begin, end, value)
        self.lock.unlock()
        return value
