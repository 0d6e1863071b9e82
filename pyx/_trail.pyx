"""Trail: the numbers of the elements of a queue, which follow beside it, and what was delivered of them.

Threads that fill the queue note them and whoever takes batches looks them up, so they cost no component of it.
"""

cimport cython
from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport free, malloc

cimport numpy as cnp

from beside cimport (
    Beside, beside_add, beside_arrange, beside_begin, beside_drop, beside_end, beside_skip, beside_take,
)
from given cimport move_back, moved
from mixing cimport base_of, folded
from resume cimport is_permutation
from sync cimport mutex

cnp.import_array()


cdef enum:
    BATCHES = 32                # whose fingerprints are found together
    ELEMENTS = 4096             # or fewer, with that many elements


# What was delivered ---------------------------------------------------------------------------------------------------

@cython.final
@cython.no_gc
cdef class Found:
    """The fingerprints after some batches, as they are found."""

    cdef uint64_t[BATCHES] values
    cdef size_t known           # how many are found


@cython.final
@cython.no_gc
cdef class Numbers:
    """The numbers of the elements of a queue, and of batches that have left it and whose fingerprint nobody asked for.

    Whoever takes batches holds the interpreter, for which a thread that fills the queue may have to wait. So a batch is
    only noted, and the fingerprints of many are found at once, when numbers, pool and code are in the cache but once.

    It refers to nothing that could refer back to what was delivered, so no garbage collection has to look here.

    Thread safety: one thread at a time calls `follow`, and any thread the others.
    """

    cdef mutex lock
    cdef Beside beside
    cdef uint64_t added         # how many numbers ever came, less those that `drop` has dropped
    cdef bint final             # no element will enter, and all numbers are of elements that did
    cdef uint64_t value         # the last fingerprint that was found
    cdef uint64_t serial        # how many batches there were
    cdef Found found            # where those of the batches go of which the following is noted
    cdef size_t batches
    cdef size_t[BATCHES] sizes, begins, ends
    cdef size_t elements        # of those batches whose fingerprints are not found yet

    def __cinit__(self, bint draws, size_t held_back, uint64_t seed, uint64_t seed2):
        self.found = Found.__new__(Found)
        beside_begin(&self.beside, draws, held_back, seed, seed2)

    def __dealloc__(self):
        beside_end(&self.beside)

    cdef int add(self, const uint64_t* numbers, uint64_t base, size_t n) except -1:
        """As `beside_add`."""
        self.lock.lock()
        try:
            if n and not self.final:        # else their put fails, and the last draws may happen meanwhile
                beside_add(&self.beside, numbers, base, n)
                self.added += n
        finally:
            self.lock.unlock()
        return 0

    cdef void drop(self, uint64_t entered, bint final) noexcept:
        """Drop the numbers of elements that did not enter the queue. With `final` none is added from now on: the two in
        one hold of the lock, as one added between them would count in the last draws."""
        self.lock.lock()
        if self.added > entered:
            beside_drop(&self.beside, self.added - entered)
            self.added = entered
        self.final |= final
        self.lock.unlock()

    cdef int follow(self, Delivered last, Delivered after, size_t n, size_t begin, size_t end) except -1:
        """Note a batch of n elements, of which those from `begin` to `end` were delivered after `last`; `after` is what
        was delivered then. RuntimeError: there are fewer numbers."""
        cdef bint enough, goes_on = last.numbers is self and last.serial == self.serial
        cdef uint64_t before = 0 if goes_on else last.fingerprint()
        cdef Found following = Found.__new__(Found) if self.batches == BATCHES else self.found
        self.lock.lock()
        enough = n <= self.beside.count + self.beside.held - self.elements
        if enough:
            if not goes_on or self.batches == BATCHES or self.elements >= ELEMENTS:
                self.settle()
                self.value = self.value if goes_on else before
            if following is not self.found:
                self.found, self.batches = following, 0
            after.numbers, after.found, after.place = self, following, self.batches
            self.sizes[self.batches], self.begins[self.batches], self.ends[self.batches] = n, begin, end
            self.batches += 1
            self.elements += n
            self.serial += 1
            after.serial = self.serial
        self.lock.unlock()
        if not enough:
            raise RuntimeError(f"Trail: {n} elements have come without their numbers")
        return 0

    cdef void settle(self) noexcept:
        """Find the fingerprints of all batches that are noted, with the lock."""
        cdef size_t i
        for i in range(self.found.known, self.batches):
            self.value = beside_take(&self.beside, self.sizes[i], self.begins[i], self.ends[i], self.value)
            self.found.values[i] = self.value
        self.found.known = self.batches
        self.elements = 0

    cdef uint64_t fingerprint(self, Delivered each) noexcept:
        self.lock.lock()
        if each.place >= each.found.known:      # else a later one was asked for, or another is noted in its place
            self.settle()
        cdef uint64_t value = each.found.values[each.place]
        self.lock.unlock()
        return value


