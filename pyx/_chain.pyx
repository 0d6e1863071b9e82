"""A chain of arithmetic with single numbers, in one pass over an array: x / 127.5 - 1 reads and writes memory once, and
a cast from uint8 costs no pass of its own."""

cimport numpy as cnp
from cpython.pystate cimport PyThreadState
from libc.stdint cimport uint8_t

from gil cimport give_up, take_back

cnp.import_array()

cdef enum:
    LINKS = 16                          # the longest chain

cdef Py_ssize_t TILE = 4096             # values that all links are applied to before the next ones: they stay in L1
cdef Py_ssize_t LARGE = 16_384          # values that pay for letting other threads run

cdef enum:
    ADD, SUBTRACT, SUBTRACT_FROM, MULTIPLY, DIVIDE, DIVIDE_INTO, MINIMUM, MAXIMUM

LONGEST = LINKS
CODES = {
    ("AddV2", False): ADD,
    ("AddV2", True): ADD,
    ("Sub", False): SUBTRACT,
    ("Sub", True): SUBTRACT_FROM,
    ("Mul", False): MULTIPLY,
    ("Mul", True): MULTIPLY,
    ("RealDiv", False): DIVIDE,
    ("RealDiv", True): DIVIDE_INTO,
    ("Minimum", False): MINIMUM,
    ("Minimum", True): MINIMUM,
    ("Maximum", False): MAXIMUM,
    ("Maximum", True): MAXIMUM,
}

cdef struct Chain:
    int count
    int[LINKS] codes
    float[LINKS] numbers

ctypedef fused value:
    uint8_t
    float


cdef void link(float[::1] out, Py_ssize_t begin, Py_ssize_t end, int code, float number) noexcept nogil:
    cdef Py_ssize_t i
    if code == ADD:
        for i in range(begin, end):
            out[i] = out[i] + number
    elif code == SUBTRACT:
        for i in range(begin, end):
            out[i] = out[i] - number
    elif code == SUBTRACT_FROM:
        for i in range(begin, end):
            out[i] = number - out[i]
    elif code == MULTIPLY:
        for i in range(begin, end):
            out[i] = out[i] * number
    elif code == DIVIDE:
        for i in range(begin, end):
            out[i] = out[i] / number
    elif code == DIVIDE_INTO:
        for i in range(begin, end):
            out[i] = number / out[i]
    elif number != number:              # the smaller and the larger of NaN and a number are NaN
        for i in range(begin, end):
            out[i] = number
    elif code == MINIMUM:
        for i in range(begin, end):
            out[i] = number if number < out[i] else out[i]
    else:
        for i in range(begin, end):
            out[i] = number if number > out[i] else out[i]


cdef void links(const value[::1] array, Chain chain, float[::1] out) noexcept nogil:
    cdef Py_ssize_t begin = 0, end, i
    cdef int at
    while begin < array.shape[0]:
        end = min(begin + TILE, array.shape[0])
        for i in range(begin, end):
            out[i] = <float>array[i]
        for at in range(chain.count):
            link(out, begin, end, chain.codes[at], chain.numbers[at])
        begin = end


cdef void apply(const value[::1] array, Chain chain, float[::1] out):
    cdef PyThreadState* state = give_up(array.shape[0] >= LARGE)
    links(array, chain, out)
    take_back(state)


def chained(array, bytes codes not None, list numbers not None):
    """Apply a chain of operations to an array.

    Args:
        array: float32 or uint8.
        codes: The operations, of CODES; at most LONGEST.
        numbers: The number for each.

    Returns:
        A new array of float32; None if the given one has another dtype or no axes, or is no array.
    """
    cdef Chain chain
    cdef Py_ssize_t i
    cdef const uint8_t[::1] bytes_
    cdef const float[::1] floats
    cdef float[::1] flat
    cdef int kind
    if len(codes) > LINKS or len(codes) != len(numbers):
        raise ValueError(f"chained: {len(codes)} operations on {len(numbers)} numbers; at most {LINKS}")
    if not isinstance(array, cnp.ndarray) or cnp.PyArray_NDIM(<cnp.ndarray>array) == 0:
        return None
    kind = cnp.PyArray_TYPE(<cnp.ndarray>array)
    if kind != cnp.NPY_FLOAT32 and kind != cnp.NPY_UINT8:
        return None
    chain.count = <int>len(codes)
    for i in range(chain.count):
        chain.codes[i] = codes[i]
        chain.numbers[i] = numbers[i]
    result = cnp.PyArray_EMPTY(cnp.PyArray_NDIM(array), cnp.PyArray_DIMS(array), cnp.NPY_FLOAT32, 0)
    flat = result.reshape(-1)
    if kind == cnp.NPY_UINT8:
        bytes_ = array.reshape(-1)
        apply(bytes_, chain, flat)
    else:
        floats = array.reshape(-1)
        apply(floats, chain, flat)
    return result
