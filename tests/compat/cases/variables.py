"""Variables: names, values, initializers, methods."""

from compat_cases import case, table


def variable_from_a_list(tf):
    v = tf.Variable([1.0, 2.0])
    return [v, v.value(), v.initial_value, v.read_value()]


def variable_from_a_function(tf):
    v = tf.Variable(lambda: tf.constant([[1, 2]]) + 1, name="x")
    return [v, v.initial_value]


def variable_names_are_unique(tf):
    with tf.name_scope("s"):
        return [tf.Variable(1), tf.Variable(2), tf.Variable(3, name="n"), tf.Variable(4, name="n")]


@case(graph=False)
def variable_attributes(tf, sess):
    v = tf.Variable([[1, 2]], trainable=False, name="v")
    return [
        v.name,
        v.dtype.name,
        v.shape.as_list(),
        v.op.name,
        v.op.type,
        v.initializer.name,
        v.initial_value.name,
        str(v),
        repr(v),
        v.trainable,
        v.graph is tf.get_default_graph(),
        isinstance(v, tf.Variable),
        v == v,
        v.device,
    ]


@case(graph=False)
def variable_collections(tf, sess):
    tf.Variable(1, name="a")
    tf.Variable(1, name="b", trainable=False)
    tf.Variable(1, name="c", collections=[tf.GraphKeys.LOCAL_VARIABLES])
    tf.Variable(1, name="d", collections=["mine"], trainable=False)
    lists = [
        tf.global_variables(),
        tf.local_variables(),
        tf.trainable_variables(),
        tf.all_variables(),
        tf.get_collection("mine"),
        tf.moving_average_variables(),
        tf.global_variables("a"),
    ]
    return [[v.name for v in each] for each in lists]


def validate_shape_false(tf):
    v = tf.Variable(tf.placeholder_with_default([1, 2], None), validate_shape=False)
    return tf.assign(v, [1, 2, 3], validate_shape=False)


@case(graph=False)
def initialize_and_assign(tf, sess):
    v = tf.Variable([1.0, 2.0])
    add, sub = v.assign_add([1.0, 1.0]), v.assign_sub([0.5, 0.5])
    sess.run(v.initializer)
    got = [sess.run(v), sess.run(add), sess.run(add), sess.run(sub), sess.run(v)]
    got.append(sess.run(v.assign([7.0, 8.0])))
    v.load([5.0, 6.0], sess)
    return [*got, v.eval(sess)]


@case(graph=False)
def feeding_a_variable(tf, sess):
    v = tf.Variable(1.0)
    sess.run(v.initializer)
    return [sess.run(v + 1.0, {v.value(): 5.0}), sess.run(v)]


@case(graph=False)
def sessions_have_their_own_values(tf, sess):
    v = tf.Variable(1)
    sess.run(v.initializer)
    sess.run(v.assign_add(4))
    with tf.Session() as other:
        other.run(v.initializer)
        return [sess.run(v), other.run(v)]


