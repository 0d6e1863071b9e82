"""Products of matrices, norms, activations, moments."""

import numpy as np
from compat_cases import case


def _unknown(tf, value, shape=None):
    return tf.placeholder_with_default(value, shape)


def _ramp(*shape):
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


@case()
def products_of_matrices(tf):
    a, b = tf.constant(_ramp(2, 3)), tf.constant(_ramp(3, 2))
    return [
        tf.matmul(a, b),
        tf.matmul(a, a, transpose_b=True),
        tf.matmul(a, a, transpose_a=True),
        tf.matmul([[1, 2]], [[3], [4]]),
        tf.matmul(a, b, a_is_sparse=False, name="m"),
    ]


@case()
def products_of_batches(tf):
    a, b = tf.constant(_ramp(2, 2, 3)), tf.constant(_ramp(3, 2))
    return [tf.matmul(a, b), tf.matmul(a, a, transpose_b=True), tf.matmul(a, a, adjoint_a=True)]


@case()
def products_of_unknown_shapes(tf):
    a = _unknown(tf, _ramp(2, 3), [None, 3])
    return [tf.matmul(a, tf.constant(_ramp(3, 2))), tf.matmul(_unknown(tf, _ramp(2, 3)), tf.constant(_ramp(3, 2)))]


@case()
def products_of_complex_matrices(tf):
    a = tf.constant([[1 + 2j, 3j]], tf.complex64)
    return tf.matmul(a, a, adjoint_b=True), tf.matmul(a, a, transpose_a=True)


@case(message="Dimensions must be equal, but are 2 and 1")
def products_of_shapes_that_do_not_fit(tf):
    return tf.matmul([[1.0, 2.0]], [[1.0, 2.0]])


@case(message="Shape must be rank 2 but is rank 1")
def products_of_vectors_fail(tf):
    return tf.matmul([1.0, 2.0], [1.0, 2.0])


@case()
def products_of_shapes_that_do_not_fit_when_run(tf):
    a = _unknown(tf, _ramp(1, 2), [None, None])
    return tf.matmul(a, a)


@case()
def products_of_small_integers_fail(tf):
    return tf.matmul(tf.constant([[1]], tf.int8), tf.constant([[1]], tf.int8))


@case()
def products_of_different_dtypes_fail(tf):
    return tf.matmul(tf.constant([[1]]), tf.constant([[1.0]]))


@case()
def transposed_and_adjoint_fails(tf):
    return tf.matmul([[1.0]], [[1.0]], transpose_a=True, adjoint_a=True)


@case()
def matrix_times_vector(tf):
    return tf.linalg.matvec(tf.constant(_ramp(2, 3)), tf.constant(_ramp(3)))


@case()
def tensordot_of_static_shapes(tf):
    a, b = tf.constant(_ramp(2, 3, 4)), tf.constant(_ramp(4, 3, 2))
    return [
        tf.tensordot(a, b, 1),
        tf.tensordot(a, b, [[1, 2], [1, 0]]),
        tf.tensordot(a, b, [-1, 0], name="t"),
        tf.tensordot(tf.constant(_ramp(3)), tf.constant(_ramp(2)), 0),
        tf.tensordot(tf.constant(_ramp(2, 3)), tf.constant(_ramp(3, 2)), 1),
    ]


@case()
def tensordot_of_unknown_shapes(tf):
    a = _unknown(tf, _ramp(2, 3), [None, 3])
    return tf.tensordot(a, tf.constant(_ramp(3, 2)), 1), tf.tensordot(a, tf.constant(_ramp(3, 2)), [[1], [0]])


@case()
def tensordot_of_too_many_axes(tf):
    return tf.tensordot(tf.constant([1.0]), tf.constant([1.0]), 2)


@case()
def tensordot_of_lists_of_different_lengths(tf):
    return tf.tensordot(tf.constant([[1.0]]), tf.constant([[1.0]]), [[0, 1], [0]])


@case()
def einsums(tf):
    a, b = tf.constant(_ramp(2, 3)), tf.constant(_ramp(3, 4))
    c = tf.constant(_ramp(2, 3, 4))
    return [
        tf.einsum("ij,jk->ik", a, b),
        tf.einsum("ij->ji", a),
        tf.einsum("ij,jk", a, b),
        tf.einsum("...ij,jk->...ik", c, tf.constant(_ramp(4, 2))),
        tf.einsum("bij->b", c),
        tf.einsum("ii->i", tf.constant(_ramp(3, 3))),
        tf.einsum("ij,ij->", a, a, name="e"),
    ]


@case()
def einsum_of_unknown_shapes(tf):
    return tf.einsum("ij,jk->ik", _unknown(tf, _ramp(2, 3), [None, 3]), tf.constant(_ramp(3, 4)))


@case(message="Dimensions must be equal, but are 3 and 2")
def einsum_of_shapes_that_do_not_fit(tf):
    return tf.einsum("ij,jk->ik", tf.constant(_ramp(2, 3)), tf.constant(_ramp(2, 4)))


@case()
def einsum_of_a_wrong_rank(tf):
    return tf.einsum("ijk->i", tf.constant(_ramp(2, 3)))


@case()
def cross_and_trace(tf):
    return tf.cross([1.0, 0.0, 0.0], [0.0, 1.0, 0.0]), tf.trace([[1.0, 2.0], [3.0, 4.0]])


