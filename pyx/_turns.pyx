"""Turns: the turn of a thread that calls a function for a deterministic loop, the baton between such threads, and the
loop that calls a function whose examples nobody has to look at."""

cimport cython
from cpython.list cimport PyList_GET_SIZE
from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint64_t

from collections import deque
from threading import Lock as allocate_lock

from sync cimport coarse_now, mutex


@cython.nonecheck(True)
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

    cpdef bint begin(self, Turn turn):
        """Take the baton and begin a call, if it is free and there is nothing else to do. Return whether that is so."""
        cdef int64_t ticket, place
        self.lock.lock()
        if self.taken or self.ticket >= self.note_at or self.begun >= self.room_until:  # its holder writes the others
            self.lock.unlock()
            return False
        ticket, place = self.ticket, self.begun
        self.taken = True
        self.ticket = ticket + 1
        self.begun = place + 1
        self.lock.unlock()
        turn.begin(ticket, place)
        return True

    cpdef bint begin_alone(self, Turn turn):
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
    cdef public int64_t ticket, place
    cdef public int lane
    cdef public object number
    cdef public int passes_at
    cdef public Baton baton
    cdef public tuple usual
    cdef public bint held
    cdef public bint alone
    cdef readonly int pulls
    cdef readonly tuple how     # never empty
    cdef public object boundary, given
    cdef list several           # what `ids` is, unless
    cdef bint one               # the only pull gave one element,
    cdef int64_t id             # with this number: then there is no list until somebody asks
    cdef int depth

    def __cinit__(self, book, int64_t ticket, int64_t place=0, int lane=0):
        self.book = book
        self.lane = lane
        self.alone = False
        self.passes_at = -1
        self.several = []
        self.begin(ticket, place)

    cpdef begin(self, int64_t ticket, int64_t place):
        """Begin another call."""
        self.ticket = ticket
        self.place = place
        self.number = self.how = self.boundary = self.given = None
        self.held = True
        self.pulls = self.depth = 0
        self.one = False
        if self.several:
            self.several = []

    @property
    def ids(self):
        if self.one:
            self.one = False
            self.several.append((self.id, 1))
        return self.several

    cpdef gave(self, int64_t number):
        """The pull that has begun gives one element, with this number: as `last_ids`, without the tuple."""
        if self.depth == 1 and self.pulls == 0 and self.how is not None:
            self.one, self.id = True, number

    def pulling(self, *how):
        """Begin a pull, which the `with` statement around it ends.

        Args:
            how: What is pulled from, a `Positioned` or a queue that is none; and how it can be pulled from again in the
                same way, see `Positioned._skip`.

        Raises:
            FailedPreconditionError: Another loop pulls from it, or the call has pulled more often than the first.
        """
        self.pull(how)
        return self

    cpdef pull(self, tuple how):
        """As `pulling`, for those who call `pulled` in the end, in `finally`: `with` takes 0.1 us longer.

        Args:
            how: As there, in one tuple.

        Raises:
            FailedPreconditionError, ValueError: As there; it is empty.
        """
        if not how:
            raise ValueError("Turn.pull: expected what is pulled from")
        if self.depth == 0:
            if not self.held and not self.given:
                self.book.check(self)
            self.how = how
        if getattr(how[0], "owner", None) is not self.book:
            self.book.adopt(how[0], how[1:])
        self.depth += 1

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

    @cython.boundscheck(True)
    cpdef element(self):
        """The number of the single example that the call gives, as the fingerprint knows it; None if that takes more
        than a look at its only pull."""
        cdef object ids
        if self.pulls == 0:
            return self.ticket
        if self.pulls != 1 or self.given is not None:
            return None
        if self.one:
            return self.id
        ids = self.several[0]
        return (<tuple>ids)[0] if type(ids) is tuple else None

    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        self.pulled()

    cpdef pulled(self):
        """End a pull that `pull` began."""
        self.depth -= 1
        if self.depth:
            return
        self.pulls += 1
        if not self.one or self.pulls != 1:
            self.ids.append(None if self.how is None else getattr(self.how[0], "last_ids", None))
        if self.pulls != 1 or self.usual is None or self.how is None or not same_pull(self.how, self.usual):
            self.book.pulled(self)
        if self.held and self.pulls == self.passes_at:
            if self.baton is None:
                self.book.passes(self)
            else:
                self.held = False
                self.baton.pass_on()


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
            raise ValueError(f"Ready.fill: {len(rows)} numbers for {len(elements)} elements")
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
        turn.pull((producer, 1, True))
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


