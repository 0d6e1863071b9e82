"""The serving rules: when each call is served, and with which slots. Rows are never touched, only slot numbers.

A call that cannot be served at once joins the end of its side's waiting list. After any change to the queue, both lists
are served, enqueues first, until nothing moves (`flush`). `try_dequeue` retains `min_after_dequeue` elements.
"""

from napping cimport wake_late
from state cimport (
    ALREADY_CLOSED, CLOSE, CLOSED, DEQUEUE_UP_TO, DONE, ENQUEUE, EXHAUSTED, LOCKSTEP, PRIORITY, Attempt, Queue, Waiting,
    kept_in_pool, put_back, remove, store, take, wake, wants_owner,
)

cdef enum Outcome:
    SERVED
    PARTIAL
    WAIT


cdef inline bint holds_dequeues(Queue* q) noexcept nogil:
    """Return whether dequeues wait for an enqueue_many's next piece, if there is room for it, because a random or
    priority draw sees all its rows or none."""
    cdef Attempt* a = q.enqueues.head
    if q.order <= LOCKSTEP or a == NULL or a.call != ENQUEUE:
        return False
    return wants_owner(a) and q.count < q.capacity and not q.closed


cdef inline bint holds_enqueues(Queue* q) noexcept nogil:
    """Return whether enqueues wait for a dequeue whose owner has to make room for more slots."""
    cdef Attempt* a = q.dequeues.head
    return q.order > LOCKSTEP and a != NULL and wants_owner(a)


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
    store(q, a.slots, a.begin, n)
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
        a.lacking = a.wanted
        a.left = n
        put_back(q, a)
        if a.call != DEQUEUE_UP_TO or q.count == 0:
            a.status = EXHAUSTED
            return SERVED
        a.wanted = q.count
    elif not q.closed:
        if q.order == PRIORITY and n < a.wanted:
            return WAIT
        n -= kept_in_pool(q, n)
    n = min(min(a.wanted, n if not q.closed else q.count), a.room - a.count)
    if n:
        take(q, a.slots, a.count, n)
        a.count += n
        a.wanted -= n
    if a.wanted == 0:
        a.status = DONE
        return SERVED
    if n and wants_owner(a):
        wake(a)
    return PARTIAL if n else WAIT


cdef inline bint serve(Queue* q, Waiting* waiting, bint enqueues) noexcept nogil:
    """Serve one list's calls in order of arrival, until one has to wait; return whether any moved."""
    cdef Attempt* a
    cdef Outcome outcome
    cdef bint progress = False
    while waiting.head != NULL:
        a = waiting.head
        outcome = try_enqueue(q, a) if enqueues else try_dequeue(q, a)
        progress |= outcome != WAIT
        if outcome != SERVED:
            break
        remove(waiting, a)
        wake_late(q, a)
    return progress


cdef inline void flush(Queue* q) noexcept nogil:
    """Serve both lists in turn until nothing moves; call it after every change."""
    cdef bint progress = True
    while progress:
        progress = not holds_enqueues(q) and serve(q, &q.enqueues, True)
        if q.dequeues.head == NULL or holds_dequeues(q):
            return
        progress |= serve(q, &q.dequeues, False)
        if q.enqueues.head == NULL:
            return              # nothing that another round could change
