"""Outlet: batches on their way out of a loop, of which a signal handler that raises loses none."""

cimport cython
from cpython.pythread cimport PyThread_get_thread_ident
from libc.stdint cimport int64_t

cimport numpy as cnp

cnp.import_array()

cdef object LAST = -1                   # as an object: indices of C have no wraparound here


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
    cdef object after


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

    Thread safety: a lock has to guard `fetch`, and the `follow`, `count` or `drop` after it, and `deliver`. Any thread
    may call the rest.
    """

    cdef object delivered, trail, take, held
    cdef tuple args
    cdef bint full
    cdef list ways              # of all threads, each an OnItsWay
    cdef list back              # those whose `next` was struck, in the order in which it was
    cdef list coming            # what was delivered after each that was counted and has not left, in order

    def __cinit__(self, delivered, trail, take, *args):
        self.delivered, self.trail, self.take, self.args = delivered, trail, take, args
        self.full = False
        self.ways, self.back, self.coming = [], [], []

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
        """As `draw`, in a loop that counts, for batches that are all this host's.

        Args:
            single: Whether there is only one component, which is not in a list then.
        """
        taken = self.kept()
        if taken is None:
            taken = self.fetch()
            rows = len(taken if single else taken[0])
            self.follow(taken, rows, 0, rows, rows)
        return taken

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
            self.held = self.take(*self.args)
            self.full = True
        return self.held

    cpdef count(self, own, cnp.ndarray numbers, int64_t total, moment=None, tuple content=()):
        """Count what was fetched, of which `own` is on its way then; the rest is as for `Delivered.after`."""
        self.begin(own, self.newest().after(numbers, total, moment, content))

    cpdef follow(self, own, Py_ssize_t n, Py_ssize_t begin, Py_ssize_t end, int64_t total, tuple content=()):
        """As `count`, with the numbers of the trail: n elements, of which those from `begin` to `end` are this host's.

        Raises:
            ValueError: `begin` and `end` are no part of n.
            RuntimeError: The trail has fewer numbers.
        """
        if not 0 <= begin <= end <= n:
            raise ValueError(f"Outlet.follow: {begin} to {end} is no part of {n}")
        self.begin(own, self.trail.after(self.newest(), n, begin, end, total, content))
        if own is None:         # nobody gets it
            self.left = True

    cdef int begin(self, object own, object after) except -1:
        cdef OnItsWay way = OnItsWay.__new__(OnItsWay)
        way.thread, way.taken, way.after = PyThread_get_thread_ident(), own, after
        with cython.critical_section(self):
            if after is not None:
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
        return self.newest()

    cdef object newest(self):
        with cython.critical_section(self):
            return self.coming[LAST] if self.coming else self.delivered[LAST]

    def settle(self):
        """Count all that is on its way as delivered: what comes after it begins another round."""
        with cython.critical_section(self):
            if self.coming:
                self.settle_to(self.coming[LAST])

    cdef int settle_to(self, object last) except -1:
        if len(self.coming) == 1 and self.coming[0] is last:    # as with one thread
            self.delivered.append(last)
            self.coming.clear()
        while self.coming and (self.coming[0]).batches <= last.batches:
            self.delivered.append(self.coming.pop(0))
        return 0
