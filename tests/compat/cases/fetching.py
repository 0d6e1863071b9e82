"""A run's fetches, and the structure of its results."""

import collections

from compat_cases import case, table


def structures_of_fetches(tf, sess):
    a, b = tf.constant([1, 2], name="a"), tf.constant(b"x", name="b")
    pair = collections.namedtuple("pair", "first second")
    fetched = sess.run(pair(a, [b, {"k": a}]))
    ordered = sess.run(collections.OrderedDict([("z", a), ("y", b)]))
    return [
        sess.run(a),
        sess.run([a]),
        sess.run((a, b)),
        sess.run([]),
        sess.run({}),
        sess.run(()),
        sess.run({"x": [a, (b,)]}),
        type(fetched).__name__,
        fetched.first,
        fetched.second,
        type(sess.run((a, b))).__name__,
        type(sess.run([a, b])).__name__,
        type(ordered).__name__,
        list(ordered),
        ordered["y"],
    ]


def operations_give_none(tf, sess):
    op = tf.no_op(name="n")
    return [sess.run(op), sess.run([op, tf.constant(1)])]


def fetches_by_name(tf, sess):
    tf.constant(5, name="a")
    return [sess.run("a:0"), sess.run("a"), sess.run(["a:0", b"a:0"])]


def types_of_results(tf, sess):
    import numpy as np

    values = sess.run([tf.constant(1.5), tf.constant([1.5]), tf.constant(True), tf.constant("s"), tf.constant(["s"])])
    return [
        type(values[0]).__name__,
        type(values[1]).__name__,
        isinstance(values[2], (bool, np.bool_)),
        type(values[3]).__name__,
        values[4].dtype.name,
        type(values[4][0]).__name__,
        values[1].flags.writeable in (True, False),
    ]


@case(message="Argument `fetch` = None has invalid type")
def fetch_of_none(tf, sess):
    tf.constant(1)
    sess.run(None)


@case(message="has invalid type")
def fetch_of_none_in_a_list(tf, sess):
    tf.constant(1)
    sess.run([None])


@case(message="has invalid type.*[Mm]ust be a string or Tensor")
def fetch_of_a_number(tf, sess):
    tf.constant(1)
    sess.run(5)


@case(message="cannot be interpreted as a Tensor")
def fetch_of_an_unknown_name(tf, sess):
    tf.constant(1)
    sess.run("nothing:0")


@case(message="cannot be interpreted as a Tensor")
def fetch_of_bad_text(tf, sess):
    tf.constant(1)
    sess.run("a:b:c")


@case(message="is not an element of this graph")
def fetch_from_another_graph(tf, sess):
    tf.constant(1)
    with tf.Graph().as_default():
        other = tf.constant(1)
    sess.run(other)


def operations_run_once_in_a_run(tf, sess):
    v = tf.Variable(0)
    add = tf.assign_add(v, 1)
    sess.run(v.initializer)
    first = sess.run([add.op, add.op])
    value = sess.run(v)
    return [first, value, sess.run([add, add]), sess.run(v)]


def one_dequeue_in_a_run(tf, sess):
    q = tf.FIFOQueue(10, tf.int32, shapes=[[]])
    sess.run(q.enqueue_many([[1, 2, 3, 4]]))
    x = q.dequeue()
    return [sess.run([x, x, x + 1]), sess.run([x, x * 2]), sess.run(q.size())]


table(
    run_of_an_empty_graph=(lambda tf, sess: sess.run([]), "graph is empty"),
)
