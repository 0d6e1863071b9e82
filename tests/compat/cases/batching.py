"""The batch functions on dense tensors."""

import numpy as np
from compat_cases import table


def results(tf, sess, fetches, most=30):
    """Return all fetched values, with the queue runners at work, and the threads."""
    sess.run([tf.local_variables_initializer(), tf.global_variables_initializer()])
    coord = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(sess, coord)
    found = [[thread.name for thread in threads]]
    try:
        for _ in range(most):
            found.append(plain(tf, sess.run(fetches)))
    except tf.errors.OutOfRangeError as error:
        found.append("closed and has insufficient elements" in error.message)
    coord.request_stop()
    try:
        coord.join(threads)
    except Exception as error:
        found.append(type(error).__name__)
    return found


def plain(tf, value):
    if isinstance(value, dict):
        return sorted([str(key), plain(tf, part)] for key, part in value.items())
    if isinstance(value, (list, tuple)):
        return [plain(tf, part) for part in value]
    return np.asarray(value).tolist()


def described(made):
    if isinstance(made, dict):
        return {str(key): str(value) for key, value in made.items()}
    return [str(tensor) for tensor in made] if isinstance(made, list) else str(made)


def _counting(tf, number=10, dtype=None):
    """The numbers 0 to number - 1, one at each evaluation."""
    queue = tf.train.range_input_producer(number, num_epochs=1, shuffle=False)
    return queue.dequeue() if dtype is None else tf.cast(queue.dequeue(), dtype)


def first_batch(tf, sess, made, enqueues=3):
    """Return the first batch, without threads: the enqueue ops run one after the other."""
    (runner,) = tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)
    for _ in range(enqueues):
        for op in runner.enqueue_ops:
            sess.run(op)
    return plain(tf, sess.run(made))


def batch_of_two(tf, sess):
    x = _counting(tf)
    made = tf.train.batch([x, tf.stack([x, x * 2])], 4)
    return described(made), results(tf, sess, made)


def batch_of_a_tuple(tf, sess):
    x = _counting(tf, 4)
    made = tf.train.batch((x, tf.as_string(x)), batch_size=2)
    return described(made), results(tf, sess, made)


def batch_of_a_dict(tf, sess):
    x = _counting(tf, 4)
    made = tf.train.batch({"z": x, 1: x + 1, ("a", "b"): x + 2}, 2)
    return described(made), results(tf, sess, made), [tensor.name for tensor in made.values()]


def batch_size_zero(tf, sess):
    made = tf.train.batch([_counting(tf, 2)], 0)
    return described(made), sess.run(made)


def batch_many(tf, sess):
    rows = tf.constant(np.arange(6).reshape(3, 2))
    made = tf.train.batch([rows, ["a", "b", "c"]], 4, enqueue_many=True)
    return described(made), first_batch(tf, sess, made)


def batch_many_unknown_number(tf, sess):
    rows = tf.placeholder_with_default(np.arange(6).reshape(3, 2), [None, 2])
    made = tf.train.batch([rows], 4, enqueue_many=True)
    return described(made), first_batch(tf, sess, made)


def batch_padded(tf, sess):
    x = _counting(tf, 6)
    made = tf.train.batch([tf.range(x), x], 3, dynamic_pad=True)
    return described(made), results(tf, sess, made)


def batch_padded_strings_2d(tf, sess):
    x = _counting(tf, 4)
    made = tf.train.batch([tf.fill([x, 2], "s")], 4, dynamic_pad=True, shapes=[[None, 2]])
    return described(made), results(tf, sess, made)


def batch_padded_many(tf, sess):
    rows = tf.placeholder_with_default(np.arange(6).reshape(3, 2), [3, None])
    made = tf.train.batch([rows], 2, enqueue_many=True, dynamic_pad=True)
    return described(made), first_batch(tf, sess, made, 1)


def batch_shapes_given(tf, sess):
    x = tf.placeholder_with_default([1, 2], None)
    made = tf.train.batch([x, 3], 2, shapes=[[2], []])
    return described(made), first_batch(tf, sess, made)


