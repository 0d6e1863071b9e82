"""Orders in which slot numbers leave a queue: ring (first in, first out), pool (drawn at random), ring and pool in
lockstep (drawn at random from a constant number), heap (by priority).

Each order stores numbers in a span with room for all slots, so nothing here allocates or fails. A list of slot numbers
is passed as a span, a start index, and a count.
"""

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.string cimport memcpy

from philox cimport WORDS, Philox, philox_fraction, philox_places, philox_take
from span cimport Span, fetch, slot_t, span, within

cdef cppclass Ring:
    Span[slot_t] slots  # length is a power of two
    size_t mask         # length - 1
    size_t head
    size_t count

cdef cppclass SlotPool:
    Span[slot_t] slots
    size_t count

cdef struct Ranked:
    int64_t priority
    slot_t slot

cdef cppclass Heap:
    Span[Ranked] slots
    size_t count


cdef inline void copy_slots(Span[slot_t] to, size_t at, Span[slot_t] source, size_t begin, size_t n) noexcept nogil:
    """Copy n > 0 numbers."""
    within(&to[at + n - 1])
    within(&source[begin + n - 1])
    memcpy(&to[at], &source[begin], n * sizeof(slot_t))


# Ring ---------------------------------------------------------------------------------------------------------------

cdef inline void ring_append(Ring* r, slot_t slot) noexcept nogil:
    r.slots[(r.head + r.count) & r.mask] = slot
    r.count += 1


cdef inline slot_t ring_pop(Ring* r) noexcept nogil:
    cdef slot_t slot = r.slots[r.head]
    r.head = (r.head + 1) & r.mask
    r.count -= 1
    return slot


cdef inline void ring_push(Ring* r, Span[slot_t] slots, size_t begin, size_t n) noexcept nogil:
    cdef size_t tail, first
    if n == 0:
        return
    if n == 1:
        ring_append(r, slots[begin])
        return
    tail = (r.head + r.count) & r.mask
    first = min(n, r.mask + 1 - tail)
    r.count += n
    copy_slots(r.slots, tail, slots, begin, first)
    if first < n:
        copy_slots(r.slots, 0, slots, begin + first, n - first)


cdef inline void ring_push_front(Ring* r, Span[slot_t] slots, size_t n) noexcept nogil:
    """Put the first n slots before the head, in the same order."""
    cdef size_t i
    r.head = (r.head - n) & r.mask
    r.count += n
    for i in range(n):
        r.slots[(r.head + i) & r.mask] = slots[i]


cdef inline void ring_take(Ring* r, Span[slot_t] out, size_t begin, size_t n) noexcept nogil:
    cdef size_t first
    if n == 0:
        return
    if n == 1:
        out[begin] = ring_pop(r)
        return
    first = min(n, r.mask + 1 - r.head)
    copy_slots(out, begin, r.slots, r.head, first)
    if first < n:
        copy_slots(out, begin + first, r.slots, 0, n - first)
    r.head = (r.head + n) & r.mask
    r.count -= n


cdef inline slot_t* ring_move(Ring* r, slot_t* larger, size_t entries) noexcept nogil:
    """Continue in a larger array; return the old one."""
    cdef slot_t* old = r.slots.data
    cdef size_t count = r.count
    cdef Ring moved
    moved.slots = span(larger, entries)
    ring_take(r, moved.slots, 0, count)
    r.slots = span(larger, entries)
    r.mask = entries - 1
    r.head = 0
    r.count = count
    return old


# SlotPool -----------------------------------------------------------------------------------------------------------

cdef inline void pool_append(SlotPool* p, slot_t slot) noexcept nogil:
    p.slots[p.count] = slot
    p.count += 1


cdef inline void pool_push(SlotPool* p, Span[slot_t] slots, size_t begin, size_t n) noexcept nogil:
    if n:
        copy_slots(p.slots, p.count, slots, begin, n)
    p.count += n


