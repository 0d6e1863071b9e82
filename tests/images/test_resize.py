"""resize: each method is a weighted mean of pixels, with weights computed here as matrices in float64."""

import threading

import numpy as np
import pytest

import pipeline
from pipeline.errors import InvalidArgumentError

SHAPES = [
    ((4, 5, 3), (9, 3)),
    ((5, 4, 1), (5, 4)),
    ((2, 7, 5, 4), (3, 11)),
    ((1, 1, 3), (4, 2)),
    ((150, 170, 3), (101, 120)),  # large enough to let other threads run
    ((90, 100, 2), (230, 50)),
]


def positions(size, wanted):
    return (np.arange(wanted) + 0.5) * (size / wanted) - 0.5


def bilinear(size, wanted):
    weights = np.zeros((wanted, size))
    for row, at in enumerate(positions(size, wanted).clip(0, size - 1)):
        low = int(at)
        weights[row, low] += 1 - (at - low)
        weights[row, min(low + 1, size - 1)] += at - low
    return weights


def cubic(distance, a=-0.5):
    distance = abs(distance)
    if distance <= 1:
        return (a + 2) * distance**3 - (a + 3) * distance**2 + 1
    return a * (distance**3 - 5 * distance**2 + 8 * distance - 4) if distance < 2 else 0


def bicubic(size, wanted):
    weights = np.array([[cubic(pixel - at) for pixel in range(size)] for at in positions(size, wanted)])
    return weights / weights.sum(axis=1, keepdims=True)


def antialiased(weight):
    def weights(size, wanted):
        wide = max(size / wanted, 1)
        centres = (np.arange(wanted)[:, None] + 0.5) * (size / wanted)
        pixels = np.arange(size) + 0.5
        found = np.vectorize(weight)((pixels - centres) / wide)
        return found / found.sum(axis=1, keepdims=True)

    return weights


FILTERS = {
    "bilinear": antialiased(lambda distance: max(0.0, 1 - abs(distance))),
    "bicubic": antialiased(cubic),
}


def area(size, wanted):
    edges = np.arange(wanted + 1) * (size / wanted)
    pixels = np.arange(size)
    covered = np.minimum(pixels + 1, edges[1:, None]) - np.maximum(pixels, edges[:-1, None])
    return covered.clip(0) / (size / wanted)


def nearest(size, wanted):
    weights = np.zeros((wanted, size))
    weights[np.arange(wanted), np.floor((np.arange(wanted) + 0.5) * np.float32(size / wanted)).astype(int)] = 1
    return weights


def expected(images, size, method):
    rows, columns = (method(images.shape[axis - 3], size[axis]) for axis in (0, 1))
    across = np.moveaxis(images.astype(np.float64), -1, 0) @ columns.T  # [channels, ..., height, width]
    return np.moveaxis(rows @ across, 0, -1)


@pytest.mark.parametrize("method", [nearest, bilinear, bicubic, area])
@pytest.mark.parametrize(("shape", "size"), SHAPES)
@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
def test_methods(method, shape, size, dtype):
    images = np.random.default_rng(0).uniform(0, 255, shape).astype(dtype)
    found = pipeline.resize(images, size, method.__name__, antialias=False)
    assert found.dtype == dtype
    wanted = expected(images, size, method)
    if dtype == np.uint8:
        wanted = wanted.clip(0, 255)
    tolerance = 0.52 if dtype == np.uint8 else 0.02  # float32 holds pixel positions
    np.testing.assert_allclose(found, wanted, rtol=0, atol=tolerance + (0.3 if method is bicubic else 0))


@pytest.mark.parametrize("method", FILTERS)
@pytest.mark.parametrize(("shape", "size"), [*SHAPES, ((300, 9, 3), (20, 4)), ((64, 64, 1), (1, 1))])
@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
def test_all_pixels_that_a_smaller_image_covers_count(method, shape, size, dtype):
    images = np.random.default_rng(0).uniform(0, 255, shape).astype(dtype)
    found = pipeline.resize(images, size, method)
    assert found.dtype == dtype
    wanted = expected(images, size, FILTERS[method])
    if dtype == np.uint8:
        wanted = wanted.clip(0, 255)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=0.52 if dtype == np.uint8 else 0.001)


