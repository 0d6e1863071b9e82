"""Compiled kernels refuse mismatched arrays: none reads or writes outside an array.

They are private: functions in `pipeline.image` call them with matching arrays.
"""

import numpy as np
import pytest

from pipeline import _chain, _colour, _crops, _resize
from pipeline.libjpeg import libjpeg, search

IMAGES = np.zeros((1, 4, 6), np.float32)  # 4 x 2 pixels
ROWS, COLUMNS = np.zeros((2, 3), np.intp), np.ones((2, 5), np.intp)
BELOW, BESIDE = np.zeros(3, np.float32), np.zeros(5, np.float32)
SCRATCH, RESULT = np.empty((2, 15), np.float32), np.empty((1, 3, 15), np.float32)


def bilinear(**changed):
    given = {"images": IMAGES, "rows": ROWS, "below": BELOW, "columns": COLUMNS, "beside": BESIDE, "channels": 3}
    return _resize.bilinear_of_floats(**{**given, "scratch": SCRATCH, "out": RESULT, **changed})


def weighted(**changed):
    given = {"images": IMAGES, "rows": ROWS, "row_weights": ROWS.astype(np.float32), "columns": COLUMNS}
    given |= {"column_weights": COLUMNS.astype(np.float32), "channels": 3, "factor": 1.0, "out": RESULT}
    return _resize.weighted_of_floats(**{**given, "scratch": np.empty(6, np.float32), **changed})


def nearest(**changed):
    given = {"images": IMAGES.view(np.uint32), "rows": ROWS[0], "columns": COLUMNS[0], "channels": 3}
    return _resize.nearest_32(**{**given, "out": RESULT.view(np.uint32), **changed})


@pytest.mark.parametrize("kernel", [bilinear, weighted, nearest])
@pytest.mark.parametrize("changed", ["rows", "columns"])
@pytest.mark.parametrize("place", [-1, 4, 2**62])
def test_places_beyond_an_image(kernel, changed, place):
    kernel()
    places = (ROWS if changed == "rows" else COLUMNS).copy()
    places[0, -1] = place
    with pytest.raises(ValueError, match=r"expected places from 0 to \d+, got"):
        kernel(**{changed: places[0] if kernel is nearest else places})


@pytest.mark.parametrize(
    ("kernel", "changed"),
    [
        (bilinear, {"images": np.zeros((1, 4, 12), np.float32)[:, :, ::2]}),
        (nearest, {"images": np.zeros((1, 4, 12), np.uint32)[:, :, ::2]}),
        (bilinear, {"channels": 0}),
        (bilinear, {"channels": 4}),
        (bilinear, {"rows": np.zeros((3, 3), np.intp)}),
        (bilinear, {"columns": np.zeros((1, 5), np.intp)}),
        (bilinear, {"below": BELOW[:2]}),
        (bilinear, {"beside": BELOW}),
        (bilinear, {"scratch": SCRATCH[:1]}),
        (bilinear, {"scratch": np.empty((2, 3), np.float32)}),
        (bilinear, {"out": np.empty((2, 3, 15), np.float32)}),
        (bilinear, {"out": np.empty((1, 2, 15), np.float32)}),
        (bilinear, {"out": np.empty((1, 3, 12), np.float32)}),
        (weighted, {"rows": np.zeros((0, 3), np.intp)}),
        (weighted, {"row_weights": np.zeros((1, 3), np.float32)}),
        (weighted, {"column_weights": np.zeros((2, 4), np.float32)}),
        (weighted, {"scratch": np.empty(5, np.float32)}),
        (weighted, {"out": np.empty((1, 3, 12), np.float32)}),
        (nearest, {"out": np.empty((1, 2, 15), np.uint32)}),
        (nearest, {"channels": -1}),
    ],
)
def test_shapes_that_do_not_fit(kernel, changed):
    with pytest.raises(ValueError, match=r"expected .*, got (some with gaps|.*\d)"):
        kernel(**changed)


def test_colours_of_other_shapes():
    pixels, short = np.zeros((4, 3), np.float32), np.zeros((3, 3), np.float32)
    for call in (
        lambda: _colour.hsv_of_rgb_32(pixels, short),
        lambda: _colour.rgb_of_hsv_64(np.zeros((4, 2)), np.zeros((4, 2))),
        lambda: _colour.adjust_hue(pixels, 0.5, short),
        lambda: _colour.adjust_saturation(np.zeros((4, 4), np.float32), 0.5, pixels),
        lambda: _colour.adjust_contrast(IMAGES, 4, 1.0, IMAGES.copy()),
        lambda: _colour.adjust_contrast(IMAGES, 0, 1.0, IMAGES.copy()),
        lambda: _colour.adjust_contrast(IMAGES, 3, 1.0, RESULT),
    ):
        with pytest.raises(ValueError, match=r"expected .*, got .*\d"):
            call()


