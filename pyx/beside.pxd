"""Numbers of elements on their way beside a queue, mixed: first in, first out, or drawn in lockstep as the queue draws.

The draws follow from the seeds, the size of the pool and what has entered alone. So these may happen later than those
of the queue, and numbers of elements that the queue does not have yet may be here already, after the others.
"""

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc

from mixing cimport STEP, joined
from philox cimport (
    WORDS, Philox, philox_fraction, philox_jump, philox_next, philox_places, philox_seed,
)
from views cimport fetch

cdef enum:
    LEAST = 256             # numbers that there is room for at first
    MOST = 0x100000000      # there is no memory for more; a size in bytes would wrap around

cdef struct Beside:
    uint64_t* ring          # of those that are in no pool
    size_t room             # a power of two
    size_t first            # the place of the first
    size_t count
    bint draws              # whether they are drawn
    uint64_t* pool          # with room for one more
    size_t places           # that it has
    size_t held             # how many it holds
    Philox random


cdef inline int beside_begin(Beside* b, bint draws, size_t places, uint64_t seed, uint64_t seed2) except -1:
    """As the queue begins: one that draws holds back so many elements as there are places."""
    b.room, b.draws, b.places, b.first, b.count, b.held = LEAST, draws, places, 0, 0, 0
    b.pool = <uint64_t*>malloc((places + 1) * sizeof(uint64_t)) if places < MOST - 1 else NULL
    b.ring = <uint64_t*>malloc(LEAST * sizeof(uint64_t))
    if b.ring == NULL or b.pool == NULL:
        raise MemoryError("no memory for the numbers of elements")
    philox_seed(&b.random, seed, seed2)
    return 0


cdef inline void beside_end(Beside* b) noexcept:
    free(b.ring)
    free(b.pool)


cdef inline bint beside_room(Beside* b, size_t n) noexcept nogil:
    """Make room for n more; whether there is memory for them."""
    cdef size_t i, room = b.room
    cdef uint64_t* ring
    if b.count + n <= room:
        return True
    if n > MOST or b.count > MOST:
        return False
    while room < b.count + n:
        room *= 2
    ring = <uint64_t*>malloc(room * sizeof(uint64_t))
    if ring == NULL:
        return False
    for i in range(b.count):
        ring[i] = b.ring[(b.first + i) & (b.room - 1)]
    free(b.ring)
    b.ring, b.room, b.first = ring, room, 0
    return True


cdef inline void beside_fill(Beside* b) noexcept nogil:
    """Fill the places of the pool with the first of the ring."""
    while b.held < b.places and b.count:
        b.pool[b.held] = b.ring[b.first]
        b.held += 1
        b.first = (b.first + 1) & (b.room - 1)
        b.count -= 1


cdef inline uint64_t beside_draw(Beside* b, size_t n, size_t begin, size_t end, uint64_t value) noexcept nogil:
    """As `beside_take`, in the order in which `lockstep_take` of the queue draws its slots: each of the pool and the
    first of the ring, which comes last in it, or of what the pool has left."""
    cdef size_t i = 0, drawn, held, full, first, mask = b.room - 1
    cdef uint64_t number, last, fraction
    cdef uint64_t* pool = b.pool
    cdef uint32_t[WORDS] places
    cdef int k, words
    beside_fill(b)
    held, full, first = b.held, min(n, b.count), b.first
    fraction = philox_fraction(<uint32_t>(held + 1))
    while i < full:
        words = philox_places(&b.random, full - i, fraction, <uint32_t>(held + 1), places)
        for k in range(words):      # the rows of a batch have driven the pool out of the cache
            fetch(&pool[places[k]])
        for k in range(words):
            last = pool[held] = b.ring[(first + i) & mask]
            drawn = places[k]
            number = pool[drawn]
            pool[drawn] = last
            if i - begin < end - begin:     # not below `begin` either: it would wrap around
                value = value * <uint64_t>STEP + number
            i += 1
    b.first = (first + full) & mask
    b.count -= full
    for i in range(full, n):
        drawn = philox_next(&b.random) % <uint32_t>b.held
        number = pool[drawn]
        b.held -= 1
        pool[drawn] = pool[b.held]
        if i - begin < end - begin:
            value = value * <uint64_t>STEP + number
    return value


cdef inline uint64_t beside_take(Beside* b, size_t n, size_t begin, size_t end, uint64_t value) noexcept nogil:
    """Take n numbers; what the fingerprint `value` is after those from `begin` to `end`."""
    cdef size_t at = (b.first + begin) & (b.room - 1), count = end - begin, first = min(count, b.room - at)
    if b.draws:
        return beside_draw(b, n, begin, end, value)
    value = joined(b.ring, count - first, joined(&b.ring[at], first, value))
    b.first = (b.first + n) & (b.room - 1)
    b.count -= n
    return value


cdef inline void beside_skip(Beside* b, uint64_t draws) noexcept nogil:
    """Leave out that many draws, before the first one."""
    philox_jump(&b.random, draws)


cdef inline bint beside_arrange(Beside* b, const int64_t[::1] places, uint64_t* moved) noexcept nogil:
    """Move the i-th of the pool to `places[i]`, a permutation; `moved` has room for as many. Whether the pool has so
    many."""
    cdef size_t i, n = places.shape[0]
    beside_fill(b)
    if b.held != n:
        return False
    for i in range(n):
        moved[places[i]] = b.pool[i]
    for i in range(n):
        b.pool[i] = moved[i]
    return True
