"""variable_scope, get_variable, initializers and the global step."""

from compat_cases import case, table


@case(values=False)
def get_variable_float(tf):
    with tf.variable_scope("s"):
        return tf.get_variable("w", [3, 2])


@case(graph=False)
def reuse(tf, sess):
    with tf.variable_scope("s") as scope:
        v = tf.get_variable("w", [1])
        scope.reuse_variables()
        u = tf.get_variable("w", [1])
    with tf.variable_scope("s", reuse=True):
        w = tf.get_variable("w", [1])
    with tf.variable_scope("s", reuse=tf.AUTO_REUSE):
        x = tf.get_variable("w")
        y = tf.get_variable("y", [1])
    return [v is w, v is x, v is u, y.name]


@case(graph=False)
def scope_names(tf, sess):
    names = []
    with tf.variable_scope("a") as a:
        names += [a.name, a.original_name_scope, tf.get_variable("v", [1]).name, tf.constant(1).name]
        with tf.variable_scope("b") as b:
            names += [b.name, b.original_name_scope, tf.get_variable("v", [1]).name, tf.constant(1).name]
    with tf.variable_scope("a") as again:
        names += [again.name, again.original_name_scope, tf.get_variable("u", [1]).name, tf.constant(1).name]
    with tf.variable_scope(a, reuse=True) as same:
        names += [same.name, same.original_name_scope, tf.get_variable("v", [1]).name, tf.constant(1).name, same.reuse]
    with tf.variable_scope(None, "d") as first:
        names += [first.name, tf.get_variable("v", [1]).name]
    with tf.variable_scope(None, "d") as second:
        names += [second.name, tf.get_variable("v", [1]).name]
    with tf.name_scope("n"):
        names += [tf.get_variable("top", [1]).name, tf.Variable(1).name]
        with tf.variable_scope("m"):
            names += [tf.get_variable("v", [1]).name, tf.constant(1).name]
    with tf.variable_scope("q", auxiliary_name_scope=False):
        names += [tf.get_variable("v", [1]).name, tf.constant(1).name]
    return [*names, tf.get_variable_scope().name, tf.get_variable_scope().reuse]


@case(graph=False)
def scope_defaults(tf, sess):
    with tf.variable_scope("s", initializer=tf.constant_initializer(4.0), dtype=tf.float64) as scope:
        v = tf.get_variable("v", [2])
        with tf.variable_scope("t"):
            w = tf.get_variable("w", [1])
    sess.run(tf.global_variables_initializer())
    return [sess.run([v, w]), v.dtype.name, scope.dtype.name, [x.name for x in scope.global_variables()]]


@case(graph=False)
def custom_getter(tf, sess):
    def double(getter, name, *args, **kwargs):
        return getter(name + "_x", *args, **kwargs) * 2

    with tf.variable_scope("s", custom_getter=double):
        v = tf.get_variable("v", initializer=3)
    sess.run(tf.global_variables_initializer())
    return [sess.run(v), [x.name for x in tf.global_variables()]]


@case(graph=False)
def regularizer(tf, sess):
    v = tf.get_variable("v", initializer=[3.0], regularizer=lambda x: tf.reduce_sum(x * 2.0))
    sess.run(v.initializer)
    return [sess.run(each) for each in tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)]


def reuse_of_what_is_not_there(tf):
    with tf.variable_scope("a", reuse=True):
        return tf.get_variable("b", [1])


def shared_with_another_shape(tf):
    tf.get_variable("a", [2])
    with tf.variable_scope("", reuse=True):
        return tf.get_variable("a", [3])


def shared_with_another_dtype(tf):
    tf.get_variable("a", [2])
    with tf.variable_scope(tf.get_variable_scope(), reuse=True):
        return tf.get_variable("a", [2], tf.int32)


def scope_without_name(tf):
    with tf.variable_scope(None):
        pass


def scope_with_bad_reuse(tf):
    with tf.variable_scope("a", reuse=3):
        pass


def scope_with_a_number_as_name(tf):
    with tf.variable_scope(3):
        pass


@case(graph=False)
def local_variable(tf, sess):
    tf.get_local_variable("a", [1])
    return [[v.name for v in tf.local_variables()], len(tf.global_variables()), len(tf.trainable_variables())]


@case(values=False)
def initializers(tf):
    kinds = [
        tf.zeros_initializer(),
        tf.ones_initializer(),
        tf.constant_initializer(2.0),
        tf.random_uniform_initializer(seed=1),
        tf.random_uniform_initializer(-1, 1),
        tf.random_normal_initializer(seed=1),
        tf.truncated_normal_initializer(stddev=0.1),
        tf.glorot_uniform_initializer(),
    ]
    return [kind([3, 4]) for kind in kinds]


@case(graph=False)
def initializer_config(tf, sess):
    made = [
        tf.zeros_initializer(tf.int32),
        tf.constant_initializer(2.0),
        tf.random_normal_initializer(stddev=2.0),
        tf.glorot_uniform_initializer(seed=2),
    ]
    return [each.get_config() for each in made]


@case(graph=False)
def global_step(tf, sess):
    none = tf.train.get_global_step()
    step = tf.train.get_or_create_global_step()
    sess.run(step.initializer)
    sess.run(step.assign_add(3))
    return [
        none is None,
        step is tf.train.get_or_create_global_step(),
        step.name,
        step.dtype.name,
        tf.train.global_step(sess, step),
        len(tf.get_collection(tf.GraphKeys.GLOBAL_STEP)),
    ]


table(
    get_variable_defaults=lambda tf: [
        tf.get_variable("b", [3], dtype=tf.int32),
        tf.get_variable("c", [2], dtype=tf.bool),
    ],
    get_variable_initializers=lambda tf: [
        tf.get_variable("a", [3], initializer=tf.zeros_initializer()),
        tf.get_variable("b", [2], initializer=tf.ones_initializer),
        tf.get_variable("c", initializer=tf.constant(1.0)),
        tf.get_variable("d", initializer=3),
        tf.get_variable("e", [2], initializer=tf.constant_initializer([1.0, 2.0])),
        tf.get_variable("f", initializer=lambda: tf.constant([5])),
        tf.get_variable("g", [2, 2], tf.float64, tf.constant_initializer(2)),
    ],
    twice=lambda tf: [tf.get_variable("a", [1]), tf.get_variable("a", [1])],
    no_shape=lambda tf: tf.get_variable("a"),
    shape_and_value=lambda tf: tf.get_variable("a", [2], initializer=tf.constant([1.0, 2.0])),
    complex_without_initializer=lambda tf: tf.get_variable("a", [2], dtype=tf.complex64),
    partial_shape=lambda tf: tf.get_variable("a", [None, 2]),
    initializer_of_another_dtype=lambda tf: tf.get_variable("a", dtype=tf.int32, initializer=1.5),
    constant_initializer_of_a_dict=lambda tf: tf.constant_initializer({}),
    normal_initializer_of_integers=lambda tf: tf.random_normal_initializer(dtype=tf.int32),
    create_global_step=lambda tf: tf.train.create_global_step(),
    create_global_step_twice=lambda tf: [tf.train.create_global_step(), tf.train.create_global_step()],
    float_global_step=lambda tf: tf.train.assert_global_step(tf.Variable(1.0)),
)
