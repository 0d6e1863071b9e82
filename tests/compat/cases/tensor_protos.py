"""make_tensor_proto and make_ndarray: the bytes of the messages, and the way back."""

import numpy as np
from compat_cases import case

DTYPES = ["float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]


def seen(tf, *args, **kwargs):
    """The bytes of the message and what becomes of it."""
    made = tf.make_tensor_proto(*args, **kwargs)
    back = tf.make_ndarray(made)
    return [made.SerializeToString(), str(back.dtype), back.shape, back.tolist()]


@case(graph=False)
def python_values(tf, sess):
    values = [3, -1, 2**40, 2.5, True, "text", b"bytes", [1, 2], [[1.5], [2.5]], [True, False], ["a", b"b"], []]
    return [seen(tf, each) for each in values]


@case(graph=False)
def arrays_of_each_dtype(tf, sess):
    return [seen(tf, np.arange(4).reshape(2, 2).astype(each)) for each in DTYPES]


@case(graph=False)
def single_values_go_back(tf, sess):
    return [tf.make_ndarray(tf.make_tensor_proto(np.dtype(each).type(3))) for each in [*DTYPES, "complex64", "bool"]]


@case(graph=False)
def with_a_dtype(tf, sess):
    return [seen(tf, [1, 2], tf.float32), seen(tf, [1, 2], tf.int64), seen(tf, 1, tf.bfloat16)[0], seen(tf, 1, "int8")]


@case(graph=False)
def the_last_value_repeats(tf, sess):
    return [
        seen(tf, 7, shape=[2, 3]),
        seen(tf, [1.0, 2.0], shape=[4]),
        seen(tf, "x", shape=[2]),
        seen(tf, [], shape=[0, 2]),
    ]


@case(graph=False)
def a_message_stays(tf, sess):
    made = tf.make_tensor_proto(1)
    return [tf.make_tensor_proto(made) is made, made.dtype, [each.size for each in made.tensor_shape.dim]]


@case(graph=False)
def too_many_values(tf, sess):
    tf.make_tensor_proto([1, 2, 3], shape=[2])


@case(graph=False)
def a_shape_that_is_verified(tf, sess):
    tf.make_tensor_proto([1, 2], shape=[3], verify_shape=True)


@case(graph=False)
def a_value_that_may_not_be_broadcast(tf, sess):
    tf.make_tensor_proto([1, 2], shape=[3], allow_broadcast=True)


@case(graph=False)
def both_at_once(tf, sess):
    tf.make_tensor_proto([1], shape=[3], verify_shape=True, allow_broadcast=True)


@case(graph=False)
def none(tf, sess):
    tf.make_tensor_proto(None)


@case(graph=False)
def a_serialized_tensor_is_one(tf, sess):
    data = tf.make_tensor_proto(np.arange(3, dtype=np.float64)).SerializeToString()
    return sess.run(tf.parse_tensor(data, tf.float64))
