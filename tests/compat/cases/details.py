"""Details found by users' programs: feeding control inputs, sparse operators, gaps, checks."""

import numpy as np
from compat_cases import case, table


def a_fed_placeholder_as_control_input(tf, sess):
    number = tf.placeholder(tf.float32, [])
    with tf.control_dependencies([number]):
        after = tf.constant(3) + 1
    with tf.control_dependencies([tf.identity(number)]):
        later = tf.identity(after)
    return sess.run([after, later], feed_dict={number: 1.0})


def a_function_without_state_is_called_once_for_constants(tf, sess):
    calls = []

    def count(x):
        calls.append(x)
        return x + np.float32(1)

    number = tf.py_func(count, [tf.constant(1.0)], tf.float32, stateful=False)
    return [sess.run(number), sess.run(number), len(calls)]


def a_function_with_state_is_called_each_time(tf, sess):
    calls = []

    def count(x):
        calls.append(x)
        return x + np.float32(1)

    number = tf.py_func(count, [tf.constant(1.0)], tf.float32)
    return [sess.run(number), sess.run(number), len(calls)]


def _table(tf, tmp):
    with open(f"{tmp}/words.txt", "w") as file:
        file.write("a\nb\n")
    index = tf.lookup.TextFileIndex
    kinds = f"{tmp}/words.txt", tf.string, index.WHOLE_LINE, tf.int64, index.LINE_NUMBER
    return tf.lookup.StaticHashTable(tf.lookup.TextFileInitializer(*kinds), -1)


def a_second_table_of_one_file(tf, sess, tmp):
    first = _table(tf, tmp)
    sess.run(first.initializer)
    second = _table(tf, tmp)
    found = sess.run(second.lookup(tf.constant(["b", "c"])))
    sess.run(tf.tables_initializer())
    return [found, sess.run(first.lookup(tf.constant(["a"])))]


def _sparse(tf, values=(2.0, 3.0)):
    return tf.SparseTensor([[0, 1], [1, 0]], list(values), [2, 2])


def messages_of_a_session(tf):
    config = tf.ConfigProto()
    config.session_inter_op_thread_pool.add().num_threads = 3
    given = tf.RunMetadata()
    names = [tf.GraphDef().SerializeToString(), tf.NodeDef().name, len(tf.GraphDef().node)]
    return [len(config.session_inter_op_thread_pool), given.HasField("step_stats"), *names]


def _late(tf, value, dtype=None):
    return tf.placeholder_with_default(np.array(value, dtype), None)


@case(graph=False)
def an_axis_in_a_vector(tf):
    axis = _late(tf, [0], np.int32)
    return [tf.concat([[1], [2]], axis), tf.expand_dims([1], axis), tf.expand_dims([1], [0])]


@case(message="not re-entrant")
def a_session_entered_within_itself(tf, sess):
    with sess:
        with sess:
            return 0


@case(message="Attempted to use a closed Session")
def a_session_entered_twice(tf, sess):
    with sess:
        sess.run(tf.constant(1))
    with sess:
        return sess.run(tf.constant(1))


SCALARS = {
    "cond": (lambda tf, x: tf.cond(tf.cast(x, tf.bool), lambda: 1, lambda: 2), "must be a scalar, but it has shape"),
    "range": (lambda tf, x: tf.range(x), r"limit must be a scalar, not shape \[2\]"),
    "one_hot": (lambda tf, x: tf.one_hot([1], x), r"depth must be a scalar, but got: \[2\]"),
    "fill": (lambda tf, x: tf.fill([2], x), r"value must represent a scalar, got shape \[2\]"),
    "split": (lambda tf, x: tf.split([1, 2], 2, x), "split_dim must be a scalar"),
    "gather": (lambda tf, x: tf.gather([1, 2], [0], axis=x), "axis must be scalar"),
    "argmax": (lambda tf, x: tf.argmax([1, 2], x), r"dim must be a scalar, but received tensor of shape: \[2\]"),
    "top_k": (lambda tf, x: tf.nn.top_k([1, 2], x), r"k must be scalar, got shape \[2\]"),
    "mask": (lambda tf, x: tf.sequence_mask([1, 2], x), r"limit must be a scalar, not shape \[2\]"),
}


def _add(name, function, message):
    def made(tf):
        return function(tf, _late(tf, [0, 1], np.int32))

    made.__name__ = f"no_scalar_for_{name}"
    case(message=message)(made)


for _name, (_function, _message) in SCALARS.items():
    _add(_name, _function, _message)


table(
    sparse_plus_number=lambda tf: _sparse(tf) + 1.0,
    reshape_of_nothing=lambda tf: [
        tf.reshape(tf.zeros([0, 3]), [-1, 0]),
        tf.reshape(tf.zeros([0, 3]), [0, -1]),
        tf.reshape(tf.zeros([0]), [0, -1, 3]),
        tf.reshape(_late(tf, np.zeros((0, 3))), [-1, 0]),
        tf.reshape(tf.zeros([0]), _late(tf, [-1, 0], np.int32)),
    ],
    reshape_of_something_to_nothing=(
        lambda tf: tf.reshape(_late(tf, np.zeros((2, 3))), [-1, 0]),
        "Input to reshape is a tensor with 6 values, but the requested shape has 0",
    ),
    two_axes_to_expand=(lambda tf: tf.expand_dims([1], [0, 1]), "'dim' input must be a tensor with a single value"),
    constants_of_nested_lists=lambda tf: [
        tf.constant([[1, 2], (3, 4)]),
        tf.constant([[1.5], [2.0]]),
        tf.constant([[1, 2], [3, 1 << 40]]),
        tf.constant([[True, False]]),
        tf.constant([["a", "b"], ["c", "\xe9"]]),
        tf.constant([[b"a"], [b"b"]]),
        tf.constant([[1, 2]], tf.float32),
        tf.constant([[1.5, 1e300]], tf.float32),
        tf.constant([[[1, 2], [3, 4]]], tf.uint8),
        tf.constant([[], []]),
        tf.constant([[1, 2.5]]),
        tf.constant([1j, 2.0]),
    ],
    constant_of_ragged_lists=lambda tf: tf.constant([[1, 2], [3]]),
    constant_of_floats_as_integers=lambda tf: tf.constant([[1.5, 2.0]], tf.int32),
)
