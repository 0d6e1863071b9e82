"""Array ops as programs combine them: in scopes, with variables, shapes as arguments, attributes, at run time."""

import numpy as np
from compat_cases import table


def hidden(tf, value, shape=None):
    return tf.placeholder_with_default(value, shape)


def names_in_scopes(tf):
    with tf.name_scope("outer"):
        x = tf.reshape(tf.range(6), [2, 3])
        with tf.name_scope("inner"):
            y = tf.concat([x, x[:, :1]], axis=1, name="joined")
        return tf.stack([y, y]), tf.split(y, 2, axis=1), tf.expand_dims(y, 0)


def shapes_as_arguments(tf):
    x = tf.zeros([2, 3])
    return (
        tf.reshape(x, tf.TensorShape([3, 2])),
        tf.fill(tf.TensorShape([2]), 1),
        tf.reshape(x, [x.shape[1], -1]),
        tf.zeros(x.shape[:1]),
        tf.ones(x.get_shape().as_list()),
    )


def variables(tf):
    v = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    return (
        v[0],
        tf.reshape(v, [-1]),
        tf.concat([v, v], 0),
        tf.gather(v, [1]),
        tf.identity(v),
        tf.transpose(v),
        tf.shape(v),
    )


def batches_of_unknown_size(tf):
    x = hidden(tf, np.zeros([4, 28, 28], np.float32), [None, 28, 28])
    size = tf.shape(x)[0]
    flat = tf.reshape(x, [size, 784])
    return flat, tf.reshape(x, [-1, 28, 28, 1]), tf.expand_dims(x, -1), tf.tile(flat, [2, 1])[:0], tf.zeros([size, 3])


def shapes_put_together(tf):
    x = hidden(tf, np.zeros([2, 3, 4], np.float32), [None, 3, 4])
    shape = tf.shape(x)
    return (
        tf.reshape(x, tf.concat([shape[:1], [12]], 0)),
        tf.reshape(x, tf.stack([shape[0], shape[1], shape[2], 1])),
        tf.reshape(x, [shape[0] * shape[1], 4]),
        tf.zeros(tf.cast(tf.cast(shape, tf.int64), tf.int32)),
        tf.fill(tf.concat([shape, [5]], 0), 1)[:, :, :, :1],
    )


def slices_of_slices(tf):
    x = hidden(tf, np.arange(24).reshape(2, 3, 4), [2, None, 4])
    return x[0][1:], x[..., 1][:, None], x[:, -1], x[::-1, :2, 1::2], x[1, ..., tf.newaxis], x[0, 0, 0]


def slices_in_numpy_integers(tf):
    x = tf.constant([[1, 2, 3], [4, 5, 6]])
    return x[np.int32(0) : np.int64(1)], x[np.array(1)], x[:, np.array(0) :]


def unknown_parts(tf):
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    return (
        tf.unique(hidden(tf, [1])).idx,
        tf.squeeze(hidden(tf, x[None], [1, None, 3])),
        tf.gather(hidden(tf, x, [None, 3]), hidden(tf, [[0]], [None, 1]), axis=1),
        tf.one_hot(hidden(tf, [[1]], [None, 1]), 3, axis=1),
        tf.reverse_sequence(hidden(tf, x, [None, 3]), hidden(tf, [1, 2], [2]), 1),
    )


def unstacked_rows(tf):
    a, b = tf.unstack(tf.constant([[1, 2], [3, 4]]), axis=1, name="columns")
    return a + b


def top_k_is_a_named_tuple(tf):
    made = tf.nn.top_k([1.0, 3.0, 2.0], k=2)
    return made.values, made.indices


def unique_is_a_named_tuple(tf):
    made = tf.unique([5, 5, 6])
    return made.y, made.idx


def nested_lists_with_tensors(tf):
    one = tf.constant(1)
    return tf.reshape([[one, 2], [3, 4]], [4]), tf.stack([[one, 2], [3, one]]), tf.concat([[one], [2]], 0)