@case()
def norms(tf):
    x = tf.constant([[3.0, 4.0], [-6.0, 8.0]])
    return [
        tf.norm(x),
        tf.norm(x, axis=1),
        tf.norm(x, ord=1, axis=0),
        tf.norm(x, ord=np.inf, axis=1, keep_dims=True),
        tf.norm(x, ord=3, axis=-1),
        tf.norm(x, ord="fro", axis=[0, 1]),
        tf.norm(x, ord=1, axis=(0, 1)),
        tf.norm(x, ord=np.inf, axis=(0, 1), keepdims=True),
        tf.norm(x, ord=1, name="n"),
    ]


@case(graph=False)
def spectral_norm(tf):
    return tf.linalg.norm(tf.constant([[3.0, 4.0], [-6.0, 8.0]]), ord=2, axis=(0, 1)) * 1.0


@case()
def norm_of_an_unknown_order(tf):
    return tf.norm(tf.constant([1.0]), ord="fro")


@case()
def activations(tf):
    x = tf.constant([-3.0, -0.5, 0.0, 0.5, 7.0])
    n = tf.nn
    return [n.relu(x), n.relu6(x), n.elu(x), n.selu(x), n.leaky_relu(x), n.leaky_relu(x, 0.5), n.crelu(x), n.swish(x)]


@case()
def activations_of_integers(tf):
    x = tf.constant([-3, 0, 7])
    return [tf.nn.relu(x), tf.nn.relu6(x), tf.nn.leaky_relu(x), tf.nn.relu([1.0, -1.0])]


@case()
def elu_of_integers_fails(tf):
    return tf.nn.elu(tf.constant([1]))


@case()
def softmaxes(tf):
    x = tf.constant([[1.0, 2.0, 3.0], [1000.0, 1000.0, 0.0]])
    return [tf.nn.softmax(x), tf.nn.log_softmax(x), tf.nn.softmax(x, axis=1), tf.nn.softmax([1.0, 2.0], name="s")]


@case()
def softmaxes_over_another_axis(tf):
    x = tf.constant([[1.0, 2.0, 3.0], [3.0, 2.0, 0.0]])
    return [tf.nn.softmax(x, axis=0), tf.nn.log_softmax(x, dim=-2), tf.nn.softmax(tf.ones([2, 3, 4]), 1, name="s")]


@case()
def softmax_of_a_scalar_fails(tf):
    return tf.nn.softmax(3.0)


@case()
def softmax_over_a_missing_axis(tf):
    return tf.nn.softmax([[1.0]], axis=2)


@case()
def moments_over_axes(tf):
    x = tf.constant([[1.0, 2.0], [3.0, 5.0]])
    return [
        tf.nn.moments(x, [0]),
        tf.nn.moments(x, [0, 1]),
        tf.nn.moments(x, [1], keep_dims=True, name="mm"),
        tf.nn.moments(tf.cast(x, tf.float16), [0]),
    ]


@case()
def moments_of_unknown_shapes(tf):
    return tf.nn.moments(_unknown(tf, _ramp(2, 3), [None, 3]), [0])


@case()
def normalisations(tf):
    x = tf.constant([[3.0, 4.0], [0.0, 0.0]])
    mean, variance = tf.constant([1.0, 2.0]), tf.constant([4.0, 9.0])
    return [
        tf.nn.l2_normalize(x, 1),
        tf.nn.l2_normalize(x, dim=[0, 1], name="z"),
        tf.nn.batch_normalization(x, mean, variance, None, None, 1e-3),
        tf.nn.batch_normalization(x, mean, variance, tf.constant([1.0, 0.0]), tf.constant([2.0, 1.0]), 1e-3),
        tf.nn.normalize_moments(tf.constant(2.0), tf.constant([2.0]), tf.constant([6.0]), None),
        tf.linalg.normalize(x, axis=0),
    ]


@case()
def biases(tf):
    x = tf.constant(_ramp(1, 2, 1, 2))
    return [
        tf.nn.bias_add([[1.0, 2.0]], [1.0, 2.0]),
        tf.nn.bias_add(x, [1.0, 2.0], data_format="NHWC"),
        tf.nn.bias_add(x, [1.0, 2.0], data_format="NCHW", name="b"),
        tf.nn.xw_plus_b(tf.constant([[2.0]]), tf.constant([[3.0]]), tf.constant([1.0])),
        tf.nn.relu_layer(tf.constant([[2.0]]), tf.constant([[-3.0]]), tf.constant([1.0])),
        tf.nn.l2_loss([3.0, 4.0]),
    ]


@case()
def biases_of_another_length(tf):
    return tf.nn.bias_add([[1.0, 2.0]], [1.0, 2.0, 3.0])


@case()
def targets_among_the_largest(tf):
    x = tf.constant([[1.0, 2.0, 3.0], [1.0, 1.0, 0.0], [1.0, 2.0, 3.0]])
    return tf.nn.in_top_k(x, [0, 1, 2], 2), tf.nn.in_top_k(x, tf.constant([1, 9, 0], tf.int64), 1)


@case()
def part_of_zeros(tf):
    return tf.nn.zero_fraction([0.0, 1.0, 0.0])


@case()
def embeddings(tf):
    return tf.nn.embedding_lookup(tf.constant([[1.0], [2.0]]), [1, 0]), tf.nn.embedding_lookup(
        tf.constant([[3.0, 4.0], [2.0, 0.0]]), [[1], [0]], max_norm=1.0
    )


@case(graph=False)
def embeddings_in_parts(tf):
    parts = [tf.constant([[1.0], [2.0]]), tf.constant([[3.0]])]
    return tf.nn.embedding_lookup(parts, [1, 0, 2]) * 1.0, tf.nn.embedding_lookup(parts, [1, 0, 2], "div") * 1.0
