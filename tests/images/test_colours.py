"""Colour operations in the drop-in give large images the same pixels as small ones."""

import colorsys

import numpy as np
import pytest

import pipeline.compat.v1 as tf

LARGE = np.random.default_rng(0).random((70, 90, 3)).astype(np.float32)  # enough to let other threads run
LARGE[:3] = 0.5
LARGE[3:5] = 0


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default():
        yield


def value(tensor):
    with tf.Session() as sess:
        return sess.run(tensor)


def by_pixel(function, image=LARGE):
    return np.array([function(*pixel) for pixel in image.reshape(-1, 3).astype(float)]).reshape(image.shape)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_hsv_and_back(dtype):
    hsv = value(tf.image.rgb_to_hsv(LARGE.astype(dtype)))
    assert hsv.dtype == dtype
    np.testing.assert_allclose(hsv, by_pixel(colorsys.rgb_to_hsv), atol=1e-6)
    np.testing.assert_allclose(value(tf.image.hsv_to_rgb(hsv)), LARGE, atol=1e-6)


@pytest.mark.parametrize("delta", [0.0, 0.13, -0.4, 1.0])
def test_hue(delta):
    def turned(*pixel):
        hue, saturation, brightness = colorsys.rgb_to_hsv(*pixel)
        return colorsys.hsv_to_rgb((hue + delta) % 1, saturation, brightness)

    np.testing.assert_allclose(value(tf.image.adjust_hue(LARGE, delta)), by_pixel(turned), atol=2e-6)


@pytest.mark.parametrize("scale", [0.0, 0.4, 1.0, 3.0])
def test_saturation(scale):
    def changed(*pixel):
        hue, saturation, brightness = colorsys.rgb_to_hsv(*pixel)
        return colorsys.hsv_to_rgb(hue, min(saturation * scale, 1), brightness)

    np.testing.assert_allclose(value(tf.image.adjust_saturation(LARGE, scale)), by_pixel(changed), atol=2e-6)


@pytest.mark.parametrize("hue_first", [False, True])
@pytest.mark.parametrize(("delta", "scale"), [(0.13, 0.4), (-0.4, 3.0), (0.0, 0.0), (0.9, 1.0)])
@pytest.mark.parametrize("shape", [(70, 90, 3), (2, 35, 90, 3), (1, 1, 3)])
def test_hue_and_saturation_amid_arithmetic(hue_first, delta, scale, shape):
    def changed(*pixel):
        hue, saturation, brightness = colorsys.rgb_to_hsv(*pixel)
        return colorsys.hsv_to_rgb((hue + delta) % 1, min(saturation * scale, 1), brightness)

    given = np.resize(LARGE, shape)
    image = tf.placeholder(tf.float32)
    made = tf.image.adjust_brightness(image, 0.25)
    for adjust, amount in [(tf.image.adjust_saturation, scale), (tf.image.adjust_hue, delta)][
        :: -1 if hue_first else 1
    ]:
        made = adjust(made, amount)
    made = tf.clip_by_value(made, 0.1, 0.9)
    expected = np.clip(by_pixel(changed, given + np.float32(0.25)), 0.1, 0.9)
    with tf.Session() as sess:
        np.testing.assert_allclose(sess.run(made, {image: given}), expected, atol=2e-6)


def test_colours_amid_arithmetic_that_have_no_three_channels():
    image = tf.placeholder(tf.float32)
    made = tf.image.adjust_hue(image + 1.0, 0.1) * 2.0
    with tf.Session() as sess:
        for shape in [(4, 4, 1), (4, 3), (3,)]:
            with pytest.raises(tf.errors.InvalidArgumentError, match=r"channels|3-D") as caught:
                sess.run(made, {image: np.zeros(shape)})
            assert caught.value.op.type == "AdjustHue"


@pytest.mark.parametrize("shape", [(70, 90, 3), (2, 50, 60, 3), (300, 40, 1), (5, 4, 2), (2, 0, 4, 3)])
def test_contrast(shape):
    images = np.random.default_rng(1).random(shape).astype(np.float32)
    mean = images.mean(axis=(-3, -2), keepdims=True, dtype=np.float64) if images.size else 0
    np.testing.assert_allclose(value(tf.image.adjust_contrast(images, 1.7)), (images - mean) * 1.7 + mean, atol=1e-6)
