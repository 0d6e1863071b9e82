"""Lockstep draws as arithmetic: compute a pool's contents after any number of draws, without making them.

Element i is the i-th arrival. The pool has places 0 to m, and place m always has the newest arrival: before draw j,
element m + j. So a draw from place p < m leaves element m + j there, and each place holds the element left by the last
draw from it.
"""

from libc.stdint cimport int64_t, uint32_t, uint64_t

from philox cimport (
    AHEAD, WORDS, Philox, philox_below, philox_fraction, philox_jump, philox_next, philox_places, philox_refill,
    philox_seed, philox_skip,
)


cdef inline size_t scan_run(const Philox* g, int used, int64_t newest, uint64_t fraction, int64_t[::1] places,
                            uint64_t[::1] seen) noexcept nogil:
    """Scan a run's first `used` words backwards; `newest` is the arrival at its first draw, `fraction` belongs to the
    place count. Return how many places were seen for the first time."""
    cdef uint32_t m = <uint32_t>places.shape[0], place
    cdef uint64_t bit
    cdef size_t new = 0
    while used:
        used -= 1
        place = philox_below(g.words[used], fraction, m + 1)
        bit = <uint64_t>1 << (place & 63)
        if seen[place >> 6] & bit == 0:
            seen[place >> 6] |= bit
            places[place] = newest + used
            new += 1
    return new


cdef inline void scan_back(uint64_t seed, uint64_t seed2, uint64_t draws, int64_t[::1] places,
                           uint64_t[::1] seen) noexcept nogil:
    """Set the contents of each place below m before draw number `draws`, by scanning back until all places were seen.

    `seen`, initially 0, has one bit per place: for 10**6 places it fits in the cache, and the numbers do not.
    """
    cdef size_t m = places.shape[0], missing = m, i
    cdef uint64_t begin = draws // WORDS * WORDS, fraction = philox_fraction(<uint32_t>(m + 1))
    cdef int used = <int>(draws - begin)
    cdef Philox g
    for i in range(m):
        places[i] = i               # if no draw has taken it
    seen[m >> 6] |= <uint64_t>1 << (m & 63)     # place m is not needed
    while missing:
        if used:
            philox_seed(&g, seed, seed2)
            philox_skip(&g, begin // WORDS * AHEAD)
            philox_refill(&g)
            missing -= scan_run(&g, used, m + begin, fraction, places, seen)
        if begin == 0:
            break
        begin -= WORDS
        used = WORDS


cdef inline int64_t draw_last(int64_t[::1] places, size_t count, Philox* g) noexcept nogil:
    """Draw from `count` places that are not refilled: the last one moves into the hole."""
    cdef size_t place = philox_next(g) % <uint32_t>count
    cdef int64_t number = places[place]
    places[place] = places[count - 1]
    return number
