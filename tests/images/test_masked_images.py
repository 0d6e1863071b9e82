"""Masked arrays are refused as images: NumPy drops the mask, and a model would learn from masked values."""

import numpy as np
import pytest

import pipeline

PLAIN = np.arange(6 * 8 * 3, dtype=np.uint8).reshape(6, 8, 3)
MASKED = np.ma.masked_equal(PLAIN, 7)
TEXT = "1 of 144 values missing: fill them in first"
image = pipeline.image

CALLS = {
    "resize": lambda given: image.resize(given, (2, 3)),
    "crop": lambda given: image.crop(given, 0, 0, 2, 2),
    "central_crop": lambda given: image.central_crop(given, (2, 2)),
    "random_crop": lambda given: image.random_crop(given, (6, 8), np.random.default_rng(0)),
    "flip_left_right": image.flip_left_right,
    "flip_up_down": image.flip_up_down,
    "normalize": image.normalize,
    "to_chw": image.to_chw,
    "random_resized_crop": lambda given: image.random_resized_crop(given, 2, rng=np.random.default_rng(0)),
    "center_crop_resize": lambda given: image.center_crop_resize(given, 2),
    "encode_png": image.encode_png,
    "encode_jpeg": image.encode_jpeg,
}


@pytest.mark.parametrize("name", CALLS)
def test_images(name):
    if name.startswith("encode"):
        pytest.importorskip("PIL")
    with pytest.raises(pipeline.InvalidArgumentError, match=TEXT):
        CALLS[name](MASKED)
    made = CALLS[name](np.ma.masked_array(PLAIN, mask=False))  # no value is masked
    wanted = CALLS[name](PLAIN)
    assert type(made) is type(wanted)
    assert made == wanted if isinstance(made, bytes) else (made == wanted).all()


@pytest.mark.parametrize("option", ["mean", "std"])
def test_means_and_deviations(option):
    with pytest.raises(pipeline.InvalidArgumentError, match=f"normalize: {option} has 1 of 3 values missing"):
        image.normalize(PLAIN, **{option: np.ma.masked_equal([1, 2, 3], 2)})


def test_out():
    out = np.ma.masked_array(np.zeros((2, 2, 3), np.uint8), mask=True)
    with pytest.raises(pipeline.InvalidArgumentError, match="center_crop_resize: out has 12 of 12 values missing"):
        image.center_crop_resize(PLAIN, 2, out=out)
