"""Functions that input programs use now and then: windows, matrices, stateless random numbers, nest and others."""

import collections

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
def confusion_matrices(tf):
    return (
        tf.confusion_matrix([0, 1, 1], [0, 0, 1]),
        tf.confusion_matrix([0, 1, 1], [0, 0, 1], 3, weights=[1, 2, 3], dtype=tf.float32),
        tf.math.confusion_matrix(tf.constant([0, 1]), tf.constant([[1], [1]]), num_classes=2),
    )


@case()
def confusion_matrix_out_of_bound(tf):
    return tf.confusion_matrix([0, 3], [0, 0], 2)


@case()
def templates(tf):
    def scaled(x, initial):
        return x * tf.get_variable("w", [], initializer=tf.constant_initializer(initial))

    template = tf.make_template("layer", scaled, initial=2.0)
    results = template(tf.constant(1.0)), template(tf.constant(3.0))
    other = tf.make_template("layer", scaled, initial=4.0)(tf.constant(1.0))
    names = template.name, template.variable_scope_name, [each.name for each in template.variables]
    return results, other, names


@case()
def template_with_more_variables(tf):
    count = []

    def grows():
        count.append(0)
        return tf.get_variable(f"w{len(count)}", [])

    template = tf.make_template("layer", grows)
    template()
    return template()


@case()
def nests(tf, sess):
    Point = collections.namedtuple("Point", "x y")
    structure = {"b": [1, Point(2, 3)], "a": 4}
    doubled = tf.nest.map_structure(lambda each: 2 * each, structure)
    return (
        tf.nest.flatten(structure),
        doubled["a"],
        doubled["b"][1].y,
        tf.nest.map_structure(lambda x, y: x + y, [1, (2,)], [3, (4,)]),
        tf.nest.pack_sequence_as([0, (0,)], [1, 2]),
        tf.nest.flatten(5),
        [tf.nest.is_nested(each) for each in ([1], (1,), {}, "a", 1)],
    )


@case(message="don't have the same nested structure")
def nests_of_other_lengths(tf):
    return tf.nest.map_structure(lambda x, y: x + y, [1], [2, 3])


@case()
def too_many_leaves(tf):
    return tf.nest.pack_sequence_as([0], [1, 2])


@case()
def questions(tf, sess):
    sparse = tf.SparseTensor([[0]], [1], [2])
    known = [tf.is_tensor(each) for each in (tf.constant(1), sparse, tf.Variable(1), np.ones(1), 1)]
    sizes = tf.dimension_at_index(tf.TensorShape([1, 2]), 1), tf.compat.dimension_value(tf.Dimension(3))
    sizes += tf.GraphKeys.RESOURCES, tf.GraphKeys.LOCAL_RESOURCES
    machine = tf.test.is_gpu_available(), tf.test.is_built_with_cuda(), tf.test.gpu_device_name()
    return known, sizes, machine, tf.int32 in tf.QUANTIZED_DTYPES, tf.qint8 in tf.QUANTIZED_DTYPES


@case()
def small_functions(tf):
    with tf.control_dependencies([tf.no_op()]), tf.init_scope():
        free = tf.constant(1)
    return (
        tf.fingerprint(tf.constant(["a", "b"])),
        tf.fingerprint(tf.constant([[1, 2], [3, 4]])),
        tf.math.nextafter(1.0, x2=2.0),
        tf.convert_to_tensor_or_indexed_slices([1, 2]),
        free,
    )
