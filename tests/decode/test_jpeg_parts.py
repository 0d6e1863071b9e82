"""Parts of JPEG images: the whole image's pixels, for any encoding and any decoder."""

import io
import threading

import numpy as np
import pytest
from helpers import run_script

import pipeline
from pipeline.errors import InvalidArgumentError
from pipeline.libjpeg import libjpeg

Image = pytest.importorskip("PIL.Image")


def jpeg(height, width, seed=0, **options):
    rows, columns = np.mgrid[:height, :width]
    noise = np.random.default_rng(seed).integers(0, 60, (height, width, 3))
    image = (np.stack((rows * 7, columns * 5, rows * columns), 2) + noise).astype(np.uint8)
    file = io.BytesIO()
    gray = options.pop("gray", False)
    Image.fromarray(image[:, :, 0] if gray else image).save(file, "JPEG", **{"quality": 85, **options})
    return file.getvalue()


KINDS = [
    {"subsampling": "4:4:4"},
    {"subsampling": "4:2:2"},
    {"subsampling": "4:2:0"},
    {"subsampling": "4:1:1"},
    {"subsampling": "4:2:0", "progressive": True},
    {"subsampling": "4:2:0", "restart_marker_rows": 1},
    {"gray": True},
]


@pytest.mark.parametrize("options", KINDS, ids=str)
@pytest.mark.parametrize("ratio", [1, 2, 4, 8])
def test_parts_equal_the_whole(options, ratio):
    rng = np.random.default_rng(ratio)
    for seed in range(12):
        height, width = rng.integers(1, 120, 2).tolist()
        data = jpeg(height, width, seed, **options)
        whole = pipeline.image.decode_jpeg(data, ratio=ratio)
        for _ in range(8):
            top, bottom = sorted(rng.choice(len(whole) + 1, 2, replace=False).tolist())
            left, right = sorted(rng.choice(whole.shape[1] + 1, 2, replace=False).tolist())
            part = pipeline.image.decode_jpeg(data, ratio=ratio, crop=(top, left, bottom - top, right - left))
            np.testing.assert_array_equal(part, whole[top:bottom, left:right])
            assert part.flags.owndata


def test_parts_equal_the_whole_without_simplejpeg():
    """Pillow decodes by the accurate method only, so parts are decoded by it too."""
    program = """
import sys
sys.modules["simplejpeg"] = None
import numpy as np
import pipeline

image = np.random.default_rng(0).integers(0, 256, (90, 120, 3)).astype(np.uint8)
data = pipeline.image.encode_jpeg(image)
whole = pipeline.image.decode_jpeg(data)
part = pipeline.image.decode_jpeg(data, crop=(10, 20, 30, 40))
small = pipeline.image.center_crop_resize(data, 64)
print((part == whole[10:40, 20:60]).all(), (small == pipeline.image.center_crop_resize(whole, 64)).all())
"""
    done = run_script(program)
    assert (done.stdout, done.stderr) == ("True True\n", "")


@pytest.mark.parametrize("options", [{"channels": 1}, {"channels": 3}, {"dct_method": "INTEGER_ACCURATE"}])
@pytest.mark.parametrize("gray", [False, True])
def test_parts_with_other_arguments(options, gray):
    data = jpeg(50, 70, gray=gray)
    whole = pipeline.image.decode_jpeg(data, **options)
    part = pipeline.image.decode_jpeg(data, crop=(3, 20, 30, 40), **options)
    np.testing.assert_array_equal(part, whole[3:33, 20:60])


def test_parts_of_other_formats_and_of_four_colours():
    image = np.random.default_rng(0).integers(0, 256, (9, 11, 3)).astype(np.uint8)
    part = pipeline.image.decode_jpeg(pipeline.image.encode_png(image), crop=(1, 2, 3, 4))
    np.testing.assert_array_equal(part, image[1:4, 2:6])
    file = io.BytesIO()
    Image.fromarray(np.dstack((image, image[:, :, :1])), "CMYK").save(file, "JPEG")
    whole = pipeline.image.decode_jpeg(file.getvalue())
    np.testing.assert_array_equal(pipeline.image.decode_jpeg(file.getvalue(), crop=(1, 2, 3, 4)), whole[1:4, 2:6])


