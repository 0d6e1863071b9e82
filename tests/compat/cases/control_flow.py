"""cond, case and no_op: the operations that run, and their names."""

from compat_cases import case, table


def _pred(tf, value=True):
    return tf.placeholder_with_default(value, [])


def cond_both_ways(tf):
    x = tf.constant([1.0, 2.0])
    return [tf.cond(_pred(tf, value), lambda: x + 1.0, lambda: x * 2.0) for value in (True, False)]


def cond_of_outside_tensors(tf):
    x, y = tf.constant(1), tf.constant(2)
    return tf.cond(_pred(tf), lambda: x, lambda: y)


def cond_of_several(tf):
    x = tf.constant(1.0)
    return tf.cond(_pred(tf, False), lambda: (tf.constant(1.0), x), lambda: (x, x * 2.0))


def cond_of_operations(tf):
    x = tf.constant(1.0)
    return tf.cond(_pred(tf), lambda: tf.no_op(), lambda: tf.group(x))


def cond_within_cond(tf):
    x = tf.constant(3)
    a, b = _pred(tf, False), _pred(tf, True)
    return tf.cond(a, lambda: x, lambda: tf.cond(b, lambda: x + 1, lambda: x + 2))


@case(graph=False)
def cond_runs_one_branch(tf, sess):
    v, w = tf.Variable(0), tf.Variable(0)
    p = tf.placeholder(tf.bool)
    op = tf.cond(p, lambda: tf.assign_add(v, 1), lambda: tf.assign_add(w, 10))
    sess.run(tf.global_variables_initializer())
    got = [sess.run(op, {p: True}), sess.run(op, {p: True}), sess.run(op, {p: False})]
    return [*got, sess.run([v, w])]


@case(graph=False)
def cond_runs_the_operations_of_one_branch(tf, sess):
    v, w = tf.Variable(0), tf.Variable(0)
    p = tf.placeholder(tf.bool)

    def count(variable, by):
        with tf.control_dependencies([tf.assign_add(variable, by)]):
            return tf.constant(by)

    op = tf.cond(p, lambda: count(v, 1), lambda: count(w, 10))
    sess.run(tf.global_variables_initializer())
    return [sess.run(op, {p: True}), sess.run(op, {p: False}), sess.run(op, {p: False}), sess.run([v, w])]


@case(graph=False)
def cond_with_a_queue(tf, sess):
    queue = tf.FIFOQueue(10, tf.int32)
    sess.run(queue.enqueue_many([[1, 2, 3]]))
    p = tf.placeholder(tf.bool)
    op = tf.cond(p, queue.dequeue, lambda: tf.constant(-1))
    return [sess.run(op, {p: value}) for value in (True, False, True)] + [sess.run(queue.size())]


def cond_of_a_variable(tf):
    v = tf.Variable([1.0])
    return tf.cond(_pred(tf), lambda: v, lambda: v + 1.0)


def cond_fetch_from_a_branch(tf):
    inside = []

    def branch():
        inside.append(tf.constant(3))
        return inside[0]

    tf.cond(_pred(tf), branch, lambda: tf.constant(2))
    return inside


def groups(tf):
    a, b = tf.constant(1), tf.constant(2)
    return [
        tf.group(a, b),
        tf.group(),
        tf.group([a, (b,)], name="g"),
        tf.group(tf.no_op(), tf.Variable(1)),
        tf.no_op("n"),
    ]


def tuples(tf):
    got = tf.tuple([tf.constant(1), tf.constant([2.0])])
    return [*got, *tf.tuple([tf.constant(3)], name="t", control_inputs=[tf.no_op()])]


@case(graph=False)
def tuple_waits(tf, sess):
    v = tf.Variable(1)
    sess.run(v.initializer)
    got = tf.tuple([tf.constant(5), None], control_inputs=[v.assign_add(1)])
    return [sess.run(got[0]), sess.run(v)]


table(
    cond_of_a_dict=lambda tf: tf.cond(_pred(tf), lambda: {"a": 2, "b": 3}, lambda: {"a": 4, "b": 5}),
    cond_of_one=lambda tf: [
        tf.cond(_pred(tf), lambda: [2], lambda: [3]),
        tf.cond(_pred(tf), lambda: [2], lambda: [3], strict=True),
        tf.cond(_pred(tf), fn1=lambda: 2, fn2=lambda: 3, name="old"),
    ],
    cond_shapes=lambda tf: [
        tf.cond(_pred(tf), lambda: tf.constant([1, 2]), lambda: tf.constant([1, 2, 3])),
        tf.cond(_pred(tf), lambda: tf.constant([1, 2]), lambda: tf.constant(3)),
        tf.cond(_pred(tf), lambda: tf.constant([[1, 2]]), lambda: tf.constant([[3, 4]])),
    ],
    cond_sparse=lambda tf: tf.cond(
        _pred(tf), lambda: tf.SparseTensor([[0]], [1], [2]), lambda: tf.SparseTensor([[1]], [1], [2])
    ),
    cond_of_a_python_bool=lambda tf: tf.cond(True, lambda: 1, lambda: 2),
    cond_without_function=lambda tf: tf.cond(_pred(tf), None, lambda: 2),
    cond_of_what_cannot_be_called=lambda tf: tf.cond(_pred(tf), 1, lambda: 2),
    cond_without_result=lambda tf: tf.cond(_pred(tf), lambda: None, lambda: 2),
    cond_of_two_dtypes=lambda tf: tf.cond(_pred(tf), lambda: 2, lambda: 2.5),
    cond_of_other_structures=lambda tf: tf.cond(_pred(tf), lambda: (2, 3), lambda: 2),
    cond_of_a_tuple_and_a_list=lambda tf: tf.cond(_pred(tf), lambda: (2, 3), lambda: [2, 3]),
    cond_of_other_keys=lambda tf: tf.cond(_pred(tf), lambda: {"a": 2}, lambda: {"b": 4}),
    cond_of_nothing=lambda tf: tf.cond(_pred(tf), lambda: [], lambda: []),
    cond_of_a_vector=lambda tf: tf.cond(tf.constant([True]), lambda: 2, lambda: 3),
    cond_of_a_number=lambda tf: tf.cond(tf.constant(1), lambda: 2, lambda: 3),
    group_of_a_number=lambda tf: tf.group(3),
    group_with_a_keyword=lambda tf: tf.group(foo=3),
    tuple_of_operations=lambda tf: tf.tuple([tf.constant(1), tf.no_op()]),
    tuple_of_none=lambda tf: [each for each in tf.tuple([None, tf.constant(1)]) if each is not None],
    tuple_of_nothing=lambda tf: tf.tuple([]),
    tuple_after_a_number=lambda tf: tf.tuple([tf.constant(1)], control_inputs=[3]),
)