def static_values(tf, sess):
    x = tf.placeholder(tf.float32, [None, 3])
    known = [tf.constant([1, 2]), tf.shape(x), tf.range(3), tf.concat([[1], [2]], 0), tf.cast([1], tf.int64)]
    known += [tf.stack([tf.constant(1), 2]), tf.fill([2], 1), tf.zeros([2])]
    return [tf.get_static_value(each) for each in known]


def attributes(tf, sess):
    x = tf.placeholder(tf.float32, [None, 3])
    made = x[1:, tf.newaxis]
    masks = [made.op.get_attr(f"{each}_mask") for each in ("begin", "end", "ellipsis", "new_axis", "shrink_axis")]
    return [
        masks,
        tf.stack([x, x], axis=1).op.get_attr("axis"),
        tf.stack([x, x]).op.get_attr("N"),
        tf.squeeze(tf.zeros([1, 2]), [0]).op.get_attr("squeeze_dims"),
        tf.split(tf.zeros([2]), 2)[0].op.get_attr("num_split"),
        tf.reshape(x, [-1]).op.get_attr("T").name,
        tf.shape(x).op.get_attr("out_type").name,
        tf.one_hot([1], 2).op.get_attr("axis"),
        tf.pad(x, [[1, 1], [1, 1]], "REFLECT").op.get_attr("mode"),
    ]


def values_at_run_time(tf, sess):
    x = tf.placeholder(tf.int32)
    made = [tf.shape(x), tf.size(x), tf.rank(x), tf.reshape(x, [-1]), tf.transpose(x), tf.zeros_like(x), x[0]]
    return sess.run(made, {x: [[1, 2, 3], [4, 5, 6]]}), sess.run(made, {x: [7]})


def strings_at_run_time(tf, sess):
    x = tf.placeholder(tf.string)
    made = [tf.shape(x), tf.reshape(x, [-1]), tf.identity(x), tf.expand_dims(x, 0), tf.zeros_like(x), tf.fill([2], "a")]
    return sess.run(made, {x: "a"}), sess.run(made, {x: ["a", "bc"]})


def control_dependencies(tf, sess):
    v = tf.Variable(1)
    with tf.control_dependencies([tf.assign_add(v, 1)]):
        made = tf.identity(tf.constant(5))
    sess.run(tf.global_variables_initializer())
    return sess.run(made), sess.run(v)


table(
    iterating=lambda tf: list(tf.constant([1, 2])),
    batches_that_differ=lambda tf: tf.gather(np.zeros([2, 3]), [[0], [1], [1]], batch_dims=1),
    scalar_multiples=lambda tf: tf.tile([[1]], 2),
    padding_with_a_vector=lambda tf: tf.pad([1], [[1, 1]], constant_values=[1]),
    range_of_halves=lambda tf: (
        tf.range(tf.constant(1.0, tf.float16), 4, 0.5),
        tf.range(tf.constant(1.0, tf.float64), 2, 0.25),
    ),
    range_of_int8=lambda tf: tf.range(tf.constant(3, tf.int8)),
    range_of_strings=lambda tf: tf.range("a"),
    where_of_ints=lambda tf: (tf.where([1, 0, 2]), tf.where(tf.constant([[0, 3]], tf.int64))),
    one_hot_of_uint8=lambda tf: (tf.one_hot(tf.constant([0, 2], tf.uint8), 3), tf.one_hot(hidden(tf, [0, 1]), 2)),
    bools_and_strings=lambda tf: (
        tf.concat([[True], [False]], 0),
        tf.stack([tf.constant("a"), "b"]),
        tf.tile([["a"]], [2, 2]),
        tf.reverse([True, False], [0]),
        tf.gather(["a", "b"], [1, 1]),
        tf.pad([True], [[1, 0]]),
    ),
)


table(
    "",
    {"rtol": 0, "atol": 0},
    range_rounds_each_element=lambda tf: (tf.range(1e3, 2e3, 0.7)[-8:], tf.range(5.0, -20.0, -0.3)[-8:]),
)
