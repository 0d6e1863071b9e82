"""cond, case and no_op: what runs, and under which names."""

from compat_cases import case


def pred(tf, value=True):
    return tf.placeholder_with_default(value, [])


@case()
def cond_both_ways(tf):
    x = tf.constant([1.0, 2.0])
    return [tf.cond(pred(tf, value), lambda: x + 1.0, lambda: x * 2.0) for value in (True, False)]


@case()
def cond_of_outside_tensors(tf):
    x, y = tf.constant(1), tf.constant(2)
    return tf.cond(pred(tf), lambda: x, lambda: y)


@case()
def cond_of_several(tf):
    x = tf.constant(1.0)
    return tf.cond(pred(tf, False), lambda: (tf.constant(1.0), x), lambda: (x, x * 2.0))


@case()
def cond_of_operations(tf):
    x = tf.constant(1.0)
    return tf.cond(pred(tf), lambda: tf.no_op(), lambda: tf.group(x))


@case()
def cond_of_a_dict(tf):
    return tf.cond(pred(tf), lambda: {"a": 2, "b": 3}, lambda: {"a": 4, "b": 5})


@case()
def cond_of_one(tf):
    return [
        tf.cond(pred(tf), lambda: [2], lambda: [3]),
        tf.cond(pred(tf), lambda: [2], lambda: [3], strict=True),
        tf.cond(pred(tf), fn1=lambda: 2, fn2=lambda: 3, name="old"),
    ]


@case()
def cond_within_cond(tf):
    x = tf.constant(3)
    a, b = pred(tf, False), pred(tf, True)
    return tf.cond(a, lambda: x, lambda: tf.cond(b, lambda: x + 1, lambda: x + 2))


@case()
def cond_shapes(tf):
    return [
        tf.cond(pred(tf), lambda: tf.constant([1, 2]), lambda: tf.constant([1, 2, 3])),
        tf.cond(pred(tf), lambda: tf.constant([1, 2]), lambda: tf.constant(3)),
        tf.cond(pred(tf), lambda: tf.constant([[1, 2]]), lambda: tf.constant([[3, 4]])),
    ]


@case()
def cond_sparse(tf):
    return tf.cond(pred(tf), lambda: tf.SparseTensor([[0]], [1], [2]), lambda: tf.SparseTensor([[1]], [1], [2]))


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


@case()
def cond_of_a_variable(tf):
    v = tf.Variable([1.0])
    return tf.cond(pred(tf), lambda: v, lambda: v + 1.0)


@case()
def cond_of_a_python_bool(tf):
    return tf.cond(True, lambda: 1, lambda: 2)


@case()
def cond_without_function(tf):
    return tf.cond(pred(tf), None, lambda: 2)


@case()
def cond_of_what_cannot_be_called(tf):
    return tf.cond(pred(tf), 1, lambda: 2)


@case()
def cond_without_result(tf):
    return tf.cond(pred(tf), lambda: None, lambda: 2)


@case()
def cond_of_two_dtypes(tf):
    return tf.cond(pred(tf), lambda: 2, lambda: 2.5)


@case()
def cond_of_other_structures(tf):
    return tf.cond(pred(tf), lambda: (2, 3), lambda: 2)


@case()
def cond_of_a_tuple_and_a_list(tf):
    return tf.cond(pred(tf), lambda: (2, 3), lambda: [2, 3])


@case()
def cond_of_other_keys(tf):
    return tf.cond(pred(tf), lambda: {"a": 2}, lambda: {"b": 4})


@case()
def cond_of_nothing(tf):
    return tf.cond(pred(tf), lambda: [], lambda: [])


@case()
def cond_of_a_vector(tf):
    return tf.cond(tf.constant([True]), lambda: 2, lambda: 3)


@case()
def cond_of_a_number(tf):
    return tf.cond(tf.constant(1), lambda: 2, lambda: 3)


@case()
def cond_fetch_from_a_branch(tf):
    inside = []

    def branch():
        inside.append(tf.constant(3))
        return inside[0]

    tf.cond(pred(tf), branch, lambda: tf.constant(2))
    return inside


@case()
def case_in_order(tf):
    x = tf.placeholder_with_default(1, [])
    pairs = [(tf.less(x, 1), lambda: tf.constant(1)), (tf.less(x, 2), lambda: tf.constant(2))]
    return tf.case(pairs, default=lambda: tf.constant(3))


@case(graph=False)
def case_values(tf, sess):
    x = tf.placeholder(tf.int32, [])
    pairs = [(tf.less(x, 1), lambda: tf.constant(1)), (tf.less(x, 2), lambda: tf.constant(2))]
    op = tf.case(pairs, default=lambda: tf.constant(3))
    return [sess.run(op, {x: value}) for value in range(4)]


@case(graph=False)
def case_without_default(tf, sess):
    x = tf.placeholder(tf.int32, [])
    op = tf.case([(tf.less(x, 1), lambda: tf.constant(1)), (tf.less(x, 2), lambda: tf.constant(2))])
    got = [sess.run(op, {x: value}) for value in range(2)]
    try:
        sess.run(op, {x: 5})
    except tf.errors.InvalidArgumentError:
        got.append("failed")
    return got


@case()
def case_exclusive(tf):
    x = tf.placeholder_with_default(0, [])
    pairs = [(tf.less(x, 1), lambda: tf.constant(1)), (tf.less(x, 2), lambda: tf.constant(2))]
    return tf.case(pairs, default=lambda: tf.constant(3), exclusive=True)


@case()
def case_of_one(tf):
    return tf.case([(pred(tf, False), lambda: 1)], default=lambda: 3, name="c")


@case()
def case_of_a_number(tf):
    return tf.case(3)


@case()
def case_of_a_python_bool(tf):
    return tf.case([(True, lambda: 1)])


@case()
def case_of_integers(tf):
    return tf.case([(tf.constant(1), lambda: 1)])


@case()
def case_of_what_cannot_be_called(tf):
    return tf.case([(pred(tf), 1)])


@case()
def groups(tf):
    a, b = tf.constant(1), tf.constant(2)
    return [
        tf.group(a, b),
        tf.group(),
        tf.group([a, (b,)], name="g"),
        tf.group(tf.no_op(), tf.Variable(1)),
        tf.no_op("n"),
    ]


@case()
def group_of_a_number(tf):
    return tf.group(3)


@case()
def group_with_a_keyword(tf):
    return tf.group(foo=3)


@case()
def tuples(tf):
    got = tf.tuple([tf.constant(1), tf.constant([2.0])])
    return [*got, *tf.tuple([tf.constant(3)], name="t", control_inputs=[tf.no_op()])]


@case()
def tuple_of_operations(tf):
    return tf.tuple([tf.constant(1), tf.no_op()])


@case()
def tuple_of_none(tf):
    return [each for each in tf.tuple([None, tf.constant(1)]) if each is not None]


@case()
def tuple_of_nothing(tf):
    return tf.tuple([])


@case()
def tuple_after_a_number(tf):
    return tf.tuple([tf.constant(1)], control_inputs=[3])


@case(graph=False)
def tuple_waits(tf, sess):
    v = tf.Variable(1)
    sess.run(v.initializer)
    got = tf.tuple([tf.constant(5), None], control_inputs=[v.assign_add(1)])
    return [sess.run(got[0]), sess.run(v)]
