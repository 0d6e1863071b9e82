"""Kernels for resizing images: each result pixel is a single input pixel, or a weighted sum of several. Input positions
and weights are given per axis, so one kernel serves several methods.

Images are [batch, height, width * channels], with each row's values next to each other. The GIL is released if the
result is large.
"""

from cpython.pystate cimport PyThreadState
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc

from gil cimport give_up, take_back

cdef Py_ssize_t LARGE = 16_384          # result values for which releasing the GIL pays

ctypedef fused pixel:
    uint8_t
    float

ctypedef fused bits:
    uint8_t
    uint16_t
    uint32_t
    uint64_t


cdef int check_places(const Py_ssize_t[:, ::1] places, Py_ssize_t size) except -1:
    cdef Py_ssize_t i, j
    for i in range(places.shape[0]):
        for j in range(places.shape[1]):
            if places[i, j] < 0 or places[i, j] >= size:
                raise ValueError(f"expected places from 0 to {size - 1}, got {places[i, j]}")
    return 0


cdef int check_vector(const Py_ssize_t[::1] places, Py_ssize_t size) except -1:
    cdef Py_ssize_t i
    for i in range(places.shape[0]):
        if places[i] < 0 or places[i] >= size:
            raise ValueError(f"expected places from 0 to {size - 1}, got {places[i]}")
    return 0


cdef Py_ssize_t width_of(
    Py_ssize_t batch, Py_ssize_t values, Py_ssize_t channels, Py_ssize_t results, bint side_by_side = True
) except -1:
    """Return the width of images with this many values per row; ValueError if they do not fit."""
    if not side_by_side:
        raise ValueError("expected images whose rows are contiguous, got some with gaps")
    if channels < 1 or values % channels or batch != results:
        raise ValueError(
            f"expected rows of whole pixels of {channels} channels and a result for each of {batch} images, got rows "
            f"of {values} values and {results} results")
    return values // channels


cdef int check_shape(Py_ssize_t have, Py_ssize_t wanted, str what) except -1:
    if have != wanted:
        raise ValueError(f"{what}: expected {wanted} values, got {have}")
    return 0


cdef void copy_nearest(
    const bits[:, :, :] images, const Py_ssize_t[::1] rows, const Py_ssize_t[::1] columns, Py_ssize_t channels,
    bits[:, :, ::1] out
) noexcept nogil:
    cdef Py_ssize_t b, y, x, c
    cdef const bits* row
    cdef const bits* source
    cdef bits* made
    if not columns.shape[0]:
        return
    for b in range(out.shape[0]):
        for y in range(out.shape[1]):
            row, made = &images[b, rows[y], 0], &out[b, y, 0]
            if channels == 3:           # a constant count is unrolled
                for x in range(columns.shape[0]):
                    source = row + 3 * columns[x]
                    made[0], made[1], made[2] = source[0], source[1], source[2]
                    made += 3
            else:
                for x in range(columns.shape[0]):
                    source = row + channels * columns[x]
                    for c in range(channels):
                        made[c] = source[c]
                    made += channels


cdef int nearest(
    const bits[:, :, :] images, const Py_ssize_t[::1] rows, const Py_ssize_t[::1] columns, Py_ssize_t channels,
    bits[:, :, ::1] out
) except -1:
    cdef bint side_by_side = images.strides[2] == sizeof(bits) or images.shape[2] == 1
    check_vector(columns, width_of(images.shape[0], images.shape[2], channels, out.shape[0], side_by_side))
    check_vector(rows, images.shape[1])
    check_shape(out.shape[1], rows.shape[0], "a column of the result")
    check_shape(out.shape[2], columns.shape[0] * channels, "a row of the result")
    cdef PyThreadState* state = give_up(out.shape[0] * out.shape[1] * out.shape[2] >= LARGE)
    copy_nearest(images, rows, columns, channels, out)
    take_back(state)
    return 0


def nearest_8(
    const uint8_t[:, :, :] images, const Py_ssize_t[::1] rows, const Py_ssize_t[::1] columns, Py_ssize_t channels,
    uint8_t[:, :, ::1] out
):
    """Copy the pixels at `rows` and `columns`; each value has 8 bits."""
    nearest(images, rows, columns, channels, out)


