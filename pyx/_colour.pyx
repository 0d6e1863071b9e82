"""Kernels for changing image colours: [pixels, 3] in and out, one pixel at a time, without the GIL if there are many.
Results of a division by zero are not used.
"""

from cpython.pystate cimport PyThreadState
from libc.stdlib cimport free, malloc

from colours cimport UNIT, between, fabs, largest, real, recolour, smallest
from gil cimport give_up, take_back

cdef Py_ssize_t LARGE = 4096            # pixels for which releasing the GIL pays


cdef inline real hue_of(real red, real green, real blue, real value, real spread) noexcept nogil:
    """Return the hue from 0 to 1; 0 for gray."""
    cdef real zero = 0, one = 1, six = 6
    cdef real norm = one / (six * spread)
    cdef real first = norm * (green - blue)
    cdef real second = norm * (blue - red) + <real>(2.0 / 6.0)
    cdef real third = norm * (red - green) + <real>(4.0 / 6.0)
    cdef real hue = second if green == value else third
    hue = first if red == value else hue
    hue = hue if spread > zero else zero
    return hue + one if hue < zero else hue


cdef inline real saturation_of(real value, real spread) noexcept nogil:
    cdef real zero = 0
    cdef real saturation = spread / value
    return saturation if value > zero else zero


cdef inline real shade(real level, real saturation, real value) noexcept nogil:
    cdef real one = 1
    return ((one - saturation) + saturation * level) * value


cdef void to_hsv(const real[:, ::1] pixels, real[:, ::1] out) noexcept nogil:
    cdef Py_ssize_t i
    cdef real red, green, blue, value, spread
    for i in range(pixels.shape[0]):
        red, green, blue = pixels[i, 0], pixels[i, 1], pixels[i, 2]
        value = largest(red, green, blue)
        spread = value - smallest(red, green, blue)
        out[i, 0] = hue_of(red, green, blue, value, spread)
        out[i, 1] = saturation_of(value, spread)
        out[i, 2] = value


cdef void to_rgb(const real[:, ::1] pixels, real[:, ::1] out) noexcept nogil:
    cdef Py_ssize_t i
    cdef real place, saturation, value, low = UNIT[0], high = UNIT[1]
    cdef real one = 1, two = 2, three = 3, four = 4, six = 6    # number literals would be doubles
    for i in range(pixels.shape[0]):
        place, saturation, value = pixels[i, 0] * six, pixels[i, 1], pixels[i, 2]
        out[i, 0] = shade(between(fabs(place - three) - one, low, high), saturation, value)
        out[i, 1] = shade(between(two - fabs(place - two), low, high), saturation, value)
        out[i, 2] = shade(between(two - fabs(place - four), low, high), saturation, value)


cdef void stretch(
    const float[:, :, ::1] images, Py_ssize_t channels, float factor, double* sums, float* means, float[:, :, ::1] out
) noexcept nogil:
    cdef Py_ssize_t b, y, i, values = images.shape[2]
    cdef double count = images.shape[1] * values // channels
    cdef const float* row
    cdef float* made
    for b in range(images.shape[0]):
        for i in range(values):
            sums[i] = 0
        for y in range(images.shape[1]):
            row = &images[b, y, 0]
            for i in range(values):
                sums[i] += row[i]
        for i in range(channels, values):
            sums[i % channels] += sums[i]
        for i in range(channels):
            sums[i] = sums[i] / count
        for i in range(values):
            means[i] = <float>sums[i % channels]
        for y in range(images.shape[1]):
            row, made = &images[b, y, 0], &out[b, y, 0]
            for i in range(values):
                made[i] = (row[i] - means[i]) * factor + means[i]


cdef int check_pixels(const real[:, ::1] pixels, real[:, ::1] out) except -1:
    if pixels.shape[1] != 3 or out.shape[1] != 3 or pixels.shape[0] != out.shape[0]:
        raise ValueError(
            f"expected pixels and a result of shape [pixels, 3], got [{pixels.shape[0]}, {pixels.shape[1]}] and "
            f"[{out.shape[0]}, {out.shape[1]}]")
    return 0


cdef int convert(const real[:, ::1] pixels, real[:, ::1] out, bint back) except -1:
    check_pixels(pixels, out)
    cdef PyThreadState* state = give_up(pixels.shape[0] >= LARGE)
    if back:
        to_rgb(pixels, out)
    else:
        to_hsv(pixels, out)
    take_back(state)
    return 0


def hsv_of_rgb_32(const float[:, ::1] pixels, float[:, ::1] out):
    """Convert red, green and blue to hue, saturation and value, each from 0 to 1."""
    convert(pixels, out, False)


def hsv_of_rgb_64(const double[:, ::1] pixels, double[:, ::1] out):
    """Convert as `hsv_of_rgb_32`."""
    convert(pixels, out, False)


def rgb_of_hsv_32(const float[:, ::1] pixels, float[:, ::1] out):
    """Convert hue, saturation and value to red, green and blue."""
    convert(pixels, out, True)


def rgb_of_hsv_64(const double[:, ::1] pixels, double[:, ::1] out):
    """Convert as `rgb_of_hsv_32`."""
    convert(pixels, out, True)


def adjust_saturation(const float[:, ::1] pixels, float scale, float[:, ::1] out):
    """Multiply the saturation by `scale`, up to full saturation."""
    check_pixels(pixels, out)
    cdef PyThreadState* state = give_up(pixels.shape[0] >= LARGE)
    if pixels.shape[0]:
        recolour(&pixels[0, 0], pixels.shape[0], 0, True, scale, &out[0, 0])
    take_back(state)


def adjust_hue(const float[:, ::1] pixels, float delta, float[:, ::1] out):
    """Turn the hue by `delta` sixths of a turn, from 0 to 6."""
    check_pixels(pixels, out)
    cdef PyThreadState* state = give_up(pixels.shape[0] >= LARGE)
    if pixels.shape[0]:
        recolour(&pixels[0, 0], pixels.shape[0], delta, False, 1, &out[0, 0])
    take_back(state)


def adjust_contrast(const float[:, :, ::1] images, Py_ssize_t channels, float factor, float[:, :, ::1] out):
    """Multiply each channel's distance from its mean over the image by `factor`.

    Args:
        images: [batch, height, width * channels].
        channels: Values per pixel.
        factor: The factor.
        out: The result.
    """
    cdef Py_ssize_t values = images.shape[2]
    cdef double* sums                   # per column of values, followed by the means
    if channels < 1 or values % channels:
        raise ValueError(f"expected rows of whole pixels of {channels} channels, got rows of {values} values")
    if out.shape[0] != images.shape[0] or out.shape[1] != images.shape[1] or out.shape[2] != values:
        raise ValueError(
            f"expected a result of the images' shape [{images.shape[0]}, {images.shape[1]}, {values}], got "
            f"[{out.shape[0]}, {out.shape[1]}, {out.shape[2]}]")
    if not images.shape[0] or not images.shape[1] or not values:
        return
    sums = <double*>malloc(values * (sizeof(double) + sizeof(float)))
    if sums == NULL:
        raise MemoryError()
    cdef PyThreadState* state = give_up(images.shape[0] * images.shape[1] * values >= 3 * LARGE)
    stretch(images, channels, factor, sums, <float*>(sums + values), out)
    take_back(state)
    free(sums)
