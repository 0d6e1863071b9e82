"""Kernels for cutting a box out of an image and resizing it: from a JPEG file, decoding only the box, or from an array.

They release the GIL. `antialias.h` resizes, `region.h` decodes.
"""

import numpy as np

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.pystate cimport PyThreadState
from libc.stdint cimport uint8_t
from libc.string cimport memcpy

from gil cimport give_up, take_back

cdef extern from "antialias.h" nogil:
    ctypedef struct Pixels "pipeline_pixels":
        const uint8_t* bytes
        const float* floats
        Py_ssize_t stride
        int rows, columns, channels
    ctypedef struct Result "pipeline_result":
        uint8_t* bytes
        float* floats
        int rows, columns
        Py_ssize_t row, pixel, channel
        const float* factor
        const float* offset
    ctypedef struct Box "pipeline_box":
        double top, left, bottom, right
    int resample "pipeline_resample"(const Pixels*, const Box*, int, int, const Result*)

cdef extern from "region.h" nogil:
    ctypedef struct Region "pipeline_region":
        int top, left, bottom, right, ratio, gray, fast, across, height, width, first, stride
        uint8_t* rows
    cppclass Scratch "pipeline_scratch":
        void done()
    Scratch decoded "pipeline_decoded"
    int DECODED "PIPELINE_DECODED"
    int NO_MEMORY "PIPELINE_NO_MEMORY"
    int open_library "pipeline_jpeg_open"(const char*)
    int decode "pipeline_jpeg_region"(const uint8_t*, size_t, Region*)

cdef int MOST_SIDE = 65_535             # pixels: the limit in JPEG headers, and far from overflows below
cdef Py_ssize_t LARGE = 16_384          # result values for which releasing the GIL pays


def open_libjpeg(bytes path):
    """Use the libjpeg-turbo at `path` from now on. Return its ABI, 62 or 80, or 0 if it cannot be used."""
    return open_library(path)


def frame_of(bytes data):
    """Read a JPEG image's size from its headers.

    Returns:
        Height, width, components and the largest horizontal sampling factor; None if there is no such header.
    """
    cdef const uint8_t* at = <const uint8_t*>PyBytes_AS_STRING(data)
    cdef const uint8_t* end = at + PyBytes_GET_SIZE(data)
    cdef int kind, size, components, c, across = 1
    at += 2
    while at + 4 <= end:
        if at[0] != 0xFF:
            return None
        kind = at[1]
        if kind == 0xFF:                # padding
            at += 1
            continue
        if kind == 0x01 or 0xD0 <= kind <= 0xD8:
            at += 2
            continue
        size = at[2] << 8 | at[3]
        if 0xC0 <= kind <= 0xCF and kind != 0xC4 and kind != 0xC8 and kind != 0xCC:
            if at + 10 > end or size < 8 or at + 2 + size > end:
                return None
            components = at[9]
            if size < 8 + 3 * components or at[4] != 8:
                return None
            for c in range(components):
                across = max(across, at[11 + 3 * c] >> 4)
            return at[5] << 8 | at[6], at[7] << 8 | at[8], components, across
        if kind == 0xDA or kind == 0xD9:
            return None
        at += 2 + size
    return None


cdef int check_sizes(Py_ssize_t rows, Py_ssize_t columns, Py_ssize_t channels) except -1:
    if not (1 <= rows <= MOST_SIDE and 1 <= columns <= MOST_SIDE and 1 <= channels <= 64):
        raise ValueError(f"expected 1 to {MOST_SIDE:,} rows and columns, got {rows:,} x {columns:,} x {channels:,}")
    return 0


