"""random_resized_crop, center_crop_resize, normalize and to_chw, compared with Pillow and NumPy."""

import io

import numpy as np
import pytest
from helpers import raises

import pipeline
from pipeline.augment import picture
from pipeline.errors import FailedPreconditionError, InvalidArgumentError

Image = pytest.importorskip("PIL.Image")
ImageOps = pytest.importorskip("PIL.ImageOps")
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def photo(height, width, seed=0):
    noise = np.random.default_rng(seed).integers(0, 256, (height // 8 + 2, width // 8 + 2, 3)).astype(np.uint8)
    return np.asarray(Image.fromarray(noise).resize((width, height), Image.BICUBIC))


def jpeg(height, width, seed=0):
    return pipeline.image.encode_jpeg(photo(height, width, seed), quality=90)


def crop(data, size, seed, **options):
    return pipeline.image.random_resized_crop(data, size, rng=np.random.default_rng(seed), **options)


def test_boxes_lie_as_torchvision_draws_them():
    """Read each crop's position from an image whose values are its rows and columns."""
    height, width = 160, 170
    rows, columns = np.mgrid[:height, :width].astype(np.float32)
    image = np.stack((rows + 0.5, columns + 0.5), 2)
    areas, ratios = [], []
    for seed in range(400):
        found = crop(image, 32, seed, flip=0, dtype="float32")
        high, wide = (found[-2, 0, 0] - found[1, 0, 0]) * 32 / 29, (found[0, -2, 1] - found[0, 1, 1]) * 32 / 29
        areas.append(high * wide / (height * width))
        ratios.append(wide / high)
        assert found[0, 0].min() >= 0
        assert found[-1, -1, 0] <= height
        assert found[-1, -1, 1] <= width
    assert 0.07 < min(areas) < 0.12
    assert 0.9 < max(areas) <= 1.01
    assert 0.4 < np.mean(areas) < 0.56
    assert 0.7 < min(ratios) < 0.8
    assert 1.25 < max(ratios) < 1.4


@pytest.mark.parametrize("function", ["random_resized_crop", "center_crop_resize"])
def test_arrays_of_other_dtypes(function):
    """White is 1 for floats and 65,535 for uint16, as for `normalize`."""
    image, more = photo(40, 50), {} if function == "center_crop_resize" else {"flip": 1}
    others = [image.astype(np.uint16) * 257, image / 255, (image / 255).astype(np.float32)]
    for options in ({}, {"dtype": "float32"}, {"mean": (0.4, 0.5, 0.6), "std": 0.25, "layout": "CHW"}):
        made = []
        for each in (image, *others):
            if more:
                options = {**options, **more, "rng": np.random.default_rng(3)}
            made.append(getattr(pipeline.image, function)(each, 24, **options))
        for other in made[1:]:
            assert other.dtype == made[0].dtype
            np.testing.assert_allclose(other, made[0], atol=1 if other.dtype == np.uint8 else 1e-4)
    assert made[0].std() > 0.1
    with raises(TypeError, f"{function}: an image must hold uint8, uint16, or floats of 0 to 1, not int64"):
        getattr(pipeline.image, function)(image.astype(np.int64), 24, **options)


@pytest.mark.parametrize("shrink", [False, True])
def test_the_same_box_by_pillow(shrink):
    data = jpeg(150, 200)
    whole = pipeline.image.decode_jpeg(data)
    for seed in range(40):
        found = crop(data, (48, 64), seed, flip=0, shrink=False)
        again = crop(whole, (48, 64), seed, flip=0)  # an array is not decoded
        np.testing.assert_array_equal(found, again)
        quick = crop(data, (48, 64), seed, flip=0, shrink=shrink)
        assert np.abs(quick.astype(int) - found).mean() < (3 if shrink else 0.001)
    for name in ("full", "right"):
        box = (0, 0, 150, 200) if name == "full" else (30, 100, 130, 200)
        part = whole[box[0] : box[2], box[1] : box[3]]
        theirs = np.asarray(Image.fromarray(part).resize((64, 48), Image.BILINEAR))
        ours = pipeline.image.random_resized_crop(
            part,
            (48, 64),
            scale=(1, 1),
            ratio=(part.shape[1] / part.shape[0],) * 2,
            flip=0,
            rng=np.random.default_rng(0),
        )
        assert np.abs(theirs.astype(int) - ours).max() <= 1


def test_flips_and_forms():
    data = jpeg(90, 100)
    plain, flipped = crop(data, 32, 1, flip=0), crop(data, 32, 1, flip=1)
    np.testing.assert_array_equal(flipped, plain[:, ::-1])
    first = crop(data, 32, 1, flip=0, layout="CHW")
    np.testing.assert_array_equal(first, np.moveaxis(plain, 2, 0))
    values = crop(data, 32, 1, flip=0, dtype="float32")
    assert values.dtype == np.float32
    np.testing.assert_allclose(values * 255, plain, atol=0.501)
    normal = crop(data, 32, 1, flip=0, mean=MEAN, std=STD, layout="CHW")
    np.testing.assert_allclose(normal, np.moveaxis((values - MEAN) / STD, 2, 0), atol=1e-5)
    counts = sum(bool((crop(data, 8, seed) == crop(data, 8, seed, flip=1)).all()) for seed in range(200))
    assert 70 < counts < 130


def test_out():
    data = jpeg(90, 100)
    rows = np.zeros((2, 3, 32, 32), np.float32)
    assert crop(data, 32, 1, dtype="float32", layout="CHW", out=rows[1]).base is rows
    np.testing.assert_array_equal(rows[1], crop(data, 32, 1, dtype="float32", layout="CHW"))
    assert not rows[0].any()
    wide = np.zeros((32, 64, 3), np.uint8)
    crop(data, 32, 1, out=wide[:, ::2])
    np.testing.assert_array_equal(wide[:, ::2], crop(data, 32, 1))
    assert not wide[:, 1::2].any()


def test_out_may_be_a_part_of_the_image():
    image = np.random.default_rng(0).integers(0, 256, (60, 80, 3)).astype(np.uint8)
    wanted = pipeline.image.center_crop_resize(image, (30, 40))
    for part in (np.s_[:30, :40], np.s_[20:50, 30:70], np.s_[49:19:-1, 30:70]):
        room = image.copy()
        pipeline.image.center_crop_resize(room, (30, 40), out=room[part])
        np.testing.assert_array_equal(room[part], wanted)


def test_without_another_library(monkeypatch):
    data = jpeg(400, 500)
    for shrink in (False, True):
        found = [crop(data, 40, seed, shrink=shrink) for seed in range(20)]
        centre = pipeline.image.center_crop_resize(data, 40, shrink=shrink)
        with monkeypatch.context() as changed:
            changed.setattr(picture, "libjpeg", lambda: "")
            for seed, image in enumerate(found):
                np.testing.assert_array_equal(crop(data, 40, seed, shrink=shrink), image)
            np.testing.assert_array_equal(pipeline.image.center_crop_resize(data, 40, shrink=shrink), centre)


@pytest.mark.parametrize(("height", "width"), [(300, 400), (400, 300), (256, 256), (100, 150), (50, 500)])
def test_the_centre_as_torchvision_cuts_it(height, width):
    image = photo(height, width)
    found = pipeline.image.center_crop_resize(image, 96, resize=128)
    short = min(height, width)
    size = (128 if width == short else int(128 * width / short), 128 if height == short else int(128 * height / short))
    resized = np.asarray(Image.fromarray(image).resize(size, Image.BILINEAR))
    top, left = (round((side - 96) / 2) for side in resized.shape[:2])
    assert np.abs(resized[top : top + 96, left : left + 96].astype(int) - found).max() <= 1
    data = pipeline.image.encode_jpeg(image)
    decoded = pipeline.image.decode_jpeg(data)
    np.testing.assert_array_equal(
        pipeline.image.center_crop_resize(data, 96, resize=128, shrink=False),
        pipeline.image.center_crop_resize(decoded, 96, resize=128),
    )


def test_other_files_and_arrays():
    image = photo(60, 80)
    png = pipeline.image.encode_png(image)
    np.testing.assert_array_equal(crop(png, 16, 3), crop(image, 16, 3))
    gray = pipeline.image.encode_png(image[:, :, :1])
    assert crop(gray, 16, 3).shape == (16, 16, 3)
    assert crop(image[:, :, :1], 16, 3).shape == (16, 16, 1)
    for channels in (1, 2, 4, 7):
        many = np.concatenate((image, image, image), 2)[:, :, :channels]
        np.testing.assert_array_equal(crop(many, 16, 3)[:, :, 0], crop(image, 16, 3)[:, :, 0])
    for view in (image[::-1], image[:, ::-1], image[..., ::-1], image.transpose(1, 0, 2), image[::2, ::3]):
        np.testing.assert_array_equal(crop(view, 16, 3), crop(view.copy(), 16, 3))
    tall = photo(8, 900)
    assert crop(tall, 4, 0).shape == (4, 4, 3)
    assert crop(photo(1, 1), 4, 0).shape == (4, 4, 3)
    np.testing.assert_array_equal(crop(bytearray(png), 16, 3), crop(memoryview(png), 16, 3))


def test_cmyk_is_rgb():
    file = io.BytesIO()
    image = photo(40, 40)
    Image.fromarray(np.dstack((image, image[:, :, :1])), "CMYK").save(file, "JPEG")
    assert crop(file.getvalue(), 16, 3).shape == (16, 16, 3)


def augment(data):
    return pipeline.image.random_resized_crop(data, 24, mean=MEAN, std=STD, layout="CHW")


def test_a_dataset_draws_the_same_with_workers():
    files = [jpeg(60 + seed, 80, seed) for seed in range(12)]

    def epoch(workers):
        return [batch.copy() for batch in pipeline.dataset(files).map(augment, workers=workers, seed=7).batch(5)]

    alone = epoch(None)
    assert not np.array_equal(alone[0][0], alone[0][1])
    for workers in (3, pipeline.processes(2)):
        for one, other in zip(alone, epoch(workers), strict=True):
            np.testing.assert_array_equal(one, other)


def test_normalize_and_to_chw():
    images = np.random.default_rng(0).integers(0, 256, (2, 5, 6, 3)).astype(np.uint8)
    wanted = (images / 255 - MEAN) / STD
    np.testing.assert_allclose(pipeline.image.normalize(images, MEAN, STD), wanted, atol=1e-5)
    np.testing.assert_allclose(
        pipeline.image.normalize(images[0], list(MEAN), np.array(STD), layout="CHW"),
        np.moveaxis(wanted[0], 2, 0),
        atol=1e-5,
    )
    np.testing.assert_allclose(pipeline.image.normalize(images / 255, MEAN, STD), wanted, atol=1e-5)
    deep = images.astype(np.uint16) * 257
    np.testing.assert_allclose(pipeline.image.normalize(deep), images / 255, atol=1e-5)
    np.testing.assert_array_equal(pipeline.image.to_chw(images), np.moveaxis(images, 3, 1))
    assert pipeline.image.to_chw(images[0]).flags.c_contiguous


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"size": 0}, InvalidArgumentError, "size must be positive"),
        ({"size": (3, 4, 5)}, InvalidArgumentError, "size must be"),
        ({"size": 2**63}, InvalidArgumentError, "size must be at most 65,535"),
        ({"size": "224"}, InvalidArgumentError, "size must be"),
        ({"scale": 0.5}, InvalidArgumentError, "scale must be"),
        ({"scale": (0.5, 0.2)}, InvalidArgumentError, "scale must be two positive numbers"),
        ({"scale": (0.5, 2)}, InvalidArgumentError, "at most 1"),
        ({"scale": ("a", "b")}, TypeError, "scale must be two numbers"),
        ({"ratio": (0, 1)}, InvalidArgumentError, "ratio must be two positive numbers"),
        ({"ratio": (1, float("inf"))}, InvalidArgumentError, "ratio must be two positive numbers"),
        ({"flip": 2}, InvalidArgumentError, "flip must be a probability"),
        ({"flip": "yes"}, InvalidArgumentError, "flip must be a probability"),
        ({"mean": (1, 2)}, InvalidArgumentError, "mean must be a number or 3"),
        ({"mean": "imagenet"}, TypeError, "mean must be a number"),
        ({"std": 0}, InvalidArgumentError, "std must be positive"),
        ({"std": float("nan")}, InvalidArgumentError, "std must be finite"),
        ({"std": "wide"}, TypeError, "std must be a number"),
        ({"mean": 0.5, "dtype": "uint8"}, InvalidArgumentError, "mean and std give float32"),
        ({"dtype": "float64"}, InvalidArgumentError, "dtype must be uint8 or float32"),
        ({"layout": "NCHW"}, InvalidArgumentError, "layout"),
        ({"rng": 5}, TypeError, "rng must be a numpy.random.Generator"),
        ({"rng": None}, FailedPreconditionError, "example_rng"),
        ({"out": np.zeros((8, 8, 1), np.uint8)}, InvalidArgumentError, r"out must be uint8\[8, 8, 3\]"),
        ({"out": [1]}, TypeError, "out must be an array"),
        ({"out": np.frombuffer(bytes(192), np.uint8).reshape(8, 8, 3)}, InvalidArgumentError, "cannot be written"),
        ({"data": b"GIF"}, InvalidArgumentError, "Unknown image"),
        ({"data": b""}, InvalidArgumentError, "empty"),
        ({"data": "cat.jpg"}, TypeError, "integers or floats"),
        ({"data": np.zeros((2, 4, 4, 3), np.uint8)}, InvalidArgumentError, "bytes of a file or"),
        ({"data": np.zeros((0, 4, 3), np.uint8)}, InvalidArgumentError, "bytes of a file or"),
        ({"max_pixels": 10}, InvalidArgumentError, "more than the limit of 10"),
    ],
)
def test_errors(options, error, text):
    given = {"data": jpeg(20, 30), "size": 8, "rng": np.random.default_rng(0), **options}
    with pytest.raises(error, match=text):
        pipeline.image.random_resized_crop(given.pop("data"), given.pop("size"), **given)


