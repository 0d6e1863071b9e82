"""Decode CSV records into columns in one pass over the bytes. `pipeline.decode.csv` handles unusual or wrong records.

Thread safety: a CsvTable belongs to one call; the records are a Cut, or bytes in a tuple, so they cannot change.
Numbers are read without the GIL.
"""

cimport numpy as cnp
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.mem cimport PyMem_Free, PyMem_Malloc, PyMem_Realloc
from cpython.object cimport PyObject
from libc.string cimport memchr, memcmp, memcpy, memset

from fields cimport (
    BOOL, FLOAT32, FLOAT64, INT32, INT64, SKIPPED, STRING, UINT64, CsvColumn, FieldText, read_number, read_short
)
from powers cimport find_powers
from texts cimport text_or_bytes

cnp.import_array()
find_powers()

cdef extern from *:  # macros for object fields: they take no reference and need no GIL
    """
    static inline PyObject* item_of(PyObject* items, Py_ssize_t index) { return PyTuple_GET_ITEM(items, index); }
    static inline const char* text_of(PyObject* line) { return PyBytes_AS_STRING(line); }
    static inline Py_ssize_t size_of(PyObject* line) { return PyBytes_GET_SIZE(line); }
    static inline int are_bytes(PyObject* line) { return PyBytes_Check(line); }
    """
    PyObject* item_of(PyObject* items, Py_ssize_t index) noexcept nogil
    const char* text_of(PyObject* line) noexcept nogil
    Py_ssize_t size_of(PyObject* line) noexcept nogil
    bint are_bytes(PyObject* line) noexcept nogil

cdef dict KINDS = {
    (c"f", 4): FLOAT32, (c"f", 8): FLOAT64, (c"i", 4): INT32, (c"i", 8): INT64, (c"u", 8): UINT64,
    (c"b", 1): BOOL
}

cdef enum:
    AT_ONCE = 4096  # records to scan before making their strings: 24 bytes each per string column
    SLOWLY = 32     # records to read singly after finding a number that is not short
    MOST = 0x3FFFFFFFFFFFFFFF  # maximum records, without arrays to limit them
    RELEASE = 512   # fields; for fewer, releasing the GIL costs more than reading


cdef struct RecordSpan:     # one record
    const char* text
    Py_ssize_t size


cdef inline const char* closing_quote(const char* at, const char* end, FieldText* piece) noexcept nogil:
    """Return the closing quote for a field opened before `at`, or NULL. Only a string may have quotes inside."""
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
    """Return where a record from `at` ends: at a line feed outside quotes, or NULL if there is none."""
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


cdef class Cut:
    """Records cut from a text: a sequence of bytes objects, made on access.

    Args:
        text: The text.

    Attributes:
        lines: Line count of the cut part; 0 in a slice.
    """

    cdef bytes text
    cdef RecordSpan* spans
    cdef Py_ssize_t count, room
    cdef readonly Py_ssize_t lines

    def __cinit__(self, bytes text not None):
        self.text = text

    def __dealloc__(self):
        PyMem_Free(self.spans)

    cdef int grow(self) except -1:
        """Double the capacity."""
        cdef Py_ssize_t room = max(64, 2 * self.room)
        cdef RecordSpan* spans = <RecordSpan*>PyMem_Realloc(self.spans, room * sizeof(RecordSpan))
        if spans is NULL:
            raise MemoryError()
        self.spans, self.room = spans, room
        return 0

    def __len__(self):
        return self.count

    def __getitem__(self, key):
        cdef Py_ssize_t begin, end, step
        cdef Cut part
        if isinstance(key, slice):
            begin, end, step = key.indices(self.count)
            if step != 1:
                raise ValueError(f"expected a slice of neighbouring records, got one with the step {step}")
            part = Cut(self.text)
            while part.room < end - begin:
                part.grow()
            part.count = max(0, end - begin)
            if part.count:
                memcpy(part.spans, self.spans + begin, part.count * sizeof(RecordSpan))
            return part
        begin = key
        if begin < 0:
            begin += self.count
        if not 0 <= begin < self.count:
            raise IndexError(f"there is no record {key}: there are {self.count}")
        return PyBytes_FromStringAndSize(self.spans[begin].text, self.spans[begin].size)

    def offset(self, Py_ssize_t index):
        """Return a record's offset in the text."""
        if not 0 <= index < self.count:
            raise IndexError(f"there is no record {index}: there are {self.count}")
        return self.spans[index].text - <const char*>self.text