def nearest_16(
    const uint16_t[:, :, :] images, const Py_ssize_t[::1] rows, const Py_ssize_t[::1] columns, Py_ssize_t channels,
    uint16_t[:, :, ::1] out
):
    """Copy as `nearest_8`, with 16 bits."""
    nearest(images, rows, columns, channels, out)


def nearest_32(
    const uint32_t[:, :, :] images, const Py_ssize_t[::1] rows, const Py_ssize_t[::1] columns, Py_ssize_t channels,
    uint32_t[:, :, ::1] out
):
    """Copy as `nearest_8`, with 32 bits."""
    nearest(images, rows, columns, channels, out)


def nearest_64(
    const uint64_t[:, :, :] images, const Py_ssize_t[::1] rows, const Py_ssize_t[::1] columns, Py_ssize_t channels,
    uint64_t[:, :, ::1] out
):
    """Copy as `nearest_8`, with 64 bits."""
    nearest(images, rows, columns, channels, out)


cdef inline const float* floats_of(const pixel* row, Py_ssize_t size, float* room) noexcept nogil:
    """Return a row's values as floats, all at once: singly, each would wait for the previous one."""
    cdef Py_ssize_t i
    if pixel is float:
        return row
    else:
        for i in range(size):
            room[i] = <float>row[i]
        return room


cdef void mix_columns(
    const float* row, const Py_ssize_t[:, ::1] columns, const float[::1] beside, Py_ssize_t channels, float* out
) noexcept nogil:
    """Interpolate one image row between the columns `columns[0]` and `columns[1]`."""
    cdef Py_ssize_t x, c
    cdef const float* left
    cdef const float* right
    cdef float red, green, blue, part
    if channels == 3:
        for x in range(columns.shape[1]):
            left, right, part = row + 3 * columns[0, x], row + 3 * columns[1, x], beside[x]
            red, green, blue = left[0], left[1], left[2]
            red = red + (right[0] - red) * part
            green = green + (right[1] - green) * part
            blue = blue + (right[2] - blue) * part
            out[3 * x], out[3 * x + 1], out[3 * x + 2] = red, green, blue
    else:
        for x in range(columns.shape[1]):
            left, right, part = row + channels * columns[0, x], row + channels * columns[1, x], beside[x]
            for c in range(channels):
                out[channels * x + c] = left[c] + (right[c] - left[c]) * part


cdef void mix_rows(
    const float[::1] first, const float[::1] second, float part, float[:, :, ::1] out, Py_ssize_t b, Py_ssize_t y
) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(out.shape[2]):
        out[b, y, i] = first[i] + (second[i] - first[i]) * part


cdef void mix(
    const pixel[:, :, :] images, const Py_ssize_t[:, ::1] rows, const float[::1] below,
    const Py_ssize_t[:, ::1] columns, const float[::1] beside, Py_ssize_t channels, float* room, float[:, ::1] scratch,
    float[:, :, ::1] out
) noexcept nogil:
    cdef Py_ssize_t size = images.shape[2]
    cdef Py_ssize_t b, y, top, bottom, above, under
    cdef Py_ssize_t[2] held             # the image rows in `scratch`
    if not columns.shape[1]:
        return
    for b in range(out.shape[0]):
        held[0] = held[1] = -1
        above, under = 0, 1
        for y in range(out.shape[1]):
            top, bottom = rows[0, y], rows[1, y]
            if held[under] == top:      # the row below the last one is often the one above this one
                above, under = under, above
            if held[above] != top:
                mix_columns(floats_of(&images[b, top, 0], size, room), columns, beside, channels, &scratch[above, 0])
                held[above] = top
            if top == bottom:
                mix_rows(scratch[above], scratch[above], below[y], out, b, y)
                continue
            if held[under] != bottom:
                mix_columns(floats_of(&images[b, bottom, 0], size, room), columns, beside, channels, &scratch[under, 0])
                held[under] = bottom
            mix_rows(scratch[above], scratch[under], below[y], out, b, y)