def batch_shapes_one_shape(tf, sess):
    made = tf.train.batch([tf.placeholder_with_default([1, 2], None)], 2, shapes=[2])
    return described(made), first_batch(tf, sess, made)


def batch_shape_that_does_not_fit_at_run_time(tf, sess):
    made = tf.train.batch([tf.placeholder_with_default([1, 2], None)], 2, shapes=[[3]])
    return results(tf, sess, made)


def batch_of_python_values_and_arrays(tf, sess):
    made = tf.train.batch([1, 2.5, "x", np.array([1, 2], np.uint8), True, [1, 2]], 2)
    return described(made), first_batch(tf, sess, made)


def batch_names(tf, sess):
    made = [
        tf.train.batch([1], 2),
        tf.train.batch([1], 2),
        tf.train.batch([1], 2, name="mine", dynamic_pad=True),
        tf.train.shuffle_batch([1], 2, 10, 1),
        tf.train.batch_join([[1], [2]], 2),
        tf.train.shuffle_batch_join([[1], [2]], 2, 10, 1, name="joined"),
    ]
    runners = tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)
    return (
        [tensor.name for tensor in made],
        [[runner.name, [op.name for op in runner.enqueue_ops]] for runner in runners],
        [summary.name for summary in tf.get_collection(tf.GraphKeys.SUMMARIES)],
        len(tf.global_variables()) + len(tf.local_variables()),
    )


def batch_in_scopes(tf, sess):
    with tf.name_scope("input"):
        x = tf.constant(1)
        first = tf.train.batch([x], 2)
        with tf.name_scope("inner"):
            second = tf.train.batch([x], 2, name="b")
    return first.name, second.name, [runner.name for runner in tf.get_collection("queue_runners")]


def batch_summary(tf, sess):
    tf.train.batch([tf.constant(1)], 2, capacity=8)
    (runner,) = tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)
    sess.run(runner.enqueue_ops)
    return sess.run(tf.summary.merge_all())


def shuffle_batch_summary(tf, sess):
    tf.train.shuffle_batch([tf.constant(1)], 2, 10, 2)
    (runner,) = tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)
    found = [sess.run(tf.get_collection(tf.GraphKeys.SUMMARIES))]
    for _ in range(4):
        sess.run(runner.enqueue_ops)
    return [*found, sess.run(tf.get_collection(tf.GraphKeys.SUMMARIES))]


def batch_inputs_of_the_ops(tf, sess):
    made = tf.train.batch([tf.constant(1), tf.constant(2.0)], 2)
    (runner,) = tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)
    return (
        [tensor.name for tensor in runner.enqueue_ops[0].inputs],
        [tensor.name for tensor in made[0].op.inputs],
        made[0].op.type,
        runner.queue.name,
        [dtype.name for dtype in runner.queue.dtypes],
    )


def batch_shared_name(tf, sess):
    made = tf.train.batch([tf.constant(1)], 2, shared_name="shared")
    (runner,) = tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)
    other = tf.FIFOQueue(32, [tf.int32], [[]], shared_name="shared")
    sess.run(runner.enqueue_ops)
    sess.run(other.enqueue(5))
    return sess.run(made)


def shuffle_batch_graph_seed(tf, sess):
    tf.set_random_seed(4)
    made = tf.train.shuffle_batch([tf.range(10)], 5, 20, 2, enqueue_many=True)
    return first_batch(tf, sess, made, 1)


def shuffle_batch_graph_seed_shared_name(tf, sess):
    tf.set_random_seed(4)
    made = tf.train.shuffle_batch([tf.range(10)], 5, 20, 2, enqueue_many=True, shared_name="s")
    return first_batch(tf, sess, made, 1)


def shuffle_batch_both_seeds(tf, sess):
    tf.set_random_seed(4)
    made = tf.train.shuffle_batch([tf.range(10), tf.range(10) * 2], 5, 20, 2, seed=6, enqueue_many=True)
    return described(made), first_batch(tf, sess, made, 1)


def shuffle_batch_dict_smaller_final(tf, sess):
    x = _counting(tf, 5)
    made = tf.train.shuffle_batch({"x": x, "y": -x}, 3, 10, 1, seed=2, allow_smaller_final_batch=True)
    found = results(tf, sess, made)
    return described(made), len(found), sorted(found[1][0][1] + found[2][0][1])


