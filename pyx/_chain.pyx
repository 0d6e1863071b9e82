"""Apply a chain of scalar arithmetic to an array in one pass: x / 127.5 - 1 reads and writes memory once, and a cast
from uint8 is free. Links may also change colours.
"""

cimport numpy as cnp
from cpython.pystate cimport PyThreadState
from libc.stdint cimport uint8_t

from colours cimport recolour
from gil cimport give_up, take_back

cnp.import_array()

cdef enum:
    LINKS = 16                          # maximum chain length

cdef Py_ssize_t TILE = 3072             # values to take through all links before the next tile: they stay in L1
cdef Py_ssize_t LARGE = 16_384          # values for which releasing the GIL pays

cdef enum:
    ADD, SUBTRACT, SUBTRACT_FROM, MULTIPLY, DIVIDE, DIVIDE_INTO, MINIMUM, MAXIMUM, NOTHING, COUNT
    SATURATE = COUNT, TURN

cdef extern from * nogil:
    """
    #include <array>
    #include <cstddef>
    #include <utility>

    /* Fuses each pair of operations into one loop: a single one takes as long, because it waits for memory. */
    template <int code> static inline float pipeline_link(float x, float number) {
        if constexpr (code == 0) return x + number;
        if constexpr (code == 1) return x - number;
        if constexpr (code == 2) return number - x;
        if constexpr (code == 3) return x * number;
        if constexpr (code == 4) return x / number;
        if constexpr (code == 5) return number / x;
        if constexpr (code == 6) return number < x ? number : x;
        if constexpr (code == 7) return number > x ? number : x;
        return x;
    }
    template <class V, int codes>
    static void pipeline_copied(const V* __restrict from, float* __restrict out, ptrdiff_t size, float a, float b) {
        for (ptrdiff_t i = 0; i < size; i++)
            out[i] = pipeline_link<codes % 9>(pipeline_link<codes / 9>((float)from[i], a), b);
    }
    template <int codes> static void pipeline_in_place(float* out, ptrdiff_t size, float a, float b) {
        for (ptrdiff_t i = 0; i < size; i++)
            out[i] = pipeline_link<codes % 9>(pipeline_link<codes / 9>(out[i], a), b);
    }
    template <class V> using pipeline_copies = std::array<void (*)(const V*, float*, ptrdiff_t, float, float), 81>;
    using pipeline_changes = std::array<void (*)(float*, ptrdiff_t, float, float), 81>;
    template <class V, int... codes>
    static constexpr pipeline_copies<V> pipeline_all_copied(std::integer_sequence<int, codes...>) {
        return {{pipeline_copied<V, codes>...}};
    }
    template <int... codes>
    static constexpr pipeline_changes pipeline_all_in_place(std::integer_sequence<int, codes...>) {
        return {{pipeline_in_place<codes>...}};
    }
    template <class V> static inline void pipeline_copy(int codes, const V* from, float* out, ptrdiff_t size, float a,
                                                        float b) {
        static constexpr auto all = pipeline_all_copied<V>(std::make_integer_sequence<int, 81>());
        all[codes](from, out, size, a, b);
    }
    static inline void pipeline_change(int codes, float* out, ptrdiff_t size, float a, float b) {
        static constexpr auto all = pipeline_all_in_place(std::make_integer_sequence<int, 81>());
        all[codes](out, size, a, b);
    }
    """
    void copy_bytes "pipeline_copy"(
        int codes, const uint8_t* array, float* out, Py_ssize_t size, float a, float b) noexcept
    void copy "pipeline_copy"(int codes, const float* array, float* out, Py_ssize_t size, float a, float b) noexcept
    void change "pipeline_change"(int codes, float* out, Py_ssize_t size, float a, float b) noexcept

cdef extern from "<cmath>" namespace "std" nogil:
    float fmod(float, float)

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
    ("AdjustSaturation", False): SATURATE,
    ("AdjustHue", False): TURN,
}

cdef struct OpChain:
    int count
    int[LINKS + 2] codes                # after the last one, NOTHING
    float[LINKS + 2] numbers