cdef int bilinear(
    const pixel[:, :, :] images, const Py_ssize_t[:, ::1] rows, const float[::1] below,
    const Py_ssize_t[:, ::1] columns, const float[::1] beside, Py_ssize_t channels, float[:, ::1] scratch,
    float[:, :, ::1] out
) except -1:
    cdef bint side_by_side = images.strides[2] == sizeof(pixel) or images.shape[2] == 1
    check_places(columns, width_of(images.shape[0], images.shape[2], channels, out.shape[0], side_by_side))
    check_places(rows, images.shape[1])
    check_shape(rows.shape[0] + columns.shape[0], 4, "a position")
    check_shape(rows.shape[0], 2, "a row's position")
    check_shape(below.shape[0], rows.shape[1], "below")
    check_shape(beside.shape[0], columns.shape[1], "beside")
    check_shape(out.shape[1], rows.shape[1], "a column of the result")
    check_shape(out.shape[2], columns.shape[1] * channels, "a row of the result")
    check_shape(scratch.shape[0], 2, "a column of the scratch")
    check_shape(scratch.shape[1], out.shape[2], "a row of the scratch")
    cdef float* room = NULL             # for a row of values
    if pixel is not float:
        room = <float*>malloc(images.shape[2] * sizeof(float))
        if room == NULL and images.shape[2]:
            raise MemoryError()
    cdef PyThreadState* state = give_up(out.shape[0] * out.shape[1] * out.shape[2] >= LARGE)
    mix(images, rows, below, columns, beside, channels, room, scratch, out)
    take_back(state)
    free(room)
    return 0


def bilinear_of_bytes(
    const uint8_t[:, :, :] images, const Py_ssize_t[:, ::1] rows, const float[::1] below,
    const Py_ssize_t[:, ::1] columns, const float[::1] beside, Py_ssize_t channels, float[:, ::1] scratch,
    float[:, :, ::1] out
):
    """Interpolate between two rows and two columns.

    Args:
        images: [batch, height, width * channels].
        rows: [2, result height], the rows above and below each position.
        below: Distance of each position below the first row.
        columns, beside: The same, for columns.
        channels: Values per pixel.
        scratch: [2, result width * channels].
        out: The result.
    """
    bilinear(images, rows, below, columns, beside, channels, scratch, out)


def bilinear_of_floats(
    const float[:, :, :] images, const Py_ssize_t[:, ::1] rows, const float[::1] below,
    const Py_ssize_t[:, ::1] columns, const float[::1] beside, Py_ssize_t channels, float[:, ::1] scratch,
    float[:, :, ::1] out
):
    """Interpolate as `bilinear_of_bytes`."""
    bilinear(images, rows, below, columns, beside, channels, scratch, out)


cdef void add_rows(
    const pixel[:, :, ::1] images, Py_ssize_t b, Py_ssize_t y, const Py_ssize_t[:, ::1] rows,
    const float[:, ::1] weights, float[::1] out
) noexcept nogil:
    """Compute the weighted sum of several image rows."""
    cdef Py_ssize_t i, t, row
    cdef float weight
    row, weight = rows[0, y], weights[0, y]
    for i in range(out.shape[0]):
        out[i] = <float>images[b, row, i] * weight
    for t in range(1, rows.shape[0]):
        row, weight = rows[t, y], weights[t, y]
        for i in range(out.shape[0]):
            out[i] = out[i] + <float>images[b, row, i] * weight


