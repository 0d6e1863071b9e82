"""The batch functions on sparse tensors."""

import numpy as np
from compat_cases import table


def _vector(tf, values=(1.0, 2.0), indices=((0,), (2,)), shape=(4,)):
    return tf.SparseTensor(np.array(indices, np.int64).reshape(-1, 1), np.array(values, np.float32), list(shape))


def _matrix(tf):
    return tf.SparseTensor([[0, 1], [2, 0], [2, 2]], ["a", "b", "c"], [4, 3])


def _placeholders(tf):
    """Return a sparse tensor with unknown rank, and a function making the dict to feed it."""
    parts = tf.placeholder(tf.int64, [None, None]), tf.placeholder(tf.float32, [None]), tf.placeholder(tf.int64, [None])
    return tf.SparseTensor(*parts), lambda *values: dict(zip(parts, values, strict=True))


def _growing(tf, number=5):
    """Return, at evaluation i, a sparse vector with i values i, i, ... and dense shape [i + 1], and i."""
    i = tf.train.range_input_producer(tf.constant(number, tf.int64), num_epochs=1, shuffle=False).dequeue()
    return tf.SparseTensor(tf.expand_dims(tf.range(i), 1), tf.fill([tf.cast(i, tf.int32)], i), [i + 1]), i


def plain(tf, value):
    if isinstance(value, dict):
        return {str(key): plain(tf, part) for key, part in value.items()}
    if isinstance(value, tf.SparseTensorValue):
        return [part.tolist() for part in (value.indices, np.asarray(value.values), np.asarray(value.dense_shape))]
    if isinstance(value, (list, tuple)):
        return [plain(tf, part) for part in value]
    return np.asarray(value).tolist()


def described(tf, made):
    if isinstance(made, dict):
        return {str(key): described(tf, part) for key, part in made.items()}
    if isinstance(made, tf.SparseTensor):
        return [str(part) for part in (made.indices, made.values, made.dense_shape)]
    return [described(tf, part) for part in made] if isinstance(made, list) else str(made)


def results(tf, sess, fetches, most=20):
    sess.run(tf.local_variables_initializer())
    coord = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(sess, coord)
    found = []
    try:
        for _ in range(most):
            found.append(plain(tf, sess.run(fetches)))
    except tf.errors.OutOfRangeError:
        found.append("end")
    coord.request_stop()
    coord.join(threads)
    return found


def first_batch(tf, sess, made, enqueues=3):
    (runner,) = tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)
    for _ in range(enqueues):
        for op in runner.enqueue_ops:
            sess.run(op)
    return plain(tf, sess.run(made))


def sparse_and_dense(tf, sess):
    made = tf.train.batch([_vector(tf), tf.constant(3)], 2)
    (runner,) = tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)
    queue = [[dtype.name for dtype in runner.queue.dtypes], [str(shape) for shape in runner.queue.shapes]]
    return described(tf, made), queue, first_batch(tf, sess, made)


def sparse_of_different_shapes(tf, sess):
    made = tf.train.batch(list(_growing(tf)), 2, allow_smaller_final_batch=True)
    return described(tf, made), results(tf, sess, made)


def sparse_unknown_rank(tf, sess):
    sparse, feed = _placeholders(tf)
    made = tf.train.batch([sparse], 1)
    (runner,) = tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)
    sess.run(runner.enqueue_ops, feed([[1]], [2.0], [3]))
    return described(tf, made), plain(tf, sess.run(made))


def sparse_of_different_ranks(tf, sess):
    sparse, feed = _placeholders(tf)
    made = tf.train.batch([sparse], 2)
    (runner,) = tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)
    sess.run(runner.enqueue_ops, feed([[1]], [2.0], [3]))
    sess.run(runner.enqueue_ops, feed([[1, 1]], [2.0], [3, 3]))
    sess.run(made)


def sparse_many(tf, sess):
    made = tf.train.batch([_matrix(tf)], 3, enqueue_many=True)
    return described(tf, made), first_batch(tf, sess, made, 2)


