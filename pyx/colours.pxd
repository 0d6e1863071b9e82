"""Hue and saturation for colours [pixels, 3], in any memory."""

cdef extern from "<cmath>" namespace "std" nogil:
    float fabs(float)
    double fabs(double)

cdef enum:
    TILE = 256                          # pixels

cdef extern from * nogil:
    """
    /* Compilers emit minimum and maximum instructions only if they do not know the limits. */
    static volatile float pipeline_unit[] = {0, 1};
    """
    const volatile float* UNIT "pipeline_unit"

ctypedef fused real:
    float
    double


cdef inline real largest(real a, real b, real c) noexcept nogil:
    cdef real two = a if a > b else b
    return two if two > c else c


cdef inline real smallest(real a, real b, real c) noexcept nogil:
    cdef real two = a if a < b else b
    return two if two < c else c


cdef inline real between(real value, real low, real high) noexcept nogil:
    cdef real raised = value if value > low else low
    return raised if raised < high else high


cdef inline void recolour(
    const float* pixels, Py_ssize_t size, float delta, bint scaled, float scale, float* out
) noexcept nogil:
    """Turn the hue by `delta` sixths of a turn, from 0 to 6; multiply the saturation by `scale` if it is `scaled`.

    Each component is the largest one minus a fraction of the component range. The hue determines the fraction, and the
    saturation the range. The result may overwrite the pixels.
    """
    # One step at a time, over as many pixels as stay in L1: all steps at once need more registers than there are.
    cdef float[TILE] reds, greens, blues, hues, highs, ranges
    cdef float one = 1, two = 2, three = 3, four = 4, six = 6, least = 1e-30, low = UNIT[0], full = UNIT[1]
    cdef float red, green, blue, high, spread, norm, hue
    cdef Py_ssize_t begin = 0, count, i, at
    while begin < size:
        count = min(<Py_ssize_t>TILE, size - begin)
        for i in range(count):
            at = 3 * (begin + i)
            reds[i], greens[i], blues[i] = pixels[at], pixels[at + 1], pixels[at + 2]
        for i in range(count):
            red, green, blue = reds[i], greens[i], blues[i]
            high = largest(red, green, blue)
            spread = high - smallest(red, green, blue)
            norm = one / (spread if spread > least else least)
            hue = (blue - red) * norm + two if green == high else (red - green) * norm + four
            hue = ((green - blue) * norm if red == high else hue) + delta
            hue = hue + six if hue < low else hue
            hues[i] = hue - six if hue >= six else hue
            highs[i], ranges[i] = high, spread
        if scaled:
            for i in range(count):
                ranges[i] = between(ranges[i] * scale, low, highs[i] if highs[i] > low else low)
        for i in range(count):
            reds[i] = highs[i] - ranges[i] * between(two - fabs(hues[i] - three), low, full)
            greens[i] = highs[i] - ranges[i] * between(fabs(hues[i] - two) - one, low, full)
            blues[i] = highs[i] - ranges[i] * between(fabs(hues[i] - four) - one, low, full)
        for i in range(count):
            at = 3 * (begin + i)
            out[at], out[at + 1], out[at + 2] = reds[i], greens[i], blues[i]
        begin += count
