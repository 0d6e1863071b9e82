"""Fixed-size rows, addressed by slot number, in chunks that never move.

Chunk 0 holds the slots below `1 << bits`, and each later chunk as many as all earlier ones together. So 33 chunks cover
every 32-bit slot number, finding a slot's chunk takes one count of leading zeros, and memory follows the contents.
"""

from libc.stdint cimport int64_t
from libc.string cimport memcpy

from streaming cimport STREAM_BATCH, stream, streamed
from span cimport CHECKED, RowSpan, Span, fetch, out_of_bounds, slot_t, within

cdef extern from *:
    """
    /* One instruction without a branch: the bits of 2x + 1, which is never 0, minus one. */
    static inline int pipeline_bit_length(unsigned int x) { return 63 - __builtin_clzll(2ull * x + 1); }

    /* Prefetches the first lines of the next row; the processor finds the others. Random rows of 3 KB: 2.7 million/s
       without, 3.0 with it. */
    static inline void pipeline_ahead(const char* row) {
        for (int i = 0; i < 256; i += 64) __builtin_prefetch(row + i);
    }

    enum { pipeline_small = 512 };

    /* Prefetches all lines of a small row, as it rarely starts at a line boundary. */
    static inline __attribute__((always_inline)) void pipeline_fetch_row(const char* row, size_t size) {
        if (size > pipeline_small) size = pipeline_small;
        for (size_t i = 0; i < size; i += 64) __builtin_prefetch(row + i);
        if (size > 16) __builtin_prefetch(row + size - 1);
    }

    /* Copies a row: for common sizes with inline moves instead of a call. */
    static inline __attribute__((always_inline)) void pipeline_move(char* to, const char* from, size_t size) {
        switch (size) {
        case 32: memcpy(to, from, 32); break;
        case 64: memcpy(to, from, 64); break;
        case 128: memcpy(to, from, 128); break;
        default: memcpy(to, from, size);
        }
    }
    """
    void fetch_row "pipeline_fetch_row"(const char* row, size_t size) noexcept nogil
    void move "pipeline_move"(char* to, const char* source, size_t size) noexcept nogil
    int SMALL "pipeline_small"          # maximum row bytes for leaving singly, unless all are neighbours
    int bit_length "pipeline_bit_length"(unsigned int x) noexcept nogil
    void ahead "pipeline_ahead"(const char* row) noexcept nogil

cdef enum:
    CHUNKS = 33
    SOON = 16                   # how many rows ahead to prefetch

cdef struct Slab:
    size_t row                  # bytes per row
    size_t[CHUNKS] origin       # chunk address minus the offset of its first slot; 0 for none


cdef inline size_t chunk_first(int bits, int chunk) noexcept nogil:
    """Return a chunk's first slot, which is also the number of slots before it."""
    return (<size_t>1 << (bits + chunk - 1)) if chunk else 0


cdef inline char* slab_row(const Slab* s, int bits, slot_t slot) noexcept nogil:
    """Return the address of a slot's row. With one view per chunk, a shuffled f32[4] block would take 8 % more
    instructions."""
    cdef int chunk = bit_length(slot >> bits)
    if CHECKED and s.origin[chunk] == 0:
        out_of_bounds("a slot in a chunk that has no memory")
    return <char*>(s.origin[chunk] + slot * s.row)


cdef inline size_t run(Span[slot_t] slots, size_t begin, size_t end, int bits) noexcept nogil:
    """Return how many slots from `begin` on are neighbours in memory."""
    cdef slot_t first = slots[begin]
    cdef size_t i = begin + 1, border = chunk_first(bits, bit_length(first >> bits) + 1)
    while i < end and slots[i] == first + (i - begin) and slots[i] < border:
        i += 1
    return i - begin


cdef inline bint neighbours(Span[slot_t] slots, size_t n, int bits) noexcept nogil:
    """Return whether the first n slots are neighbours in memory, as when rows leave in order: 20 ns for 128 slots."""
    cdef slot_t first = slots[0], last = slots[n - 1], different = 0
    cdef size_t i
    if last - first != n - 1 or bit_length(first >> bits) != bit_length(last >> bits):
        return False
    for i in range(n):
        different |= slots[i] ^ (first + <slot_t>i)
    return different == 0


cdef inline void copy_in(const Slab* s, int bits, slot_t slot, RowSpan rows, size_t at,
                         size_t n) noexcept nogil:
    """Copy n rows into n neighbouring slots."""
    within(rows.at(at + n - 1))
    memcpy(slab_row(s, bits, slot), rows.at(at), n * s.row)