@cython.final
@cython.freelist(8)
@cython.no_gc
cdef class Delivered:
    """What was delivered up to a moment; immutable.

    Args:
        batches: How many.
        elements: How many, to all hosts.
        own: How many, to this host.
        value: The fingerprint of these.
        moment: What else a state of that time needs to know; None if nothing.
        content: Checksums of their bytes, if these were asked for.
    """

    cdef readonly int64_t batches
    cdef readonly int64_t elements
    cdef readonly int64_t own
    cdef readonly object moment
    cdef readonly tuple content
    cdef uint64_t known         # the fingerprint, unless
    cdef Numbers numbers        # these find it when somebody asks, else None,
    cdef Found found            # and keep it here,
    cdef size_t place           # at this place
    cdef uint64_t serial        # of how many batches there were

    def __init__(self, int64_t batches, int64_t elements, int64_t own, uint64_t value, moment=None, tuple content=()):
        self.batches, self.elements, self.own, self.known = batches, elements, own, value
        self.moment, self.content = moment, content

    @property
    def value(self):
        return self.fingerprint()

    cdef uint64_t fingerprint(self) noexcept:
        return self.known if self.numbers is None else self.numbers.fingerprint(self)

    def after(self, cnp.ndarray numbers not None, int64_t total, moment=None, tuple content=()):
        """What was delivered after one more batch.

        For each id in order, `value = value * 0x9E3779B97F4A7C15 + mix(id)` modulo 2**64, where `mix` is the finalizer
        of splitmix64 with its increment. It does not depend on how the ids are split into batches.

        Args:
            numbers: An int64 array of the ids of its elements, those of this host.
            total: How many elements it has, for all hosts.
            moment, content: Afterwards.

        Raises:
            TypeError, ValueError: `numbers` is something else.
        """
        # With the GIL: giving it away takes more time than the ids of a batch.
        cdef Py_ssize_t n = numbers.shape[0] if numbers.ndim == 1 else -1
        if n < 0 or cnp.PyArray_TYPE(numbers) != cnp.NPY_INT64 or not cnp.PyArray_ISCARRAY_RO(numbers):
            raise ValueError(f"Delivered.after: numbers must be an int64 array, got {numbers!r:.80}")
        cdef Delivered after = self.then(n, total, moment, content)
        after.known = folded(<uint64_t*>cnp.PyArray_DATA(numbers), n, self.fingerprint())
        return after

    cdef Delivered then(self, int64_t own, int64_t total, object moment, tuple content):
        """As `after`, but for the fingerprint."""
        cdef Delivered after = Delivered.__new__(Delivered)
        after.batches, after.elements, after.own = self.batches + 1, self.elements + total, self.own + own
        after.moment, after.content = moment, content
        return after


# Beside the queue -----------------------------------------------------------------------------------------------------

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

    cdef object one, many, entered, closed
    cdef Numbers numbers
    cdef bint draws

    @cython.boundscheck(True)
    def __cinit__(self, put_one, put_many, entered, closed, tuple seeds=(0, 0), held_back=None):
        self.one, self.many, self.entered, self.closed = put_one, put_many, entered, closed
        self.draws = held_back is not None
        self.numbers = Numbers(self.draws, held_back or 0, seeds[0], seeds[1])

    @cython.boundscheck(True)
    def put_one(self, tuple values not None):
        """Put an element in. Its number comes after its components in `values`, which nobody else may know.

        Raises:
            Exception: What the queue raised.
        """
        cdef uint64_t number = <uint64_t><int64_t>values[len(values) - 1]
        self.numbers.add(&number, 0, 1)
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
        self.numbers.add(<const uint64_t*>cnp.PyArray_DATA(numbers), 0, numbers.shape[0])
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
            self.numbers.add(&number, 0, 1)
        else:
            self.numbers.add(NULL, base_of(number), rows)
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
        self.numbers.drop(self.entered(), False)

    def skip_draws(self, uint64_t draws):
        """Leave out the draws that a saved run has made; before the first one."""
        self.numbers.lock.lock()
        beside_skip(&self.numbers.beside, draws)
        self.numbers.lock.unlock()

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
        self.numbers.lock.lock()
        cdef bint fits = beside_arrange(&self.numbers.beside, places, there)
        self.numbers.lock.unlock()
        free(there)
        if not fits:
            raise RuntimeError(f"Trail: the pool has not {places.shape[0]} numbers")

    def follow(self, Delivered last not None, size_t n, size_t begin, size_t end, int64_t total, tuple content):
        """Follow a batch of n elements.

        Args:
            last: What was delivered before.
            n: As many have just left the queue.
            begin, end: Which of them count, a part of n: those of this host.
            total: How many count for all hosts.
            content: As of a `Delivered`.

        Returns:
            What is delivered after those that count.

        Raises:
            RuntimeError: There are fewer numbers.
            ValueError: `begin` and `end` are no part of n.
        """
        if not begin <= end <= n:
            raise ValueError(f"Trail.follow: {begin} to {end} is no part of {n}")
        cdef Delivered after = last.then(end - begin, total, None, content)
        if self.draws and not self.numbers.final and self.closed():
            self.numbers.drop(self.entered(), True)     # the last draws depend on how many there are
        self.numbers.follow(last, after, n, begin, end)
        return after
