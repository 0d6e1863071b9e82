"""The three orders in which slot numbers leave a queue: ring (first in, first out), pool (drawn), heap (by priority).

Each is a view of one array that the caller owns and that holds at least as many entries as there are slots, so that
nothing here allocates or fails.
"""

from libc.stdint cimport int64_t, uint32_t
from libc.string cimport memcpy

from philox cimport WORDS, Philox, philox_refill

ctypedef uint32_t slot_t

cdef struct Ring:
    slot_t* slots
    size_t mask         # entries - 1; the number of entries is a power of two
    size_t head
    size_t count

cdef struct Pool:
    slot_t* slots
    size_t count

cdef struct Ranked:
    int64_t priority
    slot_t slot

cdef struct Heap:
    Ranked* items
    size_t count


# Ring ---------------------------------------------------------------------------------------------------------------

cdef inline void ring_push(Ring* r, const slot_t* slots, size_t n) noexcept nogil:
    cdef size_t tail = (r.head + r.count) & r.mask
    cdef size_t first = r.mask + 1 - tail
    r.count += n
    if n == 1:
        r.slots[tail] = slots[0]
    elif n <= first:
        memcpy(&r.slots[tail], slots, n * sizeof(slot_t))
    else:
        memcpy(&r.slots[tail], slots, first * sizeof(slot_t))
        memcpy(r.slots, slots + first, (n - first) * sizeof(slot_t))


cdef inline void ring_push_front(Ring* r, const slot_t* slots, size_t n) noexcept nogil:
    """Put n slots before the head, keeping their order."""
    cdef size_t i
    r.head = (r.head - n) & r.mask
    r.count += n
    for i in range(n):
        r.slots[(r.head + i) & r.mask] = slots[i]


cdef inline void ring_take(Ring* r, slot_t* out, size_t n) noexcept nogil:
    cdef size_t first = r.mask + 1 - r.head
    if n == 1:
        out[0] = r.slots[r.head]
    elif n <= first:
        memcpy(out, &r.slots[r.head], n * sizeof(slot_t))
    else:
        memcpy(out, &r.slots[r.head], first * sizeof(slot_t))
        memcpy(out + first, r.slots, (n - first) * sizeof(slot_t))
    r.head = (r.head + n) & r.mask
    r.count -= n


cdef inline void ring_move(Ring* r, slot_t* larger, size_t entries) noexcept nogil:
    """Go on in a larger array."""
    cdef size_t n = r.count
    if n:
        ring_take(r, larger, n)
    r.slots = larger
    r.mask = entries - 1
    r.head = 0
    r.count = n


# Pool ---------------------------------------------------------------------------------------------------------------

cdef inline void pool_push(Pool* p, const slot_t* slots, size_t n) noexcept nogil:
    memcpy(&p.slots[p.count], slots, n * sizeof(slot_t))
    p.count += n


cdef inline void pool_push_back(Pool* p, const slot_t* slots, size_t n) noexcept nogil:
    """Put taken slots back, the last taken first."""
    while n:
        n -= 1
        p.slots[p.count] = slots[n]
        p.count += 1


cdef inline void pool_take(Pool* p, Philox* random, slot_t* out, size_t n) noexcept nogil:
    """Draw n slots; the last one moves to the place of each that is drawn."""
    cdef slot_t* slots = p.slots
    cdef uint32_t count = <uint32_t>p.count
    cdef uint32_t drawn
    cdef size_t i = 0, words
    cdef int used
    while i < n:
        if random.used == WORDS:
            philox_refill(random)
        used = random.used
        words = min(<size_t>(WORDS - used), n - i)
        random.used += <int>words
        while words:
            drawn = random.words[used] % count
            used += 1
            count -= 1
            out[i] = slots[drawn]
            i += 1
            slots[drawn] = slots[count]
            words -= 1
    p.count = count


# Heap: the binary heap of the C++ standard library as GCC writes it, so that ties leave in the same order -------------

cdef inline void heap_rise(Heap* h, size_t hole, Ranked item) noexcept nogil:
    cdef size_t parent
    while hole > 0:
        parent = (hole - 1) // 2
        if h.items[parent].priority <= item.priority:
            break
        h.items[hole] = h.items[parent]
        hole = parent
    h.items[hole] = item


cdef inline void heap_push(Heap* h, int64_t priority, slot_t slot) noexcept nogil:
    cdef Ranked item
    item.priority = priority
    item.slot = slot
    h.count += 1
    heap_rise(h, h.count - 1, item)


cdef inline slot_t heap_take(Heap* h) noexcept nogil:
    cdef slot_t least = h.items[0].slot
    cdef size_t hole = 0, child = 0, n = h.count - 1
    cdef Ranked last = h.items[n]
    h.count = n
    if n == 0:
        return least
    while child < (n - 1) // 2:
        child = 2 * (child + 1)
        if h.items[child].priority > h.items[child - 1].priority:
            child -= 1
        h.items[hole] = h.items[child]
        hole = child
    if (n & 1) == 0 and child == (n - 2) // 2:
        child = 2 * (child + 1)
        h.items[hole] = h.items[child - 1]
        hole = child - 1
    heap_rise(h, hole, last)
    return least
