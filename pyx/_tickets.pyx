"""Tickets: the turn of a thread that calls a function, and the window between threads that finish results in any order
and a store that takes them in the order of tickets."""

from cpython.object cimport PyObject
from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.stdint cimport int64_t
from libc.string cimport memset

from collections import deque
from threading import Lock as allocate_lock

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

cdef object NOTHING = object()      # parked for None: None in the ring is an empty place


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

    def offer(self, ticket, item):
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

    def take(self):
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


cdef class Baton:
    """What the threads of a function pass on, so that one at a time pulls, and the ticket of the next call.

    Compiled, because it is between every two calls: 0.1 us, and 1.5 us as a lock and a few lines of Python.

    Attributes:
        ticket: Of the next call. Only the holder of the baton writes this and the others.
        note_at: From this ticket on, `begin` leaves the call to whoever notes where the input stands.
        begun: How many calls have begun.
        room_until: From that many on, `begin` leaves the call to whoever waits for room.

    Thread safety: every method may be called from any thread; a mutex guards what they share.
    """

    cdef mutex lock
    cdef bint taken
    cdef public int64_t ticket
    cdef public int64_t note_at
    cdef public int64_t begun
    cdef public int64_t room_until
    cdef readonly object bells

    def __cinit__(self):
        self.taken = False
        self.ticket = self.note_at = self.begun = self.room_until = 0
        self.bells = deque()

    def begin(self, Turn turn):
        """Take the baton and begin a call, if it is free and there is nothing else to do. Return whether that is so."""
        cdef int64_t ticket, place
        self.lock.lock()
        ticket, place = self.ticket, self.begun
        if self.taken or ticket >= self.note_at or place >= self.room_until:
            self.lock.unlock()
            return False
        self.taken = True
        self.ticket = ticket + 1
        self.begun = place + 1
        self.lock.unlock()
        turn.begin(ticket, place)
        return True

    def begin_alone(self, Turn turn):
        """As `begin`, for the only thread, which needs no baton."""
        if self.ticket >= self.note_at:
            return False
        turn.begin(self.ticket, 0)
        self.ticket += 1
        return True

    def take(self):
        """Take the baton if it is free; return whether it was."""
        cdef bint free
        self.lock.lock()
        free = not self.taken
        self.taken = True
        self.lock.unlock()
        return free

    def wait(self, seconds):
        """Wait until the baton may be free, for at most so many seconds, and take it if it is; return whether it was.

        Who waits does not own the baton when it is woken, but tries again once it runs. Else each pass would hand it to
        a thread that still waits for the interpreter, and stop the one that has it: 26 us a call instead of 9.
        """
        bell = allocate_lock()
        bell.acquire()
        self.bells.append(bell)
        if not self.take():
            bell.acquire(True, seconds)
            if not self.take():
                return False
        try:
            self.bells.remove(bell)
        except ValueError:          # it was rung
            pass
        return True

    cpdef pass_on(self):
        """Let the next one have the baton."""
        self.lock.lock()
        self.taken = False
        self.lock.unlock()
        if self.bells:
            try:
                self.bells.popleft().release()
            except IndexError:      # its owner has just taken the baton
                pass


cdef inline bint same_pull(tuple one, tuple other) noexcept:
    """Whether two pulls are of the same thing, in the same way: by identity, as small numbers and names are kept."""
    cdef Py_ssize_t i, n = len(one)
    if n != len(other):
        return False
    for i in range(n):
        if <PyObject*>one[i] != <PyObject*>other[i]:
            return False
    return True


cdef class Turn:
    """A call of a function of a deterministic loop: its ticket, and what it has pulled so far. A thread makes one, and
    begins it again for each call.

    Compiled, because it stands beside each read: a pull takes 0.15 us of it, and took 1.1 us in Python.

    Args:
        book: What knows of the pulls of all calls; see `pipeline.pulls.Book`.
        ticket: The number of the call: after a resume as in the run before.
        place: How many calls have begun before it in this run.
        lane: Of which source of a join.

    Attributes:
        number: Of the example, where it is not the ticket, for `example_rng`; else None.
        passes_at: After so many pulls the baton passes; -1 for never.
        baton: That baton; None if the book passes it on.
        usual: How calls pull; the book is told of pulls that differ. None to be told of all.
        held: Whether the call may still pull.
        alone: There is no other thread to pass a baton to.
        pulls: How often it has pulled.
        how: From what it has pulled last, and how; None if that was made of several pulls.
        ids: What each pull gave, see `Positioned.last_ids`; None if not known.
        boundary: After a resume, where elements are counted anew: how many came before, and the number of the next.
        given: Records that its reader is to give again before it reads on: (keys, values, `last_ids`) of each; or None.

    Thread safety: none; it belongs to its thread.
    """

    cdef readonly object book
    cdef public int64_t ticket
    cdef public int64_t place
    cdef public int lane
    cdef public object number
    cdef public int passes_at
    cdef public Baton baton
    cdef public tuple usual
    cdef public bint held
    cdef public bint alone
    cdef public int pulls
    cdef public tuple how
    cdef public list ids
    cdef public object boundary
    cdef public object given
    cdef int depth

    def __cinit__(self, book, int64_t ticket, int64_t place=0, int lane=0):
        self.book = book
        self.lane = lane
        self.alone = False
        self.passes_at = -1
        self.begin(ticket, place)

    cpdef begin(self, int64_t ticket, int64_t place):
        """Begin another call."""
        self.ticket = ticket
        self.place = place
        self.number = self.how = self.boundary = self.given = None
        self.held = True
        self.pulls = self.depth = 0
        self.ids = []

    def pulling(self, *how):
        """Begin a pull, which the `with` statement around it ends.

        Args:
            how: What is pulled from, a `Positioned` or a queue that is none; and how it can be pulled from again in the
                same way, see `Positioned._skip`.

        Raises:
            FailedPreconditionError: Another loop pulls from it, or the call has pulled more often than the first.
        """
        cdef object thing = how[0]
        if self.depth == 0:
            if not self.held and not self.given:
                self.book.check(self)
            self.how = how
        if getattr(thing, "owner", None) is not self.book:
            self.book.adopt(thing, how[1:])
        self.depth += 1
        return self

    def together(self):
        """Begin a pull that is made of those within.

        Raises:
            FailedPreconditionError: As `pulling`.
        """
        if self.depth == 0:
            if not self.held:
                self.book.check(self)
            self.how = None
        self.depth += 1
        return self

    def element(self):
        """The number of the single example that the call gives, as the fingerprint knows it; None if that takes more
        than a look at its only pull."""
        cdef object ids
        if self.pulls == 0:
            return self.ticket
        if self.pulls != 1 or self.given is not None:
            return None
        ids = self.ids[0]
        if type(ids) is tuple:
            return (<tuple>ids)[0]
        return None

    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        self.depth -= 1
        if self.depth:
            return
        self.pulls += 1
        self.ids.append(None if self.how is None else getattr(self.how[0], "last_ids", None))
        if self.pulls != 1 or self.usual is None or self.how is None or not same_pull(self.how, self.usual):
            self.book.pulled(self)
        if self.held and self.pulls == self.passes_at:
            if self.baton is None:
                self.book.passes(self)
            else:
                self.held = False
                self.baton.pass_on()
