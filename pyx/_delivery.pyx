"""Delivery: what a deterministic loop has delivered, the numbers of its elements on their way beside the queue, and
blocks on theirs into it."""

from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_New
from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport free, malloc

cimport numpy as cnp

from beside cimport Beside, beside_arrange, beside_begin, beside_end, beside_room, beside_skip, beside_take
from mixing cimport STEP, base_of, folded, mixed
from sync cimport mutex

cnp.import_array()

cdef extern from *:
    """
    static inline PyObject** pipeline_items(PyObject* tuple) { return ((PyTupleObject*)tuple)->ob_item; }
    """
    PyObject** items_of "pipeline_items"(object values)

cdef enum:
    MIXED = 4096                        # numbers that are mixed ahead

cdef object NOTHING = object()          # after the last item of an iterator


# Fingerprints ---------------------------------------------------------------------------------------------------------

def mixed_id(uint64_t first, uint64_t second):
    """Return the id of an element that was made of two pulls, from their ids: the fingerprint of the two."""
    return mixed(first) * <uint64_t>STEP + mixed(second)


cdef uint64_t[MIXED] mixed_numbers      # `mixed` of 0, 1, ...: a block of rows then costs an addition for each


cdef void fill_mixed() noexcept:
    cdef Py_ssize_t i
    for i in range(MIXED):
        mixed_numbers[i] = mixed(i)


fill_mixed()


cdef inline uint64_t mixed_number(size_t i) noexcept nogil:
    return mixed_numbers[i] if i < MIXED else mixed(i)


cdef void mix_to(uint64_t* out, const uint64_t* numbers, uint64_t base, size_t begin, size_t end) noexcept nogil:
    """Mix these of the numbers, or of those that `mixed_ids` gives from `base_of` their first."""
    cdef size_t i, known = begin if numbers != NULL else max(begin, min(end, <size_t>MIXED))
    for i in range(begin, known):
        out[i - begin] = mixed(base + mixed_numbers[i])
    for i in range(known, end):
        out[i - begin] = mixed(base + mixed(i) if numbers == NULL else numbers[i])


def mixed_ids(uint64_t first, Py_ssize_t n):
    """Return the ids of the n elements that one call made of a pull with the id `first`, as an int64 array with their
    64 bits: `mixed_id` of `first` and 0, 1, ..."""
    cdef Py_ssize_t i
    if n < 0:
        raise ValueError(f"mixed_ids: n must be >= 0, got {n}")
    cdef cnp.npy_intp length = n
    cdef cnp.ndarray result = cnp.PyArray_EMPTY(1, &length, cnp.NPY_INT64, 0)
    cdef uint64_t* ids = <uint64_t*>cnp.PyArray_DATA(result)
    cdef uint64_t base = base_of(first)
    for i in range(n):
        ids[i] = base + mixed_number(i)
    return result


cdef class Delivered:
    """What was delivered up to a moment; immutable.

    Args:
        batches: How many.
        elements: How many, to all hosts.
        own: How many, to this host.
        value: The fingerprint of these.
        moment: What else a state of that time needs to know; None if nothing.
        content: Checksums of their bytes, if these were asked for.

    Thread safety: no state that changes.
    """

    cdef readonly int64_t batches
    cdef readonly int64_t elements
    cdef readonly int64_t own
    cdef readonly uint64_t value
    cdef readonly object moment
    cdef readonly tuple content

    def __cinit__(self, int64_t batches, int64_t elements, int64_t own, uint64_t value, moment=None, tuple content=()):
        self.batches, self.elements, self.own, self.value = batches, elements, own, value
        self.moment, self.content = moment, content

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
        return self.then(n, folded(<uint64_t*>cnp.PyArray_DATA(numbers), n, self.value), total, moment, content)

    cdef Delivered then(self, int64_t own, uint64_t value, int64_t total, object moment, tuple content):
        cdef Delivered after = Delivered.__new__(Delivered, 0, 0, 0, 0)
        after.batches, after.elements, after.own = self.batches + 1, self.elements + total, self.own + own
        after.value, after.moment, after.content = value, moment, content
        return after


# Beside the queue -----------------------------------------------------------------------------------------------------

cdef inline tuple moved(tuple values):
    """All values but the last in a tuple of their own. `values`, which nobody else may know, has None in their places,
    so that arrays that were given away still have one reference."""
    cdef Py_ssize_t i, n = len(values) - 1
    cdef tuple result = PyTuple_New(n)
    cdef PyObject** source = items_of(values)
    cdef PyObject** target = items_of(result)
    for i in range(n):
        target[i] = source[i]
        Py_INCREF(None)
        source[i] = <PyObject*>None
    return result


