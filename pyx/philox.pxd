"""Philox4x32-10, the counter-based generator behind TensorFlow's shuffles.

Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3 (SC 2011).
"""

from libc.stdint cimport uint32_t, uint64_t

cdef extern from *:
    """
    #include <stdint.h>

    /* Computes the blocks for eight consecutive counter values. `high` is incremented when `low` wraps. */
    #ifdef __SSE2__
    #include <emmintrin.h>
    /* Two blocks per register, each word in the low half of 64 bits; mul_epu32 ignores the upper half. Four blocks at a
       time stay in the registers. 1.3 ns per word, compared with 2.6 for the plain form: the compiler does not find
       this. */
    static void pipeline_four_blocks(uint64_t low, uint64_t high, uint32_t k0, uint32_t k1, uint32_t* out) {
        const __m128i m0 = _mm_set1_epi64x(0xD2511F53), m1 = _mm_set1_epi64x(0xCD9E8D57);
        __m128i c0[2], c1[2], c2[2], c3[2];
        for (int i = 0; i < 2; i++) {
            const uint64_t first = low + 2 * i, second = first + 1;
            c0[i] = _mm_set_epi64x(second, first);
            c2[i] = _mm_set_epi64x(high + (second < low), high + (first < low));
            c1[i] = _mm_srli_epi64(c0[i], 32);
            c3[i] = _mm_srli_epi64(c2[i], 32);
        }
        #pragma GCC unroll 10
        for (int turn = 0; turn < 10; turn++) {
            const __m128i a = _mm_set1_epi64x(k0), b = _mm_set1_epi64x(k1);
            #pragma GCC unroll 2
            for (int i = 0; i < 2; i++) {
                const __m128i p = _mm_mul_epu32(c0[i], m0), q = _mm_mul_epu32(c2[i], m1);
                c0[i] = _mm_xor_si128(_mm_xor_si128(_mm_srli_epi64(q, 32), c1[i]), a);
                c2[i] = _mm_xor_si128(_mm_xor_si128(_mm_srli_epi64(p, 32), c3[i]), b);
                c1[i] = q;
                c3[i] = p;
            }
            k0 += 0x9E3779B9u;
            k1 += 0xBB67AE85u;
        }
        for (int i = 0; i < 2; i++, out += 8) {
            const int lower = _MM_SHUFFLE(2, 0, 2, 0), upper = _MM_SHUFFLE(3, 1, 3, 1);
            const __m128 x = _mm_shuffle_ps(_mm_castsi128_ps(c0[i]), _mm_castsi128_ps(c1[i]), lower);
            const __m128 y = _mm_shuffle_ps(_mm_castsi128_ps(c2[i]), _mm_castsi128_ps(c3[i]), lower);
            _mm_storeu_ps((float*)out, _mm_shuffle_ps(x, y, lower));
            _mm_storeu_ps((float*)(out + 4), _mm_shuffle_ps(x, y, upper));
        }
    }

    static void pipeline_eight_blocks(uint64_t low, uint64_t high, uint32_t k0, uint32_t k1, uint32_t* out) {
        for (int i = 0; i < 8; i += 4) pipeline_four_blocks(low + i, high + (low + i < low), k0, k1, out + 4 * i);
    }
    #else
    static void pipeline_eight_blocks(uint64_t low, uint64_t high, uint32_t k0, uint32_t k1, uint32_t* out) {
        for (int i = 0; i < 8; i++, out += 4) {
            const uint64_t l = low + i, h = high + (l < low);
            uint32_t c0 = (uint32_t)l, c1 = l >> 32, c2 = (uint32_t)h, c3 = h >> 32, a = k0, b = k1;
            for (int turn = 0; turn < 10; turn++) {
                const uint64_t p = (uint64_t)0xD2511F53u * c0, q = (uint64_t)0xCD9E8D57u * c2;
                c0 = (uint32_t)(q >> 32) ^ c1 ^ a;
                c2 = (uint32_t)(p >> 32) ^ c3 ^ b;
                c1 = (uint32_t)q;
                c3 = (uint32_t)p;
                a += 0x9E3779B9u;
                b += 0xBB67AE85u;
            }
            out[0] = c0;
            out[1] = c1;
            out[2] = c2;
            out[3] = c3;
        }
    }
    #endif

    __extension__ typedef unsigned __int128 pipeline_both_words;
    static inline uint32_t pipeline_high_word(uint64_t a, uint32_t b) {
        return (uint32_t)((pipeline_both_words)a * b >> 64);
    }
    """
    uint32_t high_word "pipeline_high_word"(uint64_t a, uint32_t b) noexcept nogil
    void eight_blocks "pipeline_eight_blocks"(uint64_t low, uint64_t high, uint32_t k0, uint32_t k1,
                                              uint32_t* out) noexcept nogil

cdef enum:
    BLOCK = 4       # words per counter value
    AHEAD = 8       # blocks drawn at once
    WORDS = 32      # and their word count

cdef struct Philox:
    uint32_t[2] key
    uint64_t low        # 128-bit counter
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
    """Skip this many blocks; only valid before any block is drawn."""
    g.low += blocks
    g.high += g.low < blocks


cdef inline void philox_refill(Philox* g) noexcept nogil:
    eight_blocks(g.low, g.high, g.key[0], g.key[1], g.words)
    g.low += AHEAD
    g.high += g.low < AHEAD
    g.used = 0


cdef inline void philox_jump(Philox* g, uint64_t words) noexcept nogil:
    """Skip this many words; only valid before any word is drawn."""
    philox_skip(g, words // BLOCK)
    if words % BLOCK:
        philox_refill(g)
        g.used = words % BLOCK


cdef inline uint32_t philox_next(Philox* g) noexcept nogil:
    if g.used == WORDS:
        philox_refill(g)
    g.used += 1
    return g.words[g.used - 1]


cdef inline int philox_take(Philox* g, size_t most) noexcept nogil:
    """Take consecutive words that end before `words[used]`: at least one, at most `most`. Return the count."""
    cdef int first
    if g.used == WORDS:
        philox_refill(g)
    first = g.used
    g.used += <int>min(<size_t>(WORDS - first), most)
    return g.used - first


# Words modulo a constant count: two products take half the time of a division. Lemire, Kaser, Kurz: Faster remainder by
# direct computation (Software: Practice and Experience 49, 2019).

cdef inline uint64_t philox_fraction(uint32_t count) noexcept nogil:
    """Return 2**64 / count, rounded up, for a count of at least 1; 0 for 1."""
    return <uint64_t>-1 // count + 1


cdef inline uint32_t philox_below(uint32_t word, uint64_t fraction, uint32_t count) noexcept nogil:
    """Return word % count, given the count's `fraction`."""
    return high_word(fraction * word, count)


cdef inline int philox_places(Philox* g, size_t most, uint64_t fraction, uint32_t count,
                              uint32_t* places) noexcept nogil:
    """Draw places below `count`, given its fraction: at least one, at most `most` and WORDS. Return how many."""
    cdef int words = philox_take(g, most), begin = g.used - words, i
    for i in range(words):
        places[i] = philox_below(g.words[begin + i], fraction, count)
    return words
