"""The queue engine: which call gets which slots, and when. It orders slot numbers and never touches payload.

A call is an attempt. One that cannot be served at once joins the tail of its side's waiting list, and whoever changes the
queue next serves both lists, enqueues first, until a round brings nothing. All functions here run with the queue's lock
held, are short, and neither allocate nor wait.

Lock order: nobody waits for a queue's lock while holding the GIL (`locked` tries, else gives the GIL up first), and no
function here takes the GIL, so no order of the two can deadlock.
"""

from libc.stdint cimport int64_t

from orders cimport (
    Heap, Pool, Ring, heap_push, heap_take, pool_push, pool_push_back, pool_take, ring_push, ring_push_front, ring_take,
    slot_t,
)
from philox cimport Philox
from slab cimport Slab, slab_row
from sync cimport coarse_now, condition_variable, guard, mutex, now, wait_until

cdef enum Order:
    FIFO
    SHUFFLE
    PRIORITY

cdef enum Call:
    ENQUEUE
    CLOSE
    DEQUEUE
    DEQUEUE_MANY
    DEQUEUE_UP_TO

cdef enum Status:
    PENDING             # waits for its turn
    DONE
    CLOSED              # enqueue into a closed queue
    ALREADY_CLOSED      # second plain close
    CANCELLED           # enqueue or plain close cancelled by a cancelling close
    EXHAUSTED           # closed, and fewer elements than wanted
    TIMED_OUT

cdef enum Outcome:
    SERVED
    PARTIAL
    WAIT

cdef struct Attempt:
    Call call
    Status status
    size_t wanted               # enqueue: rows not stored yet; dequeue: elements still missing
    slot_t* slots               # enqueue: slots that hold rows already; dequeue: room for the collected slots
    size_t begin                # enqueue: the first of them that is not stored yet
    size_t count                # enqueue: how many hold rows; dequeue: how many are collected
    size_t requested            # what the error text says
    size_t current
    condition_variable* wake    # set by the parked owner; a wake-up means: decided, or room for the next piece of rows
    Attempt* before
    Attempt* after
    bint listed
    # the owner's own: written in its own holds of the lock only, so that it may read them without
    size_t ready                # rows of the next piece that are in their slots
    Status seen                 # `status` as of its last hold
    bint blocked                # and whether there was nothing to do but wait
    void* extra                 # what a step needs besides

cdef struct Waiting:
    Attempt* head
    Attempt* tail
    size_t count

cdef struct Side:               # statistics of one side
    size_t elements
    size_t waits                # calls that could not be served at once
    int64_t waited              # ns

cdef enum Fullness:
    EMPTY                       # no element is available
    BETWEEN
    FULL

cdef struct Queue:
    mutex* lock                 # guards everything below but the rows themselves
    Order order
    bint closed
    size_t capacity
    size_t reserve              # elements that stay while the queue is open: min_after_dequeue
    size_t count                # elements in the store
    Ring ring
    Pool pool
    Heap heap
    Philox random
    # slots
    int bits                    # chunk 0 has 1 << bits slots
    int chunks
    size_t allocated            # slots that have memory
    size_t fresh                # slots below this have been used
    Ring free                   # used slots that are free; first in, first out keeps them in runs
    Slab* priorities            # of component 0, where the order is by priority
    # waiting calls, in order of arrival
    Waiting enqueues
    Waiting dequeues
    # statistics
    Side entered
    Side left
    size_t high_water
    Fullness fullness
    int64_t since               # when `fullness` began
    int64_t empty               # ns
    int64_t full                # ns
    int64_t born


cdef inline void start(Attempt* a, Call call, slot_t* slots, size_t wanted) noexcept nogil:
    a.call = call
    a.status = a.seen = PENDING
    a.wanted = wanted
    a.slots = slots
    a.begin = a.count = a.ready = a.requested = a.current = 0
    a.wake = NULL
    a.before = a.after = NULL
    a.listed = a.blocked = False
    a.extra = NULL


cdef inline bint undecided(Attempt* a) noexcept nogil:
    return a.status == PENDING and not (a.call == ENQUEUE and a.begin == a.count)


cdef inline void look(Attempt* a) noexcept nogil:
    a.seen = a.status
    a.blocked = undecided(a)


# Waiting lists --------------------------------------------------------------------------------------------------------

cdef inline void append(Waiting* w, Attempt* a) noexcept nogil:
    a.before = w.tail
    a.after = NULL
    if w.tail == NULL:
        w.head = a
    else:
        w.tail.after = a
    w.tail = a
    w.count += 1
    a.listed = True


cdef inline void remove(Waiting* w, Attempt* a) noexcept nogil:
    if a.before == NULL:
        w.head = a.after
    else:
        a.before.after = a.after
    if a.after == NULL:
        w.tail = a.before
    else:
        a.after.before = a.before
    w.count -= 1
    a.listed = False


cdef inline void wake(Attempt* a) noexcept nogil:
    # Under the lock: as soon as the owner can take it, the attempt and its condition variable may be gone.
    if a.wake != NULL:
        a.wake.notify_one()


# The store ------------------------------------------------------------------------------------------------------------

