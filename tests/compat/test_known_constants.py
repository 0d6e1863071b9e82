"""Operations with otherwise constant inputs check a shape once, and still fail for a wrong one."""

import numpy as np
import pytest

import pipeline.compat.v1 as tf


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default():
        yield


CASES = {
    "slice": (lambda x: tf.slice(x, [1, 0], [2, -1]), lambda x: x[1:3]),
    "reshape": (lambda x: tf.reshape(x, [-1, 2]), lambda x: x.reshape(-1, 2)),
    "transpose": (lambda x: tf.transpose(x, [1, 0]), lambda x: x.T),
    "expand_first": (lambda x: tf.expand_dims(x, 0), lambda x: x[None]),
    "expand_last": (lambda x: tf.expand_dims(x, -1), lambda x: x[..., None]),
    "expand_before_last": (lambda x: tf.expand_dims(x, -2), lambda x: x[:, None]),
    "pad": (lambda x: tf.pad(x, [[1, 0], [0, 2]]), lambda x: np.pad(x, [(1, 0), (0, 2)])),
    "pad_nothing": (lambda x: tf.pad(x, [[0, 0], [0, 0]]), lambda x: x),
    "mean": (lambda x: tf.reduce_mean(x, -1, keepdims=True), lambda x: x.mean(-1, keepdims=True)),
    "sum": (lambda x: tf.reduce_sum(x, [0, 1]), lambda x: x.sum()),
}


@pytest.mark.parametrize("name", CASES)
def test_several_shapes_again_and_again(name):
    make, expected = CASES[name]
    x = tf.placeholder(tf.float32)
    y = make(x)
    with tf.Session() as sess:
        for shape in [(3, 4), (6, 2), (3, 4), (4, 6), (6, 2)]:
            value = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
            np.testing.assert_allclose(sess.run(y, {x: value}), expected(value))


@pytest.mark.parametrize("name", ["slice", "transpose", "pad", "sum"])
def test_a_shape_that_does_not_fit_after_one_that_did(name):
    x = tf.placeholder(tf.float32)
    y = CASES[name][0](x)
    with tf.Session() as sess:
        sess.run(y, {x: np.zeros((4, 4))})
        with pytest.raises(tf.errors.InvalidArgumentError) as caught:
            sess.run(y, {x: np.zeros(3)})
    assert caught.value.op is y.op


def test_more_shapes_than_are_remembered():
    x = tf.placeholder(tf.float32)
    y = tf.slice(x, [1], [-1])
    with tf.Session() as sess:
        for size in [*range(1, 300), *range(1, 300)]:
            assert sess.run(y, {x: np.zeros(size)}).shape == (size - 1,)


def test_a_constant_that_is_fed():
    x, begin = tf.placeholder(tf.float32), tf.constant([1])
    y = tf.slice(x, begin, [1])
    with tf.Session() as sess:
        assert sess.run(y, {x: [1, 2, 3]}) == [2]
        assert sess.run(y, {x: [1, 2, 3], begin: [2]}) == [3]
        assert sess.run(y, {x: [1, 2, 3]}) == [2]


def test_a_string_keeps_its_form():
    x = tf.placeholder(tf.string)
    with tf.Session() as sess:
        for _ in range(2):
            assert sess.run(tf.reshape(x, [1, 1]), {x: b"a\0"}).tolist() == [[b"a\0"]]
            assert sess.run(tf.reshape(x, []), {x: [b"a\0"]}) == b"a\0"
