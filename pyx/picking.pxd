"""Copy array rows by index, one after the other."""

from libc.stdint cimport int64_t
from libc.string cimport memcpy

from slab cimport SOON, ahead, fetch_row, move
from span cimport RowSpan, within
from streaming cimport STREAM_BATCH, STREAM_ROW, stream, streamed


cdef inline bint in_order(const int64_t[::1] numbers, Py_ssize_t at, Py_ssize_t n) noexcept nogil:
    """Return whether n > 0 numbers from `at` on are consecutive: 20 ns for 128; a single copy then saves 100."""
    cdef int64_t first = numbers[at], different = 0
    cdef Py_ssize_t i
    if numbers[at + n - 1] - first != n - 1:
        return False
    for i in range(n):
        different |= numbers[at + i] ^ (first + i)
    return different == 0


cdef inline void pick(RowSpan to, RowSpan rows, const int64_t[::1] numbers, Py_ssize_t at,
                      size_t size) noexcept nogil:
    """Copy one row for each in `to`. Rows may be anywhere, so each is prefetched."""
    cdef Py_ssize_t i, n = to.n, fetched = n - min(n, <Py_ssize_t>SOON)
    for i in range(fetched):
        fetch_row(rows.at(numbers[at + i + SOON]), size)
        move(to.at(i), rows.at(numbers[at + i]), size)
    for i in range(fetched, n):
        move(to.at(i), rows.at(numbers[at + i]), size)


cdef inline void pick_large(RowSpan to, RowSpan rows, const int64_t[::1] numbers, Py_ssize_t at,
                            size_t size) noexcept nogil:
    """Copy as `pick`, for rows so long that the processor prefetches their later lines itself. A large batch bypasses
    the caches: 128 images of 150 KB take 7.0 us each this way, and 10.9 through the caches."""
    cdef Py_ssize_t i, n = to.n
    cdef bint past = size >= STREAM_ROW and n * size >= STREAM_BATCH
    for i in range(n):
        if i + 1 < n:
            ahead(rows.at(numbers[at + i + 1]))
        if past:
            stream(to.at(i), rows.at(numbers[at + i]), size)
        else:
            memcpy(to.at(i), rows.at(numbers[at + i]), size)
    if past:
        streamed()


cdef inline void pick_rows(RowSpan to, RowSpan rows, const int64_t[::1] numbers, Py_ssize_t at,
                           size_t size) noexcept nogil:
    """Copy the rows selected by the numbers from `at` on, with `size` bytes each. Given a constant size, the compiler
    turns a small row into one move instead of a call."""
    cdef Py_ssize_t n = to.n
    if n == 0 or size == 0:
        return
    if n * size <= 4 << 20 and in_order(numbers, at, n):
        within(rows.at(numbers[at] + n - 1))
        memcpy(to.at(0), rows.at(numbers[at]), n * size)
    elif size == 4:
        pick(to, rows, numbers, at, 4)
    elif size == 8:
        pick(to, rows, numbers, at, 8)
    elif size == 16:
        pick(to, rows, numbers, at, 16)
    elif size == 1:
        pick(to, rows, numbers, at, 1)
    elif size <= 1024:
        pick(to, rows, numbers, at, size)
    else:
        pick_large(to, rows, numbers, at, size)
