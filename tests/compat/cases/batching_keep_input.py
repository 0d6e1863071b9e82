"""The maybe_ forms of the batch functions keep the right examples."""

import numpy as np
from compat_cases import table


def results(tf, sess, fetches, most=30):
    sess.run([tf.local_variables_initializer(), tf.global_variables_initializer()])
    coord = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(sess, coord)
    found = [[thread.name for thread in threads]]
    try:
        for _ in range(most):
            found.append([np.asarray(part).tolist() for part in sess.run(fetches)])
    except tf.errors.OutOfRangeError:
        found.append("end")
    coord.request_stop()
    try:
        coord.join(threads)
    except Exception as error:
        found.append(type(error).__name__)
    return found


def _counting(tf, number=10):
    return tf.train.range_input_producer(number, num_epochs=1, shuffle=False).dequeue()


def kept_if_even(tf, sess):
    x = _counting(tf)
    made = tf.train.maybe_batch([x, x * 2], tf.equal(x % 2, 0), 2)
    return [str(tensor) for tensor in made], results(tf, sess, made)


def kept_if_even_smaller_final(tf, sess):
    x = _counting(tf, 9)
    return results(tf, sess, tf.train.maybe_batch([x, x], tf.equal(x % 2, 0), 2, allow_smaller_final_batch=True))


def kept_if_even_many(tf, sess):
    x = _counting(tf, 4)
    rows = tf.fill([2], x)
    made = tf.train.maybe_batch([rows], tf.equal(x % 2, 0), 2, enqueue_many=True)
    return str(made), results(tf, sess, [made])


def kept_rows(tf, sess):
    rows = tf.range(3) + 10 * _counting(tf, 3)
    made = tf.train.maybe_batch([rows, -rows], tf.not_equal(rows % 2, 0), 2, enqueue_many=True)
    return [str(tensor) for tensor in made], results(tf, sess, made)


def kept_rows_constant(tf, sess):
    rows = tf.range(3) + 10 * _counting(tf, 2)
    return results(tf, sess, [tf.train.maybe_batch([rows], [True, False, True], 2, enqueue_many=True)])


def kept_no_rows(tf, sess):
    rows = tf.range(3) + 10 * _counting(tf, 2)
    made = tf.train.maybe_batch([rows], [False] * 3, 2, enqueue_many=True, allow_smaller_final_batch=True)
    return results(tf, sess, [made])


def kept_rows_of_another_number_at_run_time(tf, sess):
    rows = tf.placeholder_with_default([1, 2, 3], [None])
    return results(tf, sess, [tf.train.maybe_batch([rows], [True, False], 2, enqueue_many=True)])


def statically_dropped(tf):
    tf.train.maybe_batch([tf.constant(1)], False, 2)
    return tf.constant(1)


def statically_dropped_by_a_number(tf):
    tf.train.maybe_batch_join([[1], [2]], 0, 2)
    return tf.constant(1)


def statically_dropped_gives_nothing(tf, sess):
    x = _counting(tf, 2)
    made = tf.train.maybe_batch([x], False, 2)
    sess.run(tf.local_variables_initializer())
    coord = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(sess, coord)
    coord.request_stop()
    coord.join(threads)
    return [thread.name for thread in threads], [op.name for op in made.op.inputs]


def joined_kept_if(tf, sess):
    keep = tf.placeholder_with_default(True, [])
    made = tf.train.maybe_batch_join([[1, "a"], [2, "b"]], keep, 2)
    (runner,) = tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)
    for op in runner.enqueue_ops:
        sess.run(op, {keep: True})
        sess.run(op, {keep: False})
    return [str(tensor) for tensor in made], [np.asarray(part).tolist() for part in sess.run(made)]


def joined_kept_rows(tf, sess):
    keep = tf.placeholder_with_default([True, False], [None])
    made = tf.train.maybe_batch_join([[[1, 2]], [[3, 4]]], keep, 2, enqueue_many=True)
    (runner,) = tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)
    sess.run(runner.enqueue_ops[0])
    sess.run(runner.enqueue_ops[1])
    return str(made), sess.run(made).tolist()


def shuffled_kept_if(tf, sess):
    x = _counting(tf)
    made = tf.train.maybe_shuffle_batch([x], 3, 20, 1, tf.equal(x % 2, 0), seed=3)
    found = results(tf, sess, [made])
    return str(made), len(found), found[0], found[-1]


def shuffled_kept_rows(tf, sess):
    keep = tf.placeholder_with_default([True, False, True, True], [None])
    made = tf.train.maybe_shuffle_batch([tf.range(4)], 3, 20, 0, keep, seed=3, enqueue_many=True)
    (runner,) = tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)
    sess.run(runner.enqueue_ops[0])
    return str(made), sess.run(made).tolist()


def shuffled_and_joined_kept_if(tf, sess):
    keep = tf.placeholder_with_default(True, [])
    made = tf.train.maybe_shuffle_batch_join([[1], [2]], 2, 20, 0, keep, seed=3)
    (runner,) = tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)
    for op in runner.enqueue_ops:
        sess.run(op)
    return str(made), sess.run(made).tolist()


table(
    kept_always=lambda tf, sess: results(tf, sess, [tf.train.maybe_batch([_counting(tf)], True, 4)]),
    kept_always_by_a_number=lambda tf, sess: results(tf, sess, [tf.train.maybe_batch([_counting(tf)], 1, 4)]),
    kept_always_by_a_constant=lambda tf, sess: results(
        tf, sess, [tf.train.maybe_batch([_counting(tf)], tf.constant(True), 4)]
    ),
    kept_rows_of_another_number=lambda tf: tf.train.maybe_batch([[1, 2, 3]], [True, False], 2, enqueue_many=True),
    vector_for_one=(
        lambda tf: tf.train.maybe_batch([1], [True], 2),
        "`keep_input` cannot be a vector when `enqueue_many=False`",
    ),
    matrix=(
        lambda tf: tf.train.maybe_batch([[1]], [[True]], 2, enqueue_many=True),
        "`keep_input` must be 0 or 1 dimensions",
    ),
    unknown_rank=(
        lambda tf: tf.train.maybe_batch([1], tf.placeholder(tf.bool), 2),
        "`keep_input` dimensions must be known at graph construction",
    ),
    keep_input_of_integers_that_vary=lambda tf: tf.train.maybe_batch([1], tf.placeholder(tf.int32, []), 2),
)