def test_chains_that_are_too_long_or_uneven():
    for codes, numbers in ((bytes(17), [0.0] * 17), (bytes(2), [0.0])):
        with pytest.raises(ValueError, match=r"expected at most 16 operations and a number for each, got \d+ and \d+"):
            _chain.chained(IMAGES, codes, numbers)


@pytest.mark.parametrize("code", [8, 11, 255])
def test_operations_of_a_chain_that_there_are_not(code):
    with pytest.raises(ValueError, match=f"no operation {code}"):
        _chain.chained(IMAGES, bytes((0, code)), [1.0, 1.0])


@pytest.mark.parametrize("first", range(8))
@pytest.mark.parametrize("second", range(8))
@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
def test_each_two_operations_of_a_chain(first, second, dtype):
    functions = [
        lambda x, n: x + n,
        lambda x, n: x - n,
        lambda x, n: n - x,
        lambda x, n: x * n,
        lambda x, n: x / n,
        lambda x, n: n / x,
        np.minimum,
        np.maximum,
    ]
    array = np.random.default_rng(0).integers(1, 256, (70, 20, 9)).astype(dtype)
    numbers = [np.float32(3.7), np.float32(-100.2), np.float32(0.3)]
    for codes in ((first,), (first, second), (first, second, first)):
        expected = array.astype(np.float32)
        for code, number in zip(codes, numbers, strict=False):
            expected = functions[code](expected, number)
        for given, wanted in (
            (array, expected),
            (array[:, ::2, 3:5], expected[:, ::2, 3:5]),
            (array[:1, 0], expected[:1, 0]),
        ):
            made = _chain.chained(given, bytes(codes), numbers[: len(codes)])
            np.testing.assert_array_equal(made, wanted, strict=True)


PICTURE, ONES = np.zeros((4, 5, 3), np.uint8), np.ones(3, np.float32)


def resized(**changed):
    given = {"images": PICTURE, "top": 0, "left": 0, "bottom": 4, "right": 5, "cubic": 0, "flip": False}
    given |= {"out": np.empty((2, 2, 3), np.uint8), "channels_first": False, "factor": ONES, "offset": ONES}
    return _crops.resized(**{**given, **changed})


@pytest.mark.parametrize(
    "changed",
    [
        {"top": -1},
        {"top": 4},
        {"bottom": 5},
        {"right": 5.1},
        {"left": float("nan")},
        {"images": np.zeros((4, 5, 6), np.uint8)[:, :, ::2]},
        {"images": np.zeros((4, 10, 3), np.uint8)[:, ::2]},
        {"images": np.zeros((4, 5, 1), np.uint8)},
        {"images": np.zeros((0, 5, 3), np.uint8), "bottom": 1},
        {"out": np.empty((2, 2, 1), np.uint8)},
        {"out": np.empty((2, 0, 3), np.float32)},
        {"channels_first": True},
        {"factor": ONES[:2]},
        {"offset": ONES[:0]},
    ],
)
def test_boxes_and_results_that_do_not_fit(changed):
    resized()
    with pytest.raises(ValueError, match="expected"):
        resized(**changed)


def test_headers_of_jpeg_that_say_nothing():
    for data in (b"", b"\xff", b"\xff\xd8", b"\xff\xd8\xff", b"\xff\xd8\xff\xc0\x00", b"\xff\xd8" + b"\xff" * 99):
        assert _crops.frame_of(data) is None
    start = b"\xff\xd8\xff\xe0\x00\x04ab\xff\xc0\x00\x11\x08\x00\x10\x00\x20\x03\x01\x22\x00\x02\x11\x01\x03\x11\x01"
    assert _crops.frame_of(start) == (16, 32, 3, 2)
    for cut in range(len(start)):
        assert _crops.frame_of(start[:cut]) is None


def test_a_library_that_is_none(tmp_path):
    text = tmp_path / "libjpeg.so"
    text.write_bytes(b"not a library")
    found = libjpeg()
    try:
        assert _crops.open_libjpeg(bytes(text)) == 0
        assert _crops.open_libjpeg(b"libm.so.6") == 0
        assert _crops.region_of_jpeg(b"\xff\xd8", (1, 1, 3, 1), (0, 0, 1, 1), 1, False, True) is None
    finally:
        search()
    assert libjpeg() == found
