"""Read one number from text, rounded once, eight digits at a time."""

from libc.math cimport INFINITY, NAN
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.string cimport memcpy

from powers cimport real, scaled

cdef extern from *:
    """
    #include <cstdint>

    static inline int lowest_byte(uint64_t tops) { return __builtin_ctzll(tops) >> 3; }
    static const float SINGLE_TENS[] = {1e0f, 1e1f, 1e2f, 1e3f, 1e4f, 1e5f, 1e6f, 1e7f};
    static const double TENS[] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
                                  1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19};
    static const uint64_t ZEROS = 0x3030303030303030;
    static const uint64_t WHOLE_TENS[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
    """
    int lowest_byte(uint64_t tops) noexcept nogil
    const float* SINGLE_TENS
    const double* TENS
    const uint64_t* WHOLE_TENS
    const uint64_t ZEROS

ctypedef fused whole:
    int32_t
    int64_t
    uint64_t

cdef enum:
    MOST_DIGITS = 19  # maximum that always fits into 64 bits


cdef struct Decimal:
    uint64_t whole    # all digits as one number
    int64_t digits    # digit count
    int64_t fraction  # digits after the point
    bint point        # True if there is a point


cdef inline uint64_t eight_bytes(const char* at, const char* end) noexcept nogil:
    """Return the next eight bytes, at least one, with the first in the lowest byte; zeros after the end.

    The bytes before a bytes object's text may be read, those after it may not.
    """
    cdef uint64_t word
    if end - at >= 8:
        memcpy(&word, at, 8)
        return word
    memcpy(&word, end - 8, 8)
    return word >> (8 * (8 - (end - at)))


cdef inline uint64_t eight_digits(uint64_t word) noexcept nogil:
    """Return eight digits, the first in the lowest byte, as a number: combined to pairs, to fours, to eight."""
    cdef uint64_t mask = 0x000000FF000000FFULL
    word = word * 10 + (word >> 8)
    word = (word & mask) * (100 + (<uint64_t>1000000 << 32)) + ((word >> 16) & mask) * (1 + (<uint64_t>10000 << 32))
    return word >> 32


cdef inline uint64_t no_digits(uint64_t word) noexcept nogil:
    """Return the top bits of bytes other than 0 to 9: for the first such byte, and for those after a point."""
    return ((word + 0x7676767676767676ULL) | word) & 0x8080808080808080ULL


cdef inline uint64_t last_digits(uint64_t word, int count) noexcept nogil:
    """Return the first digits in a word, one to eight, as a number."""
    return eight_digits(word << (8 * (8 - count)))


cdef inline const char* digits(const char* at, const char* end, Decimal* number) noexcept nogil:
    """Add the digits starting here; return the position after them."""
    cdef uint64_t word, others
    cdef int count
    while at < end:
        word = eight_bytes(at, end) ^ ZEROS
        others = no_digits(word)
        count = lowest_byte(others) if others else 8
        if count == 0:
            break
        number.whole = number.whole * WHOLE_TENS[count] + last_digits(word, count)
        number.digits += count
        at += count
        if count < 8:
            break
    return at


cdef inline const char* long_decimal(const char* at, const char* end, Decimal* number) noexcept nogil:
    number.whole = number.digits = number.fraction = 0
    at = digits(at, end, number)
    number.point = at < end and at[0] == b"."
    if number.point:
        number.fraction = -number.digits
        at = digits(at + 1, end, number)
        number.fraction += number.digits
    return at


cdef inline const char* short_decimal(const char* at, const char* end, Decimal* number) noexcept nogil:
    """Read as `decimal` if there is a leading digit, and a point among the first eight bytes; else NULL. There must be
    at least one byte."""
    cdef uint64_t word = eight_bytes(at, end) ^ ZEROS, before
    cdef uint64_t others = no_digits(word)
    cdef int count = 8, first = 8
    if others & 0x80:
        return NULL
    number.fraction = 0
    number.point = False
    if others:
        count = first = lowest_byte(others)
        number.point = (word >> (8 * count)) & 0xFF == c"." ^ c"0"
    if number.point:
        others &= others - 1
        before = (<uint64_t>1 << (8 * count)) - 1
        word = (word & before) | ((word >> 8) & ~before)
        first = (lowest_byte(others) if others else 8) - 1
        number.fraction = first - count
    number.whole = last_digits(word, first)
    number.digits = first
    at += first + number.point
    if others or at == end:
        return at
    at = digits(at, end, number)
    if number.point:
        number.fraction += number.digits - first
    elif at < end and at[0] == b".":
        return NULL
    return at


cdef inline const char* decimal(const char* at, const char* end, Decimal* number) noexcept nogil:
    """Read consecutive digits, with or without a point among them."""
    cdef const char* rest = NULL
    if at < end:
        rest = short_decimal(at, end, number)
    return long_decimal(at, end, number) if rest is NULL else rest


cdef inline const char* past_spaces(const char* at, const char* end) noexcept nogil:
    while at < end and at[0] == b" ":
        at += 1
    return at


cdef inline const char* past_word(const char* at, const char* end, const char* word) noexcept nogil:
    """Return the position after a word in any case; NULL if it is not there."""
    while word[0] and at < end and at[0] | 0x20 == word[0]:
        at += 1
        word += 1
    if word[0]:
        return NULL
    return at


