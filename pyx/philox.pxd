"""Philox4x32-10, the counter-based generator that TensorFlow seeds its shuffles with.

Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3 (SC 2011).
"""

from libc.stdint cimport uint32_t, uint64_t

cdef enum:
    BLOCK = 4       # words that one counter value gives
    AHEAD = 8       # blocks drawn at once: their rounds overlap in the processor

cdef struct Philox:
    uint32_t[2] key
    uint64_t low        # the 128-bit counter
    uint64_t high
    uint32_t[32] words  # BLOCK * AHEAD words, drawn ahead
    int used


cdef inline void philox_seed(Philox* g, uint64_t seed, uint64_t seed2) noexcept nogil:
    g.key[0] = <uint32_t>seed
    g.key[1] = <uint32_t>(seed >> 32)
    g.low = 0
    g.high = seed2
    g.used = BLOCK * AHEAD


cdef inline void philox_skip(Philox* g, uint64_t blocks) noexcept nogil:
    """Leave out that many blocks; only right where no block has been drawn yet."""
    g.low += blocks
    g.high += g.low < blocks


cdef inline void philox_block(const Philox* g, uint64_t low, uint64_t high, uint32_t* out) noexcept nogil:
    cdef uint32_t c0 = <uint32_t>low, c1 = <uint32_t>(low >> 32)
    cdef uint32_t c2 = <uint32_t>high, c3 = <uint32_t>(high >> 32)
    cdef uint32_t k0 = g.key[0], k1 = g.key[1]
    cdef uint64_t first, second
    cdef int turn
    for turn in range(10):
        first = <uint64_t>0xD2511F53u * c0
        second = <uint64_t>0xCD9E8D57u * c2
        c0 = <uint32_t>(second >> 32) ^ c1 ^ k0
        c1 = <uint32_t>second
        c2 = <uint32_t>(first >> 32) ^ c3 ^ k1
        c3 = <uint32_t>first
        k0 += 0x9E3779B9u
        k1 += 0xBB67AE85u
    out[0] = c0
    out[1] = c1
    out[2] = c2
    out[3] = c3


cdef inline void philox_refill(Philox* g) noexcept nogil:
    cdef int block
    for block in range(AHEAD):
        philox_block(g, g.low, g.high, &g.words[BLOCK * block])
        g.low += 1
        g.high += g.low == 0
    g.used = 0


cdef inline uint32_t philox_next(Philox* g) noexcept nogil:
    if g.used == BLOCK * AHEAD:
        philox_refill(g)
    g.used += 1
    return g.words[g.used - 1]
