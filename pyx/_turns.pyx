"""Turns: what a call of the user's function reads from, and elements of a producer that are ready for it."""

cimport cython
from cpython.list cimport PyList_GET_SIZE
from libc.stdint cimport int64_t, uint64_t


cdef class Turn:
    """A call of a function whose reads are recorded: its number, and what it has read. A thread begins it again for
    each call.

    Only outermost reads count: the file name that a reader takes from its queue is part of the read.

    Compiled, because it stands beside each read: a pull takes 0.15 us of it, and took 1.1 us in Python.

    Args:
        book: What knows of the reads of all calls; see `pipeline.pulls.Book`.

    Attributes:
        ticket: The number of the call: after a resume as in the run before.
        pulls: How often it has read.

    Thread safety: none; it belongs to its thread.
    """

    cdef readonly object book
    cdef readonly int64_t ticket
    cdef readonly int pulls
    cdef object what            # it reads from
    cdef object ids             # what the first read gave, see `Positioned.last_ids`; None if that is not known
    cdef bint one               # the first read gave one element,
    cdef int64_t id             # with this number
    cdef int depth

    def __cinit__(self, book):
        self.book = book
        self.begin(0)

    cpdef begin(self, int64_t ticket):
        """Begin another call."""
        self.ticket = ticket
        self.what = self.ids = None
        self.pulls = self.depth = 0
        self.one = False

    cpdef gave(self, int64_t number):
        """The read that has begun gives one element, with this number: as `last_ids`, without the tuple."""
        if self.depth == 1 and self.pulls == 0:
            self.one, self.id = True, number

    def pulling(self, what):
        """Begin a read from something, a `Positioned` or a queue that is none; the `with` statement around it ends it.

        Raises:
            FailedPreconditionError: Another iterator reads from it.
        """
        self.pull(what)
        return self

    cpdef pull(self, what):
        """As `pulling`, for those who call `pulled` in the end, in `finally`: `with` takes 0.1 us longer."""
        if getattr(what, "owner", None) is not self.book:
            self.book.adopt(what)
        if self.depth == 0:
            self.what = what
        self.depth += 1

    cpdef pulled(self):
        """End a read that `pull` began."""
        self.depth -= 1
        if self.depth:
            return
        self.pulls += 1
        if self.pulls == 1 and not self.one:
            self.ids = getattr(self.what, "last_ids", None)

    @cython.boundscheck(True)
    cpdef element(self):
        """The number of the example that the call gives, as the fingerprint knows it; None unless it has read once."""
        if self.pulls != 1:
            return None
        if self.one:
            return self.id
        return (<tuple>self.ids)[0] if type(self.ids) is tuple else None

    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        self.pulled()


cdef class Ready:
    """Single elements of a producer, made ready by the hundred, and the number of the next one: what a call takes.

    Compiled, because most functions of a loop take a name or a number first: 0.5 us of it in Python.

    Attributes:
        next: The number of the next element; -1 until somebody has asked for it.

    Thread safety: for one thread at a time, but `next` may be read by any.
    """

    cdef public int64_t next
    cdef int64_t first          # the number of the first that is ready
    cdef list rows, elements    # their row numbers, and they

    def __cinit__(self):
        self.next = -1
        self.forget()

    cpdef forget(self):
        """Nothing is ready any more."""
        self.first, self.rows, self.elements = 0, [], []

    def fill(self, int64_t first, list rows not None, list elements not None):
        """These are ready, from number `first` on: their row numbers, and they."""
        if len(rows) != len(elements):
            raise ValueError(f"Ready.fill: expected a number for each of {len(elements)} elements, got {len(rows)}")
        self.first, self.rows, self.elements = first, rows, elements

    def take(self, producer, Turn turn not None):
        """The next element, as a pull of a turn.

        Args:
            producer: Its `_make_ready` makes at least the next element ready, or raises the end.
            turn: Of this thread.

        Raises:
            FailedPreconditionError: As `Turn.pulling`.
            OutOfRangeError: There are no more.
        """
        cdef int64_t at
        turn.pull(producer)
        try:
            at = self.place(producer)
            element = self.elements[at]
            turn.gave(self.rows[at])
            self.next += 1
            return element
        finally:
            turn.pulled()

    def take_directly(self, producer):
        """As `take`, outside of turns."""
        cdef int64_t at = self.place(producer)
        element = self.elements[at]
        self.next += 1
        return element

    cdef int64_t place(self, producer) except -1:
        """Where the next element is among those that are ready."""
        if not self.is_ready():
            producer._make_ready()
            if not self.is_ready():
                raise RuntimeError(f"Ready: element {self.next} is not there")
        return self.next - self.first

    cdef inline bint is_ready(self) noexcept:
        cdef uint64_t at = self.next - self.first
        return at < <uint64_t>PyList_GET_SIZE(self.elements) and at < <uint64_t>PyList_GET_SIZE(self.rows)
