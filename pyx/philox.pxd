"""Philox4x32-10, the counter-based generator that TensorFlow seeds its shuffles with.

Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3 (SC 2011).
"""

from libc.stdint cimport uint32_t, uint64_t

cdef enum:
    BLOCK = 4       # words that one counter value gives
    AHEAD = 8       # blocks drawn at once
    WORDS = 32      # and their words

cdef struct Philox:
    uint32_t[2] key
    uint64_t low        # the 128-bit counter
    uint64_t high
    uint32_t[32] words  # WORDS words, drawn ahead
    int used


cdef inline void philox_seed(Philox* g, uint64_t seed, uint64_t seed2) noexcept nogil:
    g.key[0] = <uint32_t>seed
    g.key[1] = <uint32_t>(seed >> 32)
    g.low = 0
    g.high = seed2
    g.used = WORDS


cdef inline void philox_skip(Philox* g, uint64_t blocks) noexcept nogil:
    """Leave out that many blocks; only right where no block has been drawn yet."""
    g.low += blocks
    g.high += g.low < blocks


cdef inline void philox_refill(Philox* g) noexcept nogil:
    """Draw AHEAD blocks side by side, a lane each: the compiler turns every inner loop into vector instructions."""
    cdef uint32_t[8] c0, c1, c2, c3
    cdef uint64_t first, second
    cdef uint32_t k0 = g.key[0], k1 = g.key[1], kept0, kept1
    cdef int turn, lane
    for lane in range(AHEAD):
        c0[lane] = <uint32_t>g.low
        c1[lane] = <uint32_t>(g.low >> 32)
        c2[lane] = <uint32_t>g.high
        c3[lane] = <uint32_t>(g.high >> 32)
        g.low += 1
        g.high += g.low == 0
    for turn in range(10):
        for lane in range(AHEAD):
            first = <uint64_t>0xD2511F53u * c0[lane]
            second = <uint64_t>0xCD9E8D57u * c2[lane]
            kept0 = <uint32_t>first
            kept1 = <uint32_t>second
            c0[lane] = <uint32_t>(second >> 32) ^ c1[lane] ^ k0
            c2[lane] = <uint32_t>(first >> 32) ^ c3[lane] ^ k1
            c1[lane] = kept1
            c3[lane] = kept0
        k0 += 0x9E3779B9u
        k1 += 0xBB67AE85u
    for lane in range(AHEAD):
        g.words[BLOCK * lane] = c0[lane]
        g.words[BLOCK * lane + 1] = c1[lane]
        g.words[BLOCK * lane + 2] = c2[lane]
        g.words[BLOCK * lane + 3] = c3[lane]
    g.used = 0


cdef inline uint32_t philox_next(Philox* g) noexcept nogil:
    if g.used == WORDS:
        philox_refill(g)
    g.used += 1
    return g.words[g.used - 1]
