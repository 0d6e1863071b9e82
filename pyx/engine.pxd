"""The queue engine: which call gets which slots, and when. It orders slot numbers and never touches payload.

A call is an attempt. One that cannot be served at once joins the tail of its side's waiting list, and whoever changes
the queue next serves both lists, enqueues first, until a round brings nothing. A step is what a call does in one hold
of the lock; steps are short, and neither allocate nor wait.

Lock order: nobody waits for a queue's lock while holding the GIL (`locked` tries, else gives the GIL up first), and no
step takes the GIL, so no order of the two can deadlock.
"""

from libc.stdint cimport int64_t
from libc.string cimport memcpy

from orders cimport ring_push, ring_take, slot_t
from state cimport (
    ALREADY_CLOSED, BETWEEN, CANCELLED, CLOSE, CLOSED, DEQUEUE_UP_TO, DONE, EMPTY, ENQUEUE, EXHAUSTED, FIFO, FULL,
    PENDING, PRIORITY, TIMED_OUT, Attempt, Fullness, Queue, Side, Waiting, append, look, put_back, remove, store, take,
    undecided, wake, wants_owner,
)
from sync cimport coarse_now, condition_variable, fork_count, guard, now, wait_until

cdef enum Outcome:
    SERVED
    PARTIAL
    WAIT


# Serving --------------------------------------------------------------------------------------------------------------

cdef inline bint holds_dequeues(Queue* q) noexcept nogil:
    """A draw, and a choice of the least, see all rows of an enqueue_many or none: they wait for its next piece, if
    there is room for it."""
    cdef Attempt* a = q.enqueues.head
    if q.order == FIFO or a == NULL or a.call != ENQUEUE:
        return False
    return wants_owner(a) and q.count < q.capacity and not q.closed


cdef inline bint holds_enqueues(Queue* q) noexcept nogil:
    """In the same way an enqueue waits for a dequeue that has to make room for more slots."""
    cdef Attempt* a = q.dequeues.head
    return q.order != FIFO and a != NULL and wants_owner(a)


cdef inline Outcome try_enqueue(Queue* q, Attempt* a) noexcept nogil:
    cdef size_t n
    if a.call == CLOSE:
        a.status = ALREADY_CLOSED if q.closed else DONE
        q.closed = True
        return SERVED
    if q.closed:
        a.status = CLOSED
        return SERVED
    if q.count >= q.capacity:
        return WAIT
    n = min(a.count - a.begin, q.capacity - q.count)
    if n == 0:
        return WAIT
    if a.each and q.dequeues.head != NULL:
        n = 1
    store(q, a.slots + a.begin, n)
    a.begin += n
    a.wanted -= n
    if a.wanted == 0:
        a.status = DONE
        return SERVED
    if wants_owner(a):
        wake(a)
    return PARTIAL


cdef inline Outcome try_dequeue(Queue* q, Attempt* a) noexcept nogil:
    cdef size_t n = q.count
    if q.closed and n < a.wanted:
        a.requested = a.wanted
        a.current = n
        put_back(q, a)
        if a.call != DEQUEUE_UP_TO or q.count == 0:
            a.status = EXHAUSTED
            return SERVED
        a.wanted = q.count
    elif not q.closed:
        if q.order == PRIORITY and n < a.wanted:
            return WAIT
        n = n - q.reserve if n > q.reserve else 0
    n = min(min(a.wanted, n if not q.closed else q.count), a.room - a.count)
    if n:
        take(q, a.slots + a.count, n)
        a.count += n
        a.wanted -= n
    if a.wanted == 0:
        a.status = DONE
        return SERVED
    if n and wants_owner(a):
        wake(a)
    return PARTIAL if n else WAIT


cdef inline bint serve_enqueues(Queue* q) noexcept nogil:
    cdef Attempt* a
    cdef Outcome outcome
    cdef bint progress = False
    while q.enqueues.head != NULL:
        a = q.enqueues.head
        outcome = try_enqueue(q, a)
        progress |= outcome != WAIT
        if outcome != SERVED:
            break
        remove(&q.enqueues, a)
        wake(a)
    return progress