cdef inline slot_t* pool_move(SlotPool* p, slot_t* larger, size_t entries) noexcept nogil:
    """Continue in a larger array; return the old one."""
    cdef slot_t* old = p.slots.data
    if old != NULL:
        memcpy(larger, old, p.count * sizeof(slot_t))
    p.slots = span(larger, entries)
    return old


cdef inline void pool_push_back(SlotPool* p, Span[slot_t] slots, size_t n) noexcept nogil:
    """Put the first n slots back after a dequeue: the last one taken goes first."""
    while n:
        n -= 1
        pool_append(p, slots[n])


cdef inline void pool_take(SlotPool* p, Philox* random, Span[slot_t] out, size_t begin, size_t n) noexcept nogil:
    """Draw n slots; the last slot moves to the place of each drawn one."""
    cdef uint32_t count = <uint32_t>p.count
    cdef uint32_t drawn
    cdef size_t end = begin + n
    cdef int word, words
    while begin < end:
        words = philox_take(random, end - begin)
        for word in range(random.used - words, random.used):
            drawn = random.words[word] % count
            count -= 1
            out[begin] = p.slots[drawn]
            begin += 1
            p.slots[drawn] = p.slots[count]
    p.count = count


# Lockstep: the ring holds the overflow of the pool -------------------------------------------------------------------

cdef inline void lockstep_push(SlotPool* p, Ring* r, size_t places, Span[slot_t] slots, size_t begin,
                               size_t n) noexcept nogil:
    """Fill the pool up to `places`; the rest goes to the ring."""
    cdef size_t first = min(n, places - p.count)
    pool_push(p, slots, begin, first)
    ring_push(r, slots, begin + first, n - first)


cdef inline void lockstep_take(SlotPool* p, Ring* r, Philox* random, Span[slot_t] out, size_t begin,
                               size_t n) noexcept nogil:
    """Draw n slots. The last slot moves to each drawn one's place, and the ring's head to the last place."""
    cdef size_t filled = min(n, r.count), end = begin + filled, last = p.count - 1, head = r.head, mask = r.mask
    cdef uint32_t count = <uint32_t>p.count, drawn
    cdef uint64_t fraction = philox_fraction(count) if filled else 0
    cdef uint32_t[WORDS] places
    cdef int k, words
    while begin < end:
        words = philox_places(random, end - begin, fraction, count, places)
        for k in range(words):      # a batch of rows has evicted the pool from the cache
            fetch(&p.slots[places[k]])
        for k in range(words):
            drawn = places[k]
            out[begin] = p.slots[drawn]
            begin += 1
            p.slots[drawn] = p.slots[last]
            p.slots[last] = r.slots[head]
            head = (head + 1) & mask
    r.head = head
    r.count -= filled
    pool_take(p, random, out, begin, n - filled)


# Heap: the C++ standard library's binary heap as in GCC, so that ties leave in the same order -------------------------

cdef inline void heap_rise(Heap* h, size_t hole, Ranked item) noexcept nogil:
    cdef size_t parent
    while hole > 0:
        parent = (hole - 1) // 2
        if h.slots[parent].priority <= item.priority:
            break
        h.slots[hole] = h.slots[parent]
        hole = parent
    h.slots[hole] = item


cdef inline void heap_push(Heap* h, int64_t priority, slot_t slot) noexcept nogil:
    cdef Ranked item
    item.priority = priority
    item.slot = slot
    h.count += 1
    heap_rise(h, h.count - 1, item)


cdef inline slot_t heap_take(Heap* h) noexcept nogil:
    cdef slot_t least = h.slots[0].slot
    cdef size_t hole = 0, child = 0, n = h.count - 1
    cdef Ranked last = h.slots[n]
    h.count = n
    if n == 0:
        return least
    while child < (n - 1) // 2:
        child = 2 * (child + 1)
        if h.slots[child].priority > h.slots[child - 1].priority:
            child -= 1
        h.slots[hole] = h.slots[child]
        hole = child
    if (n & 1) == 0 and child == (n - 2) // 2:
        child = 2 * (child + 1)
        h.slots[hole] = h.slots[child - 1]
        hole = child - 1
    heap_rise(h, hole, last)
    return least
