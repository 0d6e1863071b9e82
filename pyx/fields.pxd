"""Record fields, and the columns that store them."""

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.string cimport memcpy

from number_text cimport SINGLE_TENS, TENS, Decimal, past_spaces, read_real, read_whole, real_of, short_decimal

cdef enum:
    SURE = 7  # decimal digits that a float holds

cdef enum Kind:
    SKIPPED, STRING, FLOAT32, FLOAT64, BOOL, INT32, INT64, UINT64  # numbers last


cdef struct FieldText:
    const char* text  # NULL for a missing field
    Py_ssize_t size
    bint doubled      # it contains doubled quotes


cdef struct CsvColumn:
    Kind kind
    bint optional     # a missing field has a default
    bint quick        # a field that begins like a number cannot be the text for a missing field
    int size          # bytes per number; 1 for a bool
    char default[8]   # as a number
    char* out         # numbers: address of record 0, untyped because the dtypes vary
    FieldText* pieces     # strings: AT_ONCE entries


cdef inline uint32_t small_letters(const char* text) noexcept nogil:
    """Return four letters, in lower case, as a number."""
    cdef uint32_t word
    memcpy(&word, text, 4)
    return word | 0x20202020


cdef inline const char* read_truth(const char* at, const char* end, char* value) noexcept nogil:
    """Read true, false, 1 or 0; return the end, or NULL."""
    cdef Py_ssize_t size = end - at
    if size == 0:
        return NULL
    if at[0] | 1 == b"1":
        value[0] = at[0] & 1
        return at + 1
    if size < 4:
        return NULL
    value[0] = small_letters(at) == small_letters(b"true")
    if value[0]:
        return at + 4
    if size > 4 and small_letters(at) == small_letters(b"fals") and at[4] | 0x20 == b"e":
        return at + 5
    return NULL


cdef inline const char* read_number(
    const char* at, const char* end, CsvColumn* column, Py_ssize_t index
) noexcept nogil:
    """Read and store a number; return the position after it and any spaces, or NULL."""
    cdef char* out = column.out + index * column.size
    at = past_spaces(at, end)
    if column.kind == FLOAT32:
        at = read_real(at, end, <float*>out)
    elif column.kind == FLOAT64:
        at = read_real(at, end, <double*>out)
    elif column.kind == INT32:
        at = read_whole(at, end, <int32_t*>out)
    elif column.kind == INT64:
        at = read_whole(at, end, <int64_t*>out)
    elif column.kind == UINT64:
        at = read_whole(at, end, <uint64_t*>out)
    else:
        at = read_truth(at, end, out)
    if at is NULL:
        return NULL
    return past_spaces(at, end)


cdef inline bint store_whole(Kind kind, uint64_t number, bint negative, char* out) noexcept nogil:
    """Store an integer whose digit count all integers of this kind can have; return False if it is not one."""
    if kind >= INT64:
        if not negative:
            (<uint64_t*>out)[0] = number
        elif kind == INT64:
            (<int64_t*>out)[0] = -<int64_t>number
        else:
            return False
    elif kind == INT32:
        (<int32_t*>out)[0] = <int32_t>(-<int64_t>number if negative else <int64_t>number)
    elif negative or number > 1:
        return False
    else:
        out[0] = <char>number
    return True


cdef inline const char* read_short(
    const char* at, const char* end, const CsvColumn* column, Py_ssize_t index
) noexcept nogil:
    """Read as `read_number`, only digits or a bool without anything around them; NULL for any other text."""
    cdef char* out = column.out + index * column.size
    cdef bint negative = at[0] == b"-"
    cdef Decimal number
    cdef const char* rest
    cdef float single
    cdef double real
    at += negative
    if at == end:
        return NULL
    rest = short_decimal(at, end, &number)
    if rest is NULL:
        if column.kind != BOOL or negative:
            return NULL
        return read_truth(at, end, out)
    if column.kind <= FLOAT64 and (number.digits > SURE or rest < end and rest[0] | 0x20 == b"e"):
        if column.kind == FLOAT32:
            return real_of(at, rest, end, &number, negative, <float*>out)
        return real_of(at, rest, end, &number, negative, <double*>out)
    if column.kind == FLOAT32:  # exact for seven digits and for these powers of ten: this rounds once
        single = <float><int64_t>number.whole / SINGLE_TENS[number.fraction]
        (<float*>out)[0] = -single if negative else single
    elif column.kind == FLOAT64:
        real = <double><int64_t>number.whole / TENS[number.fraction]
        (<double*>out)[0] = -real if negative else real
    elif number.point or number.digits > (18 if column.kind >= INT64 else 9 if column.kind == INT32 else 1):
        return NULL  # it may be too large
    elif not store_whole(column.kind, number.whole, negative, out):
        return NULL
    return rest
