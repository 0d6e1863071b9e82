"""Values fed to a run, and fetched from it."""

from compat_cases import case, table


def feeds(tf, sess):
    x = tf.placeholder(tf.float32, [2], name="x")
    y = tf.placeholder(tf.int32, name="y")
    s = tf.placeholder(tf.string, [None], name="s")
    return [
        sess.run(x, {x: [1, 2]}),
        sess.run(x, feed_dict={"x:0": (3.5, 4)}),
        sess.run(y * 1, {y: 7}),
        sess.run(y, {y: [[1], [2]]}),
        sess.run(tf.identity(s), {s: ["a", b"b"]}),
        sess.run(s, {s: []}),
        sess.run(x + 1, {x: [True, False]}),
        x.eval({x: [1, 2]}, sess),
        x.eval(feed_dict={x: [1, 2]}, session=sess),
    ]


def feeds_of_inner_tensors(tf, sess):
    a = tf.placeholder_with_default(1, [], name="a")
    b = a + 1
    c = b * 10
    return [sess.run(c), sess.run(c, {a: 4}), sess.run(c, {b: 7}), sess.run([a, c], {b: 7}), sess.run(b + 0, {b: 9})]


def feed_of_a_numpy_array(tf, sess):
    import numpy as np

    x = tf.placeholder(tf.float32, [None])
    return [sess.run(x, {x: np.arange(3)}), sess.run(x, {x: np.array([1.5], np.float64)})]


@case(message=r"Cannot feed value of shape \(3,\) for Tensor .?x:0.?, which has shape .?\(2,\)")
def feed_of_another_shape(tf, sess):
    x = tf.placeholder(tf.float32, [2], name="x")
    sess.run(x, {x: [1, 2, 3]})


@case(message=r"Cannot feed value of shape \(\) for Tensor .?x:0.?, which has shape .?\(\?, 2\)")
def feed_of_another_rank(tf, sess):
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    sess.run(x, {x: 1})


@case(message="You must feed a value for placeholder tensor 'x' with dtype float and shape \\[2\\]")
def placeholder_that_is_not_fed(tf, sess):
    x = tf.placeholder(tf.float32, [2], name="x")
    sess.run(x + 1)


@case(message="You must feed a value for placeholder tensor 'y' with dtype int32")
def placeholder_of_unknown_shape_that_is_not_fed(tf, sess):
    y = tf.placeholder(tf.int32, name="y")
    sess.run(y)


@case(message="The value of a feed cannot be a tf.Tensor object")
def feed_of_a_tensor(tf, sess):
    x = tf.placeholder(tf.float32, [])
    sess.run(x, {x: tf.constant(1.0)})


@case(message="Cannot interpret feed_dict key as Tensor")
def feed_to_an_unknown_name(tf, sess):
    x = tf.constant(1)
    sess.run(x, {"nothing:0": 1})


@case(message="Cannot interpret feed_dict key as Tensor")
def feed_to_another_graph(tf, sess):
    x = tf.constant(1)
    with tf.Graph().as_default():
        other = tf.placeholder(tf.int32)
    sess.run(x, {other: 1})


def feed_that_does_not_convert(tf, sess):
    x = tf.placeholder(tf.float32, [])
    sess.run(x, {x: "a"})


def feed_of_a_ragged_list(tf, sess):
    x = tf.placeholder(tf.float32, [None, None])
    sess.run(x, {x: [[1], [1, 2]]})


def feed_of_a_fraction_to_an_integer(tf, sess):
    x = tf.placeholder(tf.int32, [])
    y = tf.placeholder(tf.int32, [None])
    return [
        sess.run(x + 0, {x: 1.5}),
        sess.run(y, {y: [1.0, 2.0]}),
        sess.run(y, {y: [1.7]}),
        sess.run(x * 1, {x: 3}),
    ]


def feed_dict_that_is_a_list(tf, sess):
    x = tf.placeholder(tf.int32, [])
    sess.run(x, [(x, 1)])


def feed_of_a_sparse_tensor(tf, sess):
    parts = ((tf.int64, [None, 2]), (tf.float32, [None]), (tf.int64, [2]))
    x = tf.SparseTensor(*(tf.placeholder(*each) for each in parts))
    dense = tf.sparse_tensor_to_dense(x)
    value = tf.SparseTensorValue([[0, 1], [1, 2]], [1.5, 2.5], [2, 3])
    fetched = sess.run(x, {x: value})
    return [
        sess.run(dense, {x: value}),
        sess.run(dense, {x: ([[0, 0]], [4.0], [2, 3])}),
        type(fetched).__name__,
        fetched.indices,
        fetched.values,
        fetched.dense_shape,
    ]


def fetch_of_a_sparse_tensor(tf, sess):
    x = tf.SparseTensor([[0, 1]], [1.5], [2, 3])
    got = sess.run({"x": x, "y": [x.values]})
    return [type(got["x"]).__name__, got["x"].indices, got["x"].values, got["x"].dense_shape, got["y"]]


table(
    scalar_placeholder_that_is_not_fed=(
        lambda tf, sess: sess.run(tf.placeholder(tf.int32, [], name="n")),
        "You must feed a value for placeholder tensor 'n' with dtype int32\\s*\\n",
    ),
    feed_to_a_number=(lambda tf, sess: sess.run(tf.constant(1), {3: 1}), "Cannot interpret feed_dict key as Tensor"),
)
