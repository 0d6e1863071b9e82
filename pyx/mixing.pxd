"""Mix a number into a new one, by splitmix64."""

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
    """
    uint64_t mixed "pipeline_mixed"(uint64_t value) noexcept nogil

cdef enum:
    STEP = 0x9E3779B97F4A7C15           # from splitmix64
