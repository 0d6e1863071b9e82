"""Tickets: results that are finished in any order are handed over in theirs.

Parked results lie in a ring, at the place of their ticket. One thread at a time stores: it takes the result that is due
again and again, as long as it is there. The lock is held for a few instructions; under it no Python code runs and no
reference is counted.
"""

from cpython.object cimport PyObject
from libc.stdint cimport int64_t

from sync cimport condition_variable, guard, mutex, now

cdef struct Sleeper:            # a thread that waits for room; lies on its stack
    int64_t ticket
    condition_variable* signal
    Sleeper* before
    Sleeper* after

cdef cppclass Tickets:
    mutex* lock
    PyObject** ring             # None where nothing is parked
    size_t mask                 # its places, as many as a power of two, less one
    PyObject* empty             # None
    PyObject* nothing           # parked for a ticket that gives nothing
    int64_t room
    int64_t due                 # the ticket that is next
    int64_t parked
    bint storing                # a thread stores
    bint in_hand                # and has taken what is due, which stays parked until it is stored
    bint dropped
    bint awake                  # nobody waits any more
    Sleeper* sleepers

cdef enum Answer:
    PARKED
    STORES                      # and this thread stores from now on
    OUTSIDE
    TWICE
    NOT_STORING

cdef struct Request:
    int64_t ticket
    PyObject* item              # offer: what is parked; take: what is due, NULL if that is not there
    PyObject* stored            # take: what was in hand, no longer parked
    PyObject** ring             # drop: an empty one, as large
    size_t passed               # tickets that gave nothing and are no longer parked
    int64_t parked              # look: how many
    Answer answer

ctypedef void (*Step)(Tickets*, Request*) noexcept nogil


cdef inline void held(Step step, Tickets* t, Request* r) noexcept:
    """Run a step under the lock: keep the GIL if the lock is free, else release it."""
    r.stored = NULL
    r.passed = 0
    if t.lock.try_lock():
        step(t, r)
        t.lock.unlock()
    else:
        with nogil:
            t.lock.lock()
            step(t, r)
            t.lock.unlock()


cdef inline PyObject** place(Tickets* t, int64_t ticket) noexcept nogil:
    return &t.ring[<size_t>ticket & t.mask]


cdef inline PyObject* remove_due(Tickets* t) noexcept nogil:
    cdef PyObject** at = place(t, t.due)
    cdef PyObject* item = at[0]
    at[0] = t.empty
    t.due += 1
    t.parked -= 1
    return item


cdef inline void pass_nothing(Tickets* t, Request* r) noexcept nogil:
    while place(t, t.due)[0] == t.nothing:
        remove_due(t)
        r.passed += 1


cdef inline void call_sleepers(Tickets* t) noexcept nogil:
    """Wake those for which there is room, or all if nobody is to wait any more."""
    cdef Sleeper* s = t.sleepers
    while s != NULL:
        if t.awake or s.ticket < t.due + t.room:
            s.signal.notify_one()
        s = s.after


cdef inline bint begin_storing(Tickets* t, Request* r) noexcept nogil:
    """Let this thread store if something is due and no other does."""
    cdef int64_t due = t.due
    if t.storing:
        return False
    pass_nothing(t, r)
    if t.due != due:
        call_sleepers(t)
    t.storing = place(t, t.due)[0] != t.empty
    return t.storing


# Steps ----------------------------------------------------------------------------------------------------------------

cdef inline void step_offer(Tickets* t, Request* r) noexcept nogil:
    cdef PyObject** at = place(t, r.ticket)
    if t.dropped:
        r.answer = PARKED
        return
    if not t.due <= r.ticket < t.due + t.room:
        r.answer = OUTSIDE
        return
    if at[0] != t.empty:
        r.answer = TWICE
        return
    at[0] = r.item
    r.item = t.empty            # what leaves in its place
    t.parked += 1
    r.answer = STORES if begin_storing(t, r) else PARKED


cdef inline void step_claim(Tickets* t, Request* r) noexcept nogil:
    r.answer = STORES if begin_storing(t, r) else PARKED


cdef inline void step_take(Tickets* t, Request* r) noexcept nogil:
    cdef PyObject* item
    r.item = NULL
    r.answer = STORES if t.storing else NOT_STORING
    if not t.storing:
        return
    if t.in_hand:
        t.in_hand = False
        r.stored = remove_due(t)
    pass_nothing(t, r)
    item = place(t, t.due)[0]
    if item == t.empty:
        t.storing = False
    else:
        t.in_hand = True
        r.item = item
    if r.stored != NULL or r.passed:
        call_sleepers(t)


cdef inline void step_release(Tickets* t, Request* r) noexcept nogil:
    """Stop storing; what is in hand is due as before, unless all was dropped meanwhile."""
    r.answer = STORES if t.storing else NOT_STORING
    if t.in_hand and t.dropped:
        r.stored = remove_due(t)
    t.storing = t.in_hand = False


cdef inline void step_drop(Tickets* t, Request* r) noexcept nogil:
    """Go on with an empty ring, once (`answer` is STORES then). What is in hand stays parked: its holder may have no
    reference of its own yet."""
    cdef PyObject** at = place(t, t.due)
    r.answer = PARKED if t.dropped else STORES
    if t.dropped:
        return
    t.ring = r.ring
    t.parked = 0
    if t.in_hand:
        place(t, t.due)[0] = at[0]
        at[0] = t.empty
        t.parked = 1
    t.dropped = t.awake = True
    call_sleepers(t)


cdef inline void step_wake(Tickets* t, Request* r) noexcept nogil:
    t.awake = True
    call_sleepers(t)


cdef inline void step_look(Tickets* t, Request* r) noexcept nogil:
    """The ticket that is due, and how many are parked."""
    r.ticket = t.due
    r.parked = t.parked


# Waiting --------------------------------------------------------------------------------------------------------------

cdef inline bint wait_room(Tickets* t, int64_t ticket, int64_t until) noexcept nogil:
    """Wait until there is room for a ticket, until nobody is to wait, or until an instant has passed; -1 is never.
    Return whether there is room."""
    cdef guard lock = guard(t.lock[0])
    cdef condition_variable signal
    cdef Sleeper s
    s.ticket = ticket
    s.signal = &signal
    s.before = NULL
    s.after = t.sleepers
    if s.after != NULL:
        s.after.before = &s
    t.sleepers = &s
    while ticket >= t.due + t.room and not t.awake:
        if until < 0:
            signal.wait(lock)
        elif now() >= until:
            break
        else:
            signal.wait_until(lock, until)
    if s.before == NULL:
        t.sleepers = s.after
    else:
        s.before.after = s.after
    if s.after != NULL:
        s.after.before = s.before
    return ticket < t.due + t.room
