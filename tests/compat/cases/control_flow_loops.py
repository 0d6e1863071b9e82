"""while_loop, map_fn and scan."""

from compat_cases import case, table


def while_loop(tf):
    n = tf.constant(10)
    return tf.while_loop(lambda i, x: i < n, lambda i, x: (i + 1, x * 2.0), [0, 1.0])


def while_within_cond(tf):
    p = tf.placeholder_with_default(True, [])
    loop = lambda: tf.while_loop(lambda i: i < 5, lambda i: i + 2, [0])  # noqa: E731
    return [tf.cond(p, loop, lambda: -1), tf.cond(p, lambda: -1, loop)]


def while_within_while(tf):
    y = tf.constant(2)

    def body(i, total):
        _, total = tf.while_loop(lambda j, t: j < i, lambda j, t: (j + 1, t + y), [0, total])
        return i + 1, total

    return tf.while_loop(lambda i, t: i < 4, body, [0, 0])


@case(graph=False)
def while_with_state(tf, sess):
    v = tf.Variable(0)
    sess.run(v.initializer)

    def body(i):
        with tf.control_dependencies([tf.assign_add(v, 2)]):
            return i + 1

    got = sess.run(tf.while_loop(lambda i: i < 4, body, [0]))
    return [got, sess.run(v)]


@case(graph=False)
def while_with_a_queue(tf, sess):
    queue = tf.FIFOQueue(10, tf.int32, [()])
    sess.run(queue.enqueue_many([[1, 2, 3, 4]]))
    _, total = tf.while_loop(lambda i, t: i < 3, lambda i, t: (i + 1, t + queue.dequeue()), [0, 0])
    return [sess.run(total), sess.run(queue.size())]


@case(graph=False)
def while_draws_anew(tf, sess):
    _, x = tf.while_loop(
        lambda i, x: i < 4,
        lambda i, x: (i + 1, tf.concat([x, tf.random_uniform([1], seed=1)], 0)),
        [0, tf.zeros([0])],
        shape_invariants=[tf.TensorShape([]), tf.TensorShape([None])],
    )
    return len(set(sess.run(x).tolist()))


@case(graph=False)
def while_after_control_dependencies(tf, sess):
    v = tf.Variable(0)
    sess.run(v.initializer)
    with tf.control_dependencies([tf.assign_add(v, 1)]):
        loop = tf.while_loop(lambda i: i < 4, lambda i: i + 1, [0])
    return [sess.run(loop), sess.run(v)]


def while_shape_changes(tf):
    x = tf.constant([1])
    return tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, tf.concat([x, x], 0)), [0, x])


def while_shape_invariant_does_not_hold(tf):
    shapes = [tf.TensorShape([]), tf.TensorShape([2])]
    return tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x), [0, tf.constant([1])], shape_invariants=shapes)


def scanning(tf):
    x = tf.constant([1, 2, 3])
    return [
        tf.scan(lambda a, x: a + x, x),
        tf.scan(lambda a, x: a + x, x, initializer=10),
        tf.scan(lambda a, x: a + x, x, reverse=True),
        tf.scan(lambda a, x: (a[0] + x, a[1] * x), x, initializer=(0, 1)),
    ]