cdef inline const char* read_name(const char* at, const char* end, bint negative, real* value) noexcept nogil:
    """Read nan, inf or infinity."""
    cdef const char* rest = past_word(at, end, b"nan")
    if rest is not NULL:
        value[0] = <real>(-NAN if negative else NAN)
        return rest
    at = past_word(at, end, b"inf")
    if at is NULL:
        return NULL
    value[0] = <real>(-INFINITY if negative else INFINITY)
    rest = past_word(at, end, b"inity")
    if rest is NULL:
        return at
    return rest


cdef inline bint first_digits(const char* at, Decimal* number) noexcept nogil:
    """Read the first digits again if a word cannot hold all; return whether nonzero digits are left out."""
    cdef bint more = False
    cdef int64_t left = number.digits
    number.digits = 0
    number.whole = 0
    while left:
        if at[0] != b".":
            left -= 1
            if number.digits < MOST_DIGITS:
                number.whole = number.whole * 10 + (at[0] - c"0")
                number.digits += number.whole != 0  # leading zeros do not count
            else:
                number.fraction -= 1
                more |= at[0] != b"0"
        at += 1
    return more


cdef inline const char* read_exponent(const char* at, const char* end, int64_t* power) noexcept nogil:
    """Add the exponent starting here; return the position after it, or NULL if there is none."""
    cdef int64_t exponent = 0
    cdef bint negative = at < end and at[0] == b"-"
    cdef const char* begin
    at += negative or (at < end and at[0] == b"+")
    begin = at
    while at < end and b"0" <= at[0] <= b"9":
        if exponent < <int64_t>1 << 48:  # farther than any text could bring back with its digits
            exponent = exponent * 10 + (at[0] - c"0")
        at += 1
    if at == begin:
        return NULL
    power[0] += -exponent if negative else exponent
    return at


cdef inline const char* read_scaled(
    const char* at, const char* rest, const char* end, Decimal* number, bint negative, real* value
) noexcept nogil:
    """Make a float with many digits, or with an exponent, from the text at `at`; its digits end at `rest`."""
    cdef real above
    cdef bint more = number.digits > MOST_DIGITS and first_digits(at, number)
    cdef int64_t power = -number.fraction
    if rest < end and rest[0] | 0x20 == b"e":
        rest = read_exponent(rest + 1, end, &power)
    if rest is NULL or not scaled(number.whole, power, negative, value):
        return NULL
    if more and not (scaled(number.whole + 1, power, negative, &above) and above == value[0]):
        return NULL  # the omitted digits decide
    return rest


cdef inline bint divided(const Decimal* number, bint negative, real* value) noexcept nogil:
    """Make a float from a few digits; return False if it may not be the nearest one."""
    cdef double found
    cdef uint64_t bits
    if number.digits > MOST_DIGITS or number.whole > <uint64_t>1 << 53:
        return False
    found = <double>number.whole / TENS[number.fraction]  # both are exact, so this rounds once
    if real is float and number.fraction:
        memcpy(&bits, &found, 8)
        if (bits & 0x1FFFFFFF) == 0x10000000 or (found < 2.0 ** -126 and bits):
            return False  # halfway between two floats, or without full precision
    value[0] = <real>(-found if negative else found)
    return True


cdef inline const char* real_of(
    const char* at, const char* rest, const char* end, Decimal* number, bint negative, real* value
) noexcept nogil:
    """Make a float from the digits between `at` and `rest`, and the exponent there; NULL as in `read_real`."""
    if (rest == end or rest[0] | 0x20 != b"e") and divided(number, negative, value):
        return rest
    return read_scaled(at, rest, end, number, negative, value)


cdef inline const char* read_real(const char* at, const char* end, real* value) noexcept nogil:
    """Read a number; return the position after it, or NULL if it is invalid or in a form handled only by Python."""
    cdef Decimal number
    cdef bint negative = at < end and at[0] == b"-"
    cdef const char* rest
    at += negative or (at < end and at[0] == b"+")
    rest = decimal(at, end, &number)
    if number.digits == 0:
        return read_name(at, end, negative, value)
    return real_of(at, rest, end, &number, negative, value)


cdef inline bint twenty_digits(const char* first, uint64_t number) noexcept nogil:
    """Return whether a number with twenty digits, added up in 64 bits, matches its text: it is below 2**64."""
    return first[0] == b"0" or (first[0] == b"1" and number >= 10000000000000000000ULL)


cdef inline const char* read_whole(const char* at, const char* end, whole* value) noexcept nogil:
    """Read an integer; NULL if it is invalid or too large."""
    cdef Decimal number
    cdef uint64_t most = 0x7FFFFFFF if whole is int32_t else 0x7FFFFFFFFFFFFFFFULL
    cdef bint negative = at < end and at[0] == b"-", known
    cdef const char* first = at + negative
    at = decimal(first, end, &number)
    known = number.digits <= MOST_DIGITS
    if whole is uint64_t:
        most = 0 if negative else 0xFFFFFFFFFFFFFFFFULL
        known |= number.digits == MOST_DIGITS + 1 and twenty_digits(first, number.whole)
    else:
        most += negative
    if number.digits == 0 or not known or number.point or number.whole > most:
        return NULL
    value[0] = <whole>(0 - number.whole if negative else number.whole)
    return at
