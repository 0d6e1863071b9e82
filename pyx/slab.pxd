"""Rows of fixed size, addressed by slot number, in chunks that never move.

Chunk 0 holds the slots below `1 << bits`; each chunk after it as many as all before it together. So 33 chunks cover
every 32-bit slot number, the chunk of a slot is one count of leading zeros, and memory follows what is held.
"""

from libc.stdint cimport int64_t
from libc.string cimport memcpy

from orders cimport slot_t
from streaming cimport STREAM_BATCH, stream, streamed

cdef extern from *:
    """
    /* One instruction and no branch: the bits of 2x + 1, which is never 0, less one. */
    static inline int pipeline_bit_length(unsigned int x) { return 63 - __builtin_clzll(2ull * x + 1); }

    /* Ask for the first lines of a row that is copied next; the processor finds the others. Random rows of 3 KB: 2.7
       million/s without, 3.0 with it. */
    static inline void pipeline_ahead(const char* row) {
        for (int i = 0; i < 256; i += 64) __builtin_prefetch(row + i);
    }
    """
    int bit_length "pipeline_bit_length"(unsigned int x) noexcept nogil
    void ahead "pipeline_ahead"(const char* row) noexcept nogil

cdef enum:
    CHUNKS = 33

cdef struct Slab:
    size_t row                  # bytes of one row
    size_t[CHUNKS] origin       # address of a chunk, less the offset of its first slot


cdef inline size_t chunk_first(int bits, int chunk) noexcept nogil:
    """The first slot of a chunk, which is also the number of slots before it."""
    return (<size_t>1 << (bits + chunk - 1)) if chunk else 0


cdef inline char* slab_row(const Slab* s, int bits, slot_t slot) noexcept nogil:
    return <char*>(s.origin[bit_length(slot >> bits)] + slot * s.row)


cdef inline size_t run(const slot_t* slots, size_t n, int bits) noexcept nogil:
    """How many of the first slots are neighbours in memory."""
    cdef size_t length = 1
    cdef size_t end = chunk_first(bits, bit_length(slots[0] >> bits) + 1)
    cdef slot_t following = slots[0] + 1
    while length < n and slots[length] == following and following < end:
        following += 1
        length += 1
    return length


cdef inline bint neighbours(const slot_t* slots, size_t n, int bits) noexcept nogil:
    """Whether all are neighbours in memory, as they are where rows leave in order: 20 ns for 128 of them."""
    cdef slot_t first = slots[0], different = 0
    cdef size_t i
    if slots[n - 1] - first != n - 1 or bit_length(first >> bits) != bit_length(slots[n - 1] >> bits):
        return False
    for i in range(n):
        different |= slots[i] ^ (first + <slot_t>i)
    return different == 0


cdef inline void scatter(const Slab* s, int bits, const slot_t* slots, size_t n, const char* rows,
                         size_t size) noexcept nogil:
    cdef size_t i
    for i in range(n):
        memcpy(slab_row(s, bits, slots[i]), rows + i * size, size)


cdef inline void gather(const Slab* s, int bits, const slot_t* slots, size_t n, char* rows, size_t size) noexcept nogil:
    cdef size_t i
    for i in range(n):
        memcpy(rows + i * size, slab_row(s, bits, slots[i]), size)


cdef inline void slab_write(const Slab* s, int bits, const slot_t* slots, size_t n, const char* rows) noexcept nogil:
    """Copy n rows into their slots. With the size a constant, small rows are one move each and not a call."""
    cdef size_t i = 0, length
    if n and s.row <= 16 and neighbours(slots, n, bits):
        memcpy(slab_row(s, bits, slots[0]), rows, n * s.row)
    elif s.row == 4:
        scatter(s, bits, slots, n, rows, 4)
    elif s.row == 8:
        scatter(s, bits, slots, n, rows, 8)
    elif s.row == 16:
        scatter(s, bits, slots, n, rows, 16)
    else:
        while i < n:
            length = run(slots + i, n - i, bits)
            if n * s.row >= STREAM_BATCH:
                stream(slab_row(s, bits, slots[i]), rows + i * s.row, length * s.row)
                streamed()
            else:
                memcpy(slab_row(s, bits, slots[i]), rows + i * s.row, length * s.row)
            i += length


cdef inline void slab_fill(const Slab* s, int bits, const slot_t* slots, size_t n, const char* rows,
                           const int64_t* numbers) noexcept nogil:
    """Copy the rows of those numbers into n slots."""
    cdef size_t i
    for i in range(n):
        memcpy(slab_row(s, bits, slots[i]), rows + <size_t>numbers[i] * s.row, s.row)


cdef inline void slab_read(const Slab* s, int bits, const slot_t* slots, size_t n, char* rows) noexcept nogil:
    """Copy the rows of n slots out."""
    cdef size_t i = 0, length
    if n and s.row <= 16 and neighbours(slots, n, bits):
        memcpy(rows, slab_row(s, bits, slots[0]), n * s.row)
    elif s.row == 4:
        gather(s, bits, slots, n, rows, 4)
    elif s.row == 8:
        gather(s, bits, slots, n, rows, 8)
    elif s.row == 16:
        gather(s, bits, slots, n, rows, 16)
    else:
        while i < n:
            length = run(slots + i, n - i, bits)
            if i + length < n:
                ahead(slab_row(s, bits, slots[i + length]))
            memcpy(rows + i * s.row, slab_row(s, bits, slots[i]), length * s.row)
            i += length