cdef inline bint serve_dequeues(Queue* q) noexcept nogil:
    cdef Attempt* a
    cdef Outcome outcome
    cdef bint progress = False
    while q.dequeues.head != NULL:
        a = q.dequeues.head
        outcome = try_dequeue(q, a)
        progress |= outcome != WAIT
        if outcome != SERVED:
            break
        remove(&q.dequeues, a)
        wake(a)
    return progress


cdef inline void flush(Queue* q) noexcept nogil:
    cdef bint progress = True
    while progress:
        progress = not holds_enqueues(q) and serve_enqueues(q)
        if q.dequeues.head == NULL or holds_dequeues(q):
            return
        progress |= serve_dequeues(q)
        if q.enqueues.head == NULL:
            return              # nothing that another round could change


# Steps: what a call does in one hold of the lock ----------------------------------------------------------------------

ctypedef void (*Step)(Queue*, Attempt*) noexcept nogil


cdef inline void step_enqueue(Queue* q, Attempt* a) noexcept nogil:
    """Start an enqueue or plain close, or go on with one whose next piece of rows is there."""
    cdef Outcome outcome = WAIT
    a.begin = 0
    a.count = a.ready           # what of it is not stored in the end, the owner releases
    if a.status != PENDING:
        return
    if q.enqueues.head == NULL and not holds_enqueues(q) and not (a.each and q.dequeues.head != NULL):
        outcome = try_enqueue(q, a)
    if outcome != SERVED and not a.listed:
        append(&q.enqueues, a)
        q.entered.waits += 1
    if outcome == WAIT and q.enqueues.head != a or outcome != WAIT and q.dequeues.head == NULL:
        return
    flush(q)


cdef inline void step_dequeue(Queue* q, Attempt* a) noexcept nogil:
    cdef Outcome outcome = WAIT
    if q.dequeues.head == NULL and not holds_dequeues(q):
        outcome = try_dequeue(q, a)
    if outcome != SERVED:
        append(&q.dequeues, a)
        q.left.waits += 1
    if outcome != WAIT and q.enqueues.head != NULL:
        flush(q)


cdef inline void step_room(Queue* q, Attempt* a) noexcept nogil:
    """Let a dequeue go on with room for twice as many slots; `extra` is swapped with the old room."""
    cdef slot_t* larger = <slot_t*>a.extra
    memcpy(larger, a.slots, a.count * sizeof(slot_t))
    a.extra = a.slots
    a.slots = larger
    a.room *= 2
    if a.status == PENDING:
        flush(q)


cdef inline void step_close_now(Queue* q, Attempt* a) noexcept nogil:
    """Close at once and cancel every waiting enqueue and plain close."""
    cdef Attempt* waiting = q.enqueues.head
    while waiting != NULL:
        remove(&q.enqueues, waiting)
        waiting.status = CANCELLED
        wake(waiting)
        waiting = q.enqueues.head
    q.closed = True
    flush(q)


cdef inline void poke(Waiting* w) noexcept nogil:
    cdef Attempt* a = w.head
    while a != NULL:
        a.poked = True
        wake(a)
        a = a.after


cdef inline void step_poke(Queue* q, Attempt* a) noexcept nogil:
    """Let the owners of all waiting attempts look whether they still want to wait."""
    poke(&q.enqueues)
    poke(&q.dequeues)


cdef inline void step_flow(Queue* q, Attempt* a) noexcept nogil:
    """How many elements a dequeue could have without waiting for anybody (`current`), and how many an enqueue could
    bring (`requested`): first in, first out, the calls that wait count too."""
    cdef Attempt* waiting = q.enqueues.head
    a.current = q.count if q.closed else q.count - min(q.count, q.reserve)
    if q.order == FIFO and waiting != NULL and waiting.call == ENQUEUE:
        a.current += waiting.count - waiting.begin
    a.requested = q.capacity - min(q.count, q.capacity)  # what was put back may exceed it
    waiting = q.dequeues.head
    while waiting != NULL:
        a.requested += waiting.wanted
        waiting = waiting.after