def test_it_equals_pillow():
    Image = pytest.importorskip("PIL.Image")
    rng = np.random.default_rng(0)
    for _ in range(60):
        height, width, high, wide = rng.integers(1, 200, 4).tolist()
        image = rng.integers(0, 256, (height, width, 3)).astype(np.uint8)
        theirs = np.asarray(Image.fromarray(image).resize((wide, high), Image.BILINEAR))
        ours = pipeline.resize(image, (high, wide))
        assert np.abs(theirs.astype(int) - ours.astype(int)).max() <= 1


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int16, np.int32, np.int64, np.float16, np.float64])
@pytest.mark.parametrize("method", ["nearest", "bilinear", "bicubic", "area"])
def test_dtypes(dtype, method):
    images = np.random.default_rng(0).integers(0, 100, (2, 6, 7, 3)).astype(dtype)
    found = pipeline.resize(images, (4, 9), method)
    assert found.dtype == dtype
    wanted = pipeline.resize(images.astype(np.float32), (4, 9), method)
    if found.dtype.kind == "u":
        wanted = wanted.clip(0)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=0.06 if found.dtype.kind == "f" else 0.5)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int32, np.int64, np.uint64])
def test_what_bicubic_adds_beyond_the_limits_of_a_dtype(dtype):
    limits = np.iinfo(dtype)
    image = np.full((1, 12, 1), limits.min, dtype)
    image[:, 4:8] = limits.max
    found = pipeline.resize(image, (1, 40), "bicubic")[0, :, 0]
    assert found[0] == limits.min
    assert found[10] == limits.min  # below it, unless clipped
    assert found[15] > limits.max - limits.max // 100  # above it


def test_parts_and_mirrored_views_of_images():
    image = np.random.default_rng(0).integers(0, 256, (60, 80, 3), dtype=np.uint8)
    for part in (image[7:, 5:50], image[::-1], image[:, ::-1], image[..., ::-1], image.transpose(1, 0, 2), image[::2]):
        for method in ("nearest", "bilinear", "bicubic", "area"):
            np.testing.assert_array_equal(
                pipeline.resize(part, (33, 44), method), pipeline.resize(part.copy(), (33, 44), method)
            )


@pytest.mark.parametrize("method", ["nearest", "bilinear", "bicubic", "area"])
@pytest.mark.parametrize("channels", [1, 2, 3])
@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.int16])
def test_every_other_value_of_a_row(method, channels, dtype):
    whole = np.random.default_rng(0).integers(0, 256, (9, 20, 2 * channels)).astype(dtype)
    for part in (whole[:, ::2, :channels], whole[:, ::-1, ::2], whole[::-2, :, :channels]):
        expected = pipeline.resize(part.copy(), (7, 12), method)
        np.testing.assert_array_equal(pipeline.resize(part, (7, 12), method), expected)


def test_read_only_images_and_a_batch_of_none():
    image = np.zeros((3, 4, 3), np.uint8)
    image.flags.writeable = False
    assert pipeline.resize(image, (2, 2)).shape == (2, 2, 3)
    assert pipeline.resize(np.zeros((0, 3, 4, 3)), (2, 2)).shape == (0, 2, 2, 3)
    assert pipeline.resize(np.zeros((3, 4, 0)), (2, 2)).shape == (2, 2, 0)
    result = pipeline.resize(image, (3, 4))
    result += 1
    assert not image.any()


def test_threads_resize_at_the_same_time():
    image = np.random.default_rng(0).uniform(size=(200, 200, 3))
    wanted = pipeline.resize(image, (300, 310))
    results = []
    threads = [
        threading.Thread(target=lambda: results.extend(pipeline.resize(image, (300, 310)) for _ in range(5)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 20
    assert all((each == wanted).all() for each in results)


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ((np.zeros((3, 4)), (2, 2)), InvalidArgumentError, r"resize: images must be .* shape is \(3, 4\)"),
        ((np.zeros((0, 4, 3)), (2, 2)), InvalidArgumentError, "no pixels"),
        ((np.zeros((3, 4, 3)), (2, 0)), InvalidArgumentError, r"size must be positive, not \(2, 0\)"),
        ((np.zeros((3, 4, 3)), 5), InvalidArgumentError, r"size must be \(height, width\), not 5"),
        ((np.zeros((3, 4, 3)), (2, 2, 2)), InvalidArgumentError, "size must be"),
        ((np.zeros((3, 4, 3)), (2, 2.5)), TypeError, "resize: size"),
        ((np.zeros((3, 4, 3)), (2, 2), "lanczos"), InvalidArgumentError, "method must be one of .* not 'lanczos'"),
        ((np.zeros((3, 4, 3), bool), (2, 2)), TypeError, "integers or floats, not bool"),
        ((["a.jpg"], (2, 2)), TypeError, "integers or floats"),
    ],
)
def test_errors(arguments, error, text):
    with pytest.raises(error, match=text):
        pipeline.resize(*arguments)
