"""Adding slots: a chunk for each component, and order arrays to match, made outside the lock and put in place under it."""

from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from column cimport ROWS, Column
from engine cimport FIFO, SHUFFLE, Attempt, Queue
from orders cimport Ranked, ring_move, slot_t
from slab cimport chunk_first

cdef struct Growth:
    Column* columns
    int width
    int chunk                   # the number of the new chunk
    void** memory               # of each component: rows, or a list of references
    void* order
    slot_t* free
    bint installed


cdef inline void step_install(Queue* q, Attempt* a) noexcept nogil:
    """Add a chunk, and order arrays that are large enough for it; the old arrays are left to be freed."""
    cdef Growth* g = <Growth*>a.extra
    cdef size_t first = chunk_first(q.bits, g.chunk), entries = chunk_first(q.bits, g.chunk + 1)
    cdef void* old
    cdef int i
    g.installed = q.chunks == g.chunk
    if not g.installed:
        return                  # another thread was first
    for i in range(g.width):
        if g.columns[i].form == ROWS:
            g.columns[i].slab.origin[g.chunk] = <size_t>g.memory[i] - first * g.columns[i].slab.row
        else:
            g.columns[i].lists[g.chunk] = g.memory[i]
    old = <void*>q.free.slots
    ring_move(&q.free, g.free, entries)
    g.free = <slot_t*>old
    if q.order == FIFO:
        old = <void*>q.ring.slots
        ring_move(&q.ring, <slot_t*>g.order, entries)
    elif q.order == SHUFFLE:
        old = <void*>q.pool.slots
        memcpy(g.order, old, q.pool.count * sizeof(slot_t))
        q.pool.slots = <slot_t*>g.order
    else:
        old = <void*>q.heap.items
        memcpy(g.order, old, q.heap.count * sizeof(Ranked))
        q.heap.items = <Ranked*>g.order
    g.order = old
    q.chunks += 1
    q.allocated = entries