def operators(tf):
    v = tf.Variable([4.0, 2.0])
    return [v + 1.0, 1.0 - v, v * v, v / 2.0, v**2.0, -v, abs(v), v > 3.0, v[0], v[:1], v // 3.0, v % 3.0]


def conversion(tf):
    v = tf.Variable([1, 2])
    return [tf.convert_to_tensor(v), tf.identity(v), tf.stack([v, v]), tf.reshape(v, [2, 1]), tf.cast(v, tf.float32)]


@case(values=False)
def initializers_of_all(tf):
    tf.Variable(1)
    tf.Variable(2, collections=[tf.GraphKeys.LOCAL_VARIABLES])
    return [
        tf.global_variables_initializer(),
        tf.local_variables_initializer(),
        tf.tables_initializer(),
        tf.variables_initializer([]),
        tf.variables_initializer(tf.global_variables(), name="some"),
        tf.initialize_all_variables(),
        tf.initialize_local_variables(),
    ]


@case(graph=False)
def not_initialized(tf, sess):
    v, w = tf.Variable(1, name="v"), tf.Variable(2, name="w")
    sess.run(v.initializer)
    report = tf.report_uninitialized_variables()
    return [
        sess.run([tf.is_variable_initialized(v), tf.is_variable_initialized(w)]),
        sess.run(report),
        report.dtype.name,
    ]


def report_uninitialized(tf):
    tf.Variable(1)
    tf.Variable(2)
    return tf.report_uninitialized_variables()


def control_dependencies_do_not_hold_a_variable(tf):
    with tf.control_dependencies([tf.constant(1)]):
        return tf.Variable(2)


@case(graph=False)
def read_after_assign(tf, sess):
    v = tf.Variable(1)
    sess.run(v.initializer)
    with tf.control_dependencies([v.assign_add(1)]):
        return sess.run(v.read_value())


@case(graph=False)
def many_increments(tf, sess):
    v = tf.Variable(0)
    add = v.assign_add(1)
    sess.run(v.initializer)
    for _ in range(20):
        sess.run(add)
    return sess.run(v)


@case(graph=False)
def strings_and_flags(tf, sess):
    s, b = tf.Variable("a"), tf.Variable([True, False])
    sess.run([s.initializer, b.initializer])
    got = [sess.run(s), sess.run(b), sess.run(s.assign("bc")), sess.run(tf.assign(b, [False, False]))]
    return [*got, sess.run([s, b])]


@case(graph=False)
def running_the_operation(tf, sess):
    v = tf.Variable(3.0)
    v.initializer.run(session=sess)
    return [sess.run(v.op), sess.run("Variable:0"), sess.run(v.name), v.value().eval(session=sess)]


@case(graph=False)
def global_initializer_takes_what_is_there(tf, sess):
    tf.Variable(1)
    init = tf.global_variables_initializer()
    late = tf.Variable(2)
    sess.run(init)
    return sess.run(tf.is_variable_initialized(late))


@case(graph=False)
def assigning_a_view_does_not_share(tf, sess):
    import numpy as np

    v = tf.Variable(np.zeros(2, np.float32))
    sess.run(v.initializer)
    value = np.ones(2, np.float32)
    v.load(value, sess)
    value[0] = 7
    first = sess.run(v)
    got = np.array(first)
    sess.run(v.assign_add([1.0, 1.0]))
    return [got, first, sess.run(v)]


@case(graph=False)
def local_variables_are_not_global(tf, sess):
    v = tf.Variable(1, collections=[tf.GraphKeys.LOCAL_VARIABLES], trainable=False)
    sess.run(tf.global_variables_initializer())
    before = sess.run(tf.is_variable_initialized(v))
    sess.run(tf.local_variables_initializer())
    return [before, sess.run(v)]


def gather_and_slices(tf):
    v = tf.Variable([[1, 2], [3, 4]])
    return [tf.gather(v, [1]), v[:, 0], v[tf.constant(1)]]


def variable_in_math(tf):
    v = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    return [tf.matmul(v, v), v @ v, tf.reduce_sum(v), tf.concat([v, v], 1), 2.0**v]


def numpy_with_a_variable(tf):
    import numpy as np

    return np.array([1.0, 2.0], np.float32) * tf.Variable([3.0, 4.0])


table(
    variable_from_a_tensor=lambda tf: tf.Variable(tf.zeros([2, 3]), name="zeros") + 1.0,
    variable_dtype=lambda tf: [
        tf.Variable(3, dtype=tf.float64),
        tf.Variable("a"),
        tf.Variable(True),
        tf.Variable([1, 2], dtype=tf.int64),
    ],
    no_initial_value=lambda tf: tf.Variable(),
    collections_must_be_a_list=lambda tf: tf.Variable(1.0, collections="abc"),
    unknown_shape_is_refused=lambda tf: tf.Variable(tf.placeholder(tf.float32)),
    value_of_another_type=lambda tf: tf.Variable(1.5, dtype=tf.int32),
    constraint_must_be_callable=lambda tf: tf.Variable(1.0, constraint=3),
    conversion_to_another_type=lambda tf: tf.convert_to_tensor(tf.Variable([1, 2]), tf.float32),
    variable_in_a_list=lambda tf: tf.convert_to_tensor([tf.Variable(1), 2]),
    initialized_value=lambda tf: tf.Variable(tf.Variable([1.0]).initialized_value() * 2.0, name="w"),
    initial_value_from_another_variable=lambda tf: tf.Variable(tf.Variable([1.0], name="v") * 2.0, name="w"),
    is_initialized=lambda tf: tf.is_variable_initialized(tf.Variable(1)),
    report_uninitialized_without_variables=lambda tf: tf.report_uninitialized_variables(),
    iterating=lambda tf: list(tf.Variable(1)),
    load_without_session=lambda tf: tf.Variable(1).load(3),
    variable_of_none=lambda tf: tf.Variable(None),
    bad_name=lambda tf: tf.Variable(1, name="a b"),
    variable_with_another_shape=lambda tf: tf.Variable([1.0, 2.0], shape=[3]),
    placeholder_shaped_assign=lambda tf: tf.assign(
        tf.Variable([1.0, 2.0]), tf.placeholder_with_default([1.0, 2.0], [None])
    ),
)


table(
    "",
    {"graph": False},
    uninitialized_read=lambda tf, sess: sess.run(tf.Variable(1.0, name="v") + 1.0),
    uninitialized_fetch=lambda tf, sess: sess.run(tf.Variable(1.0, name="v")),
    uninitialized_assign_add=lambda tf, sess: sess.run(tf.assign_add(tf.Variable(1.0), 1.0)),
)