cdef inline void step_withdraw(Queue* q, Attempt* a) noexcept nogil:
    """Take a pending attempt out of its list; what it had collected goes back and those behind it are served."""
    if a.status != PENDING:
        return
    a.status = TIMED_OUT
    if a.call == ENQUEUE or a.call == CLOSE:
        if a.listed:
            remove(&q.enqueues, a)
    else:
        remove(&q.dequeues, a)
        put_back(q, a)
    flush(q)


cdef inline void step_put_back(Queue* q, Attempt* a) noexcept nogil:
    """Undo a dequeue whose elements cannot be handed over."""
    put_back(q, a)
    flush(q)


cdef inline void step_reserve(Queue* q, Attempt* a) noexcept nogil:
    """Take `wanted` free slots; none if there are fewer, and then `requested` says how many chunks there are."""
    cdef size_t used = min(a.wanted, q.free.count), i
    a.count = 0
    a.requested = q.chunks
    if a.wanted - used > q.allocated - q.fresh:
        return
    ring_take(&q.free, a.slots, used)
    for i in range(used, a.wanted):
        a.slots[i] = <slot_t>q.fresh
        q.fresh += 1
    a.count = a.wanted


cdef inline void step_release(Queue* q, Attempt* a) noexcept nogil:
    """Give the slots from `begin` to `count` back. When all are free, start anew from the first one, so that rows lie
    in runs again; `spare` then says whether most of the memory was not needed since the last time."""
    ring_push(&q.free, a.slots + a.begin, a.count - a.begin)
    if q.free.count == q.fresh:
        a.spare = q.chunks > q.kept and q.fresh <= q.allocated // 4
        q.free.head = q.free.count = q.fresh = 0


cdef inline bint wait_turn(Queue* q, Attempt* a, condition_variable* signal, int64_t until) noexcept nogil:
    """Sleep until the attempt is decided or wants its next piece of rows, until it is poked, or until an instant (-1:
    for ever) has passed."""
    cdef guard held = guard(q.lock[0])
    cdef Side* side = &q.entered if a.call == ENQUEUE or a.call == CLOSE else &q.left
    cdef int64_t began = now()
    a.wake = signal
    while undecided(a) and not a.poked:
        if until < 0:
            signal.wait(held)
        elif now() >= until:
            break
        else:
            wait_until(signal[0], held, until)
    a.wake = NULL
    a.nudged = a.poked
    a.poked = False
    side.waited += now() - began
    look(a)
    return not a.blocked


cdef inline void note(Queue* q) noexcept nogil:
    """Keep the times at empty and full; the clock is read only when that changes."""
    cdef Fullness fullness
    cdef int64_t instant
    if q.count <= (0 if q.closed else q.reserve):
        fullness = EMPTY
    elif q.count >= q.capacity:
        fullness = FULL
    else:
        fullness = BETWEEN
    if fullness != q.fullness:
        instant = coarse_now()
        if q.fullness == EMPTY:
            q.empty += instant - q.since
        elif q.fullness == FULL:
            q.full += instant - q.since
        q.fullness = fullness
        q.since = instant


cdef inline void locked(Step step, Queue* q, Attempt* a) noexcept:
    """Run a step under the lock, from Python code: with the GIL kept if the lock is free, else without it."""
    if q.lock.try_lock():
        step(q, a)
        note(q)
        look(a)
        q.lock.unlock()
    elif q.forks == fork_count():   # else this is a child, and who held the lock at the fork is not in it
        with nogil:
            q.lock.lock()
            step(q, a)
            note(q)
            look(a)
            q.lock.unlock()