def sparse_many_and_dense(tf, sess):
    made = tf.train.batch([_matrix(tf), tf.range(4)], 6, enqueue_many=True)
    return described(tf, made), first_batch(tf, sess, made, 2)


def sparse_many_of_a_vector(tf, sess):
    tf.train.batch([_vector(tf)], 2, enqueue_many=True)
    (runner,) = tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)
    sess.run(runner.enqueue_ops)


def sparse_without_values(tf, sess):
    made = tf.train.batch([_vector(tf, values=(), indices=())], 2)
    return first_batch(tf, sess, made)


def sparse_shuffled(tf, sess):
    made = tf.train.shuffle_batch([_matrix(tf), tf.range(4)], 4, 20, 0, seed=2, enqueue_many=True)
    return described(tf, made), first_batch(tf, sess, made, 1)


def sparse_joined(tf, sess):
    made = tf.train.batch_join([[_vector(tf), 1], [_vector(tf, values=(8.0, 9.0), shape=(9,)), 2]], 4)
    return described(tf, made), first_batch(tf, sess, made, 2)


def sparse_joined_dicts_shuffled(tf, sess):
    entries = [{"s": _matrix(tf), "d": [1, 2, 3, 4]} for _ in range(3)]
    made = tf.train.shuffle_batch_join(entries, 6, 50, 1, seed=1, enqueue_many=True)
    return described(tf, made), first_batch(tf, sess, made, 1)


def sparse_joined_of_other_dtypes(tf):
    tf.train.batch_join([[_vector(tf)], [tf.SparseTensor([[0]], [1], [2])]], 2)
    return tf.constant(1)


def sparse_kept_if(tf, sess):
    sparse, i = _growing(tf)
    made = tf.train.maybe_batch([sparse, i], tf.equal(i % 2, 0), 2, allow_smaller_final_batch=True)
    return described(tf, made), results(tf, sess, made)


def sparse_many_kept_if(tf, sess):
    keep = tf.placeholder(tf.bool, [])
    made = tf.train.maybe_batch([_matrix(tf)], keep, 4, enqueue_many=True)
    (runner,) = tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)
    for kept in (False, True):
        sess.run(runner.enqueue_ops[0], {keep: kept})
    return described(tf, made), int(sess.run(runner.queue.size())), plain(tf, sess.run(made))


def sparse_rows_kept(tf, sess):
    keep = tf.placeholder_with_default([True, False, True, False], [None])
    made = tf.train.maybe_batch([_matrix(tf), tf.range(4)], keep, 4, enqueue_many=True)
    return described(tf, made), first_batch(tf, sess, made, 2)


table(
    sparse_joined_at_other_places=(
        lambda tf: tf.train.batch_join([[_vector(tf), tf.constant([1])], [tf.constant([1]), _vector(tf)]], 2),
        "Inconsistent SparseTensors list",
    ),
    sparse_joined_of_other_ranks=(
        lambda tf: tf.train.batch_join([[_vector(tf)], [tf.SparseTensor([[0, 0]], [1.0], [2, 2])]], 2),
        "Inconsistent SparseTensors list",
    ),
    sparse_statically_dropped=lambda tf: tf.train.maybe_batch([_vector(tf)], False, 2),
    sparse_batch_of_none=lambda tf, sess: plain(tf, sess.run(tf.train.batch([_vector(tf)], 0))),
)


def _first(make):
    """Make a case with the first batch."""

    def one(tf, sess):
        made = make(tf)
        return described(tf, made), first_batch(tf, sess, made)

    return one


table(
    sparse_alone=_first(lambda tf: tf.train.batch([_vector(tf)], 2)),
    sparse_in_a_dict=_first(lambda tf: tf.train.batch({"s": _vector(tf), "d": 1}, 2)),
    sparse_alone_in_a_dict=_first(lambda tf: tf.train.batch({"s": _vector(tf)}, 2)),
    sparse_matrices=_first(lambda tf: tf.train.batch([_matrix(tf)], 2)),
    two_sparse=_first(lambda tf: tf.train.batch([_vector(tf), _matrix(tf), 5], 2)),
    sparse_kept=_first(lambda tf: tf.train.maybe_batch([_vector(tf), 1], True, 2)),
)
