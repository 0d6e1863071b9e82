"""Steps: the work done in one hold of the lock. They are short, and neither allocate nor wait.

Lock order: no thread waits for a queue's lock while holding the GIL (`locked` tries, and otherwise first releases the
GIL), and no step takes the GIL, so the two locks cannot deadlock.
"""

from libc.stdint cimport int64_t
from libc.string cimport memcpy

from napping cimport call_late, half_full, unlate
from orders cimport ring_push, ring_take
from serving cimport WAIT, SERVED, Outcome, flush, holds_dequeues, holds_enqueues, try_dequeue, try_enqueue
from state cimport (
    BETWEEN, CANCELLED, EMPTY, ENQUEUE, FULL, LOCKSTEP, PENDING, Attempt, Fullness, Queue, Waiting, append,
    kept_in_pool, look, put_back, remove, wake,
)
from sync cimport coarse_now, fork_count, native_id, now
from span cimport Span, slot_t, span

# A step's input and output: for a call's steps its Attempt, for the others one of these structs.
ctypedef void (*Step)(Queue*, void*) noexcept nogil

cdef cppclass Claim:            # free slots for new rows
    Span[slot_t] slots          # receives their numbers
    size_t wanted
    bint taken                  # result: all were taken, or none;
    int chunks                  # and the chunk count

cdef cppclass Release:          # slots to free
    Span[slot_t] slots
    size_t begin
    size_t end
    int spare                   # result: a chunk that may be dropped; 0 for none

cdef struct MoreRoom:           # for a dequeue's slots
    Attempt* attempt
    slot_t* slots               # doubled array in, old one out

cdef struct Size:
    size_t elements
    bint closed

cdef struct Backlog:            # before an element that enters now
    size_t elements             # elements leaving before it
    bint contended              # other enqueues are waiting

cdef struct Available:          # without waiting
    size_t elements             # for a dequeue
    size_t room                 # for an enqueue


cdef inline void note(Queue* q) noexcept nogil:
    """Track the times at empty and full; the clock is read only on a change."""
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


cdef inline void locked(Step step, Queue* q, void* what) noexcept:
    """Run a step under the lock, from Python code: keep the GIL if the lock is free, else release it."""
    if q.lock.try_lock():
        step(q, what)
        note(q)
        q.lock.unlock()
    elif q.forks == fork_count():   # otherwise this is a child, without the thread that held the lock
        with nogil:
            q.lock.lock()
            step(q, what)
            note(q)
            q.lock.unlock()


# Elements in and out --------------------------------------------------------------------------------------------------

cdef inline void enqueue_now(Queue* q, Attempt* a) noexcept nogil:
    cdef Outcome outcome = WAIT
    q.called = False
    a.begin = 0
    a.count = a.ready           # the owner releases any slots not stored in the end
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


cdef inline void step_enqueue(Queue* q, void* what) noexcept nogil:
    """Start an enqueue or plain close, or continue an enqueue after its next piece is written."""
    enqueue_now(q, <Attempt*>what)
    look(<Attempt*>what)


cdef inline void step_dequeue(Queue* q, void* what) noexcept nogil:
    cdef Attempt* a = <Attempt*>what
    cdef Outcome outcome = WAIT
    q.taker = native_id()
    if q.dequeues.head == NULL and not holds_dequeues(q):
        outcome = try_dequeue(q, a)
    if outcome != SERVED:
        append(&q.dequeues, a)
        q.left.waits += 1
    if outcome != WAIT and q.enqueues.head != NULL:
        flush(q)
    if q.late.head != NULL and (outcome != SERVED or q.count <= half_full(q)):
        call_late(q)
    look(a)


cdef inline void step_room(Queue* q, void* what) noexcept nogil:
    """Let a dequeue continue with doubled room for slots."""
    cdef MoreRoom* more = <MoreRoom*>what
    cdef Attempt* a = more.attempt
    cdef slot_t* larger = more.slots
    memcpy(larger, a.slots.data, a.count * sizeof(slot_t))
    more.slots = a.slots.data
    a.room *= 2
    a.slots = span(larger, a.room)
    if a.status == PENDING:
        flush(q)
    look(a)


cdef inline void step_put_back(Queue* q, void* what) noexcept nogil:
    """Undo a dequeue whose elements cannot be delivered."""
    put_back(q, <Attempt*>what)
    flush(q)


cdef inline void step_close_now(Queue* q, void* nothing) noexcept nogil:
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

cdef inline void step_claim(Queue* q, void* what) noexcept nogil:
    cdef Claim* claim = <Claim*>what
    cdef size_t used = min(claim.wanted, q.free.count), i
    claim.chunks = q.chunks
    claim.taken = claim.wanted - used <= q.allocated - q.fresh
    if not claim.taken:
        return
    ring_take(&q.free, claim.slots, 0, used)
    for i in range(used, claim.wanted):
        claim.slots[i] = <slot_t>q.fresh
        q.fresh += 1


cdef inline void step_release(Queue* q, void* what) noexcept nogil:
    """If all slots are free, start again from the first one, so that rows form runs again; the last chunk may be
    dropped then, if most memory has not been needed since the last time."""
    cdef Release* release = <Release*>what
    ring_push(&q.free, release.slots, release.begin, release.end - release.begin)
    if q.free.count == q.fresh:
        if q.chunks > q.kept and q.fresh <= q.allocated // 4:
            release.spare = q.chunks - 1
        q.free.head = q.free.count = q.fresh = 0


# Looking --------------------------------------------------------------------------------------------------------------

cdef inline void step_size(Queue* q, void* what) noexcept nogil:
    cdef Size* size = <Size*>what
    size.elements = q.count
    size.closed = q.closed


cdef inline void step_ahead(Queue* q, void* what) noexcept nogil:
    cdef Backlog* ahead = <Backlog*>what
    ahead.elements = q.count
    if q.dequeues.head != NULL:
        ahead.elements += q.dequeues.head.count
    ahead.contended = q.enqueues.head != NULL


cdef inline int64_t still_waited(const Waiting* w) noexcept nogil:
    """Return the total time that the calls in a list have waited since their last check, in ns."""
    cdef int64_t total = 0, instant = now()
    cdef const Attempt* a = w.head
    while a != NULL:
        if a.wake != NULL:
            total += instant - a.asleep
        a = a.after
    return total


cdef inline void step_copy(Queue* q, void* what) noexcept nogil:
    """Copy the state into a `Queue`, including the times of unfinished waits."""
    cdef Queue* copy = <Queue*>what
    memcpy(copy, q, sizeof(Queue))
    copy.entered.waited += still_waited(&q.enqueues)
    copy.left.waited += still_waited(&q.dequeues)


cdef inline void step_available(Queue* q, void* what) noexcept nogil:
    """Count available elements and room; in a deterministic order, waiting calls count too."""
    cdef Available* available = <Available*>what
    cdef Attempt* waiting = q.enqueues.head
    available.elements = q.count
    if q.order <= LOCKSTEP and waiting != NULL and waiting.call == ENQUEUE:
        available.elements += waiting.count - waiting.begin
    if not q.closed:
        available.elements -= kept_in_pool(q, available.elements)
    available.room = q.capacity - min(q.count, q.capacity)  # elements put back may exceed it
    waiting = q.dequeues.head
    while waiting != NULL:
        available.room += waiting.wanted
        waiting = waiting.after
