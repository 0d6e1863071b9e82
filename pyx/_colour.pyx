"""Kernels that change the colours of images: [pixels, 3] in and out, a pixel at a time, without the GIL if there are
many. Where a formula divides by zero, the result is not used.
"""

cdef enum:
    TILE = 256

cdef Py_ssize_t LARGE = 4096            # pixels that pay for letting other threads run

ctypedef fused real:
    float
    double


cdef inline real largest(real a, real b, real c) noexcept nogil:
    cdef real two = a if a > b else b
    return two if two > c else c


cdef inline real smallest(real a, real b, real c) noexcept nogil:
    cdef real two = a if a < b else b
    return two if two < c else c


cdef inline real clipped(real value) noexcept nogil:
    """From 0 to 1."""
    cdef real zero = 0, one = 1         # as a literal, a number would be a double
    cdef real low = value if value > zero else zero
    return low if low < one else one


cdef inline real positive(real value) noexcept nogil:
    cdef real zero = 0
    return value if value > zero else -value


cdef inline real hue_of(real red, real green, real blue, real value, real spread) noexcept nogil:
    """The hue from 0 to 1; 0 for gray."""
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


cdef inline real red_of(real hue) noexcept nogil:
    cdef real one = 1, three = 3, six = 6
    return clipped(positive(hue * six - three) - one)


cdef inline real green_of(real hue) noexcept nogil:
    cdef real two = 2, six = 6
    return clipped(two - positive(hue * six - two))


cdef inline real blue_of(real hue) noexcept nogil:
    cdef real two = 2, four = 4, six = 6
    return clipped(two - positive(hue * six - four))


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
    cdef real hue, saturation, value
    for i in range(pixels.shape[0]):
        hue, saturation, value = pixels[i, 0], pixels[i, 1], pixels[i, 2]
        out[i, 0] = shade(red_of(hue), saturation, value)
        out[i, 1] = shade(green_of(hue), saturation, value)
        out[i, 2] = shade(blue_of(hue), saturation, value)


cdef void saturate(const float[:, ::1] pixels, float scale, float[:, ::1] out) noexcept nogil:
    # A component at a time, of so many pixels as stay in L1: all at once needs more registers than there are.
    cdef float[TILE] reds, greens, blues, hues, values
    cdef float value, spread
    cdef Py_ssize_t begin = 0, count, i
    while begin < pixels.shape[0]:
        count = min(<Py_ssize_t>TILE, pixels.shape[0] - begin)
        for i in range(count):
            reds[i], greens[i], blues[i] = pixels[begin + i, 0], pixels[begin + i, 1], pixels[begin + i, 2]
        for i in range(count):
            value = largest(reds[i], greens[i], blues[i])
            spread = value - smallest(reds[i], greens[i], blues[i])
            hues[i] = hue_of(reds[i], greens[i], blues[i], value, spread)
            reds[i] = clipped(saturation_of(value, spread) * scale)
            values[i] = value
        for i in range(count):          # from here on, reds has the saturation, and becomes red at last
            greens[i] = shade(green_of(hues[i]), reds[i], values[i])
        for i in range(count):
            blues[i] = shade(blue_of(hues[i]), reds[i], values[i])
        for i in range(count):
            reds[i] = shade(red_of(hues[i]), reds[i], values[i])
        for i in range(count):
            out[begin + i, 0], out[begin + i, 1], out[begin + i, 2] = reds[i], greens[i], blues[i]
        begin += count


cdef inline float turned_to(float place, float high, float spread) noexcept nogil:
    """The component of a colour whose hue, from 0 to 18, lies so far from where the component begins to rise."""
    cdef float zero = 0, four = 4, six = 6
    cdef float once = place - (six if place >= six else zero)
    cdef float rest = once - (six if once >= six else zero)
    return high - spread * clipped(rest if rest < four - rest else four - rest)


cdef void turn(const float[:, ::1] pixels, float delta, float[:, ::1] out) noexcept nogil:
    # As in `saturate`.
    cdef float[TILE] reds, greens, blues, hues, highs, spreads
    cdef float high, spread
    cdef float one = 1, three = 3, five = 5, six = 6
    cdef Py_ssize_t begin = 0, count, i
    while begin < pixels.shape[0]:
        count = min(<Py_ssize_t>TILE, pixels.shape[0] - begin)
        for i in range(count):
            reds[i], greens[i], blues[i] = pixels[begin + i, 0], pixels[begin + i, 1], pixels[begin + i, 2]
        for i in range(count):
            high = largest(reds[i], greens[i], blues[i])
            spread = high - smallest(reds[i], greens[i], blues[i])
            hues[i] = hue_of(reds[i], greens[i], blues[i], high, spread) * six + delta
            highs[i], spreads[i] = high, spread
        for i in range(count):
            reds[i] = turned_to(hues[i] + five, highs[i], spreads[i])
        for i in range(count):
            greens[i] = turned_to(hues[i] + three, highs[i], spreads[i])
        for i in range(count):
            blues[i] = turned_to(hues[i] + one, highs[i], spreads[i])
        for i in range(count):
            out[begin + i, 0], out[begin + i, 1], out[begin + i, 2] = reds[i], greens[i], blues[i]
        begin += count


