"""Branches, loops, variables and queues inside one another."""

from compat_cases import case, table


@case(values=False)
def loop_reads_and_assigns_a_variable(tf):
    v = tf.Variable(1)

    def body(i):
        with tf.control_dependencies([v.assign_add(i)]):
            return i + v.read_value()

    return tf.while_loop(lambda i: i < 20, body, [1])


def variable_made_in_a_branch(tf):
    p = tf.placeholder_with_default(True, [])
    return tf.cond(p, lambda: tf.get_variable("v", initializer=lambda: tf.constant(3)) + 1, lambda: 2)


def variable_of_a_value_from_a_branch(tf):
    p = tf.placeholder_with_default(True, [])
    return tf.cond(p, lambda: tf.Variable(tf.constant(3)) + 1, lambda: 2)


def cond_in_a_map(tf):
    x = tf.constant([1, -2, 3])
    return tf.map_fn(lambda each: tf.cond(each > 0, lambda: each * 2, lambda: -each), x)


def map_in_a_cond(tf):
    p = tf.placeholder_with_default(True, [])
    x = tf.constant([1, 2])
    return tf.cond(p, lambda: tf.map_fn(lambda each: each + 1, x), lambda: x)


def map_in_a_map(tf):
    x = tf.constant([[1, 2], [3, 4]])
    return tf.map_fn(lambda row: tf.map_fn(lambda each: each * 10, row), x)


def py_func_in_a_map(tf):
    def double(each):
        got = tf.py_func(lambda value: value + value, [each], tf.float32)  # NumPy 1 makes it float64 by `* 2`
        got.set_shape([])
        return got

    return tf.map_fn(double, tf.constant([1.0, 2.0]))


def control_dependencies_in_a_branch(tf):
    p = tf.placeholder_with_default(True, [])
    x = tf.constant(1)

    def branch():
        with tf.control_dependencies([tf.no_op()]):
            return tf.identity(x)

    return tf.cond(p, branch, lambda: x)


def cond_within_control_dependencies(tf):
    p = tf.placeholder_with_default(True, [])
    with tf.control_dependencies([tf.no_op(name="first")]):
        return tf.cond(p, lambda: tf.constant(1), lambda: tf.constant(2))


def cond_of_an_indexed_tensor(tf):
    p = tf.placeholder_with_default(False, [])
    x = tf.constant([[1, 2], [3, 4]])
    return tf.cond(p, lambda: x[0], lambda: x[1] + x[0, 1])


def cond_of_nested_results(tf):
    p = tf.placeholder_with_default(False, [])
    x = tf.constant(1)
    return tf.cond(p, lambda: {"a": (x, x + 1), "b": [x]}, lambda: {"a": (x - 1, x), "b": [x * 5]})


def cond_with_an_assertion(tf):
    x = tf.placeholder_with_default(1, [])

    def branch():
        with tf.control_dependencies([tf.assert_equal(x, 2)]):
            return tf.identity(x)

    return tf.cond(x > 1, branch, lambda: x * 3)


def gate_of_a_tensor_in_a_loop(tf):
    x = tf.constant([1.0, 2.0])
    return tf.while_loop(lambda i, y: i < 3, lambda i, y: [tf.add(i, 1), y + x], [tf.constant(0), tf.zeros([2])])


def seeds_in_a_loop(tf):
    tf.set_random_seed(3)
    _, y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, tf.random_shuffle(y)), [0, tf.range(6)])
    return y


@case(graph=False)
def sparse_loop_variable(tf, sess):
    start = tf.SparseTensor([[0]], [1], [3])

    def body(i, x):
        return i + 1, tf.SparseTensor(x.indices, x.values * 2, x.dense_shape)

    _, got = tf.while_loop(lambda i, x: i < 3, body, [0, start])
    return list(sess.run(got))


@case(graph=False)
def branches_see_one_value(tf, sess):
    x = tf.random_uniform([])
    low = tf.cond(x < 0.5, lambda: x < 0.5, lambda: x >= 0.5)
    return [bool(sess.run(low)) for _ in range(10)]


@case(graph=False)
def merge_of_a_variable_and_a_value(tf, sess):
    v = tf.Variable(1)
    p = tf.placeholder(tf.bool)
    merged = tf.cond(p, lambda: v.assign_add(1), lambda: tf.constant(10))
    with tf.control_dependencies([merged]):
        after = tf.constant(5)
    sess.run(v.initializer)
    return [sess.run([after, merged], {p: False}), sess.run([after, merged], {p: True}), sess.run(v)]


table(
    variable_made_in_a_loop=lambda tf: tf.while_loop(
        lambda i: i < 6, lambda i: i + tf.get_variable("v", initializer=lambda: tf.constant(3)), [0]
    ),
)
