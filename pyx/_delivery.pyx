"""Delivery: what is between every two batches of a loop, while a thread that fills the queue waits for the interpreter:
`next`, batches on their way out of it, which no signal handler that raises loses, and what was delivered."""

cimport cython
from cpython.object cimport PyObject, PyTypeObject
from cpython.pythread cimport PyThread_get_thread_ident
from cpython.ref cimport Py_INCREF, Py_XDECREF
from libc.stdint cimport int64_t
from libcpp.atomic cimport atomic, memory_order_relaxed

cimport numpy as cnp

from threading import Lock as allocate_lock
from types import GenericAlias

from pipeline import spans
from pipeline._trail import Delivered
from pipeline.errors import OutOfRangeError
from pipeline.tracebacks import show_users

from bare cimport bare_install, bare_restore
from sync cimport mutex

cnp.import_array()

cdef object LAST = -1                   # as an object: indices of C have no wraparound here
cdef enum: KEPT = 128        # twice as many as a state can go back, so that nothing is forgotten while one is made

BEHIND = KEPT // 2          # batches that `state_dict(behind=...)` can go back
cdef dict TRACING = spans.__dict__      # its `on` changes


@cython.final
@cython.no_gc
cdef class History:
    """What was delivered after each of the last batches; `first`: before them.

    Thread safety: any thread may call every method. `copy`, unlike that of a deque, is of one moment without the
    interpreter's lock too. Nobody waits for a lock of Python's here: a critical section around `add` stays one.
    """
    cdef mutex lock
    cdef PyObject* ring[KEPT]   # each a Delivered, or NULL
    cdef size_t added

    def __cinit__(self, first):
        if type(first) is not Delivered:
            raise TypeError(f"History: first must be a Delivered, got {first!r:.80}")
        self.add(first)

    def __dealloc__(self):
        for i in range(KEPT):
            Py_XDECREF(self.ring[i])

    cdef void add(self, object last) noexcept:
        Py_INCREF(last)
        self.lock.lock()
        cdef PyObject* forgotten = self.ring[self.added % KEPT]
        self.ring[self.added % KEPT] = <PyObject*>last
        self.added += 1
        self.lock.unlock()
        Py_XDECREF(forgotten)

    cdef object one(self, bint newest):
        self.lock.lock()
        cdef size_t at = self.added - 1 if newest else max(self.added, <size_t>KEPT) - KEPT
        cdef object each = <object>self.ring[at % KEPT]
        self.lock.unlock()
        return each

    @property
    def newest(self):
        """What is delivered by now, a `Delivered`."""
        return self.one(True)

    @property
    def oldest(self):
        """The first that is not forgotten."""
        return self.one(False)

    def copy(self):
        """All of them in a list, the oldest first."""
        cdef PyObject* found[KEPT]
        cdef size_t i, n
        self.lock.lock()
        n = min(self.added, <size_t>KEPT)
        for i in range(n):
            found[i] = self.ring[(self.added - n + i) % KEPT]
            Py_INCREF(<object>found[i])
        self.lock.unlock()
        try:
            return [<object>found[i] for i in range(n)]
        finally:
            for i in range(n):
                Py_XDECREF(found[i])


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
    cdef object after          # a `Delivered`


