"""Add and drop slot chunks: memory is allocated and freed outside the lock, and installed and removed under it."""

from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy

from borrowed cimport Borrowed
from columns cimport ROWS, Column, QueueColumns, drop_references
from memory cimport chunk_memory
from orders cimport Ranked, pool_move, ring_move
from slab cimport CHUNKS, chunk_first
from state cimport FIFO, LOCKSTEP, PRIORITY, SHUFFLE, Queue
from steps cimport Claim, Release, locked, step_claim, step_release
from span cimport Span, slot_t, span

cdef enum:
    SPARE_BYTES = 1 << 20       # a smaller chunk is not worth dropping
    SPARE_SLOTS = 1 << 17

cdef struct Growth:
    QueueColumns* columns
    int chunk                   # index of the new chunk
    void** memory               # per component: rows; then per component: a reference list, or room for Borrowed
    void* order                 # room for all slots in the queue's order
    slot_t* free                # room for all slots in the free list
    bint installed              # the queue owns the memory


# Growing --------------------------------------------------------------------------------------------------------------

cdef inline size_t order_bytes(const Queue* q, size_t entries) noexcept nogil:
    """Return the order's memory for this many slots. In lockstep it has three parts: ring, outlet, pool."""
    if q.order == PRIORITY:
        return entries * sizeof(Ranked)
    return entries * sizeof(slot_t) * (3 if q.order == LOCKSTEP else 1)


cdef inline void* move_order(Queue* q, void* larger, size_t entries) noexcept nogil:
    """Continue the queue's order in a larger array; return the old one."""
    cdef void* old = NULL
    cdef slot_t* part = <slot_t*>larger
    if q.order == FIFO:
        return ring_move(&q.ring, part, entries)
    if q.order == LOCKSTEP:
        old = ring_move(&q.ring, part, entries)
        ring_move(&q.outlet, part + entries, entries)
        pool_move(&q.pool, part + 2 * entries, entries)
        return old
    if q.order == SHUFFLE:
        return pool_move(&q.pool, part, entries)
    if q.heap.slots.n:
        old = q.heap.slots.data
        memcpy(larger, old, q.heap.count * sizeof(Ranked))
    q.heap.slots = span(<Ranked*>larger, entries)
    return old


cdef inline void step_install(Queue* q, void* what) noexcept nogil:
    """Add a chunk with larger order arrays; the old arrays are left to the caller to free."""
    cdef Growth* g = <Growth*>what
    cdef size_t first = chunk_first(q.bits, g.chunk), entries = chunk_first(q.bits, g.chunk + 1)
    cdef int width = g.columns.width, i
    cdef Column* c
    g.installed = q.chunks == g.chunk
    if not g.installed:
        return                  # another thread was first
    for i in range(width):
        c = &g.columns.column[i]
        if c.form == ROWS:
            c.slab.origin[g.chunk] = <size_t>g.memory[i] - first * c.slab.row
        if c.lends:
            c.borrowed.origin[g.chunk] = <size_t>g.memory[width + i] - first * sizeof(Borrowed)
        else:
            c.lists[g.chunk] = g.memory[width + i]
    g.free = ring_move(&q.free, g.free, entries)
    g.order = move_order(q, g.order, entries)
    q.chunks += 1
    q.allocated = entries


cdef inline void allocate_orders(Growth* g, const Queue* q, size_t entries) noexcept:
    g.free = <slot_t*>malloc(entries * sizeof(slot_t))
    g.order = malloc(order_bytes(q, entries))


cdef inline bint allocate(Growth* g, const Queue* q, list added) except -1:
    """Allocate a chunk's memory; `added` gets the keys of its reference lists, so that `discard` need not allocate.
    Return whether there was enough memory."""
    cdef size_t entries = chunk_first(q.bits, g.chunk + 1), slots = entries - chunk_first(q.bits, g.chunk)
    cdef int width = g.columns.width, i
    cdef const Column* c
    g.memory = <void**>calloc(2 * width, sizeof(void*))
    allocate_orders(g, q, entries)
    if g.memory == NULL or g.free == NULL or g.order == NULL:
        return False
    for i in range(width):
        c = &g.columns.column[i]
        if c.form != ROWS:
            try:
                references = [None] * <Py_ssize_t>slots
                key = <size_t><void*>references
                added.append(key)
                (<dict>g.columns.lists)[key] = references
            except MemoryError:
                return False
            g.memory[width + i] = <void*>references
            continue
        if c.slab.row < (<size_t>1 << 62) // slots:
            g.memory[i] = chunk_memory(slots * c.slab.row)
        if c.lends:
            g.memory[width + i] = calloc(slots, sizeof(Borrowed))
        if g.memory[i] == NULL or c.lends and g.memory[width + i] == NULL:
            return False
    return True


