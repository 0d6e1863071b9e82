"""Delivery: what a deterministic loop has delivered, the numbers of its elements on their way beside the queue, and
batches on theirs out of the loop, of which a signal handler that raises loses none.

All three are between every two batches, and a thread that fills the queue waits for the interpreter meanwhile.
"""

cimport cython
from cpython.pythread cimport PyThread_get_thread_ident
from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport free, malloc
from libcpp.atomic cimport atomic, memory_order_relaxed

cimport numpy as cnp

from threading import Lock as allocate_lock

from beside cimport Beside, beside_arrange, beside_begin, beside_end, beside_room, beside_skip, beside_take
from given cimport move_back, moved
from mixing cimport base_of, folded, mix_to
from sync cimport mutex

cnp.import_array()

cdef object LAST = -1                   # as an object: indices of C have no wraparound here


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

    Thread safety: no state that changes.
    """

    cdef readonly int64_t batches
    cdef readonly int64_t elements
    cdef readonly int64_t own
    cdef readonly uint64_t value
    cdef readonly object moment
    cdef readonly tuple content

    def __init__(self, int64_t batches, int64_t elements, int64_t own, uint64_t value, moment=None, tuple content=()):
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
        cdef Delivered after = Delivered.__new__(Delivered)
        after.batches, after.elements, after.own = self.batches + 1, self.elements + total, self.own + own
        after.value, after.moment, after.content = value, moment, content
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

    def put_block(self, tuple values not None, int64_t ticket, Py_ssize_t rows):
        """As `put_many`, for a block without numbers, whose rows are at least 1: those of a call with that ticket.

        Raises:
            Exception: What the queue raised.
        """
        cdef uint64_t number = <uint64_t>ticket
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
        """
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
        """Take n elements; what the fingerprint `value` is after those from `begin` to `end`. RuntimeError: there are
        fewer numbers."""
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


# Out of the loop ------------------------------------------------------------------------------------------------------

@cython.final
@cython.freelist(8)
cdef class OnItsWay:
    """A batch that `next` has not returned yet.

    Attributes:
        thread: Which one has it.
        taken: What the queue gave, as far as it is this host's.
        after: What was delivered after it, a `Delivered`; None in a loop that does not count.
    """

    cdef unsigned long thread
    cdef object taken
    cdef Delivered after