@cython.final
cdef class Outlet:
    """Takes batches from a queue for `next`, and loses none to Ctrl-C.

    A signal handler may raise between any two steps of Python, and here it cannot. So a batch is kept from the moment
    when the queue has given it until `left` says that it has left `next`, and only then it counts as delivered. One
    whose `next` was struck on the way goes to whoever asks next.

    Args:
        delivered: To which each batch adds a `Delivered` as it leaves, if batches are counted.
        trail: Where the numbers are, unless they come with the batch.
        take: Takes a batch from the queue.
        args: Its arguments.
        asked: Makes the error for a call of `next` within another one of the same thread, which would wait for itself.

    Attributes:
        whole: Whether what the queue gives is a batch as it is, so that the loop need not ask its feed: it is what
            `draw` gives, or `deliver` where batches are counted.

    Thread safety: any thread may call every method. A `with` block holds the lock, which has to guard `fetch`, and the
    `follow`, `count` or `drop` after it.
    """

    cdef readonly object lock
    cdef public bint whole
    cdef object take, held, asked, acquire, release
    cdef History delivered
    cdef atomic[unsigned long] owner     # which thread has the lock; 0: none
    cdef object fill, size      # where whoever asks for a batch fills the queue
    cdef Py_ssize_t enough
    cdef object trail
    cdef object newest          # what was delivered after the last batch that was counted
    cdef tuple args
    cdef bint full
    cdef list ways              # of all threads, each an OnItsWay
    cdef list back              # those whose `next` was struck, in the order in which it was
    cdef list coming            # what was delivered after each that was counted and has not left, in order

    def __cinit__(self, History delivered, trail, take, *args, asked=RuntimeError, bint whole=False):
        self.delivered, self.trail, self.take, self.args, self.asked = delivered, trail, take, args, asked
        self.whole = whole
        self.newest = None if delivered is None else delivered.newest
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

    def filled_by(self, fill, size, Py_ssize_t enough, asked):
        """Have the queue filled by whoever asks for a batch, one at a time; before anybody does.

        Args:
            fill: Called before a batch is taken where there is too little for one.
            size, enough: What tells how many elements the queue has; how many there must be for a batch.
            asked: As for the outlet.
        """
        self.fill, self.size, self.enough, self.asked = fill, size, enough, asked

    def filled_no_more(self):
        """Forget what `filled_by` was told, while no batch is taken: the loop has ended."""
        self.fill = self.size = None

    cdef object taking(self):
        """What the queue gives, once it has enough."""
        if self.fill is not None and self.size() < self.enough:
            self.fill()
        return self.take(self.args[0]) if len(self.args) == 1 else self.take(*self.args)

    cdef object taking_alone(self):
        self.enter()
        try:
            return self.taking()
        finally:
            self.leave()

    cpdef draw(self):
        """What the queue gives, in a loop that does not count; it is on its way then. First what was struck.

        Raises:
            Exception: What the queue raised, or what fills it.
        """
        taken = self.kept()
        if taken is None:
            try:
                taken = self.taking() if self.fill is None else self.taking_alone()
            except Exception:
                taken = self.kept()     # of another thread, struck meanwhile
                if taken is None:
                    raise
            else:
                self.begin(taken, None)
        return taken

    @cython.boundscheck(True)
    cpdef deliver(self):
        """As `draw`, in a loop that counts, for batches that are all this host's. Holds the lock."""
        cdef Py_ssize_t rows
        self.enter()
        try:
            taken = self.kept()
            if taken is None:
                taken = self.fetch()
                rows = len((<list>taken)[0] if type(taken) is list else taken)
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
            self.held, self.full = self.taking(), True
        return self.held

    @cython.nonecheck(True)
    cpdef count(self, own, cnp.ndarray numbers, int64_t total, moment=None, tuple content=()):
        """Count what was fetched, of which `own` is on its way then; the rest is as for `Delivered.after`."""
        self.begin(own, self.newest.after(numbers, total, moment, content))

    cpdef follow(self, own, Py_ssize_t n, Py_ssize_t begin, Py_ssize_t end, int64_t total, tuple content=()):
        """As `count`, with the numbers of the trail: n elements, of which those from `begin` to `end` are this host's.

        Raises:
            ValueError: `begin` and `end` are no part of n, or the outlet does not count.
            RuntimeError: The trail has fewer numbers.
        """
        if self.newest is None or not 0 <= begin <= end <= n:
            raise ValueError(f"Outlet.follow: {begin} to {end} is no part of {n}, or nothing is counted")
        self.begin(own, self.trail.follow(self.newest, n, begin, end, total, content))
        if own is None:         # nobody gets it
            self.left = True

    cdef int begin(self, object own, object after) except -1:
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
    def owned_here(self):
        """Whether this thread has the lock."""
        return self.owned()

    @property
    def struck(self):
        """Whether a batch was struck on its way, and nobody has asked for one since."""
        return len(self.back) > 0

    cpdef Py_ssize_t under_way(self):
        """How many batches of this thread are on their way: that of `next`, and of a call that this one is within."""
        cdef unsigned long thread = PyThread_get_thread_ident()
        cdef Py_ssize_t count = 0
        with cython.critical_section(self):
            for each in self.ways:
                count += (<OnItsWay>each).thread == thread
        return count

    @property
    def left(self):
        """Whether nothing of this thread is on its way. Set as a batch leaves: no handler parts it from a `return`."""
        return self.under_way() == 0

    @left.setter
    def left(self, bint _):
        self.part(True)

    cpdef give_back(self, Py_ssize_t before):
        """As `next` raises: whoever asks next gets what is on its way, unless there was so much `before` this call."""
        if self.under_way() > before:
            self.part(False)

    cdef int part(self, bint left) except -1:
        cdef unsigned long thread = PyThread_get_thread_ident()
        cdef OnItsWay way
        cdef Py_ssize_t i
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
        return 0

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

    cdef int settle_to(self, object last) except -1:
        if len(self.coming) == 1 and self.coming[0] is last:    # as with one thread
            self.delivered.add(last)
            self.coming.clear()
        while self.coming and self.coming[0].batches <= last.batches:
            self.delivered.add(self.coming.pop(0))
        return 0


