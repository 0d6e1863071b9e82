"""Slices of variables: variable[...].assign."""

import numpy as np
from compat_cases import case


def matrix(tf):
    return tf.Variable(np.arange(12, dtype=np.float32).reshape(3, 4))


@case()
def a_row(tf):
    v = matrix(tf)
    return v[1].assign([10.0, 11.0, 12.0, 13.0])


@case()
def an_element_with_a_name(tf):
    v = matrix(tf)
    return v[1, 2].assign(7.0, name="set")


@case(graph=False)
def a_scalar_for_many(tf):
    v = matrix(tf)
    return v[::2, 1:3].assign(-1.0)


@case(graph=False)
def one_for_many(tf):
    return matrix(tf)[::2, 1:3].assign([-1.0])


@case(graph=False)
def a_row_for_many(tf):
    return matrix(tf)[::2, 1:3].assign([[-1.0, -2.0]])


@case(graph=False)
def ellipsis_and_new_axis(tf):
    v = matrix(tf)
    return v[..., tf.newaxis, 0].assign([[1.0], [2.0], [3.0]])


@case(graph=False)
def a_negative_stride(tf):
    v = tf.Variable([1, 2, 3])
    return v[::-1].assign([7, 8, 9])


@case(graph=False)
def an_index_that_is_a_tensor(tf, sess):
    v, place = tf.Variable(["a", "b"]), tf.placeholder(tf.int32, [])
    sess.run(v.initializer)
    after = sess.run(v[place].assign("c"), {place: 1})
    return [after, sess.run(v)]


@case(graph=False)
def an_index_out_of_range(tf, sess):
    v, place = tf.Variable([1, 2]), tf.placeholder(tf.int32, [])
    sess.run(v.initializer)
    sess.run(v[place].assign(1), {place: 2})


@case(graph=False)
def a_value_of_another_shape(tf):
    return matrix(tf)[1].assign([1.0, 2.0])


@case()
def a_value_of_another_dtype(tf):
    return matrix(tf)[1].assign(tf.constant(1))


@case(graph=False)
def a_variable_that_is_not_initialized(tf, sess):
    return sess.run(matrix(tf)[1].assign(1.0))


@case(graph=False)
def other_slices_lack_it(tf):
    v = matrix(tf)
    return tf.constant([hasattr(v[0], "assign"), hasattr(v.value()[0], "assign")])


@case(graph=False)
def a_get_variable(tf, sess):
    v = tf.get_variable("v", initializer=[1, 2, 3])
    sess.run(v.initializer)
    sess.run(v[1:].assign([5, 6]))
    return sess.run(v)
