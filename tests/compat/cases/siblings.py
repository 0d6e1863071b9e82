"""Functions that input programs use now and then: windows, matrices, stateless random numbers, nest and others."""

import numpy as np
from compat_cases import case

IMAGE = np.arange(32, dtype=np.float32).reshape(1, 4, 4, 2)


def _ones(*shape):
    return np.ones(shape, np.float32)


@case()
def convolutions(tf):
    return (
        tf.nn.conv2d(IMAGE, _ones(3, 3, 2, 1), [1, 1, 1, 1], "SAME"),
        tf.nn.conv2d(IMAGE, _ones(3, 3, 2, 2), strides=[1, 2, 2, 1], padding="VALID"),
        tf.nn.conv2d(IMAGE, filters=_ones(2, 2, 1, 2), strides=2, padding="SAME", dilations=[1, 1, 1, 1], name="some"),
        tf.nn.conv2d(tf.placeholder_with_default(IMAGE, [None, None, 4, 2]), _ones(2, 3, 2, 1), 1, "VALID"),
    )


@case()
def convolution_of_other_depth(tf):
    return tf.nn.conv2d(IMAGE, _ones(3, 3, 3, 1), [1, 1, 1, 1], "SAME")


@case()
def convolution_with_other_padding(tf):
    return tf.nn.conv2d(IMAGE, _ones(3, 3, 2, 1), [1, 1, 1, 1], "BAD")


@case()
def convolution_of_a_small_image(tf):
    return tf.nn.conv2d(IMAGE, _ones(5, 5, 2, 1), [1, 1, 1, 1], "VALID")


@case()
def depthwise_convolutions(tf):
    return (
        tf.nn.depthwise_conv2d(IMAGE, _ones(3, 3, 2, 1), [1, 1, 1, 1], "SAME"),
        tf.nn.depthwise_conv2d_native(IMAGE, _ones(3, 3, 2, 2), [1, 1, 1, 1], "VALID"),
    )


@case()
def pools(tf):
    unknown = tf.placeholder_with_default(IMAGE, [None, None, 4, 2])
    return (
        tf.nn.max_pool(IMAGE, [1, 2, 2, 1], [1, 2, 2, 1], "SAME"),
        tf.nn.max_pool(IMAGE, 3, 1, "SAME", name="large"),
        tf.nn.max_pool(-IMAGE, 3, 2, "SAME"),
        tf.nn.max_pool(IMAGE.astype(np.int32), [1, 2, 2, 1], [1, 1, 1, 1], "VALID"),
        tf.nn.avg_pool(IMAGE, [1, 3, 3, 1], [1, 2, 2, 1], "SAME"),
        tf.nn.avg_pool(unknown, ksize=[1, 2, 2, 1], strides=[1, 1, 1, 1], padding="VALID"),
        tf.nn.avg_pool2d(IMAGE, 2, 2, "VALID"),
    )


@case()
def matrices(tf):
    square = tf.constant([[4.0, 2.0], [2.0, 3.0]])
    return (
        tf.matrix_inverse(square),
        tf.linalg.inv([[1.0, 2.0], [3.0, 4.0]], adjoint=True),
        tf.linalg.det([[[1.0, 2.0], [3.0, 4.0]]]),
        tf.matrix_determinant(tf.placeholder_with_default(square, None)),
        tf.matrix_solve(square, [[1.0], [2.0]]),
        tf.matrix_triangular_solve(square, [[1.0], [2.0]], lower=False),
        tf.cholesky(square),
        tf.svd(square, compute_uv=False),
        tf.self_adjoint_eigvals(square),
        tf.linalg.adjoint(square),
        tf.linalg.adjoint(tf.constant([[1j, 2.0], [3.0, 4.0]])),
    )


@case(graph=False)
def factors_of_matrices(tf, sess):
    matrix = np.array([[4.0, 2.0], [2.0, 3.0], [1.0, 1.0]], np.float32)
    s, u, v = sess.run(tf.svd(matrix))
    q, r = sess.run(tf.qr(matrix))
    values, vectors = sess.run(tf.self_adjoint_eig(matrix[:2]))
    again = (u * s) @ v.T, q @ r, (vectors * values) @ vectors.T
    return [np.round(each, 4).tolist() for each in again], s, values, u.shape, v.shape, q.shape, r.shape


@case()
def inverse_of_a_singular_matrix(tf):
    return tf.matrix_inverse([[1.0, 2.0], [2.0, 4.0]])


@case()
def inverse_of_a_rectangle(tf):
    return tf.matrix_inverse([[1.0, 2.0]])


@case()
def stateless_random_numbers(tf):
    shape = [3, 7]
    return (
        tf.random.stateless_uniform(shape, seed=[1, 2]),
        tf.random.stateless_uniform(shape, [1, -2], 2.0, 5.0),
        tf.random.stateless_uniform(shape, tf.constant([1, 2], tf.int64), dtype=tf.float64),
        tf.random.stateless_uniform(shape, [1, 2], dtype=tf.float16),
        tf.random.stateless_uniform(shape, [1, 2], 0, 10, tf.int32),
        tf.random.stateless_uniform(shape, [1, 2], -5, 10, tf.int64),
        tf.random.stateless_uniform(shape, [1, 2], None, None, tf.int32),
        tf.random.stateless_normal(shape, [1, 2]),
        tf.random.stateless_normal(shape, [1, 2], 2, 3, tf.float64),
        tf.random.stateless_truncated_normal(shape, [1, 2]),
        tf.random.stateless_truncated_normal(shape, [1, 2], dtype=tf.float64),
        tf.random.stateless_uniform([], np.array([1, 2])),
    )


@case()
def stateless_seed_of_one(tf):
    return tf.random.stateless_uniform([2], seed=[1])


@case()
def stateless_integers_with_one_bound(tf):
    return tf.random.stateless_uniform([2], seed=[1, 2], minval=0, dtype=tf.int32)


@case()
def stateless_integers_without_room(tf):
    return tf.random.stateless_uniform([2], seed=[1, 2], minval=3, maxval=3, dtype=tf.int32)


@case()
def dimension_value_and_keys(tf, sess):
    return tf.compat.dimension_value(tf.Dimension(3)), tf.GraphKeys.RESOURCES, tf.GraphKeys.LOCAL_RESOURCES