cdef void links(const void* array, bint bytes_, Py_ssize_t size, const OpChain* chain, float* out) noexcept nogil:
    cdef Py_ssize_t begin = 0, length
    cdef int at, code, following
    cdef float number, next_number, turn, scale
    while begin < size:
        length = min(TILE, size - begin)
        at = 0
        while at < chain.count or at == 0:
            code, number = chain.codes[at], chain.numbers[at]
            following, next_number = chain.codes[at + 1], chain.numbers[at + 1]
            if code > NOTHING:
                if at == 0:
                    copy_tile(NOTHING * COUNT + NOTHING, array, bytes_, begin, length, out, 0, 0)
                if following > NOTHING and following != code:   # neither affects the other
                    turn, scale = (number, next_number) if code == TURN else (next_number, number)
                    recolour(out + begin, length // 3, turn, True, scale, out + begin)
                    at += 2
                else:
                    turn = number if code == TURN else 0
                    recolour(out + begin, length // 3, turn, code == SATURATE, number, out + begin)
                    at += 1
                continue
            if following > NOTHING:
                following = NOTHING
            if at == 0:
                copy_tile(code * COUNT + following, array, bytes_, begin, length, out, number, next_number)
            else:
                change(code * COUNT + following, out + begin, length, number, next_number)
            at += 1 if following == NOTHING else 2
        begin += length


cdef inline void copy_tile(
    int codes, const void* array, bint bytes_, Py_ssize_t begin, Py_ssize_t length, float* out, float a, float b
) noexcept nogil:
    if bytes_:
        copy_bytes(codes, <const uint8_t*>array + begin, out + begin, length, a, b)
    else:
        copy(codes, <const float*>array + begin, out + begin, length, a, b)


def chained(array, bytes codes not None, list numbers not None):
    """Apply an operation chain to an array.

    Args:
        array: float32 or uint8.
        codes: The operations, from CODES; at most LONGEST.
        numbers: One number per operation.

    Returns:
        A new float32 array; None if the input is not an array, has another dtype or no axes, or if a colour operation
        does not find three channels.
    """
    cdef OpChain chain
    cdef Py_ssize_t i, size
    cdef int kind
    cdef float zero = 0, six = 6
    cdef const void* data
    cdef float* out
    cdef PyThreadState* state
    if len(codes) > LINKS or len(codes) != len(numbers):
        raise ValueError(
            f"chained: expected at most {LINKS} operations and a number for each, got {len(codes)} and {len(numbers)}")
    if not isinstance(array, cnp.ndarray) or cnp.PyArray_NDIM(<cnp.ndarray>array) == 0:
        return None
    kind = cnp.PyArray_TYPE(<cnp.ndarray>array)
    if kind != cnp.NPY_FLOAT32 and kind != cnp.NPY_UINT8:
        return None
    chain.count = <int>len(codes)
    for i in range(chain.count):
        chain.codes[i], chain.numbers[i] = codes[i], numbers[i]
        if chain.codes[i] == NOTHING or chain.codes[i] > TURN:
            raise ValueError(f"chained: there is no operation {chain.codes[i]}")
        if chain.codes[i] > NOTHING:
            if cnp.PyArray_NDIM(array) < 3 or cnp.PyArray_DIM(array, cnp.PyArray_NDIM(array) - 1) != 3:
                return None
            if chain.codes[i] == TURN:      # in sixths of a full turn, from 0 to 6
                chain.numbers[i] = fmod(chain.numbers[i] * six, six)
                chain.numbers[i] += six if chain.numbers[i] < zero else zero
        elif chain.codes[i] >= MINIMUM and chain.numbers[i] != chain.numbers[i]:
            chain.codes[i] = ADD            # NaN wins in both minimum and maximum
    for i in range(chain.count, LINKS + 2):
        chain.codes[i], chain.numbers[i] = NOTHING, 0
    given = cnp.PyArray_GETCONTIGUOUS(array)
    result = cnp.PyArray_EMPTY(cnp.PyArray_NDIM(given), cnp.PyArray_DIMS(given), cnp.NPY_FLOAT32, 0)
    data, out, size = cnp.PyArray_DATA(given), <float*>cnp.PyArray_DATA(result), cnp.PyArray_SIZE(given)
    state = give_up(size >= LARGE)
    links(data, kind == cnp.NPY_UINT8, size, &chain, out)
    take_back(state)
    return result
