"""Mixing: how the ids of elements become the fingerprint of their order."""

from libc.stdint cimport uint64_t

cdef enum:
    STEP = 0x9E3779B97F4A7C15           # of splitmix64; also the factor of the fingerprint


cdef inline uint64_t mixed(uint64_t value) noexcept nogil:
    """The finalizer of splitmix64, with its increment."""
    value += <uint64_t>STEP
    value = (value ^ (value >> 30)) * <uint64_t>0xBF58476D1CE4E5B9
    value = (value ^ (value >> 27)) * <uint64_t>0x94D049BB133111EB
    return value ^ (value >> 31)


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
