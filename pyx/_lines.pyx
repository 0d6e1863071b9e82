"""Split text into lines as bytes objects or str, and find line and record offsets in files.

Thread safety: a text is an immutable bytes object; no other thread may change a list during a call.
"""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_CheckExact, PyBytes_FromStringAndSize
from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memchr, memcpy

from texts cimport text_or_bytes

cdef extern from "Python.h":
    PyObject** items_of "PySequence_Fast_ITEMS"(object values)
    Py_ssize_t length_of "PySequence_Fast_GET_SIZE"(object values)


def all_bytes(values not None):
    """Return whether all items in a list or tuple are bytes objects, not subclasses."""
    if type(values) is not list and type(values) is not tuple:
        raise TypeError(f"all_bytes: expected a list or tuple, got {type(values).__name__}")
    cdef PyObject** items = items_of(values)
    cdef Py_ssize_t i
    for i in range(length_of(values)):
        if not PyBytes_CheckExact(<object>items[i]):
            return False
    return True


def first_bytes(values not None):
    """Return the index of the first bytes object in a list; -1 if there is none."""
    if type(values) is not list:
        raise TypeError(f"first_bytes: expected a list, got {type(values).__name__}")
    cdef PyObject** items = items_of(values)
    cdef Py_ssize_t i
    for i in range(length_of(values)):
        if PyBytes_CheckExact(<object>items[i]):
            return i
    return -1


def split_lines(bytes text not None, Py_ssize_t begin, Py_ssize_t end, bint as_text=False):
    r"""Cut part of a text into lines.

    `bytes.split` looks at each byte separately, in 330 instructions for a 64-byte line; this takes 60.

    Args:
        text: The text.
        begin, end: The range to cut: from a line's first byte to the \n after the last line, or to its last byte.
        as_text: True to decode lines to str. Lines that are not UTF-8 stay bytes.

    Returns:
        The lines without their ends: each \n, and one \r before it. There is always at least one, perhaps empty.
    """
    if not 0 <= begin <= end <= len(text):
        raise IndexError(f"expected a part of a text of {len(text)} bytes, got bytes {begin} to {end}")
    cdef const char* at = PyBytes_AS_STRING(text) + begin
    cdef const char* past = PyBytes_AS_STRING(text) + end
    cdef const char* stop
    cdef Py_ssize_t size
    cdef list lines = []
    while True:
        stop = <const char*>memchr(at, b"\n", past - at)
        if stop is NULL:
            stop = past
        size = stop - at
        if size and at[size - 1] == b"\r":
            size -= 1
        lines.append(text_or_bytes(at, size) if as_text else PyBytes_FromStringAndSize(at, size))
        if stop == past:
            return lines
        at = stop + 1


cdef inline bint is_blank(char c) noexcept nogil:
    """Return whether `bytes.strip` removes a character."""
    return c == b" " or b"\t" <= c <= b"\r"


cdef struct Places:
    int64_t* data
    size_t count, room
    bint failed                         # out of memory


cdef inline void add_place(Places* places, int64_t place) noexcept nogil:
    cdef size_t room = 2 * places.room + 512
    cdef int64_t* larger
    if places.count == places.room:
        larger = <int64_t*>realloc(places.data, room * sizeof(int64_t))
        if larger == NULL:
            places.failed = True
            return
        places.data, places.room = larger, room
    places.data[places.count] = place
    places.count += 1


cdef bytes bytes_of(const Places* places):
    if places.failed:
        raise MemoryError("no memory for the places of lines or records")
    return PyBytes_FromStringAndSize(<const char*>places.data, places.count * sizeof(int64_t))


@cython.final
cdef class LineScanner:
    r"""Finds line offsets in a file, given its bytes piece by piece. A line ends with \n.

    Args:
        blanks: True if blank lines count.

    Thread safety: one thread at a time. Calls release the GIL.
    """

    cdef Places begins                  # offsets in the file
    cdef int64_t at                     # bytes received
    cdef int64_t line                   # offset of the incomplete line
    cdef bint empty                     # it has only blanks so far
    cdef bint blanks

    def __cinit__(self, bint blanks, int64_t begin=0):
        self.at = self.line = begin
        self.empty, self.blanks = True, blanks

    def __dealloc__(self):
        free(self.begins.data)

    @property
    def rest(self):
        """Offset of the incomplete line."""
        return self.line

    def add(self, const unsigned char[::1] data not None):
        """Take the next bytes of the file."""
        if data.shape[0]:
            with nogil:
                self.scan(<const char*>&data[0], data.shape[0])

    def finished(self, bint line):
        """Return the line offsets as int64 bytes; `line`: count the incomplete line too."""
        if line and self.line < self.at and (self.blanks or not self.empty):
            add_place(&self.begins, self.line)
        return bytes_of(&self.begins)

    cdef void scan(self, const char* data, Py_ssize_t size) noexcept nogil:
        cdef const char* place = data
        cdef const char* past = data + size
        cdef const char* stop
        while place < past:
            while self.empty and not self.blanks and place < past and is_blank(place[0]) and place[0] != b"\n":
                place += 1
            if place == past:
                break
            if place[0] != b"\n":
                self.empty = False
            stop = <const char*>memchr(place, b"\n", past - place)
            if stop is NULL:
                break
            if self.blanks or not self.empty:
                add_place(&self.begins, self.line)
            place = stop + 1
            self.line, self.empty = self.at + (place - data), True
        self.at += size


@cython.final
cdef class RecordScanner:
    """Finds record offsets in a TFRecord file by looking only at their lengths.

    Thread safety: one thread at a time. Calls release the GIL.
    """

    cdef Places begins
    cdef readonly int64_t next          # offset of the next record
    cdef int64_t size                   # file size

    def __cinit__(self, int64_t size):
        self.size = size

    def __dealloc__(self):
        free(self.begins.data)

    def add(self, const unsigned char[::1] data not None, int64_t at):
        """Take bytes from the file at offset `at`. Return False if a record length exceeds the file."""
        cdef bint fits
        if not data.shape[0] or self.next < at:
            raise ValueError("RecordScanner: expected the bytes at `next`")
        with nogil:
            fits = self.scan(<const char*>&data[0], data.shape[0], at)
        return fits

    def finished(self):
        """Return the record offsets as int64 bytes."""
        return bytes_of(&self.begins)

    cdef bint scan(self, const char* data, Py_ssize_t size, int64_t at) noexcept nogil:
        cdef uint64_t length
        while self.next - at <= size - 8:
            memcpy(&length, data + (self.next - at), 8)
            if length > <uint64_t>self.size or self.next + 16 + <int64_t>length > self.size:
                return False
            add_place(&self.begins, self.next)
            self.next += 16 + <int64_t>length
        return True
