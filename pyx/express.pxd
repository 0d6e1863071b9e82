"""The short way in for one small element, in a single hold of the lock.

Copying up to PAYLOAD bytes takes less time than the second hold of the lock that it saves: with it, enqueueing a f32[4]
row costs half.
"""

from libc.string cimport memcpy

from column cimport Layout, Part
from engine cimport flush, holds_enqueues, note
from orders cimport ring_take, slot_t
from slab cimport slab_row
from state cimport Queue, store

cdef enum:
    PAYLOAD = 128


cdef inline bint put_now(Queue* q, const Layout* l, const Part* parts) noexcept nogil:
    """Store one element if that can be done at once; else change nothing."""
    cdef slot_t slot
    cdef int i
    if q.enqueues.head != NULL or holds_enqueues(q) or q.closed or q.count >= q.capacity:
        return False
    if q.free.count:
        ring_take(&q.free, &slot, 1)
    elif q.fresh < q.allocated:
        slot = <slot_t>q.fresh
        q.fresh += 1
    else:
        return False
    for i in range(l.width):
        memcpy(slab_row(&l.columns[i].slab, q.bits, slot), parts[i].rows, l.columns[i].slab.row)
    store(q, &slot, 1)
    if q.dequeues.head != NULL:
        flush(q)
    note(q)
    return True


cdef inline bint express(Queue* q, const Layout* l, const Part* parts) noexcept nogil:
    """`put_now`, if the lock is free."""
    cdef bint stored
    if not q.lock.try_lock():
        return False
    stored = put_now(q, l, parts)
    q.lock.unlock()
    return stored
