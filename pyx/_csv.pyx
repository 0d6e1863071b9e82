"""CSV records into columns, one look at each byte. What is unusual, or wrong, is left to `pipeline.decode.csv`.

Thread safety: a Table belongs to one call; the records are bytes in a tuple, which nobody can change. Numbers are read
without the GIL.
"""

cimport numpy as cnp
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.object cimport PyObject
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memchr, memcmp, memcpy, memset

from number_text cimport past_spaces, read_real, read_whole
from powers cimport find_powers

cnp.import_array()
find_powers()

cdef extern from *:  # macros that read fields of objects: no reference is taken, and no GIL needed
    """
    static inline PyObject* item_of(PyObject* items, Py_ssize_t index) { return PyTuple_GET_ITEM(items, index); }
    static inline const char* text_of(PyObject* line) { return PyBytes_AS_STRING(line); }
    static inline Py_ssize_t size_of(PyObject* line) { return PyBytes_GET_SIZE(line); }
    """
    PyObject* item_of(PyObject* items, Py_ssize_t index) noexcept nogil
    const char* text_of(PyObject* line) noexcept nogil
    Py_ssize_t size_of(PyObject* line) noexcept nogil

cdef enum Kind:
    SKIPPED, STRING, FLOAT32, FLOAT64, INT32, INT64  # numbers last

cdef dict KINDS = {"float32": FLOAT32, "float64": FLOAT64, "int32": INT32, "int64": INT64, "object": STRING}

cdef enum:
    AT_ONCE = 4096  # records whose strings are found before they are made: 24 bytes each for a column of strings
    RELEASE = 512   # fields; to read fewer costs less than to give the GIL away


cdef struct Piece:
    const char* text  # NULL for a missing field
    Py_ssize_t size
    bint doubled      # it has quotes, each written twice


cdef struct Column:
    Kind kind
    bint optional     # a missing field has a default
    int size          # of a number, in bytes
    char default[8]   # as a number
    char* out         # numbers: where record 0 goes; an address, as there are columns of four dtypes
    Piece* pieces     # strings: AT_ONCE of them


cdef inline const char* closing_quote(const char* at, const char* end, Piece* piece) noexcept nogil:
    """Where the quotes end that were opened before `at`; NULL if nowhere. Only a string may have quotes within."""
    cdef bint doubled = False
    while True:
        at = <const char*>memchr(at, b'"', end - at)
        if at is NULL or at + 1 == end or at[1] != b'"':
            break
        doubled = True
        at += 2
    if piece is not NULL:
        piece.doubled = doubled
    return at


cdef const char* record_end(const char* at, const char* end, char delim, bint quotes) noexcept nogil:
    """Where the record that begins at `at` ends: at a line feed that is not in quotes; NULL if that comes later."""
    if not quotes:
        return <const char*>memchr(at, b'\n', end - at)
    while at < end:
        if at[0] == b'"':
            at = closing_quote(at + 1, end, NULL)
            if at is NULL:
                return NULL
            at += 1
        while at < end and at[0] != delim:
            if at[0] == b'\n':
                return at
            at += 1
        at += 1
    return NULL


def cut_records(
    bytes text not None, Py_ssize_t begin, Py_ssize_t end, bytes delim not None, bint quotes, bint last,
    Py_ssize_t most
):
    """Cut a text into records: lines without their ends, but line ends in quotes are part of a record.

    Args:
        text: The text.
        begin, end: The part of it to cut; it begins with a record.
        delim: The byte between fields.
        quotes: Whether fields may be quoted.
        last: Whether nothing follows: then what has no end is a record too.
        most: How many records to cut at most.

    Returns:
        The records, without empty ones, and where in the text the first one begins that was not cut.
    """
    if not 0 <= begin <= end <= len(text):
        raise IndexError(f"bytes {begin} to {end} of {len(text)}")
    cdef Py_ssize_t size
    cdef const char* start = text
    cdef const char* at = start + begin
    cdef const char* past = start + end
    cdef const char* stop
    cdef list records = []
    cdef bint quoted = quotes and memchr(at, b'"', past - at) is not NULL
    while at < past and most > 0:
        stop = record_end(at, past, delim[0], quoted)
        if stop is NULL:
            if not last:
                break
            stop = past
        size = stop - at
        if size and at[size - 1] == b'\r':
            size -= 1
        if size:
            records.append(PyBytes_FromStringAndSize(at, size))
            most -= 1
        at = min(stop + 1, past)
    return records, at - start