cdef Py_ssize_t line_ends(const char* at, const char* end) noexcept nogil:
    """Return the line feed count."""
    cdef Py_ssize_t count = 0
    while at < end:
        at = <const char*>memchr(at, b'\n', end - at)
        if at is NULL:
            break
        count += 1
        at += 1
    return count


def cut_records(
    bytes text not None, Py_ssize_t begin, Py_ssize_t end, bytes delim not None, bint quotes, bint last,
    Py_ssize_t most, bytes comment not None=b""
):
    """Cut a text into records: lines without their ends, except that line ends in quotes are part of a record.

    Args:
        text: The text.
        begin, end: The range to cut; it starts with a record.
        delim: The byte between fields.
        quotes: True if fields may be quoted.
        last: True if the text ends here: then an unterminated record counts too.
        most: Maximum number of records to cut.
        comment: The first byte in lines to leave out; empty for none.

    Returns:
        A Cut with the records, except empty ones, and the text offset after the last cut record.
    """
    if not 0 <= begin <= end <= len(text):
        raise IndexError(f"expected a part of a text of {len(text)} bytes, got bytes {begin} to {end}")
    cdef Py_ssize_t size
    cdef const char* start = text
    cdef const char* at = start + begin
    cdef const char* past = start + end
    cdef const char* stop
    cdef Cut records = Cut(text)
    cdef bint quoted = quotes and memchr(at, b'"', past - at) is not NULL
    cdef int noted = <unsigned char>comment[0] if comment else -1
    cdef bint note
    while at < past and most > 0:
        note = <unsigned char>at[0] == noted
        stop = record_end(at, past, delim[0], quoted and not note)
        if stop is NULL:
            if not last:
                break
            stop = past
        else:
            records.lines += 1
        size = stop - at
        if size and at[size - 1] == b'\r':
            size -= 1
        if size and not note:
            if records.count == records.room:
                records.grow()
            records.spans[records.count] = RecordSpan(at, size)
            records.count += 1
            most -= 1
        at = min(stop + 1, past)
    if quoted:  # there may be more within quotes
        records.lines = line_ends(start + begin, at)
    return records, at - start


cdef inline RecordSpan span_of(PyObject* lines, const RecordSpan* spans, Py_ssize_t i) noexcept nogil:
    """Return record i, from spans or otherwise from a tuple; an item that is not bytes has no field."""
    if spans is not NULL:
        return spans[i]
    if not are_bytes(item_of(lines, i)):
        return RecordSpan(NULL, 0)
    return RecordSpan(text_of(item_of(lines, i)), size_of(item_of(lines, i)))


