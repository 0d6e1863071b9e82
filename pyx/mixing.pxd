"""Mixing: how the ids of elements become the fingerprint of their order."""

from libc.stdint cimport uint64_t

cdef extern from *:
    """
    #include <stdint.h>

    /* The finalizer of splitmix64, with its increment. */
    static constexpr uint64_t pipeline_mixed(uint64_t value) {
        value += 0x9E3779B97F4A7C15;
        value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9;
        value = (value ^ (value >> 27)) * 0x94D049BB133111EB;
        return value ^ (value >> 31);
    }

    /* That of 0, 1, ...: a block of rows then costs an addition for each. */
    static const struct pipeline_mixed_table {
        enum { length = 4096 };
        uint64_t of[length];
        pipeline_mixed_table() {
            for (uint64_t i = 0; i < length; i++) of[i] = pipeline_mixed(i);
        }
    } pipeline_mixed_numbers;

    static inline void pipeline_mix(uint64_t* out, const uint64_t* in, uint64_t base, size_t n) {
        for (size_t i = 0; i < n; i++) out[i] = pipeline_mixed(base + in[i]);
    }
    """
    void mix_sums "pipeline_mix"(uint64_t* out, const uint64_t* numbers, uint64_t base, size_t n) noexcept nogil
    uint64_t mixed "pipeline_mixed"(uint64_t value) noexcept nogil
    const uint64_t* mixed_numbers "pipeline_mixed_numbers.of"
    size_t MIXED "pipeline_mixed_table::length"         # numbers that are mixed ahead

cdef enum:
    STEP = 0x9E3779B97F4A7C15           # of splitmix64; also the factor of the fingerprint


cdef inline uint64_t mixed_number(size_t i) noexcept nogil:
    return mixed_numbers[i] if i < MIXED else mixed(i)


cdef inline uint64_t folded(const uint64_t* ids, Py_ssize_t n, uint64_t value) noexcept nogil:
    """The fingerprint of an order after n more elements."""
    cdef Py_ssize_t i
    for i in range(n):
        value = value * <uint64_t>STEP + mixed(ids[i])
    return value


cdef inline uint64_t joined(const uint64_t* mixed, size_t n, uint64_t value) noexcept nogil:
    """The fingerprint of an order after n more elements with these ids, which are mixed already. Four at a time: each
    product waits for the one before."""
    cdef uint64_t step = STEP
    cdef uint64_t second = step * step, third = second * step, fourth = second * second
    cdef size_t i = 0
    while i + 4 <= n:
        value = value * fourth + (mixed[i] * third + mixed[i + 1] * second + (mixed[i + 2] * step + mixed[i + 3]))
        i += 4
    while i < n:
        value = value * step + mixed[i]
        i += 1
    return value


cdef inline uint64_t base_of(uint64_t first) noexcept nogil:
    """To this, `mixed` of a number is added to make the id of `mixed_id`."""
    return mixed(first) * <uint64_t>STEP


cdef inline void mix_to(uint64_t* out, const uint64_t* numbers, uint64_t base, size_t begin,
                        size_t end) noexcept nogil:
    """Mix these of the numbers, or of those that `mixed_ids` gives from `base_of` their first."""
    cdef size_t i, known = max(begin, min(end, MIXED))
    if numbers != NULL:
        mix_sums(out, &numbers[begin], 0, end - begin)
        return
    if begin < known:
        mix_sums(out, &mixed_numbers[begin], base, known - begin)
    for i in range(known, end):
        out[i - begin] = mixed(base + mixed(i))


cdef inline uint64_t power(uint64_t base, uint64_t exponent) noexcept nogil:
    """A power, without what is beyond 64 bits."""
    cdef uint64_t value = 1
    while exponent:
        if exponent & 1:
            value *= base
        base *= base
        exponent >>= 1
    return value
