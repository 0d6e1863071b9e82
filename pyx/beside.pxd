"""Numbers of elements on their way beside a queue, mixed: first in, first out, or drawn in lockstep as the queue draws.

The draws follow from the seeds, the size of the pool and what has entered alone. So these may happen later than those
of the queue, and numbers of elements that the queue does not have yet may be here already, after the others.
"""

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy
from libcpp.deque cimport deque

from mixing cimport STEP, joined, mix_to
from philox cimport (
    WORDS, Philox, philox_fraction, philox_jump, philox_next, philox_places, philox_seed,
)
from views cimport fetch

cdef enum:
    LEAST = 256             # numbers that there is room for at first
    MOST = 0x100000000      # there is no memory for more; a size in bytes would wrap around
    PIECE = 256             # numbers that are looked at together

cdef struct Run:            # numbers that came together
    size_t count            # how many are left of them
    bint listed             # they are in the ring; else, as a block takes no more room than this,
    uint64_t base           # those that `mix_to` gives from this base,
    size_t begin            # and from here on

cdef struct Beside:
    size_t count            # of those that are in no pool
    deque[Run]* runs        # these
    uint64_t* ring          # of those that are listed
    size_t room             # a power of two
    size_t first            # the place of the first
    size_t listed
    bint draws              # whether they are drawn
    uint64_t* pool          # with room for one more
    size_t places           # that it has
    size_t held             # how many it holds
    Philox random


cdef inline int beside_begin(Beside* b, bint draws, size_t places, uint64_t seed, uint64_t seed2) except -1:
    """As the queue begins: one that draws holds back so many elements as there are places."""
    b.room, b.draws, b.places, b.first, b.listed, b.count, b.held = LEAST, draws, places, 0, 0, 0, 0
    b.runs = new deque[Run]()
    b.pool = <uint64_t*>malloc((places + 1) * sizeof(uint64_t)) if places < MOST - 1 else NULL
    b.ring = <uint64_t*>malloc(LEAST * sizeof(uint64_t))
    if b.ring == NULL or b.pool == NULL:
        raise MemoryError("no memory for the numbers of elements")
    philox_seed(&b.random, seed, seed2)
    return 0


cdef inline void beside_end(Beside* b) noexcept:
    free(b.ring)
    free(b.pool)
    del b.runs


# In and out -----------------------------------------------------------------------------------------------------------

cdef inline int beside_room(Beside* b, size_t n) except -1:
    """Make room in the ring for n more."""
    cdef size_t i, room = b.room
    cdef uint64_t* ring
    if b.listed + n <= room:
        return 0
    while room < b.listed + n:
        room *= 2
    ring = <uint64_t*>malloc(room * sizeof(uint64_t))
    if ring == NULL:
        raise MemoryError("no memory for the numbers of elements")
    for i in range(b.listed):
        ring[i] = b.ring[(b.first + i) & (b.room - 1)]
    free(b.ring)
    b.ring, b.room, b.first = ring, room, 0
    return 0


cdef inline int beside_add(Beside* b, const uint64_t* numbers, uint64_t base, size_t n) except -1:
    """Add these n > 0 numbers; without them those of a block, see `Run`."""
    cdef Run run
    cdef Run* last = NULL
    cdef size_t at, first
    if n > MOST or b.count > MOST:
        raise MemoryError("no memory for the numbers of elements")
    run.count, run.listed, run.base, run.begin = n, numbers != NULL, base, 0
    if not b.runs.empty():
        last = &b.runs.back()
    if run.listed:
        beside_room(b, n)
        at = (b.first + b.listed) & (b.room - 1)
        first = min(n, b.room - at)
        mix_to(&b.ring[at], numbers, 0, 0, first)
        mix_to(b.ring, numbers, 0, first, n)
    if run.listed and last != NULL and last.listed:
        last.count += n
    else:
        b.runs.push_back(run)
    b.listed += n if run.listed else 0
    b.count += n
    return 0