@pytest.mark.parametrize(
    ("options", "text"),
    [({"resize": 7}, "leaves less than"), ({"resize": 2**40}, "at most 65,535"), ({"size": -1}, "positive")],
)
def test_errors_of_the_centre(options, text):
    with pytest.raises(InvalidArgumentError, match=text):
        pipeline.image.center_crop_resize(jpeg(20, 30), options.pop("size", 8), **options)


def test_exif_turns_the_image_first():
    image = photo(60, 90)
    stored = Image.fromarray(image)
    for number in range(1, 9):
        exif = Image.Exif()
        exif[274] = number
        for kind in ("JPEG", "PNG"):
            file = io.BytesIO()
            stored.save(file, kind, exif=exif)
            upright = np.asarray(ImageOps.exif_transpose(Image.open(io.BytesIO(file.getvalue()))))
            for given in (False, True):
                found = pipeline.image.center_crop_resize(file.getvalue(), 24, resize=30, shrink=False, exif=given)
                whole = upright if given else np.asarray(Image.open(io.BytesIO(file.getvalue())))
                wanted = pipeline.image.center_crop_resize(whole, 24, resize=30)
                assert np.abs(found.astype(int) - wanted).max() <= (12 if kind == "JPEG" else 0)  # the fast DCT


def test_formats_that_only_pillow_reads():
    file = io.BytesIO()
    Image.fromarray(photo(40, 50)).save(file, "WEBP", lossless=True)
    np.testing.assert_array_equal(crop(file.getvalue(), 16, 3), crop(photo(40, 50), 16, 3))