def test_what_is_cut_off_below_a_part_is_not_missed():
    data = jpeg(200, 200, progressive=False)
    cut = data[: len(data) * 3 // 4]
    with pytest.raises(InvalidArgumentError):
        pipeline.image.decode_jpeg(cut)
    with pytest.raises(InvalidArgumentError):
        pipeline.image.decode_jpeg(cut, crop=(180, 0, 20, 200))
    if libjpeg():
        part = pipeline.image.decode_jpeg(cut, crop=(0, 0, 40, 200))
        np.testing.assert_array_equal(part, pipeline.image.decode_jpeg(data)[:40])


def test_damaged_images_are_errors_or_the_pixels_of_the_whole():
    rng = np.random.default_rng(0)
    data = jpeg(60, 60)
    for _ in range(300):
        damaged = bytearray(data)
        for _ in range(rng.integers(1, 6)):
            damaged[rng.integers(2, len(damaged))] = rng.integers(0, 256)
        damaged = bytes(damaged[: rng.integers(2, len(damaged) + 1)])
        for crop in ((0, 0, 10, 10), (20, 30, 40, 30)):
            try:
                part = pipeline.image.decode_jpeg(damaged, crop=crop)
            except InvalidArgumentError:
                continue
            assert part.shape[:2] == crop[2:]


def scans(data):
    """Return the positions where a JPEG's scans begin."""
    return [at for at in range(len(data) - 1) if data[at : at + 2] == b"\xff\xda"]


@pytest.mark.parametrize("ratio", [1, 2])
@pytest.mark.parametrize("left", range(1, 6))
def test_parts_of_images_without_their_last_scans(ratio, left):
    """They are smoothed across blocks."""
    data = jpeg(70, 90, progressive=True, quality=30)
    data = data[: scans(data)[left]] + b"\xff\xd9"
    whole = pipeline.image.decode_jpeg(data, ratio=ratio)
    for top, first in [(0, 0), (7, 9), (12, 20)]:
        part = pipeline.image.decode_jpeg(data, ratio=ratio, crop=(top, first, 17, 19))
        np.testing.assert_array_equal(part, whole[top : top + 17, first : first + 19])


@pytest.mark.parametrize("size", [(7, 3), (2, 3), (3, 7), (1, 1)])
@pytest.mark.parametrize("ratio", [2, 4, 8])
def test_parts_of_tiny_images(size, ratio):
    data = jpeg(*size, subsampling="4:2:0", quality=30)
    whole = pipeline.image.decode_jpeg(data, ratio=ratio)
    for row, column in np.ndindex(*whole.shape[:2]):
        part = pipeline.image.decode_jpeg(data, ratio=ratio, crop=(row, column, 1, 1))
        np.testing.assert_array_equal(part[0, 0], whole[row, column])


@pytest.mark.parametrize("options", KINDS, ids=str)
def test_pixels_that_cannot_be_decoded_are_no_memory_of_the_program(options):
    """Bytes between markers cause a warning, and then a scan naming a missing table stops the decoder."""
    data = bytearray(jpeg(40, 50, **options))
    at = scans(data)[-1]
    data[at + 6] = 0x33
    data[at:at] = bytes(9)
    for decode in (
        pipeline.image.decode_image,
        pipeline.image.decode_jpeg,
        lambda data: pipeline.image.decode_jpeg(data, crop=(0, 0, 20, 20)),
        lambda data: pipeline.image.center_crop_resize(data, 8),
    ):
        with pytest.raises(InvalidArgumentError, match="Invalid JPEG data"):
            decode(bytes(data))


@pytest.mark.parametrize(
    ("least", "shape"),
    [((1, 1), (13, 25)), ((25, 50), (25, 50)), ((26, 50), (50, 100)), ((51, 1), (100, 200)), ((500, 500), (100, 200))],
)
def test_min_size(least, shape):
    assert pipeline.image.decode_jpeg(jpeg(100, 200), min_size=least).shape == (*shape, 3)


@pytest.mark.parametrize("progressive", [False, True])
@pytest.mark.parametrize("channels", [0, 1, 3])
def test_min_size_of_four_colours(channels, progressive):
    image = np.random.default_rng(0).integers(0, 256, (100, 200, 4)).astype(np.uint8)
    file = io.BytesIO()
    Image.fromarray(image, "CMYK").save(file, "JPEG", progressive=progressive)
    for ratio in (1, 2, 4, 8):
        found = pipeline.image.decode_jpeg(file.getvalue(), channels, min_size=(100 // ratio, 200 // ratio))
        np.testing.assert_array_equal(found, pipeline.image.decode_jpeg(file.getvalue(), channels, ratio))
        assert found.shape[:2] == (-(-100 // ratio), 200 // ratio)


def test_threads_decode_at_the_same_time():
    images = [jpeg(80 + seed, 120, seed) for seed in range(8)]
    wanted = [pipeline.image.decode_jpeg(data)[10:60, 20:100] for data in images]
    results = {}

    def decode(thread):
        results[thread] = [pipeline.image.decode_jpeg(data, crop=(10, 20, 50, 80)) for data in images * 5]

    threads = [threading.Thread(target=decode, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for found in results.values():
        for part, whole in zip(found, wanted * 5, strict=True):
            np.testing.assert_array_equal(part, whole)


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"crop": (0, 0, 101, 10)}, InvalidArgumentError, "101 x 10 pixels from row 0 .* an image of 100 x 200"),
        ({"crop": (0, 0, 51, 10), "ratio": 2}, InvalidArgumentError, "not inside an image of 50 x 100"),
        ({"crop": (-1, 0, 5, 5)}, InvalidArgumentError, "from row -1"),
        ({"crop": (0, 0, 0, 5)}, InvalidArgumentError, "0 x 5 pixels"),
        ({"crop": (0, 0, 5)}, InvalidArgumentError, "crop must be"),
        ({"crop": (0, 0, 5, 1.5)}, TypeError, "decode_jpeg: crop"),
        ({"min_size": 5}, InvalidArgumentError, "min_size must be"),
        ({"min_size": (0, 5)}, InvalidArgumentError, "min_size must be positive"),
        ({"min_size": (5, 5), "ratio": 2}, InvalidArgumentError, "min_size chooses the ratio"),
        ({"crop": (0, 0, 5, 5), "max_pixels": 100}, InvalidArgumentError, "more than the limit of 100"),
    ],
)
def test_errors(options, error, text):
    with pytest.raises(error, match=text):
        pipeline.image.decode_jpeg(jpeg(100, 200), **options)


def test_without_another_library(monkeypatch):
    from pipeline.decode.image import jpeg as decoding

    data = jpeg(60, 90)
    part = pipeline.image.decode_jpeg(data, crop=(5, 6, 40, 50))
    monkeypatch.setattr(decoding, "libjpeg", lambda: "")
    np.testing.assert_array_equal(pipeline.image.decode_jpeg(data, crop=(5, 6, 40, 50)), part)
