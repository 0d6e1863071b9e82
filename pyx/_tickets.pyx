"""Tickets: the window between threads that finish results in any order and a store that takes them in the order of
tickets."""

from cpython.object cimport PyObject
from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.stdint cimport int64_t
from libc.string cimport memset

from _thread import get_ident
from sys import _current_frames as current_frames

from sync cimport mutex, now, sleep_for
from tickets cimport (
    NOT_STORING, OUTSIDE, STORES, TWICE, Request, Step, Tickets, held, step_claim, step_drop, step_look, step_offer,
    step_release, step_take, step_wake, wait_room,
)
from waiting cimport deadline_of

cdef extern from *:
    """
    static inline PyObject** pipeline_places(PyObject* list) { return ((PyListObject*)list)->ob_item; }
    """
    PyObject** places "pipeline_places"(object list)

cdef extern from "Python.h":
    int PyGC_Disable()
    int PyGC_Enable()

cdef object NOTHING = object()      # parked for None: None in the ring is an empty place


def frames_now():
    """Return the innermost frame of each other thread by its identifier, as `sys._current_frames` does.

    The caller's own frame would hold itself by what it keeps here: a cycle, and with it all that the frames of the
    other threads refer to, until the next garbage collection.

    Up to Python 3.11 that holds a lock of the interpreter while it makes frames. If a garbage collection begins there
    and a finalizer lets another thread run that starts or ends a thread, both wait for ever. Between the two calls here
    no other thread runs, so none sees that the collector is off.
    """
    cdef int was_on = PyGC_Disable()
    cdef dict frames
    try:
        frames = current_frames()
        del frames[get_ident()]
        return frames
    finally:
        if was_on:
            PyGC_Enable()


def lock_delay(double seconds):
    """Sleep so many seconds, and return how many this thread then waited for its turn with the interpreter's lock."""
    cdef int64_t woken
    with nogil:
        sleep_for(<int64_t>(seconds * 1e9))
        woken = now()
    return (now() - woken) * 1e-9


cdef class Window:
    """Hands results over in the order of their tickets, one at a time, whichever threads finish them when.

    Each thread parks its results with `offer`. The one that finds its own or another result due, while nobody stores,
    is told to: it calls `take` until that gives None, and stores each result. The others go on with their next calls,
    as long as there is room for their tickets.

        if window.offer(ticket, result):
            try:
                while (due := window.take()) is not None:
                    store(due)
            except BaseException:
                window.release()
                raise

    Args:
        room: How many tickets, from the next one due on, may be parked; 1 to 2**24.
        first: The first ticket.

    Raises:
        ValueError: `room` or `first` is out of range.

    Thread safety: all methods may be called from any thread; `take` and `release` only by the one that stores.
    """

    cdef mutex lock
    cdef Tickets tickets
    cdef list _ring             # owns what is parked

    def __cinit__(self, room, first=0):
        cdef Py_ssize_t size = 1
        if not 1 <= room <= 1 << 24:
            raise ValueError(f"Window: room must be 1 to 2**24, got {room}")
        if not 0 <= first < 1 << 62:
            raise ValueError(f"Window: first must be >= 0 and less than 2**62, got {first}")
        while size < room:
            size *= 2
        memset(<void*>&self.tickets, 0, sizeof(Tickets))
        self._ring = [None] * size
        self.tickets.lock = &self.lock
        self.tickets.ring = places(self._ring)
        self.tickets.mask = size - 1
        self.tickets.empty = <PyObject*>None
        self.tickets.nothing = <PyObject*>NOTHING
        self.tickets.room = room
        self.tickets.due = first

    cdef int run(self, Step step, Request* r) except -1:
        """Run a step, then drop the references that it has taken out of the ring."""
        cdef size_t _i
        held(step, &self.tickets, r)
        for _i in range(r.passed):
            Py_INCREF(None)
            Py_DECREF(NOTHING)
        if r.stored != NULL:
            Py_INCREF(None)
            Py_DECREF(<object>r.stored)
        return 0

    cpdef offer(self, ticket, item):
        """Park the result of a ticket.

        Args:
            ticket: Its number; there must be room for it.
            item: The result, or None for a ticket that gives nothing: `take` passes over it.

        Returns:
            Whether this thread stores from now on: something is due, and no other thread stores. After `drop` the item
            is forgotten, and the answer is False.

        Raises:
            ValueError: There is no room for the ticket, it was handed over already, or it is parked; nothing changed.
        """
        cdef Request r
        cdef object given = NOTHING if item is None else item
        r.ticket = ticket
        r.item = <PyObject*>given
        Py_INCREF(given)
        self.run(step_offer, &r)
        Py_DECREF(<object>r.item)
        if r.answer == OUTSIDE or r.answer == TWICE:
            where = "is parked already" if r.answer == TWICE else "lies outside of the window"
            raise ValueError(f"Window: ticket {ticket} {where}; due is {self.due}, room {self.tickets.room}")
        return r.answer == STORES

    def claim(self):
        """Return whether this thread stores from now on, as `offer` does; for when another has released."""
        cdef Request r
        self.run(step_claim, &r)
        return r.answer == STORES

    def hand(self, ticket, item):
        """As `offer`, and as `take` if this thread stores from now on.

        Returns:
            What `take` gives; None if this thread does not store.

        Raises:
            ValueError: As `offer`.
        """
        return self.take() if self.offer(ticket, item) else None

    cpdef take(self):
        """Return the result that is due, as this thread stores. The one it took before counts as stored, so that there
        is room for one more ticket.

        Returns:
            The result; None if the next one is not there yet, and then this thread does not store any more.

        Raises:
            RuntimeError: No thread stores.
        """
        cdef Request r
        self.run(step_take, &r)
        if r.answer == NOT_STORING:
            raise RuntimeError("Window.take: no thread stores; offer or claim has to say so first")
        return None if r.item == NULL else <object>r.item

    def release(self):
        """Stop storing because of an error. The result taken last was not stored and is due as before: whoever claims,
        or offers next, stores it.

        Raises:
            RuntimeError: No thread stores.
        """
        cdef Request r
        self.run(step_release, &r)
        if r.answer == NOT_STORING:
            raise RuntimeError("Window.release: no thread stores")

    def has_room(self, int64_t ticket):
        """Whether a ticket may be parked now, or could have been before."""
        return ticket < self.due + self.tickets.room

    def wait_for_room(self, int64_t ticket, timeout=None):
        """Wait until there is room for a ticket. No signal handler runs meanwhile, so the main thread gives a timeout.

        Args:
            ticket: Its number.
            timeout: Seconds to wait, None for no limit.

        Returns:
            Whether there is room. False after `timeout`, and at once after `wake` or `drop`.
        """
        cdef int64_t until = deadline_of(timeout)
        cdef bint room
        with nogil:
            room = wait_room(&self.tickets, ticket, until)
        return room

    def wake(self):
        """End every wait for room, those to come too."""
        cdef Request r
        self.run(step_wake, &r)

    def drop(self):
        """Forget all that is parked, and all that is offered from now on; end every wait."""
        cdef Request r
        cdef list ring = [None] * len(self._ring)
        r.ring = places(ring)
        self.run(step_drop, &r)
        if r.answer == STORES:
            self._ring, ring = ring, self._ring

    @property
    def due(self):
        """The ticket that is handed over next."""
        cdef Request r
        self.run(step_look, &r)
        return r.ticket

    @property
    def parked(self):
        """How many results are parked, those of tickets that give nothing among them."""
        cdef Request r
        self.run(step_look, &r)
        return r.parked

    @property
    def room(self):
        return self.tickets.room