cdef inline void copy_out(const Slab* s, int bits, slot_t slot, RowSpan rows, size_t at, size_t n) noexcept nogil:
    within(rows.at(at + n - 1))
    memcpy(rows.at(at), slab_row(s, bits, slot), n * s.row)


cdef inline void scatter(const Slab* s, int bits, Span[slot_t] slots, size_t n, RowSpan rows, size_t at,
                         size_t size) noexcept nogil:
    """Copy n rows from `at` on into their slots. Given a constant `size`, each row is one move instead of a call."""
    cdef size_t i
    for i in range(n):
        memcpy(slab_row(s, bits, slots[i]), rows.at(at + i), size)


cdef inline void gather(const Slab* s, int bits, Span[slot_t] slots, size_t n, RowSpan rows,
                        size_t size) noexcept nogil:
    cdef size_t i
    for i in range(n):
        memcpy(rows.at(i), slab_row(s, bits, slots[i]), size)


cdef inline void slab_write(const Slab* s, int bits, Span[slot_t] slots, size_t n, RowSpan rows,
                            size_t at) noexcept nogil:
    """Copy n rows from `at` on into their slots."""
    cdef size_t i = 0, length
    if n and s.row <= 16 and neighbours(slots, n, bits):
        copy_in(s, bits, slots[0], rows, at, n)
    elif s.row == 4:
        scatter(s, bits, slots, n, rows, at, 4)
    elif s.row == 8:
        scatter(s, bits, slots, n, rows, at, 8)
    elif s.row == 16:
        scatter(s, bits, slots, n, rows, at, 16)
    else:
        while i < n:
            length = run(slots, i, n, bits)
            if n * s.row >= STREAM_BATCH:
                within(rows.at(at + i + length - 1))
                stream(slab_row(s, bits, slots[i]), rows.at(at + i), length * s.row)
                streamed()
            else:
                copy_in(s, bits, slots[i], rows, at + i, length)
            i += length


cdef inline void pick(const Slab* s, int bits, Span[slot_t] slots, size_t n, RowSpan rows,
                      Span[int64_t] numbers, size_t at, size_t size) noexcept nogil:
    """Copy as `scatter`, for rows selected by the numbers from `at` on: anywhere, so each is prefetched."""
    cdef size_t i, fetched = n - min(n, <size_t>SOON)
    for i in range(fetched):
        fetch_row(rows.at(numbers[at + i + SOON]), size)
        move(slab_row(s, bits, slots[i]), rows.at(numbers[at + i]), size)
    for i in range(fetched, n):
        move(slab_row(s, bits, slots[i]), rows.at(numbers[at + i]), size)


cdef inline void slab_fill(const Slab* s, int bits, Span[slot_t] slots, size_t n, RowSpan rows,
                           Span[int64_t] numbers, size_t at) noexcept nogil:
    """Copy the rows selected by the numbers from `at` on into n slots."""
    if s.row == 4:
        pick(s, bits, slots, n, rows, numbers, at, 4)
    elif s.row == 8:
        pick(s, bits, slots, n, rows, numbers, at, 8)
    elif s.row == 16:
        pick(s, bits, slots, n, rows, numbers, at, 16)
    else:
        pick(s, bits, slots, n, rows, numbers, at, s.row)


cdef inline void gather_far(const Slab* s, int bits, Span[slot_t] slots, size_t n,
                            RowSpan rows) noexcept nogil:
    """Copy as `gather`, for rows longer than a line or two, with prefetching. Looking for neighbours took as long as
    copying a 128-byte row."""
    cdef size_t i
    for i in range(n):
        if i + SOON < n:
            fetch_row(slab_row(s, bits, slots[i + SOON]), s.row)
        move(rows.at(i), slab_row(s, bits, slots[i]), s.row)


cdef inline void slab_read(const Slab* s, int bits, Span[slot_t] slots, size_t n,
                           RowSpan rows) noexcept nogil:
    """Copy the rows out of n slots."""
    cdef size_t i = 0, length
    if n and s.row <= SMALL and neighbours(slots, n, bits):
        copy_out(s, bits, slots[0], rows, 0, n)
    elif s.row == 4:
        gather(s, bits, slots, n, rows, 4)
    elif s.row == 8:
        gather(s, bits, slots, n, rows, 8)
    elif s.row == 16:
        gather(s, bits, slots, n, rows, 16)
    elif s.row <= SMALL:
        gather_far(s, bits, slots, n, rows)
    else:
        while i < n:
            length = run(slots, i, n, bits)
            if i + length < n:
                ahead(slab_row(s, bits, slots[i + length]))
            copy_out(s, bits, slots[i], rows, i, length)
            i += length