cdef void add_columns(
    const float[::1] row, const Py_ssize_t[:, ::1] columns, const float[:, ::1] weights, Py_ssize_t channels,
    float factor, float[:, :, ::1] out, Py_ssize_t b, Py_ssize_t y
) noexcept nogil:
    """Compute the weighted sums of several columns in a row."""
    cdef Py_ssize_t x, t, c, at, source
    cdef float weight, red, green, blue
    if channels == 3:
        for x in range(columns.shape[1]):
            source, weight = 3 * columns[0, x], weights[0, x]
            red, green, blue = row[source] * weight, row[source + 1] * weight, row[source + 2] * weight
            for t in range(1, columns.shape[0]):
                source, weight = 3 * columns[t, x], weights[t, x]
                red = red + row[source] * weight
                green = green + row[source + 1] * weight
                blue = blue + row[source + 2] * weight
            at = 3 * x
            out[b, y, at], out[b, y, at + 1], out[b, y, at + 2] = red * factor, green * factor, blue * factor
    else:
        for x in range(columns.shape[1]):
            at = channels * x
            for c in range(channels):
                red = row[channels * columns[0, x] + c] * weights[0, x]
                for t in range(1, columns.shape[0]):
                    red = red + row[channels * columns[t, x] + c] * weights[t, x]
                out[b, y, at + c] = red * factor


cdef void add(
    const pixel[:, :, ::1] images, const Py_ssize_t[:, ::1] rows, const float[:, ::1] row_weights,
    const Py_ssize_t[:, ::1] columns, const float[:, ::1] column_weights, Py_ssize_t channels, float factor,
    float[::1] scratch, float[:, :, ::1] out
) noexcept nogil:
    cdef Py_ssize_t b, y
    for b in range(out.shape[0]):
        for y in range(out.shape[1]):
            add_rows(images, b, y, rows, row_weights, scratch)
            add_columns(scratch, columns, column_weights, channels, factor, out, b, y)


cdef int weighted(
    const pixel[:, :, ::1] images, const Py_ssize_t[:, ::1] rows, const float[:, ::1] row_weights,
    const Py_ssize_t[:, ::1] columns, const float[:, ::1] column_weights, Py_ssize_t channels, float factor,
    float[::1] scratch, float[:, :, ::1] out
) except -1:
    check_places(columns, width_of(images.shape[0], images.shape[2], channels, out.shape[0]))
    check_places(rows, images.shape[1])
    if rows.shape[0] < 1 or columns.shape[0] < 1:
        raise ValueError(f"expected rows and columns to add, got {rows.shape[0]} and {columns.shape[0]}")
    check_shape(row_weights.shape[0], rows.shape[0], "a sum of rows")
    check_shape(row_weights.shape[1], rows.shape[1], "row_weights")
    check_shape(column_weights.shape[0], columns.shape[0], "a sum of columns")
    check_shape(column_weights.shape[1], columns.shape[1], "column_weights")
    check_shape(out.shape[1], rows.shape[1], "a column of the result")
    check_shape(out.shape[2], columns.shape[1] * channels, "a row of the result")
    check_shape(scratch.shape[0], images.shape[2], "scratch")
    cdef PyThreadState* state = give_up(out.shape[0] * out.shape[1] * out.shape[2] >= LARGE)
    add(images, rows, row_weights, columns, column_weights, channels, factor, scratch, out)
    take_back(state)
    return 0


def weighted_of_bytes(
    const uint8_t[:, :, ::1] images, const Py_ssize_t[:, ::1] rows, const float[:, ::1] row_weights,
    const Py_ssize_t[:, ::1] columns, const float[:, ::1] column_weights, Py_ssize_t channels, float factor,
    float[::1] scratch, float[:, :, ::1] out
):
    """Compute weighted sums, first of rows, then of columns.

    Args:
        images: [batch, height, width * channels].
        rows: [taps, result height], the rows that contribute to each result row.
        row_weights: Their weights.
        columns, column_weights: The same, for columns.
        channels: Values per pixel.
        factor: Multiplies all sums.
        scratch: [width * channels].
        out: The result.
    """
    weighted(images, rows, row_weights, columns, column_weights, channels, factor, scratch, out)


def weighted_of_floats(
    const float[:, :, ::1] images, const Py_ssize_t[:, ::1] rows, const float[:, ::1] row_weights,
    const Py_ssize_t[:, ::1] columns, const float[:, ::1] column_weights, Py_ssize_t channels, float factor,
    float[::1] scratch, float[:, :, ::1] out
):
    """Sum as `weighted_of_bytes`."""
    weighted(images, rows, row_weights, columns, column_weights, channels, factor, scratch, out)