cdef int point(object out, bint channels_first, const float[::1] factor, const float[::1] offset, Result* to) except -1:
    """Describe the result: a uint8 or float32 array, [height, width, channels] or with the channels first."""
    cdef uint8_t[:, :, :] small
    cdef float[:, :, :] large
    cdef Py_ssize_t[3] shape
    cdef Py_ssize_t[3] step
    cdef int i
    to.bytes = NULL
    to.floats = NULL
    if out.dtype == np.uint8:
        small = out
        to.bytes = &small[0, 0, 0]
        for i in range(3):
            shape[i], step[i] = small.shape[i], small.strides[i]
    else:
        large = out
        to.floats = &large[0, 0, 0]
        for i in range(3):
            shape[i], step[i] = large.shape[i], large.strides[i] // <Py_ssize_t>sizeof(float)
            if large.strides[i] % <Py_ssize_t>sizeof(float):
                raise ValueError("expected a result whose values are aligned")
    cdef int first = 1 if channels_first else 0
    cdef int channel = 0 if channels_first else 2
    check_sizes(shape[first], shape[first + 1], shape[channel])
    if factor.shape[0] != shape[channel] or offset.shape[0] != shape[channel]:
        raise ValueError(f"expected a factor and an offset for each of {shape[channel]} channels")
    to.rows, to.columns = <int>shape[first], <int>shape[first + 1]
    to.row, to.pixel, to.channel = step[first], step[first + 1], step[channel]
    to.factor, to.offset = &factor[0], &offset[0]
    return 0


cdef int check_box(Box* box, Py_ssize_t rows, Py_ssize_t columns) except -1:
    if not (0 <= box.top < box.bottom <= rows and 0 <= box.left < box.right <= columns):
        raise ValueError(f"expected a box inside {rows} x {columns} pixels")
    return 0


def resized(
    images, double top, double left, double bottom, double right, int cubic, bint flip, object out,
    bint channels_first, const float[::1] factor, const float[::1] offset
):
    """Resize a box in an image.

    Args:
        images: uint8 or float32 [height, width, channels], with contiguous pixels per row. All pixels count if the
            filter reaches beyond the box.
        top, left, bottom, right: The box, in pixels, possibly fractional.
        cubic: 0 for the linear filter, 1 for the cubic one.
        flip: Mirror left and right.
        out: Output array: uint8 or float32, [height, width, channels], or with the channels first.
        channels_first: The layout of `out`.
        factor, offset: Factor per channel, and offset to add afterwards.
    """
    cdef const uint8_t[:, :, :] small
    cdef const float[:, :, :] large
    cdef Pixels pixels
    cdef Result to
    cdef Box box
    cdef bint together
    box.top, box.left, box.bottom, box.right = top, left, bottom, right
    pixels.bytes = NULL
    pixels.floats = NULL
    if images.dtype == np.uint8:
        small = images
        pixels.bytes, pixels.stride = &small[0, 0, 0], small.strides[0]
        together = small.strides[2] == 1 and small.strides[1] == small.shape[2]
        check_sizes(small.shape[0], small.shape[1], small.shape[2])
        pixels.rows, pixels.columns, pixels.channels = <int>small.shape[0], <int>small.shape[1], <int>small.shape[2]
    else:
        large = images
        pixels.floats = &large[0, 0, 0]
        pixels.stride = large.strides[0] // <Py_ssize_t>sizeof(float)
        together = large.strides[2] == sizeof(float) and large.strides[1] == large.shape[2] * <Py_ssize_t>sizeof(float)
        together = together and large.strides[0] % <Py_ssize_t>sizeof(float) == 0
        check_sizes(large.shape[0], large.shape[1], large.shape[2])
        pixels.rows, pixels.columns, pixels.channels = <int>large.shape[0], <int>large.shape[1], <int>large.shape[2]
    if not together:
        raise ValueError("expected an image whose pixels are contiguous in a row")
    check_box(&box, pixels.rows, pixels.columns)
    point(out, channels_first, factor, offset, &to)
    if factor.shape[0] != pixels.channels:
        raise ValueError(f"expected a result with {pixels.channels} channels, got {factor.shape[0]}")
    cdef PyThreadState* state = give_up(
        <Py_ssize_t>to.rows * to.columns >= LARGE or <Py_ssize_t>pixels.rows * pixels.columns >= LARGE)
    cdef int made = resample(&pixels, &box, cubic != 0, flip, &to)
    take_back(state)
    if not made:
        raise MemoryError()


