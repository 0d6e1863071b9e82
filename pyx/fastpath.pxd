"""The fast path: one small element, or references, enqueued in a single hold of the lock.

Copying up to PAYLOAD bytes takes less time than a second hold of the lock: enqueueing an f32[4] row this way costs
half.
"""

from libc.string cimport memcpy

from columns cimport ROWS, Column, QueueColumns, Part, swap_reference
from orders cimport ring_pop
from serving cimport flush, holds_enqueues
from slab cimport slab_row
from state cimport Queue, store_one
from steps cimport note
from span cimport slot_t

cdef enum:
    PAYLOAD = 128


cdef inline bint put_now(Queue* q, const QueueColumns* columns, const Part* parts) noexcept:
    """Store one element if that is possible at once; else change nothing. A free slot refers to None, so replacing its
    reference runs no code under the lock."""
    cdef const Column* c
    cdef slot_t slot
    cdef int i
    if q.enqueues.head != NULL or holds_enqueues(q) or q.closed or q.count >= q.capacity:
        return False
    if q.free.count:
        slot = ring_pop(&q.free)
    elif q.fresh < q.allocated:
        slot = <slot_t>q.fresh
        q.fresh += 1
    else:
        return False
    for i in range(columns.width):
        c = &columns.column[i]
        if c.form == ROWS:
            memcpy(slab_row(&c.slab, q.bits, slot), parts[i].rows.at(0), c.slab.row)
        else:
            swap_reference(c, q.bits, slot, parts[i].ref)
    store_one(q, slot)
    q.called = False
    if q.dequeues.head != NULL:
        flush(q)
    note(q)
    return True


cdef inline bint put_fast(Queue* q, const QueueColumns* columns, const Part* parts) noexcept:
    """`put_now`, if the lock is free."""
    cdef bint stored
    if not q.lock.try_lock():
        return False
    stored = put_now(q, columns, parts)
    q.lock.unlock()
    return stored