cdef inline void move_back(tuple values, tuple components) noexcept:
    cdef Py_ssize_t i
    cdef PyObject** target = items_of(values)
    cdef PyObject** source = items_of(components)
    for i in range(len(components)):
        target[i], source[i] = source[i], target[i]


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

    def __cinit__(self, put_one, put_many, entered, closed, tuple seeds=(0, 0), held_back=None):
        self.one, self.many, self.entered, self.closed = put_one, put_many, entered, closed
        self.added, self.final = 0, False
        beside_begin(&self.beside, held_back is not None, held_back or 0, seeds[0], seeds[1])

    def __dealloc__(self):
        beside_end(&self.beside)

    def put_one(self, tuple values not None):
        """Put an element in. Its number comes after its components in `values`, which nobody else may know.

        Raises:
            Exception: What the queue raised.
        """
        cdef uint64_t number = <uint64_t><int64_t>values[len(values) - 1]
        self.add(&number, 0, 1)
        self.put(self.one, values)

    def put_many(self, tuple values not None):
        """As `put_one`, for a block; its numbers are an int64 array.

        Raises:
            Exception: What the queue raised.
            ValueError: The numbers are something else.
        """
        cdef cnp.ndarray numbers = values[len(values) - 1]
        if cnp.PyArray_TYPE(numbers) != cnp.NPY_INT64 or numbers.ndim != 1:
            raise ValueError(f"Trail.put_many: numbers must be an int64 array, got {numbers!r:.80}")
        numbers = cnp.PyArray_GETCONTIGUOUS(numbers)
        self.add(<const uint64_t*>cnp.PyArray_DATA(numbers), 0, numbers.shape[0])
        self.put(self.many, values)

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
        """
        cdef uint64_t* moved = <uint64_t*>malloc((places.shape[0] + 1) * sizeof(uint64_t))
        if moved == NULL:
            raise MemoryError("no memory for the numbers of elements")
        self.lock.lock()
        cdef bint fits = beside_arrange(&self.beside, places, moved)
        self.lock.unlock()
        free(moved)
        if not fits:
            raise RuntimeError(f"Trail: the pool has not {places.shape[0]} numbers")

    cdef int add(self, const uint64_t* numbers, uint64_t base, size_t n) except -1:
        """Add these numbers; without them those that `mixed_ids` gives, from `base_of` their first."""
        cdef size_t at, first
        self.lock.lock()
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

    cdef uint64_t follow(self, size_t n, size_t begin, size_t end, uint64_t value) except? 0:
        """Take n elements; what the fingerprint `value` is after those from `begin` to `end`."""
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

    def after(self, Delivered last not None, size_t n, size_t begin, size_t end, int64_t total, tuple content=()):
        """What was delivered after n more elements, of which those from `begin` to `end` are this host's; the rest is
        as for `Delivered.after`.

        Raises:
            RuntimeError: There are fewer numbers.
        """
        return last.then(end - begin, self.follow(n, begin, end, last.value), total, None, content)


cdef class Blocks:
    """Moves the items of an iterable, each a block of elements, into a queue.

    Args:
        trail: Where the numbers go.
        put: Puts the components of a block into the queue.
        to_components: Takes a block apart; None if it is the only component.
        length: The number of elements of a block.
        stopped: Whether to move no more.

    Attributes:
        stopped: That function.
        moved: How many blocks were taken by the last `move`.
        rows: How many elements it has put into the queue.

    Thread safety: one thread at a time.
    """

    cdef object put, to_components, length
    cdef Trail trail
    cdef readonly object stopped
    cdef readonly int64_t moved, rows

    def __cinit__(self, Trail trail not None, put, to_components, length, stopped):
        self.trail, self.put, self.to_components = trail, put, to_components
        self.length, self.stopped = length, stopped
        self.moved = self.rows = 0

    def move(self, blocks, turn, worker, int64_t first, int64_t count):
        """Move blocks until their end, until `count` of them were moved, or until `stopped`.

        Args:
            blocks: An iterator.
            turn: Of this thread; has the ticket of the block that is made.
            worker: The thread, as errors name it.
            first: The ticket of the first block.
            count: The most blocks to move.

        Returns:
            Whether `blocks` is at its end.

        Raises:
            Exception: What `blocks`, or storing a block, raised.
        """
        cdef Py_ssize_t rows
        cdef tuple values
        self.moved = self.rows = 0
        while self.moved < count:
            if self.stopped():
                return False
            block = next(blocks, NOTHING)
            if block is NOTHING:
                return True
            worker.keys = None
            self.moved += 1
            if self.to_components is None and type(block) is cnp.ndarray and cnp.PyArray_NDIM(block) > 0:
                rows = cnp.PyArray_DIM(block, 0)
            else:
                rows = self.length(block)
            values = (block,) if self.to_components is None else (*self.to_components(block),)
            block = None
            self.store(values, first + self.moved - 1, rows)
            values = None               # before the next one is made: these may be large
            turn.ticket = first + self.moved
        return False

    cdef int store(self, tuple values, int64_t ticket, Py_ssize_t rows) except -1:
        cdef uint64_t number = <uint64_t>ticket
        if rows == 0:
            return 0
        if rows == 1:
            self.trail.add(&number, 0, 1)
        else:
            self.trail.add(NULL, base_of(number), rows)
        self.put(values)
        self.rows += rows
        return 0
