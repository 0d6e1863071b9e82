"""Matrix products, norms, softmax, moments."""

import numpy as np
from compat_cases import case, table


def _unknown(tf, value, shape=None):
    return tf.placeholder_with_default(value, shape)


def _ramp(*shape):
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


def products_of_matrices(tf):
    a, b = tf.constant(_ramp(2, 3)), tf.constant(_ramp(3, 2))
    return [
        tf.matmul(a, b),
        tf.matmul(a, a, transpose_b=True),
        tf.matmul(a, a, transpose_a=True),
        tf.matmul([[1, 2]], [[3], [4]]),
        tf.matmul(a, b, a_is_sparse=False, name="m"),
    ]


def products_of_batches(tf):
    a, b = tf.constant(_ramp(2, 2, 3)), tf.constant(_ramp(3, 2))
    return [tf.matmul(a, b), tf.matmul(a, a, transpose_b=True), tf.matmul(a, a, adjoint_a=True)]


def products_of_unknown_shapes(tf):
    a = _unknown(tf, _ramp(2, 3), [None, 3])
    return [tf.matmul(a, tf.constant(_ramp(3, 2))), tf.matmul(_unknown(tf, _ramp(2, 3)), tf.constant(_ramp(3, 2)))]


def products_of_shapes_that_do_not_fit_when_run(tf):
    a = _unknown(tf, _ramp(1, 2), [None, None])
    return tf.matmul(a, a)


def rectified(tf):
    x = tf.constant([-3.0, -0.5, 0.0, 0.5, 7.0])
    return [tf.nn.relu(x), tf.nn.relu([-3, 0, 7]), tf.nn.relu([1.0, -1.0], name="r")]


def softmaxes(tf):
    x = tf.constant([[1.0, 2.0, 3.0], [1000.0, 1000.0, 0.0]])
    return [tf.nn.softmax(x), tf.nn.softmax(x, axis=1), tf.nn.softmax([1.0, 2.0], name="s")]


@case(graph=False, names=False)
def softmaxes_over_another_axis(tf):
    x = tf.constant([[1.0, 2.0, 3.0], [3.0, 2.0, 0.0]])
    return [tf.nn.softmax(x, axis=0), tf.nn.softmax(x, dim=-2), tf.nn.softmax(tf.ones([2, 3, 4]), 1, name="s")]


def moments_over_axes(tf):
    x = tf.constant([[1.0, 2.0], [3.0, 5.0]])
    return [
        tf.nn.moments(x, [0]),
        tf.nn.moments(x, [0, 1]),
        tf.nn.moments(x, [1], keep_dims=True, name="mm"),
        tf.nn.moments(tf.cast(x, tf.float16), [0]),
    ]


def normalisations(tf):
    x = tf.constant([[3.0, 4.0], [0.0, 0.0]])
    return [tf.nn.l2_normalize(x, 1), tf.nn.l2_normalize(x, dim=[0, 1], name="z")]


table(
    products_of_shapes_that_do_not_fit=(
        lambda tf: tf.matmul([[1.0, 2.0]], [[1.0, 2.0]]),
        "Dimensions must be equal, but are 2 and 1",
    ),
    products_of_vectors_fail=(lambda tf: tf.matmul([1.0, 2.0], [1.0, 2.0]), "Shape must be rank 2 but is rank 1"),
    products_of_small_integers_fail=lambda tf: tf.matmul(tf.constant([[1]], tf.int8), tf.constant([[1]], tf.int8)),
    products_of_different_dtypes_fail=lambda tf: tf.matmul(tf.constant([[1]]), tf.constant([[1.0]])),
    transposed_and_adjoint_fails=lambda tf: tf.matmul([[1.0]], [[1.0]], transpose_a=True, adjoint_a=True),
    softmax_of_a_scalar_fails=lambda tf: tf.nn.softmax(3.0),
    softmax_over_a_missing_axis=lambda tf: tf.nn.softmax([[1.0]], axis=2),
    moments_of_unknown_shapes=lambda tf: tf.nn.moments(_unknown(tf, _ramp(2, 3), [None, 3]), [0]),
)
