"""Napping: delay wake-ups for producers with small elements, so that they fill the queue in long runs.

Waking a thread costs more than storing a small element, and a thread woken for little room only returns to wait. So
producers that enqueue small elements singly nap at first, except the first one. Their enqueues are done as usual, but
only one producer at a time is woken, when half of the room is free or a dequeue has to wait; the others notice when
their nap ends. Naps get longer with more waiting producers, so that about one per millisecond wakes by itself.

Producers that enqueue blocks into a lockstep queue nap even alone (`patient`): its level decides nothing, so they fill
it in long runs, and fewer rows wait for their draws, still in the cache.

`late` lists decided attempts whose owners sleep in `wait_turn`, where they are removed.
"""

from libc.stdint cimport int64_t

from state cimport DONE, ENQUEUE, LOCKSTEP, Attempt, Queue, link, unlink, wake

cdef enum:
    NAPPERS = 64                # minimum capacity for napping after small elements
    NAP = 1_000_000             # ns, per other waiting call
    LONGEST_NAP = 50_000_000


cdef inline void may_nap(const Queue* q, Attempt* a, bint many, bint small) noexcept nogil:
    """Let an enqueue's owner nap if that pays."""
    a.patient = q.order == LOCKSTEP and many
    a.naps = a.patient or small and not many and q.capacity >= NAPPERS


cdef inline int64_t length_of_nap(const Queue* q, const Attempt* a) noexcept nogil:
    return min(NAP * (<int64_t>(q.enqueues.count + q.late.count) - (not a.patient)), <int64_t>LONGEST_NAP)


cdef inline void wake_late(Queue* q, Attempt* a) noexcept nogil:
    """Wake an enqueue's owner once it is done: at once, or, during its nap, when producers are needed."""
    if a.naps and a.wake != NULL and a.status == DONE:
        link(&q.late, a)
        a.late = True
        return
    if a.call == ENQUEUE and a.wake != NULL:
        q.called = True
    wake(a)


cdef inline void unlate(Queue* q, Attempt* a) noexcept nogil:
    if a.late:
        unlink(&q.late, a)
        a.late = False


cdef inline size_t half_full(const Queue* q) noexcept nogil:
    """Return the element count at which half of the room is free; a lockstep pool stays full and is not room."""
    return (q.capacity + (q.min_after_dequeue if q.order == LOCKSTEP else 0)) // 2


cdef inline void call_late(Queue* q) noexcept nogil:
    """Wake one owner whose enqueue is done, unless another one was woken and has brought nothing yet."""
    cdef Attempt* a = q.late.head
    if a != NULL and not q.called:
        q.called = True
        unlate(q, a)
        wake(a)