cdef inline void beside_drop(Beside* b, size_t n) noexcept:
    """Drop the last n of them, or all."""
    cdef Run* run
    cdef size_t count
    while n and b.count:
        run = &b.runs.back()
        count = min(n, run.count)
        b.listed -= count if run.listed else 0
        run.count -= count
        b.count -= count
        n -= count
        if run.count == 0:
            b.runs.pop_back()


cdef inline void beside_move(Beside* b, uint64_t* out, size_t n) noexcept:
    """Take n of them out, mixed; there are as many."""
    cdef Run* run
    cdef size_t count, first
    b.count -= n
    while n:
        run = &b.runs.front()
        count = min(n, run.count)
        if run.listed:
            first = min(count, b.room - b.first)
            memcpy(out, &b.ring[b.first], first * sizeof(uint64_t))
            memcpy(&out[first], b.ring, (count - first) * sizeof(uint64_t))
            b.first = (b.first + count) & (b.room - 1)
            b.listed -= count
        else:
            mix_to(out, NULL, run.base, run.begin, run.begin + count)
            run.begin += count
        out += count
        n -= count
        run.count -= count
        if run.count == 0:
            b.runs.pop_front()


cdef inline void beside_fill(Beside* b) noexcept:
    """Fill the places of the pool."""
    cdef size_t n = min(b.places - b.held, b.count)
    beside_move(b, &b.pool[b.held], n)
    b.held += n


# Draws ----------------------------------------------------------------------------------------------------------------


cdef inline uint64_t beside_draw(Beside* b, size_t n, size_t begin, size_t end, uint64_t value) noexcept:
    """As `beside_take`, in the order in which `lockstep_take` of the queue draws its slots: each of the pool and the
    next number, which comes last in it, or of what the pool has left."""
    cdef size_t i = 0, drawn, held, full
    cdef uint64_t number, fraction
    cdef uint64_t* pool = b.pool
    cdef uint32_t[WORDS] places
    cdef uint64_t[WORDS] following
    cdef int k, words
    beside_fill(b)
    held, full = b.held, min(n, b.count)
    fraction = philox_fraction(<uint32_t>(held + 1))
    while i < full:
        words = philox_places(&b.random, full - i, fraction, <uint32_t>(held + 1), places)
        for k in range(words):      # the rows of a batch have driven the pool out of the cache
            fetch(&pool[places[k]])
        beside_move(b, following, words)
        for k in range(words):
            pool[held] = following[k]
            drawn = places[k]
            number = pool[drawn]
            pool[drawn] = following[k]
            if i - begin < end - begin:     # not below `begin` either: it would wrap around
                value = value * <uint64_t>STEP + number
            i += 1
    for i in range(full, n):
        drawn = philox_next(&b.random) % <uint32_t>b.held
        number = pool[drawn]
        b.held -= 1
        pool[drawn] = pool[b.held]
        if i - begin < end - begin:
            value = value * <uint64_t>STEP + number
    return value


cdef inline uint64_t beside_take(Beside* b, size_t n, size_t begin, size_t end, uint64_t value) noexcept:
    """Take n numbers; what the fingerprint `value` is after those from `begin` to `end`."""
    cdef uint64_t[PIECE] piece
    cdef size_t i = 0, count, first, last
    if b.draws:
        return beside_draw(b, n, begin, end, value)
    while i < n:
        count = min(n - i, <size_t>PIECE)
        beside_move(b, piece, count)
        first, last = max(begin, i), min(end, i + count)
        if first < last:
            value = joined(&piece[first - i], last - first, value)
        i += count
    return value


cdef inline void beside_skip(Beside* b, uint64_t draws) noexcept:
    """Leave out that many draws, before the first one."""
    philox_jump(&b.random, draws)


cdef inline bint beside_arrange(Beside* b, const int64_t[::1] places, uint64_t* moved) noexcept:
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
