"""Bodies of map_fn and scan use outside variables and new ones."""

import numpy as np
import pytest

import pipeline.compat.v1 as tf

ROWS = [1.0, 2.0, 3.0]


def outside(resource=False):
    variable = tf.Variable(2.0, use_resource=resource)
    return lambda: variable


def made_by_name():
    return lambda: tf.get_variable("w", [], initializer=tf.constant_initializer(2.0))


def made():
    return lambda: tf.Variable(2.0)


def value(build):
    with tf.Graph().as_default(), tf.Session() as sess:
        result = build()
        sess.run(tf.global_variables_initializer())
        return sess.run(result).tolist()


@pytest.mark.parametrize("variable", [outside, lambda: outside(True), made_by_name, made])
def test_a_variable_in_a_body(variable):
    def mapped():
        weight = variable()
        return tf.map_fn(lambda x: x * weight(), tf.constant(ROWS))

    def scanned():
        weight = variable()
        return tf.scan(lambda total, x: total + x * weight(), tf.constant(ROWS))

    assert value(mapped) == [2.0, 4.0, 6.0]
    assert value(scanned) == [1.0, 5.0, 11.0]


def test_a_body_returns_a_variable():
    def mapped():
        weight = tf.Variable(2.0)
        return tf.map_fn(lambda x: weight, tf.constant(ROWS))

    def scanned():
        weight = tf.Variable(2.0)
        return tf.scan(lambda total, x: weight, tf.constant(ROWS), initializer=weight)

    assert value(mapped) == value(scanned) == [2.0] * 3


def test_rows_of_a_variable():
    def mapped():
        table = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
        return tf.map_fn(lambda i: tf.gather(table, i), tf.constant([1, 0]), dtype=tf.float32)

    assert value(mapped) == [[3.0, 4.0], [1.0, 2.0]]


def test_a_body_sees_what_it_assigns():
    def mapped():
        total = tf.Variable(2.0)
        return tf.map_fn(lambda x: tf.assign_add(total, x) + 0.0, tf.constant(ROWS))

    assert value(mapped) == [3.0, 5.0, 8.0]


def test_a_variable_in_a_body_within_a_body():
    def mapped():
        weight = tf.Variable(2.0)

        def row(each):
            return tf.map_fn(lambda x: x * weight, each)

        return tf.map_fn(row, tf.constant([ROWS, ROWS]))

    assert value(mapped) == [[2.0, 4.0, 6.0]] * 2


def test_a_variable_without_a_value():
    with tf.Graph().as_default(), tf.Session() as sess:
        weight = tf.Variable(2.0, name="weight")
        result = tf.map_fn(lambda x: x * weight, tf.constant(ROWS))
        with pytest.raises(tf.errors.FailedPreconditionError, match="Attempting to use uninitialized value weight"):
            sess.run(result)


@pytest.mark.parametrize("dtype", [tf.int32, tf.int64])
def test_numbers_of_boxes(dtype):
    image = np.arange(12, dtype=np.float32).reshape(2, 2, 3)
    one, four = (lambda: tf.constant(1, dtype)), (lambda: tf.constant(4, dtype))
    padded = value(lambda: tf.image.pad_to_bounding_box(image, one(), one(), four(), four()))
    assert np.array_equal(np.array(padded)[1:3, 1:3], image)
    assert np.array(padded).shape == (4, 4, 3)
    cropped = value(lambda: tf.image.crop_to_bounding_box(image, one(), 0, one(), one()))
    assert np.array_equal(cropped, image[1:2, :1])
    whole = value(lambda: tf.image.resize_image_with_crop_or_pad(image, four(), four()))
    assert np.array_equal(whole, padded)
    size = value(lambda: tf.image.pad_to_bounding_box(image, 0, 0, tf.shape(image, out_type=dtype)[0] + 1, 3))
    assert np.array(size).shape == (3, 3, 3)
