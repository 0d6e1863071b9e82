"""Random ops: shapes, dtypes and ranges, and the exact numbers if they are TensorFlow's."""

from compat_cases import case, table


def shuffles_with_a_graph_seed(tf):
    tf.set_random_seed(7)
    first = tf.random_shuffle(tf.range(10))
    tf.constant(1)
    return [first, tf.random_shuffle(tf.range(10)), tf.random_shuffle(tf.range(10), seed=2)]


@case(graph=False)
def shuffles_go_on(tf, sess):
    op = tf.random_shuffle(tf.range(9), seed=11)
    return [sess.run(op) for _ in range(4)]


@case(graph=False)
def same_seed_same_numbers(tf, sess):
    ops = [
        tf.random_uniform([3], seed=4),
        tf.random_uniform([3], seed=4),
        tf.random_normal([3], seed=4),
        tf.random_normal([3], seed=4),
    ]
    first = sess.run(ops)
    second = sess.run(ops)
    with tf.Session() as other:
        again = other.run(ops)
    return [
        bool((first[0] == first[1]).all()),
        bool((first[2] == first[3]).all()),
        bool((first[0] == second[0]).all()),
        bool((first[0] == again[0]).all()),
    ]


@case(graph=False)
def ranges(tf, sess):
    small = sess.run(tf.random_uniform([1000], -2, 3, tf.int32, seed=1))
    real = sess.run(tf.random_uniform([1000], 2.0, 3.0, seed=1))
    cut = sess.run(tf.truncated_normal([1000], seed=1))
    classes = sess.run(tf.multinomial([[-1e30, 0.0, 0.0]], 1000, seed=1))
    return [
        sorted({int(x) for x in small}),
        bool((real >= 2).all() and (real < 3).all()),
        bool((abs(cut) < 2).all()),
        sorted({int(x) for x in classes[0]}),
        abs(float(real.mean()) - 2.5) < 0.1,
    ]


@case(graph=False)
def get_seed(tf, sess):
    got = [tf.get_seed(None), tf.get_seed(3), tf.get_seed(0), tf.get_seed(-1)]
    tf.set_random_seed(5)
    tf.constant(1)
    return [*got, tf.get_seed(None), tf.get_seed(3)]


table(
    "",
    {"values": False},
    uniform=lambda tf: [
        tf.random_uniform([2]),
        tf.random_uniform([2], 0, 10, tf.int32),
        tf.random_uniform([2, 3], 1, 10, seed=1),
        tf.random_uniform([], maxval=7),
        tf.random_uniform([2], 0.0, 1.0, name="q"),
        tf.random_uniform((2, tf.Dimension(3)), dtype=tf.float64),
        tf.random_uniform(tf.constant([2, 2], tf.int64), 0, 5, tf.int64),
        tf.random.uniform([1], dtype=tf.float16),
        tf.random_uniform([0], 5, 5, tf.int32),
        tf.random_uniform(tf.placeholder_with_default([2, 3], [2])),
        tf.random_uniform(tf.TensorShape([2])),
        tf.random_uniform([tf.constant(2), 3]),
    ],
    normal=lambda tf: [
        tf.random_normal([2]),
        tf.random_normal([2], 1.0, 0.5, tf.float64, 3, "n"),
        tf.truncated_normal([2, 2]),
        tf.random.truncated_normal([1], mean=[1.0, 2.0]),
        tf.random.normal([2], dtype=tf.float16),
    ],
)


table(
    shuffles_are_exact=lambda tf: [
        tf.random_shuffle([1, 2, 3, 4, 5, 6], seed=3),
        tf.random_shuffle([[1, 2], [3, 4], [5, 6]], seed=1),
        tf.random_shuffle(["a", "b", "c", "d"], seed=5, name="s"),
        tf.random_shuffle(3, seed=5),
        tf.random_shuffle([], seed=5),
        tf.random_shuffle([9], seed=5),
        tf.random.shuffle(tf.range(20), seed=42),
    ],
    integers_without_a_limit=lambda tf: tf.random_uniform([2], dtype=tf.int32),
    uniform_booleans=lambda tf: tf.random_uniform([2], dtype=tf.bool),
    empty_range=lambda tf: tf.random_uniform([2], 5, 5, tf.int32),
    float_shape=lambda tf: tf.random_uniform([2.0]),
    negative_shape=lambda tf: tf.random_uniform([-1]),
    scalar_shape=lambda tf: tf.random_uniform(3),
    matrix_shape=lambda tf: tf.random_uniform([[3]]),
    vector_of_limits=lambda tf: tf.random_uniform([2], [0, 1], 5, tf.int32),
    normal_integers=lambda tf: tf.random_normal([2], dtype=tf.int32),
    multinomial_of_a_vector=lambda tf: tf.multinomial([1.0, 2.0], 3),
    multinomial_without_classes=lambda tf: tf.multinomial(tf.zeros([1, 0]), 3),
    multinomial_of_negative_count=lambda tf: tf.multinomial([[1.0, 2.0]], -3),
    multinomial_float_output=lambda tf: tf.multinomial([[1.0, 2.0]], 3, output_dtype=tf.float32),
)