cdef int fill(Region* region, frame, object box, int ratio, bint gray, bint fast) except -1:
    """Describe the part of a JPEG file touched by a box; the size comes from the file's header."""
    region.ratio, region.gray, region.fast, region.across = ratio, gray, fast, frame[3]
    region.top, region.left, region.bottom, region.right = box
    region.rows = NULL
    return 0


def region_of_jpeg(bytes data, frame, box, int ratio, bint gray, bint fast):
    """Decode part of a JPEG image.

    Args:
        data: The file.
        frame: What `frame_of` returned.
        box: Top, left, bottom and right, in pixels of the image shrunk by `ratio`.
        ratio: 1, 2, 4 or 8.
        gray: Return one channel instead of three.
        fast: Use the fast DCT.

    Returns:
        uint8[height, width, channels], or None if the library opened by `open_libjpeg` cannot decode it faultlessly.
    """
    cdef Region region
    cdef const uint8_t* at = <const uint8_t*>PyBytes_AS_STRING(data)
    cdef size_t length = PyBytes_GET_SIZE(data)
    cdef int found, y, channels = 1 if gray else 3
    cdef uint8_t[:, :, ::1] out
    fill(&region, frame, box, ratio, gray, fast)
    with nogil:
        found = decode(at, length, &region)
    try:
        if found == NO_MEMORY:
            raise MemoryError()
        if found != DECODED:
            return None
        made = np.empty((region.bottom - region.top, region.right - region.left, channels), np.uint8)
        out = made
        for y in range(out.shape[0]):
            memcpy(
                &out[y, 0, 0], region.rows + <size_t>region.stride * y + channels * (region.left - region.first),
                out.shape[1] * channels)
        return made
    finally:
        decoded.done()


def resized_of_jpeg(
    bytes data, frame, box, int ratio, bint fast, bint flip, object out, bint channels_first, const float[::1] factor,
    const float[::1] offset, available
):
    """Decode the part of a JPEG image needed for a box, and resize it with the linear filter.

    Args:
        box: Top, left, bottom and right, in pixels of the image shrunk by `ratio`, possibly fractional.
        available: The range of pixels that may count, as integers.
        data, frame, ratio, fast: As for `region_of_jpeg`.
        flip, out, channels_first, factor, offset: As for `resized`; there are three channels.

    Returns:
        True if it was done; False where `region_of_jpeg` returns None.
    """
    cdef Region region
    cdef Pixels pixels
    cdef Result to
    cdef Box wanted
    cdef const uint8_t* at = <const uint8_t*>PyBytes_AS_STRING(data)
    cdef size_t length = PyBytes_GET_SIZE(data)
    cdef int found, made = 1
    fill(&region, frame, available, ratio, False, fast)
    point(out, channels_first, factor, offset, &to)
    if factor.shape[0] != 3:
        raise ValueError(f"expected a result with 3 channels, got {factor.shape[0]}")
    wanted.top, wanted.left, wanted.bottom, wanted.right = box
    wanted.top, wanted.bottom = wanted.top - region.top, wanted.bottom - region.top
    wanted.left, wanted.right = wanted.left - region.left, wanted.right - region.left
    check_sizes(region.bottom - region.top, region.right - region.left, 3)
    check_box(&wanted, region.bottom - region.top, region.right - region.left)
    with nogil:
        found = decode(at, length, &region)
        if found == DECODED:
            pixels.bytes = region.rows + 3 * (region.left - region.first)
            pixels.floats = NULL
            pixels.stride = region.stride
            pixels.rows, pixels.columns = region.bottom - region.top, region.right - region.left
            pixels.channels = 3
            made = resample(&pixels, &wanted, 0, flip, &to)
        decoded.done()
    if found == NO_MEMORY or not made:
        raise MemoryError()
    return found == DECODED
