"""Branches, loops, variables and queues inside one another."""

from compat_cases import case


def variable_made_in_a_branch(tf):
    p = tf.placeholder_with_default(True, [])
    return tf.cond(p, lambda: tf.get_variable("v", initializer=lambda: tf.constant(3)) + 1, lambda: 2)


def variable_of_a_value_from_a_branch(tf):
    p = tf.placeholder_with_default(True, [])
    return tf.cond(p, lambda: tf.Variable(tf.constant(3)) + 1, lambda: 2)


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
