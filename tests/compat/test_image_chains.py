"""Arithmetic on images and single numbers: computed in one pass, with the values from separate operations."""

import numpy as np
import pytest

import pipeline.compat.v1 as tf

PIXELS = np.random.default_rng(0).integers(0, 256, (70, 90, 3), dtype=np.uint8)  # enough to let other threads run
FLOATS = np.random.default_rng(1).standard_normal((5, 7), np.float32)


def values(fetches, feed=None):
    with tf.Session() as sess:
        return sess.run(fetches, feed)


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default():
        yield


@pytest.mark.parametrize("given", [PIXELS, PIXELS[:3, :4], PIXELS[::-1, ::-2], PIXELS[:0]])
def test_pixels_are_cast_and_scaled(given):
    image = tf.placeholder(tf.uint8, [None, None, 3])
    scaled = 2.0 - tf.minimum(tf.maximum((tf.cast(image, tf.float32) / 127.5 - 1.0) * 3.0 + 0.5, -2.0), 1.5)
    expected = np.clip((given.astype(np.float32) / np.float32(127.5) - 1) * 3 + np.float32(0.5), -2, 1.5)
    found = values(scaled, {image: given})
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, 2 - expected)


def test_a_number_before_the_operator():
    x = tf.placeholder(tf.float32, [None, 7])
    np.testing.assert_array_equal(values(3.0 / (1.0 - x), {x: FLOATS}), np.float32(3) / (1 - FLOATS))


def test_results_in_between_that_are_fetched_or_used_twice():
    x = tf.placeholder(tf.float32, [None, 7])
    doubled = x * 2.0
    moved = doubled + 1.0
    first, second, third = values([doubled, moved * moved, moved - 3.0], {x: FLOATS})
    np.testing.assert_array_equal(first, FLOATS * 2)
    np.testing.assert_array_equal(second, (FLOATS * 2 + 1) ** 2)
    np.testing.assert_array_equal(third, FLOATS * 2 + 1 - 3)


def test_numbers_that_a_run_computes():
    x, number = tf.placeholder(tf.float32, [None, 7]), tf.placeholder(tf.float32, [])
    found = values((x + number * 2.0) * number, {x: FLOATS, number: 0.3})
    number = np.float32(0.3)
    np.testing.assert_array_equal(found, (FLOATS + number * 2) * number)


def test_the_smaller_and_larger_of_a_number_and_nan_is_nan():
    x, number = tf.placeholder(tf.float32, [2]), tf.placeholder(tf.float32, [])
    bounds = [tf.minimum(x * 1.0, number), tf.maximum(x * 1.0, number)]
    for given, bound in (([np.nan, 1], 0), ([1, 2], np.nan)):
        smaller, larger = values(bounds, {x: given, number: bound})
        np.testing.assert_array_equal(smaller, np.minimum(np.float32(given), np.float32(bound)))
        np.testing.assert_array_equal(larger, np.maximum(np.float32(given), np.float32(bound)))


def test_more_operations_than_one_pass_does():
    x = tf.placeholder(tf.float32, [None, 7])
    result, expected = x, FLOATS
    for index in range(50):
        result, expected = result + float(index), expected + np.float32(index)
    np.testing.assert_array_equal(values(result, {x: FLOATS}), expected)


def test_a_shape_that_is_known_at_run_time_alone():
    x = tf.placeholder(tf.float32)
    moved = x * 2.0 - 1.0
    assert values(moved, {x: 3.0}) == 5
    np.testing.assert_array_equal(values(moved, {x: FLOATS}), FLOATS * 2 - 1)


def test_a_feed_in_the_middle():
    x = tf.placeholder(tf.float32, [None, 7])
    doubled = x * 2.0
    np.testing.assert_array_equal(values(doubled + 1.0, {doubled: FLOATS}), FLOATS + 1)


def test_what_the_caller_was_given_stays_as_it_is():
    x = tf.constant(FLOATS)
    moved = tf.identity(x) * 2.0 + 1.0
    with tf.Session() as sess:
        first = sess.run(moved)
        kept = first.copy()
        first += 1
        np.testing.assert_array_equal(sess.run(moved), kept)
        np.testing.assert_array_equal(sess.run(x), FLOATS)


def scaled(image):
    return tf.cast(image, tf.float32) / 127.5 - 1.0


VIEWS = {
    "strided": lambda x: x[1:40, ::2],
    "slice": lambda x: tf.slice(x, [3, 0, 1], [-1, 5, 2]),
    "axes": lambda x: tf.squeeze(tf.expand_dims(x, 0)[:, 2:], [0]),
    "reshape": lambda x: tf.reshape(tf.identity(x), [-1, 3])[7:] * 2.0,
    "half": lambda x: tf.slice(x, [0, 0, 0], tf.cast(tf.shape(x) / 2, tf.int32)),
    "shapes": lambda x: tf.slice(x * 3.0, [0, 0, 0], tf.shape(x * 3.0)) + tf.to_float(tf.shape(x)[0]),
}


@pytest.mark.parametrize("name", VIEWS)
def test_parts_of_a_result_are_taken_first(name):
    view = VIEWS[name]
    image = tf.placeholder(tf.uint8, [None, None, 3])
    floats = tf.placeholder(tf.float32, [None, None, 3])
    np.testing.assert_array_equal(
        values(view(scaled(image)), {image: PIXELS}),
        values(view(floats), {floats: PIXELS.astype(np.float32) / np.float32(127.5) - 1}),
        strict=True,
    )


def test_a_result_that_is_fetched_or_read_besides_its_part():
    image = tf.placeholder(tf.uint8, [None, None, 3])
    whole = scaled(image)
    part = whole[:2, :2]
    expected = PIXELS.astype(np.float32) / np.float32(127.5) - 1
    for fetches in ([whole, part, part + 1.0], [part, tf.reduce_max(whole)], [part, tf.shape(whole), whole[1:]]):
        found = values(fetches, {image: PIXELS})
        for fetch, each in zip(fetches, found, strict=True):
            kind = fetch.op.type
            if fetch is whole:
                np.testing.assert_array_equal(each, expected)
            elif fetch is part:
                np.testing.assert_array_equal(each, expected[:2, :2])
            elif kind == "Max":
                assert each == expected.max()
            elif kind == "Shape":
                assert each.tolist() == [70, 90, 3]
            elif kind == "StridedSlice":
                np.testing.assert_array_equal(each, expected[1:])
            else:
                np.testing.assert_array_equal(each, expected[:2, :2] + 1)


def test_a_part_that_there_is_not():
    image = tf.placeholder(tf.uint8, [None, None, 3])
    part = tf.slice(scaled(image), [0, 0, 0], [71, 1, 1])
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        values(part, {image: PIXELS})
    assert caught.value.op is part.op


@pytest.mark.parametrize("size", [(70, 90), (35, 45), (90, 70)])
@pytest.mark.parametrize(
    "given", [PIXELS, PIXELS[::-1, ::-1], PIXELS.astype(np.float32)], ids=["bytes", "turned", "floats"]
)
def test_images_resized_to_any_size_and_scaled(size, given):
    image = tf.placeholder(given.dtype, [None, None, 3])
    resized = tf.image.resize_images(image, size)
    found, plain = values([resized / 127.5 - 1.0, resized + 0.0], {image: given})
    alone = values(tf.image.resize_images(image, size) / 127.5 - 1.0, {image: given})
    assert alone.dtype == np.float32
    np.testing.assert_array_equal(alone, found)
    np.testing.assert_array_equal(alone, plain / np.float32(127.5) - 1)