cdef class CsvTable:
    """Columns to fill from records.

    Args:
        arrays: One contiguous array per column with an entry per record: float32, float64, int32, int64, uint64, bool
            or object. None skips the column.
        defaults: Each column's value for a missing field, a scalar with its dtype or bytes; None if there is none.
        delim: The byte between fields.
        quotes: True if fields may be quoted.
        na: Text for a missing field, in addition to the empty text.
        exact: True if a record with more fields is unusual.
        lenient: True if a field without an opening quote may contain quotes.
        texts: String columns to decode to str rather than bytes; None for none. A field that is not UTF-8 stays bytes.
    """

    cdef CsvColumn* columns
    cdef Py_ssize_t width, na_size
    cdef Py_ssize_t room        # records that fit in all arrays
    cdef bint exact, quotes, strings, quick
    cdef list arrays, defaults, texts
    cdef bytes na
    cdef char delim
    cdef bint stops[256]  # bytes that end a field, or are not allowed in it

    def __cinit__(
        self, list arrays not None, list defaults not None, bytes delim not None, bint quotes, bytes na not None,
        bint exact, bint lenient=False, texts=None
    ):
        cdef Py_ssize_t i
        if len(arrays) != len(defaults):
            raise ValueError(f"CsvTable: expected a default for each of {len(arrays)} columns, got {len(defaults)}")
        self.texts = [False] * len(arrays) if texts is None else list(texts)
        if len(self.texts) != len(arrays):
            raise ValueError(f"CsvTable: expected texts for each of {len(arrays)} columns, got {len(self.texts)}")
        self.arrays, self.defaults, self.na, self.exact = arrays[:], defaults[:], na, exact
        self.room = MOST
        self.delim, self.quotes, self.width, self.na_size = delim[0], quotes, len(arrays), len(na)
        memset(self.stops, 0, sizeof(self.stops))
        for byte in delim + b'\r\n"'[:2 + (quotes and not lenient)]:
            self.stops[byte] = True
        self.quick = self.width > 0
        self.columns = <CsvColumn*>PyMem_Malloc(self.width * sizeof(CsvColumn))
        if self.columns is NULL:
            raise MemoryError()
        memset(self.columns, 0, self.width * sizeof(CsvColumn))
        for i in range(self.width):
            if self.arrays[i] is not None:
                self.describe(&self.columns[i], self.arrays[i], self.defaults[i])
            self.quick &= self.columns[i].quick

    cdef int describe(self, CsvColumn* column, cnp.ndarray array, default) except -1:
        cdef bytes raw
        cdef char kind = (<cnp.dtype>cnp.PyArray_DESCR(array)).kind
        if cnp.PyArray_NDIM(array) != 1 or not cnp.PyArray_ISCARRAY(array):
            raise ValueError(f"CsvTable: expected contiguous arrays that can be written to, got {array!r:.80}")
        self.room = min(self.room, cnp.PyArray_DIM(array, 0))
        column.kind = STRING if kind == c"O" else KINDS[kind, cnp.PyArray_ITEMSIZE(array)]
        column.optional = default is not None
        column.quick = column.kind != STRING and (
            not self.na or self.na[:1] not in (b"01tTfF" if column.kind == BOOL else b"-0123456789")
        )
        if column.kind == STRING:
            self.strings = True
            column.pieces = <FieldText*>PyMem_Malloc(AT_ONCE * sizeof(FieldText))
            if column.pieces is NULL:
                raise MemoryError()
            return 0
        column.size, column.out = array.itemsize, cnp.PyArray_BYTES(array)
        if default is not None:
            raw = default.tobytes()
            if raw is None or len(raw) != column.size:
                raise ValueError(f"CsvTable: expected a default of dtype {array.dtype}, got {default!r:.80}")
            memcpy(column.default, <const char*>raw, column.size)
        return 0

    def __dealloc__(self):
        cdef Py_ssize_t i
        if self.columns is not NULL:
            for i in range(self.width):
                PyMem_Free(self.columns[i].pieces)
            PyMem_Free(self.columns)

    def fill(self, records not None, Py_ssize_t first):
        """Read records from index `first` on; return the first unusual record's index, or the record count.

        Args:
            records: A Cut, or a tuple with bytes.
            first: A record index.

        Raises:
            IndexError: `first` is negative, or there are more records than array entries.
        """
        cdef Py_ssize_t count = len(records), last, done
        if first < 0 or count > self.room:
            raise IndexError(f"CsvTable.fill: expected at most {self.room} records, got {first} to {count}")
        cdef tuple lines = None if type(records) is Cut else records
        cdef const RecordSpan* spans = (<Cut>records).spans if lines is None else NULL
        while first < count:
            last = min(first + AT_ONCE, count) if self.strings else count
            if (last - first) * self.width >= RELEASE:
                with nogil:
                    done = self.read(<PyObject*>lines, spans, first, last)
            else:
                done = self.read(<PyObject*>lines, spans, first, last)
            self.make_strings(first, done)
            first = done
            if done < last:
                break
        return first

    cdef Py_ssize_t read(
        self, PyObject* lines, const RecordSpan* spans, Py_ssize_t first, Py_ssize_t last
    ) noexcept nogil:
        """Read some records; return the first unusual one's index, or `last`."""
        cdef RecordSpan one, other
        cdef Py_ssize_t i = first
        cdef Py_ssize_t quick = first if self.quick else last  # from this record on, two are read at once
        while i < last:
            one = span_of(lines, spans, i)
            if quick <= i < last - 1:
                other = span_of(lines, spans, i + 1)
                if self.read_two(one.text, one.text + one.size, other.text, other.text + other.size, i):
                    i += 2
                    continue
                quick = i + SLOWLY
            if not self.read_record(one.text, one.text + one.size, i, i - first):
                return i
            i += 1
        return last

    cdef inline bint read_two(
        self, const char* one, const char* one_end, const char* other, const char* other_end, Py_ssize_t index
    ) noexcept nogil:
        """Read two records with short numbers, alternating fields: a record's next field starts only after a number is
        read, so a processor can overlap two records. Return False if they contain anything else."""
        cdef Py_ssize_t i
        for i in range(self.width):
            if i:
                one += 1
                other += 1
            if one >= one_end or other >= other_end:
                return False
            one = read_short(one, one_end, &self.columns[i], index)
            other = read_short(other, other_end, &self.columns[i], index + 1)
            if one is NULL or other is NULL:
                return False
            if i + 1 < self.width and (one == one_end or one[0] != self.delim or other == other_end
                                       or other[0] != self.delim):
                return False
        return one == one_end and other == other_end

    cdef inline bint read_record(
        self, const char* at, const char* end, Py_ssize_t index, Py_ssize_t piece
    ) noexcept nogil:
        """Read one record; return False if it is unusual."""
        cdef Py_ssize_t i
        cdef CsvColumn* column
        cdef const char* rest
        if at == end:  # no field, rather than an empty one
            return False
        for i in range(self.width):
            if i:
                if at == end or at[0] != self.delim:
                    return False
                at += 1
            column = &self.columns[i]
            rest = NULL
            if column.quick and at < end:
                rest = read_short(at, end, column, index)
            if rest is NULL or (rest != end and rest[0] != self.delim):
                rest = self.read_field(at, end, column, index, piece)
                if rest is NULL:
                    return False
            at = rest
        return at == end or (not self.exact and at[0] == self.delim)

    cdef inline const char* read_field(
        self, const char* at, const char* end, CsvColumn* column, Py_ssize_t index, Py_ssize_t piece
    ) noexcept nogil:
        """Read one field; return its end, or NULL if it is unusual."""
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
                memcpy(
                    column.out + index * column.size, column.default,
                    8 if column.size == 8 else 4 if column.size == 4 else 1
                )
        elif column.kind > STRING:
            return rest if read_number(at, end, column, index) == end else NULL
        else:
            column.pieces[piece].text, column.pieces[piece].size = at, end - at
        return rest

    cdef inline const char* field_end(
        self, const char* at, const char* end, bint quoted, FieldText* piece
    ) noexcept nogil:
        """Return a field's end; NULL if a quote or line end is in the wrong place."""
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
        """Return whether an unquoted field starting here is empty or has the text for a missing value."""
        if at == end or at[0] == self.delim:
            return True
        if self.na_size == 0 or end - at < self.na_size or not self.begins_with_na(at):
            return False
        return end - at == self.na_size or at[self.na_size] == self.delim

    cdef inline bint begins_with_na(self, const char* at) noexcept nogil:
        return not memcmp(at, text_of(<PyObject*>self.na), self.na_size)

    cdef int make_strings(self, Py_ssize_t first, Py_ssize_t last) except -1:
        cdef Py_ssize_t i, record
        cdef bint as_text
        cdef object[::1] values
        cdef FieldText* pieces
        for i in range(self.width):
            if self.columns[i].kind == STRING:
                as_text = self.texts[i]
                values, default, pieces = self.arrays[i], self.defaults[i], self.columns[i].pieces
                for record in range(last - first):
                    if pieces[record].text is NULL:
                        values[first + record] = default
                        continue
                    if pieces[record].doubled:
                        text = PyBytes_FromStringAndSize(pieces[record].text, pieces[record].size).replace(b'""', b'"')
                        values[first + record] = text_or_bytes(text, len(text)) if as_text else text
                    elif as_text:
                        values[first + record] = text_or_bytes(pieces[record].text, pieces[record].size)
                    else:
                        values[first + record] = PyBytes_FromStringAndSize(pieces[record].text, pieces[record].size)
        return 0