cdef class Steps:
    """An iterator whose errors show the line that asked, and then the user's frames: none of ours in between.

    A class that inherits from it has `_next`, which returns the next item, or raises StopIteration or what has failed.
    """

    @classmethod
    def __class_getitem__(cls, item):   # what an item is, for type checkers
        return GenericAlias(cls, item)

    def __next__(self):
        """Return the next item; of a loop the next batch, in the container of the examples.

        Raises:
            StopIteration: The input is used up, or the loop was closed.
            Exception: What a thread, or the source, raised.
        """
        return self.following()

    cdef object following(self):
        return (<object>self)._next()


cdef PyObject* bare_next(PyObject* self) noexcept:
    """What `__next__` of Steps is; see bare.pxd."""
    cdef object failed
    try:
        found = (<Steps>self).following()
        Py_INCREF(found)
        return <PyObject*>found
    except BaseException as error:
        failed = error
    if type(failed) is StopIteration and failed.value is None:
        return NULL  # without an error: the end
    if isinstance(failed, Exception):
        show_users(failed)
    bare_restore(failed)
    return NULL


cdef class Next(Steps):
    """The `next` of a loop. There is no step of Python, where a signal handler could strike, once a batch has left its
    outlet.

    A class that inherits from it has `_taker`, which has a method `take` and an `outlet`, or is None; `_next`, which is
    called where it is None, or while a run is traced; and `_ended_by`, which is told that a taker has no more batches.
    """

    @cython.nonecheck(True)
    cdef object following(self):
        cdef object loop = self, taker = loop._taker
        cdef Outlet outlet
        cdef Py_ssize_t before
        if taker is None or TRACING["on"]:
            return loop._next()
        outlet = taker.outlet
        before = outlet.under_way()
        try:
            batch = (outlet.draw() if outlet.delivered is None else outlet.deliver()) if outlet.whole else taker.take()
            outlet.part(True)
            return batch
        except BaseException as error:
            outlet.give_back(before)
            if not isinstance(error, OutOfRangeError):
                raise
            loop._ended_by(taker)
        raise StopIteration


bare_install(<PyTypeObject*>Steps, <void*>bare_next)
bare_install(<PyTypeObject*>Next, <void*>bare_next)