cdef class Calls:
    """Calls a function again and again, and puts the examples that are due into the queue. Compiled, because it is
    around every call: 0.5 us of it in Python.

    Args:
        turns: Begins the calls that a baton leaves to it, and is told when they return; see `pipeline.batches.turns`.
        baton: Of the only source.
        window: Between the threads that call; None if there is one thread.
        wait: Waits for room in it.
        function: Gives the next example.
        to_components: Takes it apart; None if it is the only component.
        number_of: The number of an element for which `Turn.element` has none.
        put: Puts a tuple of components and a number into the queue. It has the only references to values that the
            function has not kept.
        store: Stores what other threads have parked and is no such tuple.
        stopped: Whether to call no more.

    Thread safety: several threads may `move`, each with a turn of its own.
    """

    cdef object turns, window, wait, function, to_components, number_of, put, store, stopped
    cdef Baton baton
    cdef bint irregular         # the turns have been told of a call that does not pull once

    def __cinit__(self, turns, Baton baton not None, window, wait, function, to_components, number_of, put, store,
                  stopped):
        self.turns, self.baton, self.window, self.wait = turns, baton, window, wait
        self.function, self.to_components, self.number_of = function, to_components, number_of
        self.put, self.store, self.stopped = put, store, stopped
        self.irregular = False

    def move(self, Turn turn not None, worker not None, int64_t most):
        """Call the function until it fails, or until `stopped`.

        Args:
            turn: Of this thread.
            worker: The thread, as errors name it.
            most: How often to call it at most; -1 for no limit.

        Returns:
            What the function, or taking its example apart, raised; None once stopped, or after so many calls.

        Raises:
            Exception: What a turn, or storing an example, raised.
        """
        cdef tuple values
        cdef bint began
        cdef int64_t instant, looked = -1
        while most != 0:
            most -= 1
            instant = coarse_now()      # a few milliseconds old: short calls need not ask each time
            if instant != looked:
                looked = instant
                if self.stopped():
                    return None
            began = self.baton.begin_alone(turn) if self.window is None else self.baton.begin(turn)
            if not began:
                self.turns.begin(turn, self.wait)
            if worker.keys is not None:
                worker.keys = None
            try:
                values = self.example(turn)
            except Exception as error:
                return error
            if self.window is None:
                self.put(values)
            else:
                self.hand_over(turn.place, values)
            values = None               # before the function is called again: these may be large
        return None

    cdef tuple example(self, Turn turn):
        """Call the function. The components of its example, and the number."""
        cdef object example = self.function(), number
        if turn.held:
            self.returned(turn)
        number = turn.element()
        if number is None:
            number = self.number_of(turn)
        return (example, number) if self.to_components is None else (*self.to_components(example), number)

    cdef int returned(self, Turn turn) except -1:
        """A call has returned with the baton."""
        if turn.pulls != 1 and not self.irregular:
            self.irregular = True
            self.turns.returned(turn)
            return 0
        turn.held = False
        if not turn.alone:
            self.baton.pass_on()
        return 0

    cdef int hand_over(self, int64_t place, tuple values) except -1:
        """Store what is due, if no other thread does."""
        cdef object due = self.window.hand(place, values)
        values = None
        while due is not None:
            if type(due) is tuple:
                self.put(due)
            else:
                self.store(due)
            due = None
            due = self.window.take()
        return 0