def whole_program_with_a_graph_seed(tf, sess):
    tf.set_random_seed(1234)
    x, y = tf.train.slice_input_producer([np.arange(12), np.arange(12) * 10], num_epochs=1)
    made = tf.train.batch([x, y], 5, allow_smaller_final_batch=True)
    return results(tf, sess, made)


def batch_join_of_two(tf, sess):
    made = tf.train.batch_join([[tf.constant(1), "a"], [tf.constant(2), "b"]], 4)
    (runner,) = tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)
    return described(made), [op.name for op in runner.enqueue_ops], first_batch(tf, sess, made, 2)


def batch_join_padded(tf, sess):
    first = tf.placeholder_with_default(np.ones([1, 3], np.int32), [None, 3])
    second = tf.zeros([2, 3], tf.int32)
    made = tf.train.batch_join([[first], [second]], 2, dynamic_pad=True)
    return described(made), first_batch(tf, sess, made, 1)


def batch_join_known_shape_first(tf, sess):
    first = tf.zeros([2, 3], tf.int32)
    second = tf.placeholder_with_default(np.ones([2, 3], np.int32), [None, 3])
    made = tf.train.batch_join([[first], [second]], 2)
    return described(made), first_batch(tf, sess, made, 1)


def batch_join_unknown_shape_first(tf):
    first = tf.placeholder_with_default(np.ones([2, 3], np.int32), [None, 3])
    tf.train.batch_join([[first], [tf.zeros([2, 3], tf.int32)]], 2)


def batch_join_threads(tf, sess):
    queue = tf.train.range_input_producer(6, num_epochs=1, shuffle=False)
    made = tf.train.batch_join([[queue.dequeue()] for _ in range(3)], 6)
    return results(tf, sess, tf.reduce_sum(made))


def error_of_the_input_reaches_join(tf, sess):
    x = _counting(tf)
    return results(tf, sess, tf.train.batch([tf.gather([1, 2, 3], x)], 2))


