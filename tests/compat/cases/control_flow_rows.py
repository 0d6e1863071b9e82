"""map_fn and scan: values and shapes; TensorFlow makes dozens of operations per loop, the drop-in one."""

from compat_cases import case, table


def _seen(sess, made):
    """Static shapes and values."""
    made = made if isinstance(made, (list, tuple)) else [made]
    return [[each.get_shape(), sess.run(each)] for each in made]


def _late(tf, value, shape=None):
    return tf.placeholder_with_default(value, shape)


def _py_func_in_a_map(tf):
    def double(each):
        got = tf.py_func(lambda value: value + value, [each], tf.float32)  # NumPy 1 makes it float64 by `* 2`
        got.set_shape([])
        return got

    return tf.map_fn(double, tf.constant([1.0, 2.0]))


@case(graph=False)
def map_with_state(tf, sess):
    v = tf.Variable(0)
    sess.run(v.initializer)

    def body(i):
        with tf.control_dependencies([tf.assign_add(v, 2)]):
            return i + v.read_value()

    got = sess.run(tf.map_fn(body, tf.range(4), parallel_iterations=1))
    return [got, sess.run(v)]


@case(graph=False)
def map_with_a_queue(tf, sess):
    queue = tf.FIFOQueue(10, tf.int32, [()])
    sess.run(queue.enqueue_many([[1, 2, 3, 4]]))
    total = tf.scan(lambda t, i: t + queue.dequeue(), tf.range(3), initializer=0, parallel_iterations=1)
    return [sess.run(total), sess.run(queue.size())]


@case(graph=False)
def map_draws_anew(tf, sess):
    return len(set(sess.run(tf.map_fn(lambda _: tf.random_uniform([], seed=1), tf.zeros([4]))).tolist()))


@case(graph=False)
def map_after_control_dependencies(tf, sess):
    v = tf.Variable(0)
    sess.run(v.initializer)
    with tf.control_dependencies([tf.assign_add(v, 1)]):
        made = tf.map_fn(lambda i: i + 1, tf.range(4))
    return [sess.run(made), sess.run(v)]


ROWS = {
    "function": lambda tf: tf.map_fn(lambda x: x * 2, tf.constant([1, 2, 3])),
    "to_another_dtype": lambda tf: tf.map_fn(
        lambda x: tf.cast(x, tf.float32), tf.constant([1, 2]), dtype=tf.float32, name="m"
    ),
    "nested": lambda tf: tf.map_fn(lambda x: (x[0] + x[1], x[0] * 1), (tf.constant([1, 2]), tf.constant([3, 4]))),
    "to_several": lambda tf: tf.map_fn(lambda x: (x, x * 2), tf.constant([[1, 2], [3, 4]]), dtype=(tf.int32, tf.int32)),
    "unknown_length": lambda tf: [
        tf.map_fn(lambda x: x * 2, _late(tf, [1, 2], [None])),
        tf.map_fn(lambda x: x * 2, _late(tf, [[1, 2]])),
    ],
    "no_rows": lambda tf: tf.map_fn(lambda x: x * 2, tf.zeros([0, 2])),
    "strings": lambda tf: tf.map_fn(lambda x: tf.string_join([x, "!"]), tf.constant(["a", "b"])),
    "what_is_outside": lambda tf: tf.map_fn(lambda x: tf.constant(5), tf.constant([1, 2])),
    "with_cond": lambda tf: tf.map_fn(
        lambda each: tf.cond(each > 0, lambda: each * 2, lambda: -each), tf.constant([1, -2, 3])
    ),
    "in_a_cond": lambda tf: [
        tf.cond(
            _late(tf, taken, []),
            lambda: tf.map_fn(lambda each: each + 1, tf.constant([1, 2])),
            lambda: tf.constant([1, 2]),
        )
        for taken in (True, False)
    ],
    "in_a_map": lambda tf: tf.map_fn(
        lambda row: tf.map_fn(lambda each: each * row[0], row), tf.constant([[1, 2], [3, 4]])
    ),
    "py_func": _py_func_in_a_map,
    "scan": lambda tf: [
        tf.scan(lambda a, x: a + x, tf.constant([1, 2, 3])),
        tf.scan(lambda a, x: a + x, tf.constant([1, 2, 3]), initializer=10),
        tf.scan(lambda a, x: a - x, tf.constant([1, 2, 3]), reverse=True),
        *tf.scan(lambda a, x: (a[0] + x, a[1] * x), tf.constant([1, 2, 3]), initializer=(0, 1)),
    ],
    "scan_of_no_rows": lambda tf: tf.scan(lambda a, x: a + x, tf.zeros([0, 2]), initializer=tf.constant([1.0, 2.0])),
    "a_scalar": lambda tf: tf.map_fn(lambda x: x, tf.constant(3)),
    "to_another_dtype_undeclared": lambda tf: tf.map_fn(lambda x: tf.cast(x, tf.float32), tf.constant([1, 2])),
    "to_rows_of_different_lengths": (
        lambda tf: tf.map_fn(lambda x: tf.range(x), tf.constant([1, 2])),
        "consider setting infer_shape=False",
    ),
    "to_rows_of_any_length": (
        lambda tf: tf.map_fn(lambda x: tf.range(x), tf.constant([2, 3]), infer_shape=False),
        "Index 0 has shape: .2. but index 1 has shape: .3.",
    ),
    "scan_to_rows_of_different_lengths": lambda tf: tf.scan(lambda a, x: tf.range(x[0]), tf.constant([[1], [2]])),
}


def _add(name, function, message=None):
    def made(tf, sess):
        return _seen(sess, function(tf))

    table("rows_", {"graph": False}, **{name: (made, message) if message else made})


for _name, _case in ROWS.items():
    _add(_name, *(_case if isinstance(_case, tuple) else (_case,)))
