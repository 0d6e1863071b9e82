"""Adding slots and dropping them: memory is had and freed outside the lock, and put in place and taken out under it."""

from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy

from chunk cimport chunk_memory
from column cimport ROWS, Column, Layout
from engine cimport locked, step_reserve
from held cimport Held
from orders cimport Ranked, ring_move, slot_t
from slab cimport CHUNKS, chunk_first
from state cimport ENQUEUE, FIFO, PRIORITY, SHUFFLE, Attempt, Queue, start

cdef enum:
    SPARE_BYTES = 1 << 20       # a smaller chunk is not worth dropping
    SPARE_SLOTS = 1 << 17

cdef struct Growth:
    const Layout* layout
    int chunk                   # the number of the new chunk
    void** memory               # of each component: rows; then of each one: a list of references, or room for Held
    void* order
    slot_t* free
    bint installed              # whether the memory is the queue's


cdef inline void step_install(Queue* q, Attempt* a) noexcept nogil:
    """Add a chunk, and order arrays that are large enough for it; the old arrays are left to be freed."""
    cdef Growth* g = <Growth*>a.extra
    cdef size_t first = chunk_first(q.bits, g.chunk), entries = chunk_first(q.bits, g.chunk + 1)
    cdef Column* c
    cdef void* old
    cdef int i
    g.installed = q.chunks == g.chunk
    if not g.installed:
        return                  # another thread was first
    for i in range(g.layout.width):
        c = &g.layout.columns[i]
        if c.form == ROWS:
            c.slab.origin[g.chunk] = <size_t>g.memory[i] - first * c.slab.row
        if c.mixed:
            c.held.origin[g.chunk] = <size_t>g.memory[g.layout.width + i] - first * sizeof(Held)
        else:
            c.lists[g.chunk] = g.memory[g.layout.width + i]
    old = <void*>q.free.slots
    ring_move(&q.free, g.free, entries)
    g.free = <slot_t*>old
    if q.order == FIFO:
        old = <void*>q.ring.slots
        ring_move(&q.ring, <slot_t*>g.order, entries)
    elif q.order == SHUFFLE:
        old = <void*>q.pool.slots
        if q.pool.count:
            memcpy(g.order, old, q.pool.count * sizeof(slot_t))
        q.pool.slots = <slot_t*>g.order
    else:
        old = <void*>q.heap.items
        if q.heap.count:
            memcpy(g.order, old, q.heap.count * sizeof(Ranked))
        q.heap.items = <Ranked*>g.order
    g.order = old
    q.chunks += 1
    q.allocated = entries


cdef inline int grow(Queue* q, const Layout* l, dict lists, int chunk) except -1:
    """Add a chunk, as many slots as there are, unless another thread has; `lists` keeps the new lists of references."""
    cdef Growth g
    cdef Attempt a
    cdef const Column* c
    cdef size_t entries, slots
    cdef list references, added = []
    cdef bint failed
    cdef int i
    if chunk == CHUNKS:
        raise MemoryError("a queue holds at most 2**32 elements")
    entries = chunk_first(q.bits, chunk + 1)
    slots = entries - chunk_first(q.bits, chunk)
    g.layout = l
    g.chunk = chunk
    g.installed = False
    g.memory = <void**>calloc(2 * l.width, sizeof(void*))
    g.free = <slot_t*>malloc(entries * sizeof(slot_t))
    g.order = malloc(entries * (sizeof(Ranked) if q.order == PRIORITY else sizeof(slot_t)))
    failed = g.memory == NULL or g.free == NULL or g.order == NULL
    for i in range(l.width):
        if failed:
            break
        c = &l.columns[i]
        if c.form == ROWS:
            if c.slab.row < (<size_t>1 << 62) // slots:
                g.memory[i] = chunk_memory(slots * c.slab.row)
            if c.mixed:
                g.memory[l.width + i] = calloc(slots, sizeof(Held))
            failed = g.memory[i] == NULL or c.mixed and g.memory[l.width + i] == NULL
        else:
            try:
                references = [None] * <Py_ssize_t>slots
                added.append(references)
                lists[<size_t><void*>references] = references
                g.memory[l.width + i] = <void*>references
            except MemoryError:
                failed = True   # told below, when what was had is freed
    if not failed:
        start(&a, ENQUEUE, NULL, 0)
        a.extra = &g
        locked(step_install, q, &a)
    free(g.free)
    free(g.order)
    if not g.installed and g.memory != NULL:
        for i in range(l.width):
            if l.columns[i].form == ROWS:
                free(g.memory[i])
                free(g.memory[l.width + i])
        for references in added:
            lists.pop(<size_t><void*>references, None)
    free(g.memory)
    if failed:
        raise MemoryError(f"no memory for {slots} more elements of {l.row_bytes} bytes")
    return 0


cdef inline int kept_chunks(int bits, size_t row_bytes) noexcept nogil:
    """How many chunks are too small to be worth dropping."""
    cdef int chunks = 1
    while chunks < CHUNKS - 1 and chunk_first(bits, chunks) < SPARE_SLOTS:
        if chunk_first(bits, chunks) * row_bytes >= SPARE_BYTES:
            break
        chunks += 1
    return chunks


cdef inline void step_remove(Queue* q, Attempt* a) noexcept nogil:
    """Take the last chunk out, if no slot is in use. The order arrays stay: they are small."""
    cdef Growth* g = <Growth*>a.extra
    cdef int chunk = q.chunks - 1, i
    cdef size_t first = chunk_first(q.bits, chunk)
    cdef const Column* c
    g.installed = q.fresh > 0 or chunk < q.kept
    if g.installed:
        return
    for i in range(g.layout.width):
        c = &g.layout.columns[i]
        if c.form == ROWS:
            g.memory[i] = <void*>(c.slab.origin[chunk] + first * c.slab.row)
        g.memory[g.layout.width + i] = (
            <void*>(c.held.origin[chunk] + first * sizeof(Held)) if c.mixed else c.lists[chunk]
        )
    q.chunks = chunk
    q.allocated = first


cdef inline void shrink(Queue* q, const Layout* l, dict lists) noexcept:
    """Free the last chunk, if that is worth it and no slot is in use."""
    cdef Growth g
    cdef Attempt a
    cdef int i
    g.layout = l
    g.memory = <void**>malloc(2 * l.width * sizeof(void*))
    if g.memory == NULL:
        return
    start(&a, ENQUEUE, NULL, 0)
    a.extra = &g
    g.installed = True
    locked(step_remove, q, &a)
    if not g.installed:
        for i in range(l.width):
            if l.columns[i].form == ROWS:
                free(g.memory[i])
                free(g.memory[l.width + i])
            else:
                del lists[<size_t>g.memory[l.width + i]]
    free(g.memory)


cdef inline int reserve(Queue* q, const Layout* l, dict lists, Attempt* a, slot_t* slots, size_t n) except -1:
    """Take n free slots, adding some if there are too few."""
    start(a, ENQUEUE, slots, n)
    locked(step_reserve, q, a)
    while a.count < n:
        grow(q, l, lists, <int>a.requested)
        locked(step_reserve, q, a)
    return 0