table(
    batch_smaller_final_exact=lambda tf, sess: results(
        tf, sess, tf.train.batch([_counting(tf, 8)], 4, allow_smaller_final_batch=True)
    ),
    batch_larger_than_capacity=lambda tf, sess: results(tf, sess, tf.train.batch([_counting(tf)], 5, capacity=2)),
    batch_threads=lambda tf, sess: results(tf, sess, tf.reduce_sum(tf.train.batch([_counting(tf)], 10, num_threads=3))),
    batch_join_incompatible_shapes=lambda tf: tf.train.batch_join(
        [[tf.zeros([2, 3])], [tf.zeros([5, 3])]], 2, dynamic_pad=True
    ),
    batch_join_shorter_entry=(lambda tf: tf.train.batch_join([[1, 2], [3]], 2), "Inconsistent SparseTensors list"),
    batch_join_of_nothing=(lambda tf: tf.train.batch_join([], 2), "Expected at least one set of tensors"),
    batch_join_other_keys=(
        lambda tf: tf.train.batch_join([{"a": 1}, {"b": 1}], 2),
        "All dictionaries in tensors_list must have the same keys",
    ),
    batch_join_other_dtypes=(
        lambda tf: tf.train.batch_join([[1, "a"], [1.0, "b"]], 2),
        "Expected types to be consistent: int32, string vs. float32, string",
    ),
    batch_join_of_empty_lists=lambda tf: tf.train.batch_join([[], []], 2),
    batch_join_of_a_flat_list=lambda tf: tf.train.batch_join([tf.constant(1), tf.constant(2)], 2),
    batch_of_nothing=(lambda tf: tf.train.batch([], 2), "Expected at least one tensor in batch"),
    batch_of_an_empty_dict=(lambda tf: tf.train.batch({}, 2), "Expected at least one tensor in batch"),
    batch_of_a_bare_tensor=lambda tf: tf.train.batch(tf.constant([1, 2]), 2),
    batch_of_a_number=lambda tf: tf.train.batch(1, 2),
    batch_negative_size=lambda tf: tf.train.batch([1], -1),
    batch_float_size=lambda tf: tf.train.batch([1], 4.0),
    batch_no_threads=(lambda tf: tf.train.batch([1], 2, num_threads=0), "Must provide queue and enqueue_ops"),
    batch_unknown_rank=(lambda tf: tf.train.batch([tf.placeholder(tf.float32)], 2), "Cannot infer Tensor's rank"),
    batch_padded_unknown_rank=(
        lambda tf: tf.train.batch([tf.placeholder(tf.float32)], 2, dynamic_pad=True),
        "Cannot infer Tensor's rank",
    ),
    batch_unknown_shape=(
        lambda tf: tf.train.batch([tf.placeholder(tf.float32, [None])], 2),
        "All shapes must be fully defined",
    ),
    batch_many_of_a_scalar=lambda tf: tf.train.batch([1], 2, enqueue_many=True),
    batch_many_of_different_numbers=lambda tf: tf.train.batch([[1, 2], [1, 2, 3]], 2, enqueue_many=True),
    batch_shapes_conflict=lambda tf: tf.train.batch([[1, 2]], 2, shapes=[[3]]),
    batch_shapes_count=lambda tf: tf.train.batch([[1, 2]], 2, shapes=[[2], [2]]),
    batch_capacity_zero=lambda tf: tf.train.batch([1], 2, capacity=0),
    shuffle_batch_capacity=(
        lambda tf: tf.train.shuffle_batch([1], 2, 10, 10),
        "capacity 10 must be bigger than min_after_dequeue 10",
    ),
    maybe_shuffle_batch_capacity=(
        lambda tf: tf.train.maybe_shuffle_batch([1], 2, 10, 11, True),
        "capacity 10 must be bigger than min_after_dequeue 11",
    ),
    shuffle_batch_join_capacity_equal=lambda tf: tf.train.shuffle_batch_join([[1]], 2, 10, 10),
    shuffle_batch_join_capacity_at_run_time=lambda tf, sess: sess.run(tf.train.shuffle_batch_join([[1]], 2, 10, 11)),
)


def _first(make):
    """Make a case with the first batch, after one run of each enqueue op."""

    def one(tf, sess):
        made = make(tf)
        return described(made), first_batch(tf, sess, made, 1)

    return one


table(
    shuffle_batch_seeded=_first(
        lambda tf: tf.train.shuffle_batch([tf.range(10)], 10, 20, 0, seed=1, enqueue_many=True)
    ),
    shuffle_batch_join_of_one=_first(
        lambda tf: tf.train.shuffle_batch_join([[tf.range(6)]], 6, 20, 0, seed=3, enqueue_many=True)
    ),
    batch_join_of_dicts=_first(lambda tf: tf.train.batch_join([{"x": 1, "y": 2.0}, {"y": 4.0, "x": 3}], 2, name="j")),
    batch_join_of_tuples=_first(lambda tf: tf.train.batch_join(((1, 2), (3, 4)), 2)),
    batch_join_many_of_different_lengths=_first(
        lambda tf: tf.train.batch_join([[tf.range(2)], [tf.range(3)]], 5, enqueue_many=True)
    ),
    batch_join_surplus_is_dropped=_first(lambda tf: tf.train.batch_join([[1], [2, 3]], 2)),
)


def _all(make):
    """Make a case with all batches."""

    def one(tf, sess):
        made = make(tf)
        return described(made), results(tf, sess, made)

    return one


table(
    batch_of_one_is_bare=_all(lambda tf: tf.train.batch([_counting(tf)], 4)),
    batch_of_a_dict_of_one=_all(lambda tf: tf.train.batch({"z": _counting(tf, 4)}, 2, name="d")),
    batch_smaller_final=_all(lambda tf: tf.train.batch([_counting(tf)], 4, allow_smaller_final_batch=True)),
    batch_size_tensor=_all(lambda tf: tf.train.batch([_counting(tf)], tf.placeholder_with_default(3, []))),
    batch_size_constant_tensor=_all(lambda tf: tf.train.batch([_counting(tf)], tf.constant(3))),
)