cdef void stretch(
    const float[:, :, ::1] images, Py_ssize_t channels, float factor, double[::1] sums, float[::1] means,
    float[:, :, ::1] out
) noexcept nogil:
    cdef Py_ssize_t b, y, i
    cdef double count = images.shape[1] * images.shape[2] // channels
    for b in range(images.shape[0]):
        sums[:] = 0
        for y in range(images.shape[1]):
            for i in range(images.shape[2]):
                sums[i] = sums[i] + images[b, y, i]
        for i in range(channels, images.shape[2]):
            sums[i % channels] += sums[i]
        for i in range(images.shape[2]):
            means[i] = <float>(sums[i % channels] / count)
        for y in range(images.shape[1]):
            for i in range(images.shape[2]):
                out[b, y, i] = (images[b, y, i] - means[i]) * factor + means[i]


cdef int check_pixels(const real[:, ::1] pixels, real[:, ::1] out) except -1:
    if pixels.shape[1] != 3 or out.shape[1] != 3 or pixels.shape[0] != out.shape[0]:
        raise ValueError("pixels and the result must be [pixels, 3]")
    return 0


def hsv_of_rgb_32(const float[:, ::1] pixels, float[:, ::1] out):
    """Convert red, green and blue to hue, saturation and value, each from 0 to 1."""
    check_pixels(pixels, out)
    if pixels.shape[0] < LARGE:
        to_hsv(pixels, out)
    else:
        with nogil:
            to_hsv(pixels, out)


def hsv_of_rgb_64(const double[:, ::1] pixels, double[:, ::1] out):
    """As `hsv_of_rgb_32`."""
    check_pixels(pixels, out)
    with nogil:
        to_hsv(pixels, out)


def rgb_of_hsv_32(const float[:, ::1] pixels, float[:, ::1] out):
    """Convert hue, saturation and value to red, green and blue."""
    check_pixels(pixels, out)
    if pixels.shape[0] < LARGE:
        to_rgb(pixels, out)
    else:
        with nogil:
            to_rgb(pixels, out)


def rgb_of_hsv_64(const double[:, ::1] pixels, double[:, ::1] out):
    """As `rgb_of_hsv_32`."""
    check_pixels(pixels, out)
    with nogil:
        to_rgb(pixels, out)


def adjust_saturation(const float[:, ::1] pixels, float scale, float[:, ::1] out):
    """Multiply the saturation by `scale`, up to full saturation."""
    check_pixels(pixels, out)
    if pixels.shape[0] < LARGE:
        saturate(pixels, scale, out)
    else:
        with nogil:
            saturate(pixels, scale, out)


def adjust_hue(const float[:, ::1] pixels, float delta, float[:, ::1] out):
    """Turn the hue by `delta` sixths of a turn, from 0 to 6."""
    check_pixels(pixels, out)
    if pixels.shape[0] < LARGE:
        turn(pixels, delta, out)
    else:
        with nogil:
            turn(pixels, delta, out)


def adjust_contrast(
    const float[:, :, ::1] images, Py_ssize_t channels, float factor, double[::1] sums, float[::1] means,
    float[:, :, ::1] out
):
    """Multiply each channel's distance from its mean over the image by `factor`.

    Args:
        images: [batch, height, width * channels].
        channels: Values of a pixel.
        factor: The factor.
        sums, means: [width * channels], of which the kernel makes use.
        out: The result.
    """
    cdef Py_ssize_t values = images.shape[2]
    if channels < 1 or values % channels or sums.shape[0] != values or means.shape[0] != values:
        raise ValueError(f"rows of {values} values, {channels} channels, {sums.shape[0]} and {means.shape[0]} sums")
    if out.shape[0] != images.shape[0] or out.shape[1] != images.shape[1] or out.shape[2] != values:
        raise ValueError("the result must have the shape of the images")
    if images.shape[0] * images.shape[1] * images.shape[2] < 3 * LARGE:
        stretch(images, channels, factor, sums, means, out)
    else:
        with nogil:
            stretch(images, channels, factor, sums, means, out)