cdef inline void discard(Growth* g, list added) noexcept:
    """Free a chunk that was not installed."""
    cdef int width = g.columns.width, i
    for i in range(width):
        if g.columns.column[i].form == ROWS:
            free(g.memory[i])
            free(g.memory[width + i])
    for key in added:
        (<dict>g.columns.lists).pop(key, None)


cdef inline int grow(Queue* q, QueueColumns* columns, int chunk) except -1:
    """Add a chunk, doubling the slot count, unless another thread has."""
    cdef Growth g
    cdef list added = []
    cdef bint enough
    if chunk == CHUNKS:
        raise MemoryError("a queue holds at most 2**32 elements, and this one would hold more")
    g.columns = columns
    g.chunk = chunk
    g.installed = False
    enough = allocate(&g, q, added)
    if enough:
        locked(step_install, q, &g)
    free(g.free)
    free(g.order)
    if not g.installed and g.memory != NULL:
        discard(&g, added)
    free(g.memory)
    if not enough:
        slots = chunk_first(q.bits, chunk + 1) - chunk_first(q.bits, chunk)
        raise MemoryError(f"no memory for {slots} more elements of {columns.row_bytes} bytes")
    return 0


cdef inline int claim(Queue* q, QueueColumns* columns, slot_t* slots, size_t n) except -1:
    """Take n free slots, adding some if there are too few."""
    cdef Claim claimed
    claimed.slots = span(slots, n)
    claimed.wanted = n
    claimed.taken = False
    claimed.chunks = 0
    locked(step_claim, q, &claimed)
    while not claimed.taken:
        grow(q, columns, claimed.chunks)
        locked(step_claim, q, &claimed)
    return 0


# Shrinking ------------------------------------------------------------------------------------------------------------

cdef inline int kept_chunks(int bits, size_t row_bytes) noexcept nogil:
    """Return how many chunks are too small to be worth dropping."""
    cdef int chunks = 1
    while chunks < CHUNKS - 1 and chunk_first(bits, chunks) < SPARE_SLOTS:
        if chunk_first(bits, chunks) * row_bytes >= SPARE_BYTES:
            break
        chunks += 1
    return chunks


cdef inline void step_remove(Queue* q, void* what) noexcept nogil:
    """Remove the last chunk if no slot is in use; the order and the free list, both empty, move to smaller arrays."""
    cdef Growth* g = <Growth*>what
    cdef int chunk = q.chunks - 1, width = g.columns.width, i
    cdef size_t first = chunk_first(q.bits, g.chunk)
    cdef Column* c
    g.installed = chunk != g.chunk or q.fresh > 0 or chunk < q.kept
    if g.installed:
        return
    for i in range(width):
        c = &g.columns.column[i]
        if c.form == ROWS:
            g.memory[i] = <void*>(c.slab.origin[chunk] + first * c.slab.row)
            c.slab.origin[chunk] = 0
        if c.lends:
            g.memory[width + i] = <void*>(c.borrowed.origin[chunk] + first * sizeof(Borrowed))
        else:
            g.memory[width + i] = c.lists[chunk]
    g.free = ring_move(&q.free, g.free, first)
    g.order = move_order(q, g.order, first)
    q.chunks = chunk
    q.allocated = first


cdef inline void shrink(Queue* q, QueueColumns* columns, int chunk) noexcept:
    """Free this chunk if it is still the last one, no slot is in use, and it is large enough."""
    cdef Growth g
    cdef int width = columns.width, i
    g.columns = columns
    g.chunk = chunk
    g.installed = True
    g.memory = <void**>malloc(2 * width * sizeof(void*))
    allocate_orders(&g, q, chunk_first(q.bits, g.chunk))
    if g.memory != NULL and g.free != NULL and g.order != NULL:
        locked(step_remove, q, &g)
    free(g.free)
    free(g.order)
    if not g.installed:
        for i in range(width):
            if columns.column[i].form == ROWS:
                free(g.memory[i])
                free(g.memory[width + i])
            else:
                del (<dict>columns.lists)[<size_t>g.memory[width + i]]
    free(g.memory)


cdef inline void release(Queue* q, QueueColumns* columns, Span[slot_t] slots, size_t begin, size_t end) noexcept:
    """Free the slots from `begin` to `end`, and drop their references."""
    cdef Release released
    drop_references(columns, q.bits, slots, begin, end)
    released.slots = slots
    released.begin = begin
    released.end = end
    released.spare = 0
    locked(step_release, q, &released)
    if released.spare:
        shrink(q, columns, released.spare)


cdef inline void free_orders(Queue* q) noexcept:
    """Free the slot number arrays."""
    if q.chunks == 0:
        return
    free(&q.free.slots[0])
    if q.order <= LOCKSTEP:
        free(&q.ring.slots[0])
    elif q.order == SHUFFLE:
        free(&q.pool.slots[0])
    else:
        free(&q.heap.slots[0])
