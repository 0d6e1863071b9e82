"""crop, central_crop, random_crop, flip_left_right and flip_up_down: parts and mirror images."""

import numpy as np
import pytest

import pipeline
from pipeline.errors import InvalidArgumentError

IMAGE = np.arange(5 * 6 * 2, dtype=np.int16).reshape(5, 6, 2)
BATCH = np.stack((IMAGE, -IMAGE))
LARGE = np.random.default_rng(0).integers(0, 256, (70, 80, 3), dtype=np.uint8)


@pytest.mark.parametrize("images", [IMAGE, BATCH])
def test_crop(images):
    part = pipeline.crop(images, 1, 2, 3, 4)
    np.testing.assert_array_equal(part, images[..., 1:4, 2:6, :])
    assert part.flags.owndata or part.base.flags.owndata
    assert not np.shares_memory(part, images)


@pytest.mark.parametrize("images", [IMAGE, BATCH])
def test_central_crop(images):
    np.testing.assert_array_equal(pipeline.central_crop(images, (3, 2)), images[..., 1:4, 2:4, :])
    np.testing.assert_array_equal(pipeline.central_crop(images, (2, 3)), images[..., 1:3, 1:4, :])
    np.testing.assert_array_equal(pipeline.central_crop(images, images.shape[-3:-1]), images)


def test_random_crop_reaches_all_places_and_repeats_with_its_generator():
    draws = [pipeline.random_crop(IMAGE, (4, 4), np.random.default_rng(seed))[0, 0, 0] for seed in range(60)]
    corners = IMAGE[:2, :3, 0].ravel().tolist()
    assert sorted(set(draws)) == corners
    assert draws == [pipeline.random_crop(IMAGE, (4, 4), np.random.default_rng(seed))[0, 0, 0] for seed in range(60)]
    both = pipeline.random_crop(BATCH, (2, 2), np.random.default_rng(1))
    np.testing.assert_array_equal(both[0], -both[1])


@pytest.mark.parametrize("images", [IMAGE, BATCH, LARGE, LARGE[None], LARGE[::2, ::-3], LARGE.astype(np.float64)])
def test_flips(images):
    for flip, wanted in (
        (pipeline.flip_left_right, images[..., :, ::-1, :]),
        (pipeline.flip_up_down, images[..., ::-1, :, :]),
    ):
        made = flip(images)
        np.testing.assert_array_equal(made, wanted)
        assert made.dtype == images.dtype
        assert not np.shares_memory(made, images)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: pipeline.crop(IMAGE, 3, 0, 3, 2), InvalidArgumentError, "3 x 2 pixels from row 3 and column 0 on are"),
        (lambda: pipeline.crop(IMAGE, -1, 0, 3, 2), InvalidArgumentError, "from row -1"),
        (lambda: pipeline.crop(IMAGE, 0, 0, 0, 2), InvalidArgumentError, "must be positive, not 0 and 2"),
        (lambda: pipeline.crop(IMAGE, 0.5, 0, 2, 2), TypeError, "crop: top"),
        (lambda: pipeline.crop(IMAGE[0], 0, 0, 2, 2), InvalidArgumentError, r"crop: images must be .* \(6, 2\)"),
        (lambda: pipeline.central_crop(IMAGE, (6, 6)), InvalidArgumentError, r"5 x 6 pixels is smaller than size=\(6"),
        (lambda: pipeline.random_crop(IMAGE, (6, 6), np.random.default_rng()), InvalidArgumentError, "random_crop: an"),
        (lambda: pipeline.random_crop(IMAGE, (2, 2), 7), TypeError, "rng must be a numpy.random.Generator, not 7"),
        (lambda: pipeline.flip_left_right("cat.png"), TypeError, "flip_left_right: images must hold"),
        (lambda: pipeline.flip_up_down(IMAGE[0, 0]), InvalidArgumentError, "flip_up_down: images must be"),
    ],
)
def test_errors(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_images_of_a_folder_become_one_size(tmp_path):
    for name in ("cat", "dog"):
        (tmp_path / name).mkdir()
        for number in range(4):
            image = np.full((20 + number, 30, 3), 10 * number, np.uint8)
            (tmp_path / name / f"{number}.png").write_bytes(pipeline.encode_png(image))

    def decode(example):
        data, label = example
        image = pipeline.resize(pipeline.decode_image(data, channels=3), (18, 24))
        image = pipeline.random_crop(image, (16, 16), pipeline.example_rng())
        return pipeline.flip_left_right(image), label

    def seen():
        source = pipeline.image_folder(tmp_path, None, shuffle=True, seed=1).map(decode)
        batches = pipeline.shuffle_batch(source, 4, min_after_dequeue=4, seed=1, deterministic=True)
        return [(images.tolist(), labels.tolist()) for images, labels in batches]

    first = seen()
    assert len(first) == 2
    assert np.shape(first[0][0]) == (4, 16, 16, 3)
    assert first == seen()