table(
    while_one_variable=lambda tf: [
        tf.while_loop(lambda i: i < 3, lambda i: i + 1, [0]),
        tf.while_loop(lambda i: i < 3, lambda i: [i + 1], [0], name="w"),
        tf.while_loop(lambda i: i < 3, lambda i: [i + 1], [0], return_same_structure=True),
    ],
    while_maximum=lambda tf: [
        tf.while_loop(lambda i: True, lambda i: i + 1, [0], maximum_iterations=5),
        tf.while_loop(lambda i, j: i < 2, lambda i, j: [i + 1, j], [0, 1], maximum_iterations=tf.constant(5)),
    ],
    while_shape_invariants=lambda tf: tf.while_loop(
        lambda i, x: i < 3,
        lambda i, x: (i + 1, tf.concat([x, x], 0)),
        [0, tf.constant([1])],
        shape_invariants=[tf.TensorShape([]), tf.TensorShape([None])],
    ),
    while_with_cond=lambda tf: tf.while_loop(
        lambda i: i < 5, lambda i: tf.cond(tf.equal(i, 3), lambda: i + 10, lambda: i + 1), [0]
    ),
    while_nested_structure=lambda tf: tf.while_loop(
        lambda i, d: i < 3, lambda i, d: (i + 1, {"a": d["a"] + i, "b": d["b"]}), (0, {"a": 0, "b": 2})
    ),
    while_dtype_changes=lambda tf: tf.while_loop(lambda i: i < 3, lambda i: tf.cast(i + 1, tf.float32), [0]),
    while_without_variables=lambda tf: tf.while_loop(lambda: True, lambda: (), []),
    while_of_what_cannot_be_called=lambda tf: tf.while_loop(3, lambda i: i, [0]),
    while_no_parallel_iterations=lambda tf: tf.while_loop(lambda i: i < 3, lambda i: i + 1, [0], parallel_iterations=0),
    while_vector_maximum=lambda tf: tf.while_loop(lambda i: True, lambda i: i + 1, [0], maximum_iterations=[5]),
    while_vector_condition=lambda tf: tf.while_loop(lambda i: [True], lambda i: i + 1, [0]),
    while_integer_condition=lambda tf: tf.while_loop(lambda i: 3, lambda i: i + 1, [0]),
    while_body_gives_too_few=lambda tf: tf.while_loop(lambda i, j: i < 3, lambda i, j: i + 1, [0, 1]),
    while_body_gives_too_many=lambda tf: tf.while_loop(lambda i, j: i < 3, lambda i, j: (i + 1, j, j), [0, 1]),
    while_body_gives_none=lambda tf: tf.while_loop(lambda i: i < 3, lambda i: None, [0]),
    map_function=lambda tf: tf.map_fn(lambda x: x * 2, tf.constant([1, 2, 3])),
    map_to_another_dtype=lambda tf: tf.map_fn(
        lambda x: tf.cast(x, tf.float32), tf.constant([1, 2]), dtype=tf.float32, name="m"
    ),
    map_nested=lambda tf: tf.map_fn(lambda x: (x[0] + x[1], x[0] * 1), (tf.constant([1, 2]), tf.constant([3, 4]))),
    map_to_several=lambda tf: tf.map_fn(
        lambda x: (x, x * 2), tf.constant([[1, 2], [3, 4]]), dtype=(tf.int32, tf.int32)
    ),
    map_unknown_length=lambda tf: [
        tf.map_fn(lambda x: x * 2, tf.placeholder_with_default([1, 2], [None])),
        tf.map_fn(lambda x: x * 2, tf.placeholder_with_default([[1, 2]], None)),
    ],
    map_strings=lambda tf: tf.map_fn(lambda x: tf.string_join([x, "!"]), tf.constant(["a", "b"])),
    map_a_scalar=lambda tf: tf.map_fn(lambda x: x, tf.constant(3)),
    map_to_another_dtype_undeclared=lambda tf: tf.map_fn(lambda x: tf.cast(x, tf.float32), tf.constant([1, 2])),
    map_to_rows_of_different_lengths=(
        lambda tf: tf.map_fn(lambda x: tf.range(x), tf.constant([1, 2])),
        "inferred element shape",
    ),
    map_to_rows_of_any_length=(
        lambda tf: tf.map_fn(lambda x: tf.range(x), tf.constant([2, 3]), infer_shape=False),
        "Index 0 has shape: .2. but index 1 has shape: .3.",
    ),
    scan_to_rows_of_different_lengths=lambda tf: tf.scan(lambda a, x: tf.range(x[0]), tf.constant([[1], [2]])),
    scan_of_no_rows=lambda tf: tf.scan(lambda a, x: a + x, tf.zeros([0, 2]), initializer=tf.constant([1.0, 2.0])),
)
