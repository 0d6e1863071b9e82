"""Multiply an integer by a power of ten to get a float, rounded once, by Eisel and Lemire's algorithm.

128 bits of the power are enough for every 64-bit number (Mushtak and Lemire, "Fast Number Parsing Without Fallback",
2023). Some C++ libraries cannot read floats, and this takes three quarters of the time of those that can.
"""

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.string cimport memcpy

cdef extern from *:
    """
    #include <cstdint>

    #define LEAST_POWER -342  // 10 to a lower power, times any 64-bit number, is nearer to 0 than to any float
    #define MOST_POWER 308    // 10 to a higher power is larger than any float
    static uint64_t POWERS[MOST_POWER - LEAST_POWER + 1][2];  // the first 128 bits of each, as two words

    __extension__ typedef unsigned __int128 both_words;
    static inline uint64_t product(uint64_t one, uint64_t other, uint64_t* low) {
        both_words all = static_cast<both_words>(one) * other;
        *low = static_cast<uint64_t>(all);
        return static_cast<uint64_t>(all >> 64);
    }
    static inline int leading_zeros(uint64_t word) { return __builtin_clzll(word); }
    """
    enum:
        LEAST_POWER
        MOST_POWER
    uint64_t[2]* POWERS
    uint64_t product(uint64_t one, uint64_t other, uint64_t* low) noexcept nogil
    int leading_zeros(uint64_t word) noexcept nogil

ctypedef fused real:
    float
    double


cdef inline int find_powers() except -1:
    """Fill the table, in half a millisecond.

    10 ** n has the same bits as 5 ** n. They are rounded down, but up for a small divisor, because the quotient may be
    exactly halfway between two floats.
    """
    cdef object five, size, bits  # Python ints, with any size
    cdef int power
    for power in range(LEAST_POWER, MOST_POWER + 1):
        five = pow(<object>5, abs(power))
        size = five.bit_length()
        bits = five << 128 >> size if power >= 0 else (1 << (127 + size)) // five + (power >= -27)
        POWERS[power - LEAST_POWER][0] = bits >> 64
        POWERS[power - LEAST_POWER][1] = bits & 0xFFFFFFFFFFFFFFFF
    return 0


cdef inline void from_bits(uint64_t bits, bint negative, real* value) noexcept nogil:
    cdef uint32_t half
    if real is float:
        half = <uint32_t>bits | <uint32_t>negative << 31
        memcpy(value, &half, 4)
    else:
        bits |= <uint64_t>negative << 63
        memcpy(value, &bits, 8)


cdef inline uint64_t begin_of_product(uint64_t whole, int64_t power, int bits, uint64_t* low) noexcept nogil:
    """Return the first word of whole * 10 ** power, correct in `bits` bits, and the known part of the next word."""
    cdef const uint64_t* factor = POWERS[power - LEAST_POWER]
    cdef uint64_t rest, high = product(whole, factor[0], low)
    cdef uint64_t below = ~<uint64_t>0 >> bits
    if high & below == below:  # the second half of the power may carry into those bits
        rest = low[0] + product(whole, factor[1], &rest)
        high += rest < low[0]
        low[0] = rest
    return high


cdef inline bint scaled(uint64_t whole, int64_t power, bint negative, real* value) noexcept nogil:
    """Set the float nearest to whole * 10 ** power, ties to even; return False if it is too large for a float."""
    cdef int size = 23 if real is float else 52  # fraction bits
    cdef int most = 255 if real is float else 2047  # exponent of infinity
    cdef bint exact = -17 <= power <= 10 if real is float else -4 <= power <= 23  # True if ties are possible
    cdef uint64_t high, low, bits
    cdef int zeros, shift
    cdef int64_t exponent
    if whole == 0 or power < LEAST_POWER:
        from_bits(0, negative, value)
        return True
    if power > MOST_POWER:
        return False
    zeros = leading_zeros(whole)
    high = begin_of_product(whole << zeros, power, size + 3, &low)
    shift = 64 - (size + 3) + <int>(high >> 63)
    bits = high >> shift  # the bits for the float, and one more for rounding
    exponent = (217706 * power >> 16) + 63 + <int>(high >> 63) - zeros + most // 2
    if exponent <= 0:  # subnormal: the fraction has all the bits
        bits = bits >> (1 - exponent) if exponent > -63 else 0
        exponent = 0
        bits = (bits + (bits & 1)) >> 1
    else:
        if exact and low <= 1 and bits & 3 == 1 and bits << shift == high:
            bits -= 1
        bits = ((bits + (bits & 1)) >> 1) - (<uint64_t>1 << size)
    bits += <uint64_t>exponent << size  # a carry out of the fraction correctly increments the exponent
    if bits >> size >= <uint64_t>most:
        return False
    from_bits(bits, negative, value)
    return True