cdef inline void store(Queue* q, const slot_t* slots, size_t n) noexcept nogil:
    cdef size_t i
    q.count += n
    q.entered.elements += n
    if q.count > q.high_water:
        q.high_water = q.count
    if q.order == FIFO:
        ring_push(&q.ring, slots, n)
    elif q.order == SHUFFLE:
        pool_push(&q.pool, slots, n)
    else:
        for i in range(n):
            heap_push(&q.heap, (<int64_t*>slab_row(q.priorities, q.bits, slots[i]))[0], slots[i])


cdef inline void take(Queue* q, slot_t* out, size_t n) noexcept nogil:
    cdef size_t i
    q.count -= n
    q.left.elements += n
    if q.order == FIFO:
        ring_take(&q.ring, out, n)
    elif q.order == SHUFFLE:
        pool_take(&q.pool, &q.random, out, n)
    else:
        for i in range(n):
            out[i] = heap_take(&q.heap)


cdef inline void put_back(Queue* q, Attempt* a) noexcept nogil:
    """Return what a dequeue collected: first in, first out to the front in the old order; shuffled at the back, the last
    taken first."""
    cdef size_t i, n = a.count
    q.count += n
    q.left.elements -= n
    a.wanted += n
    a.count = 0
    if q.order == FIFO:
        ring_push_front(&q.ring, a.slots, n)
    elif q.order == SHUFFLE:
        pool_push_back(&q.pool, a.slots, n)
    else:
        for i in range(n):
            heap_push(&q.heap, (<int64_t*>slab_row(q.priorities, q.bits, a.slots[i]))[0], a.slots[i])


# Serving --------------------------------------------------------------------------------------------------------------

cdef inline bint hungry(Queue* q, Attempt* a) noexcept nogil:
    """An enqueue of many whose next piece of rows is still being copied in, though there is room for it."""
    return a.call == ENQUEUE and a.begin == a.count and a.wanted > 0 and q.count < q.capacity and not q.closed


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
    store(q, a.slots + a.begin, n)
    a.begin += n
    a.wanted -= n
    if a.wanted == 0:
        a.status = DONE
        return SERVED
    if a.begin == a.count:
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
    n = min(a.wanted, n if not q.closed else q.count)
    if n:
        take(q, a.slots + a.count, n)
        a.count += n
        a.wanted -= n
    if a.wanted == 0:
        a.status = DONE
        return SERVED
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


cdef inline bint must_hold(Queue* q) noexcept nogil:
    """A draw, and a choice of the least, see all rows of an enqueue_many or none: they wait while it copies."""
    return q.order != FIFO and q.enqueues.head != NULL and hungry(q, q.enqueues.head)


cdef inline void flush(Queue* q) noexcept nogil:
    cdef bint progress = True
    while progress:
        progress = serve_enqueues(q)
        if q.dequeues.head == NULL or must_hold(q):
            return
        progress |= serve_dequeues(q)


# Steps: what a call does in one hold of the lock ------------------------------------------------------------------------

ctypedef void (*Step)(Queue*, Attempt*) noexcept nogil


cdef inline void step_enqueue(Queue* q, Attempt* a) noexcept nogil:
    """Start an enqueue or plain close, or go on with one whose next piece of rows is there."""
    cdef Outcome outcome = WAIT
    a.begin = 0
    a.count = a.ready           # what of it is not stored in the end, the owner releases
    if a.status != PENDING:
        return
    if q.enqueues.head == NULL:
        outcome = try_enqueue(q, a)
    if outcome != SERVED and not a.listed:
        append(&q.enqueues, a)
        q.entered.waits += 1
    if outcome == WAIT and q.enqueues.head != a or outcome != WAIT and q.dequeues.head == NULL:
        return
    flush(q)


cdef inline void step_dequeue(Queue* q, Attempt* a) noexcept nogil:
    cdef Outcome outcome = WAIT
    if q.dequeues.head == NULL and not must_hold(q):
        outcome = try_dequeue(q, a)
    if outcome != SERVED:
        append(&q.dequeues, a)
        q.left.waits += 1
    if outcome != WAIT and q.enqueues.head != NULL:
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
    """Take `wanted` free slots; none if there are fewer."""
    cdef size_t used = min(a.wanted, q.free.count), i
    a.count = 0
    if a.wanted - used > q.allocated - q.fresh:
        return
    ring_take(&q.free, a.slots, used)
    for i in range(used, a.wanted):
        a.slots[i] = <slot_t>q.fresh
        q.fresh += 1
    a.count = a.wanted


cdef inline void step_release(Queue* q, Attempt* a) noexcept nogil:
    """Give the slots from `begin` to `count` back."""
    ring_push(&q.free, a.slots + a.begin, a.count - a.begin)


cdef inline bint wait_turn(Queue* q, Attempt* a, condition_variable* signal, int64_t until) noexcept nogil:
    """Sleep until the attempt is decided or wants its next piece of rows, or until an instant (-1: for ever) has passed."""
    cdef guard held = guard(q.lock[0])
    cdef Side* side = &q.entered if a.call == ENQUEUE or a.call == CLOSE else &q.left
    cdef int64_t began = now()
    a.wake = signal
    while undecided(a):
        if until < 0:
            signal.wait(held)
        elif now() >= until:
            break
        else:
            wait_until(signal[0], held, until)
    a.wake = NULL
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
    else:
        with nogil:
            q.lock.lock()
            step(q, a)
            note(q)
            look(a)
            q.lock.unlock()
