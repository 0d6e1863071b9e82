"""Napping: producers of small elements hear late that their enqueue is done, so that they fill the queue in long runs.

Waking a thread costs more than storing a small element, and one that is woken for little room only comes back to wait.
So those that put small elements one by one nap at first, but for the first of them. Their ends come as they always do,
but are told to one of them at a time, when half of the room is free or a dequeue has to wait; the others hear of theirs
when the nap ends. The more wait, the longer they nap, so that about one wakes by itself each millisecond.

Those that put blocks into a queue that draws in lockstep nap even alone (`patient`): as how full it is decides nothing
there, they fill it in long runs, and the rows that wait for their draws are fewer and still in the cache.

`late` lists attempts that are decided and whose owners sleep in `wait_turn`, which takes them out.
"""

from libc.stdint cimport int64_t

from state cimport DONE, ENQUEUE, LOCKSTEP, Attempt, Queue, link, unlink, wake

cdef enum:
    NAPPERS = 64                # capacity from which those that put small elements one by one may nap
    NAP = 1_000_000             # ns, for each other that waits
    LONGEST_NAP = 50_000_000


cdef inline void may_nap(const Queue* q, Attempt* a, bint many, bint small) noexcept nogil:
    """Let the owner of an enqueue of one or many elements nap where that pays."""
    a.patient = q.order == LOCKSTEP and many
    a.naps = a.patient or small and not many and q.capacity >= NAPPERS


cdef inline int64_t length_of_nap(const Queue* q, const Attempt* a) noexcept nogil:
    return min(NAP * (<int64_t>(q.enqueues.count + q.late.count) - (not a.patient)), <int64_t>LONGEST_NAP)


cdef inline void wake_late(Queue* q, Attempt* a) noexcept nogil:
    """Tell the owner of an enqueue that it is done: at once, or, while it naps, when producers are needed."""
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
    """How many elements there are where half of the room is free; in lockstep half of that beside the pool, which stays
    full."""
    return (q.capacity + (q.min_after_dequeue if q.order == LOCKSTEP else 0)) // 2


cdef inline void call_late(Queue* q) noexcept nogil:
    """Wake one of those whose enqueues are done, unless one was woken that has brought nothing yet."""
    cdef Attempt* a = q.late.head
    if a != NULL and not q.called:
        q.called = True
        unlate(q, a)
        wake(a)