@cython.final
cdef class Outlet:
    """Takes batches from a queue for `next`, and loses none to Ctrl-C.

    A signal handler may raise between any two steps of Python, and here it cannot. So a batch is kept from the moment
    when the queue has given it until `left` says that it has left `next`, and only then it counts as delivered. One
    whose `next` was struck on the way goes to whoever asks next.

    Args:
        delivered: A deque, to which each batch adds a `Delivered` as it leaves, if batches are counted.
        trail: Where the numbers are, unless they come with the batch.
        take: Takes a batch from the queue.
        args: Its arguments.
        asked: Makes the error for a call of `next` within another one of the same thread, which would wait for itself.

    Thread safety: any thread may call every method. A `with` block holds the lock, which has to guard `fetch`, and the
    `follow`, `count` or `drop` after it.
    """

    cdef readonly object lock
    cdef object delivered, take, held, asked, acquire, release
    cdef atomic[unsigned long] owner     # which thread has the lock; 0: none
    cdef Trail trail
    cdef Delivered newest       # what was delivered after the last batch that was counted
    cdef tuple args
    cdef bint full
    cdef list ways              # of all threads, each an OnItsWay
    cdef list back              # those whose `next` was struck, in the order in which it was
    cdef list coming            # what was delivered after each that was counted and has not left, in order

    def __cinit__(self, delivered, Trail trail, take, *args, asked=RuntimeError):
        self.delivered, self.trail, self.take, self.args, self.asked = delivered, trail, take, args, asked
        self.newest = None if delivered is None else delivered[LAST]
        self.full = False
        self.ways, self.back, self.coming = [], [], []
        self.after_fork()

    cpdef after_fork(self):
        """In the child of a fork: a thread that had the lock is not there."""
        self.lock = allocate_lock()
        self.owner.store(0, memory_order_relaxed)
        self.acquire, self.release = self.lock.acquire, self.lock.release

    def __enter__(self):
        self.enter()

    def __exit__(self, *_):
        self.leave()

    cdef bint owned(self) noexcept:
        return self.owner.load(memory_order_relaxed) == PyThread_get_thread_ident()

    cdef enter(self):
        if self.owned():
            raise self.asked()
        self.acquire()
        self.owner.store(PyThread_get_thread_ident(), memory_order_relaxed)

    cdef leave(self):
        if self.owned():    # else a fork came between
            self.owner.store(0, memory_order_relaxed)
            self.release()

    def draw(self):
        """What the queue gives, in a loop that does not count; it is on its way then. First what was struck.

        Raises:
            Exception: What the queue raised.
        """
        taken = self.kept()
        if taken is None:
            try:
                taken = self.take(*self.args)
            except Exception:
                taken = self.kept()     # of another thread, struck meanwhile
                if taken is None:
                    raise
            else:
                self.begin(taken, None)
        return taken

    def deliver(self, bint single):
        """As `draw`, in a loop that counts, for batches that are all this host's; `single`: of one component, which is
        not in a list then. Holds the lock."""
        cdef Py_ssize_t rows
        self.enter()
        try:
            taken = self.kept()
            if taken is None:
                taken = self.fetch()
                rows = len(taken if single else taken[0])
                self.follow(taken, rows, 0, rows, rows)
            return taken
        finally:
            self.leave()

    cpdef kept(self):
        """What was struck on its way, which begins again; None if nothing was."""
        cdef OnItsWay way
        if not self.back:
            return None
        with cython.critical_section(self):
            if not self.back:
                return None
            way = self.back.pop(0)
            way.thread = PyThread_get_thread_ident()
            self.ways.append(way)
        return way.taken

    cpdef fetch(self):
        """What the queue gives, or what it gave to one who did not come to count it."""
        if not self.full:
            self.held, self.full = self.take(*self.args), True
        return self.held

    cpdef count(self, own, cnp.ndarray numbers, int64_t total, moment=None, tuple content=()):
        """Count what was fetched, of which `own` is on its way then; the rest is as for `Delivered.after`."""
        self.begin(own, self.newest.after(numbers, total, moment, content))

    cpdef follow(self, own, Py_ssize_t n, Py_ssize_t begin, Py_ssize_t end, int64_t total, tuple content=()):
        """As `count`, with the numbers of the trail: n elements, of which those from `begin` to `end` are this host's.

        Raises:
            ValueError: `begin` and `end` are no part of n.
            RuntimeError: The trail has fewer numbers.
        """
        if not 0 <= begin <= end <= n:
            raise ValueError(f"Outlet.follow: {begin} to {end} is no part of {n}")
        cdef Delivered last = self.newest
        cdef uint64_t value = self.trail.follow(n, begin, end, last.value)
        self.begin(own, last.then(end - begin, value, total, None, content))
        if own is None:         # nobody gets it
            self.left = True

    cdef int begin(self, object own, Delivered after) except -1:
        cdef OnItsWay way = OnItsWay.__new__(OnItsWay)
        way.thread, way.taken, way.after = PyThread_get_thread_ident(), own, after
        with cython.critical_section(self):
            if after is not None:
                self.newest = after
                self.coming.append(after)
                self.full, self.held = False, None
            self.ways.append(way)
        return 0

    def drop(self):
        """What was fetched is no good."""
        self.full, self.held = False, None

    @property
    def struck(self):
        """Whether a batch was struck on its way, and nobody has asked for one since."""
        return len(self.back) > 0

    @property
    def left(self):
        """Whether this thread has no batch on its way.

        To be set, which no signal handler can part from a `return` behind it: to True as a batch leaves `next`, and to
        False where `next` raises.
        """
        cdef unsigned long thread = PyThread_get_thread_ident()
        with cython.critical_section(self):
            for each in self.ways:
                if (<OnItsWay>each).thread == thread:
                    return False
        return True

    @left.setter
    def left(self, bint left):
        cdef unsigned long thread = PyThread_get_thread_ident()
        cdef OnItsWay way
        cdef Py_ssize_t i
        if not left and self.owned():   # a call within another one, which may have a batch on its way
            return
        with cython.critical_section(self):
            for i in range(len(self.ways) - 1, -1, -1):
                way = <OnItsWay>self.ways[i]
                if way.thread == thread:
                    del self.ways[i]
                    if not left:
                        self.back.append(way)
                    elif way.after is not None:
                        self.settle_to(way.after)
                    break

    @property
    def taken(self):
        """What will be delivered when all that is on its way has left, a `Delivered`."""
        with cython.critical_section(self):
            return self.newest

    def settle(self):
        """Count all that is on its way as delivered: what comes after it begins another round."""
        with cython.critical_section(self):
            if self.coming:
                self.settle_to(self.coming[LAST])

    cdef int settle_to(self, Delivered last) except -1:
        if len(self.coming) == 1 and self.coming[0] is last:    # as with one thread
            self.delivered.append(last)
            self.coming.clear()
        while self.coming and (<Delivered>self.coming[0]).batches <= last.batches:
            self.delivered.append(self.coming.pop(0))
        return 0