cdef inline const char* read_number(const char* at, const char* end, Column* column, Py_ssize_t index) noexcept nogil:
    """Read a number into its place; returns what comes after it and spaces, or NULL."""
    cdef char* out = column.out + index * column.size
    at = past_spaces(at, end)
    if column.kind == FLOAT32:
        at = read_real(at, end, <float*>out)
    elif column.kind == FLOAT64:
        at = read_real(at, end, <double*>out)
    elif column.kind == INT32:
        at = read_whole(at, end, <int32_t*>out)
    else:
        at = read_whole(at, end, <int64_t*>out)
    if at is NULL:
        return NULL
    return past_spaces(at, end)


cdef class Table:
    """Columns to be filled from records.

    Args:
        arrays: For each column an array with a place for each record: of float32, float64, int32, int64 or object,
            contiguous. None skips the column.
        defaults: The value of a missing field of each column, a scalar of its dtype or bytes; None if there is none.
        delim: The byte between fields.
        quotes: Whether fields may be quoted.
        na: The text of a missing field, besides the empty text.
        exact: Whether a record with more fields is unusual.
    """

    cdef Column* columns
    cdef Py_ssize_t width, na_size
    cdef bint exact, quotes, strings
    cdef list arrays, defaults
    cdef bytes na
    cdef char delim
    cdef bint stops[256]  # bytes that end a field, or must not be in it

    def __cinit__(self, list arrays, list defaults, bytes delim, bint quotes, bytes na, bint exact):
        cdef Py_ssize_t i
        self.arrays, self.defaults, self.na, self.exact = arrays, defaults, na, exact
        self.delim, self.quotes, self.width, self.na_size = delim[0], quotes, len(arrays), len(na)
        memset(self.stops, 0, sizeof(self.stops))
        for byte in delim + b'\r\n"'[:2 + quotes]:
            self.stops[byte] = True
        self.columns = <Column*>PyMem_Malloc(self.width * sizeof(Column))
        if self.columns is NULL:
            raise MemoryError()
        memset(self.columns, 0, self.width * sizeof(Column))
        for i in range(self.width):
            if arrays[i] is not None:
                self.describe(&self.columns[i], arrays[i], defaults[i])

    cdef int describe(self, Column* column, cnp.ndarray array, default) except -1:
        cdef bytes raw
        column.kind, column.optional = KINDS[array.dtype.name], default is not None
        if column.kind == STRING:
            self.strings = True
            column.pieces = <Piece*>PyMem_Malloc(AT_ONCE * sizeof(Piece))
            if column.pieces is NULL:
                raise MemoryError()
            return 0
        column.size, column.out = array.itemsize, cnp.PyArray_BYTES(array)
        if default is not None:
            raw = default.tobytes()
            memcpy(column.default, <const char*>raw, column.size)
        return 0

    def __dealloc__(self):
        cdef Py_ssize_t i
        if self.columns is not NULL:
            for i in range(self.width):
                PyMem_Free(self.columns[i].pieces)
            PyMem_Free(self.columns)

    def fill(self, tuple lines not None, Py_ssize_t first):
        """Read records from number `first` on; returns the number of the first that is unusual, or how many there are.

        Args:
            lines: The records, all of them bytes.
            first: The number of a record.
        """
        cdef Py_ssize_t count = len(lines), last, done
        while first < count:
            last = min(first + AT_ONCE, count) if self.strings else count
            if (last - first) * self.width >= RELEASE:
                with nogil:
                    done = self.read(<PyObject*>lines, first, last)
            else:
                done = self.read(<PyObject*>lines, first, last)
            self.make_strings(first, done)
            first = done
            if done < last:
                break
        return first

    cdef Py_ssize_t read(self, PyObject* lines, Py_ssize_t first, Py_ssize_t last) noexcept nogil:
        """Read some records; returns the number of the first unusual one, or `last`."""
        cdef PyObject* line
        cdef const char* text
        cdef Py_ssize_t i
        for i in range(first, last):
            line = item_of(lines, i)
            text = text_of(line)
            if not self.read_record(text, text + size_of(line), i, i - first):
                return i
        return last

    cdef inline bint read_record(
        self, const char* at, const char* end, Py_ssize_t index, Py_ssize_t piece
    ) noexcept nogil:
        """Read one record; False if it is unusual."""
        cdef Py_ssize_t i
        cdef Column* column
        if at == end:  # it has no field, rather than an empty one
            return False
        for i in range(self.width):
            if i:
                if at == end or at[0] != self.delim:
                    return False
                at += 1
            column = &self.columns[i]
            at = self.read_field(at, end, column, index, piece)
            if at is NULL:
                return False
        return at == end or (not self.exact and at[0] == self.delim)

    cdef inline const char* read_field(
        self, const char* at, const char* end, Column* column, Py_ssize_t index, Py_ssize_t piece
    ) noexcept nogil:
        """Read one field; returns where it ends, or NULL if it is unusual."""
        cdef const char* rest
        cdef bint quoted = self.quotes and at < end and at[0] == b'"'
        if column.kind > STRING and not quoted and not self.is_missing(at, end):
            return read_number(at, end, column, index)
        rest = self.field_end(at, end, quoted, &column.pieces[piece] if column.kind == STRING else NULL)
        if rest is NULL or column.kind == SKIPPED:
            return rest
        end = rest - quoted
        at += quoted
        if at == end or (self.na_size and end - at == self.na_size and self.begins_with_na(at)):
            if not column.optional:
                return NULL
            if column.kind == STRING:
                column.pieces[piece].text = NULL
            else:
                memcpy(column.out + index * column.size, column.default, 8 if column.size == 8 else 4)
        elif column.kind > STRING:
            return rest if read_number(at, end, column, index) == end else NULL
        else:
            column.pieces[piece].text, column.pieces[piece].size = at, end - at
        return rest

    cdef inline const char* field_end(
        self, const char* at, const char* end, bint quoted, Piece* piece
    ) noexcept nogil:
        """Returns where a field ends; NULL if a quote or line end is in the wrong place."""
        if not quoted:
            while at < end and not self.stops[<unsigned char>at[0]]:
                at += 1
            if piece is not NULL:
                piece.doubled = False
            return at if at == end or at[0] == self.delim else NULL
        at = closing_quote(at + 1, end, piece)
        if at is NULL or (at + 1 < end and at[1] != self.delim):
            return NULL
        return at + 1

    cdef inline bint is_missing(self, const char* at, const char* end) noexcept nogil:
        """Whether the field without quotes that begins here is empty, or the text for that."""
        if at == end or at[0] == self.delim:
            return True
        if self.na_size == 0 or end - at < self.na_size or not self.begins_with_na(at):
            return False
        return end - at == self.na_size or at[self.na_size] == self.delim

    cdef inline bint begins_with_na(self, const char* at) noexcept nogil:
        return not memcmp(at, text_of(<PyObject*>self.na), self.na_size)

    cdef int make_strings(self, Py_ssize_t first, Py_ssize_t last) except -1:
        cdef Py_ssize_t i, record
        cdef object[::1] values
        cdef Piece* pieces
        for i in range(self.width):
            if self.columns[i].kind == STRING:
                values, default, pieces = self.arrays[i], self.defaults[i], self.columns[i].pieces
                for record in range(last - first):
                    if pieces[record].text is NULL:
                        values[first + record] = default
                        continue
                    text = PyBytes_FromStringAndSize(pieces[record].text, pieces[record].size)
                    values[first + record] = text.replace(b'""', b'"') if pieces[record].doubled else text
        return 0
