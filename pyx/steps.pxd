"""Steps: what a call does in one hold of the lock. They are short, and neither allocate nor wait.

Lock order: nobody waits for a queue's lock while holding the GIL (`locked` tries, else releases the GIL first), and no
step takes the GIL, so no order of the two can deadlock.
"""

from libc.stdint cimport int64_t
from libc.string cimport memcpy

from orders cimport ring_push, ring_take
from serving cimport WAIT, SERVED, Outcome, flush, holds_dequeues, holds_enqueues, try_dequeue, try_enqueue
from state cimport (
    BETWEEN, CANCELLED, EMPTY, ENQUEUE, FULL, LOCKSTEP, PENDING, Attempt, Fullness, Queue, Waiting, append, call_late,
    half_full, kept_in_pool, look, put_back, remove, unlate, wake,
)
from sync cimport coarse_now, fork_count, now
from span cimport slot_t, span

ctypedef void (*Step)(Queue*, Attempt*) noexcept nogil


cdef inline void note(Queue* q) noexcept nogil:
    """Keep the times at empty and full; the clock is read only when that changes."""
    cdef Fullness fullness
    cdef int64_t instant
    if q.count <= (0 if q.closed else q.min_after_dequeue):
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
    """Run a step under the lock, from Python code: keep the GIL if the lock is free, else release it."""
    if q.lock.try_lock():
        step(q, a)
        note(q)
        look(a)
        q.lock.unlock()
    elif q.forks == fork_count():   # else this is a child, and whoever held the lock at the fork is not in it
        with nogil:
            q.lock.lock()
            step(q, a)
            note(q)
            look(a)
            q.lock.unlock()


# Elements in and out --------------------------------------------------------------------------------------------------

cdef inline void step_enqueue(Queue* q, Attempt* a) noexcept nogil:
    """Start an enqueue or plain close, or continue one whose next piece of rows is written."""
    cdef Outcome outcome = WAIT
    q.called = False
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
    if q.late.head != NULL and (outcome != SERVED or q.count <= half_full(q)):
        call_late(q)


cdef inline void step_room(Queue* q, Attempt* a) noexcept nogil:
    """Let a dequeue continue with room for twice as many slots; `extra` is swapped with the old room."""
    cdef slot_t* larger = <slot_t*>a.extra
    memcpy(larger, a.slots.data, a.count * sizeof(slot_t))
    a.extra = a.slots.data
    a.room *= 2
    a.slots = span(larger, a.room)
    if a.status == PENDING:
        flush(q)


cdef inline void step_put_back(Queue* q, Attempt* a) noexcept nogil:
    """Undo a dequeue whose elements cannot be handed over."""
    put_back(q, a)
    flush(q)


cdef inline void step_close_now(Queue* q, Attempt* a) noexcept nogil:
    """Close at once and cancel every waiting enqueue and plain close."""
    cdef Attempt* waiting = q.enqueues.head
    while waiting != NULL:
        remove(&q.enqueues, waiting)
        waiting.status = CANCELLED
        wake(waiting)
        waiting = q.enqueues.head
    while q.late.head != NULL:
        waiting = q.late.head
        unlate(q, waiting)
        wake(waiting)
    q.closed = True
    flush(q)


# Slots ----------------------------------------------------------------------------------------------------------------

cdef inline void step_claim(Queue* q, Attempt* a) noexcept nogil:
    """Take `wanted` free slots; none if there are fewer, and then `requested` says how many chunks there are."""
    cdef size_t used = min(a.wanted, q.free.count), i
    a.count = 0
    a.requested = q.chunks
    if a.wanted - used > q.allocated - q.fresh:
        return
    ring_take(&q.free, a.slots, 0, used)
    for i in range(used, a.wanted):
        a.slots[i] = <slot_t>q.fresh
        q.fresh += 1
    a.count = a.wanted


cdef inline void step_release(Queue* q, Attempt* a) noexcept nogil:
    """Free the slots from `begin` to `count`. When all are free, start again from the first one, so that rows lie in
    runs again; `spare` then says whether most of the memory was not needed since the last time, and `requested` how
    many chunks there are."""
    ring_push(&q.free, a.slots, a.begin, a.count - a.begin)
    if q.free.count == q.fresh:
        a.spare = q.chunks > q.kept and q.fresh <= q.allocated // 4
        a.requested = q.chunks
        q.free.head = q.free.count = q.fresh = 0


# Looking --------------------------------------------------------------------------------------------------------------

cdef inline void step_size(Queue* q, Attempt* a) noexcept nogil:
    """The number of elements (`current`), and whether the queue is closed (`requested`)."""
    a.current = q.count
    a.requested = q.closed


cdef inline void step_ahead(Queue* q, Attempt* a) noexcept nogil:
    """How many elements leave before one that comes now (`current`), and whether other enqueues wait (`requested`)."""
    a.current = q.count
    if q.dequeues.head != NULL:
        a.current += q.dequeues.head.count
    a.requested = q.enqueues.head != NULL


cdef inline int64_t still_waited(const Waiting* w) noexcept nogil:
    """The time that the calls of a list have waited since they last looked, in ns."""
    cdef int64_t total = 0, instant = now()
    cdef const Attempt* a = w.head
    while a != NULL:
        if a.wake != NULL:
            total += instant - a.asleep
        a = a.after
    return total


cdef inline void step_copy(Queue* q, Attempt* a) noexcept nogil:
    """Copy the state to `extra`, with the times of waits that are still going on."""
    cdef Queue* copy = <Queue*>a.extra
    memcpy(copy, q, sizeof(Queue))
    copy.entered.waited += still_waited(&q.enqueues)
    copy.left.waited += still_waited(&q.dequeues)


cdef inline void step_flow(Queue* q, Attempt* a) noexcept nogil:
    """How many elements a dequeue could have without waiting (`current`), and how many an enqueue could bring
    (`requested`). Where elements leave in an order of their own, the calls that wait count too."""
    cdef Attempt* waiting = q.enqueues.head
    a.current = q.count
    if q.order <= LOCKSTEP and waiting != NULL and waiting.call == ENQUEUE:
        a.current += waiting.count - waiting.begin
    if not q.closed:
        a.current -= kept_in_pool(q, a.current)
    a.requested = q.capacity - min(q.count, q.capacity)  # what was put back may exceed it
    waiting = q.dequeues.head
    while waiting != NULL:
        a.requested += waiting.wanted
        waiting = waiting.after
