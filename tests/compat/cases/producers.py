"""Input producers: rows, strings, ranges, slices, epochs, file names."""

import os

import numpy as np
from compat_cases import table


def results(tf, sess, *fetches, most=60):
    """Return all fetched values, with the queue runners at work, and the error that stopped the threads."""
    sess.run([tf.local_variables_initializer(), tf.global_variables_initializer()])
    coord = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(sess, coord)
    found = [[threads_name.name for threads_name in threads]]
    try:
        for _ in range(most):
            found.append([np.asarray(value).tolist() for value in sess.run(list(fetches))])
    except tf.errors.OutOfRangeError:
        found.append("end")
    coord.request_stop()
    try:
        coord.join(threads)
    except Exception as error:
        found.append(type(error).__name__)
    return found


def _variables(tf):
    return [[variable.name for variable in tf.local_variables()], [v.name for v in tf.global_variables()]]


def queue_of(queue):
    return [queue.name, [dtype.name for dtype in queue.dtypes], [str(shape) for shape in queue.shapes]]


def _runners(tf):
    return [
        [runner.name, [op.name for op in runner.enqueue_ops], runner.close_op.name, runner.cancel_op.name]
        for runner in tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)
    ]


def input_producer_shuffled(tf, sess):
    queue = tf.train.input_producer([10, 20, 30], num_epochs=2, seed=5)
    return results(tf, sess, queue.dequeue())


def input_producer_graph_seed(tf, sess):
    tf.set_random_seed(11)
    tf.constant(1)
    return results(tf, sess, tf.train.input_producer(list(range(8)), num_epochs=2).dequeue())


def string_input_producer_graph_seed(tf, sess):
    tf.set_random_seed(3)
    return results(tf, sess, tf.train.string_input_producer(["a", "b", "c", "d", "e"], num_epochs=2).dequeue())


def slice_input_producer_graph_seed(tf, sess):
    tf.set_random_seed(3)
    x, y = tf.train.slice_input_producer([np.arange(7), np.arange(14.0).reshape(7, 2)], num_epochs=2)
    return results(tf, sess, x, y)


def two_producers_graph_seed(tf, sess):
    tf.set_random_seed(8)
    first = tf.train.range_input_producer(6, num_epochs=1).dequeue()
    second = tf.train.range_input_producer(6, num_epochs=1).dequeue()
    return results(tf, sess, first, second)


def input_producer_both_seeds(tf, sess):
    tf.set_random_seed(8)
    return results(tf, sess, tf.train.input_producer(list(range(9)), num_epochs=2, seed=1).dequeue())


def input_producer_matrix_rows(tf, sess):
    queue = tf.train.input_producer(np.arange(8.0, dtype=np.float32).reshape(4, 2), num_epochs=1, seed=1)
    return results(tf, sess, queue.dequeue()), queue_of(queue)


def input_producer_named(tf, sess):
    queue = tf.train.input_producer([1], num_epochs=1, name="nm", capacity=4, summary_name="full")
    return queue_of(queue), _runners(tf), results(tf, sess, queue.dequeue()), _variables(tf)


def input_producer_in_a_scope_twice(tf, sess):
    with tf.name_scope("data"):
        first, second = tf.train.input_producer([1], shuffle=False), tf.train.input_producer([2], shuffle=False)
    return queue_of(first), queue_of(second), _runners(tf)


def input_producer_element_shape(tf, sess):
    rows = tf.placeholder_with_default(np.arange(4).reshape(2, 2), [None, None])
    queue = tf.train.input_producer(rows, element_shape=[2], num_epochs=1, shuffle=False)
    return results(tf, sess, queue.dequeue()), queue_of(queue)


def input_producer_element_shape_unknown_rank(tf, sess):
    rows = tf.placeholder_with_default(np.arange(4).reshape(2, 2), None)
    queue = tf.train.input_producer(rows, element_shape=[2], num_epochs=1, shuffle=False)
    return results(tf, sess, queue.dequeue()), queue_of(queue)


def input_producer_unknown_number_of_rows(tf, sess):
    rows = tf.placeholder_with_default([1, 2, 3], [None])
    return results(tf, sess, tf.train.input_producer(rows, num_epochs=1, seed=2).dequeue())


def input_producer_summary(tf, sess):
    tf.train.input_producer([1, 2, 3], shuffle=False, capacity=8, summary_name="full")
    sess.run(tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)[0].enqueue_ops)
    (summary,) = tf.get_collection(tf.GraphKeys.SUMMARIES)
    return sess.run(summary), summary.name


def input_producer_cancel_op(tf, sess):
    ran = tf.no_op(name="cancelled")
    tf.train.input_producer([1], shuffle=False, cancel_op=ran)
    return _runners(tf)


def input_producer_bool_and_capacity_1(tf, sess):
    queue = tf.train.input_producer([True, False, True], shuffle=False, num_epochs=2, capacity=1)
    return results(tf, sess, queue.dequeue())


def input_producer_zero_rows_end(tf, sess):
    queue = tf.train.input_producer(np.zeros([0], np.int32), num_epochs=2)
    return results(tf, sess, queue.dequeue())


def input_producer_without_initializer(tf, sess):
    queue = tf.train.input_producer([1, 2], num_epochs=1)
    coord = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(sess, coord)
    found = []
    try:
        sess.run(queue.dequeue())
    except tf.errors.OutOfRangeError:
        found.append("end")
    try:
        coord.join(threads)
    except tf.errors.FailedPreconditionError as error:
        found.append("uninitialized value input_producer/limit_epochs/epochs" in error.message)
    return found


def epochs_are_counted_at_their_start(tf, sess):
    queue = tf.train.input_producer([1, 2], num_epochs=2, shuffle=False)
    sess.run(tf.local_variables_initializer())
    (enqueue,) = tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)[0].enqueue_ops
    (epochs,) = tf.local_variables()
    found = [sess.run(epochs)]
    for _ in range(4):
        try:
            sess.run(enqueue)
        except tf.errors.OutOfRangeError as error:
            found.append("Reached limit of 2" in error.message)
        found.append([sess.run(epochs), sess.run(queue.size())])
    return found


def string_input_producer_of_a_tensor(tf, sess):
    strings = tf.placeholder_with_default(["c", "d"], [None])
    return results(tf, sess, tf.train.string_input_producer(strings, num_epochs=1, shuffle=False).dequeue())


def string_input_producer_empty_at_run_time(tf, sess):
    strings = tf.placeholder_with_default(np.zeros([0], object), [None])
    return results(tf, sess, tf.train.string_input_producer(strings).dequeue())


def range_input_producer_int64(tf, sess):
    queue = tf.train.range_input_producer(tf.constant(3, tf.int64), num_epochs=1, shuffle=False)
    return results(tf, sess, queue.dequeue()), queue_of(queue)


def range_input_producer_limit_tensor(tf, sess):
    queue = tf.train.range_input_producer(tf.placeholder_with_default(3, []), num_epochs=1, shuffle=False)
    return results(tf, sess, queue.dequeue()), queue_of(queue)


def slice_input_producer_in_order(tf, sess):
    x, y = tf.train.slice_input_producer([["a", "b", "c"], np.eye(3, dtype=np.float32)], num_epochs=1, shuffle=False)
    return results(tf, sess, x, y), [x.name, str(x.shape), y.name, str(y.shape)], _variables(tf), _runners(tf)


def slice_input_producer_shuffled(tf, sess):
    x, y = tf.train.slice_input_producer([list(range(6)), list("abcdef")], num_epochs=2, seed=7)
    return results(tf, sess, x, y)


def slice_input_producer_of_one(tf, sess):
    made = tf.train.slice_input_producer([[5, 6]], num_epochs=1, shuffle=False, name="one", capacity=2)
    return type(made).__name__, len(made), results(tf, sess, *made)


def slice_input_producer_unknown_shapes(tf, sess):
    rows = tf.placeholder_with_default(np.arange(4).reshape(2, 2), [None, None])
    labels = tf.placeholder_with_default([1, 2], None)
    x, y = tf.train.slice_input_producer([rows, labels], num_epochs=1, shuffle=False)
    return results(tf, sess, x, y), [str(x.shape), str(y.shape)]


def slice_input_producer_shorter_second(tf, sess):
    x, y = tf.train.slice_input_producer([[1, 2, 3], [1, 2]], num_epochs=1, shuffle=False)
    sess.run(tf.local_variables_initializer())
    coord = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(sess, coord)
    found = []
    for _ in range(4):
        try:
            found.append(sess.run([x, y]))
        except (tf.errors.InvalidArgumentError, tf.errors.OutOfRangeError) as error:
            found.append(type(error).__name__)
    coord.request_stop()
    coord.join(threads)
    return found


def slice_input_producer_longer_second(tf, sess):
    x, y = tf.train.slice_input_producer([[1, 2], [1, 2, 3]], num_epochs=1, shuffle=False)
    return results(tf, sess, x, y)


def slice_input_producer_into_batches(tf, sess):
    x, y = tf.train.slice_input_producer([list(range(5)), list("abcde")], num_epochs=2, seed=1)
    return results(tf, sess, *tf.train.batch([x, y], 4, allow_smaller_final_batch=True))


def limit_epochs_none_is_the_same(tf):
    tensor = tf.constant(1)
    assert tf.train.limit_epochs(tensor) is tensor
    return tensor


def limit_epochs_counts(tf, sess):
    tensor = tf.train.limit_epochs(tf.constant([1, 2]), num_epochs=2)
    sess.run(tf.local_variables_initializer())
    found = [tensor.name, str(tensor.shape), _variables(tf), len(tf.trainable_variables())]
    for _ in range(4):
        try:
            found.append(sess.run(tensor))
        except tf.errors.OutOfRangeError as error:
            found.append("Reached limit of 2" in error.message)
        found.append(sess.run(tf.local_variables()[0]))
    return found


def touch(directory, *names):
    for name in names:
        with open(os.path.join(directory, name), "w"):
            pass


def match_filenames_once_finds(tf, sess, tmp):
    touch(tmp, "b.txt", "a.txt", "c.csv")
    names = tf.train.match_filenames_once(tmp + "/*.txt")
    sess.run(tf.local_variables_initializer())
    found = [sess.run(names)]
    touch(tmp, "d.txt")
    found.append(sess.run(names))
    sess.run(tf.local_variables_initializer())
    found.append(sess.run(names))
    return [[os.path.basename(name) for name in each] for each in found], names.name, str(names.shape), _variables(tf)


def match_filenames_once_several_patterns(tf, sess, tmp):
    touch(tmp, "b.txt", "a.txt", "c.csv")
    names = tf.train.match_filenames_once([tmp + "/*.txt", tmp + "/*.csv", tmp + "/a*"], name="found")
    sess.run(tf.local_variables_initializer())
    return [os.path.basename(name) for name in sess.run(names)]


def match_filenames_once_no_match(tf, sess, tmp):
    names = tf.io.match_filenames_once(tmp + "/nothing/*")
    sess.run(tf.local_variables_initializer())
    return sess.run(names).tolist()


table(
    input_producer_three_epochs_of_five=lambda tf, sess: results(
        tf, sess, tf.train.input_producer(list(range(5)), num_epochs=3, seed=3).dequeue()
    ),
    input_producer_three_epochs_of_six=lambda tf, sess: results(
        tf, sess, tf.train.input_producer(np.arange(6), num_epochs=3, seed=42).dequeue()
    ),
    input_producer_strings=lambda tf, sess: results(
        tf, sess, tf.train.input_producer([b"x", b"yy"], shuffle=False, num_epochs=1).dequeue()
    ),
    input_producer_scalar=lambda tf: tf.train.input_producer(3),
    input_producer_unknown_row_shape=(
        lambda tf: tf.train.input_producer(tf.placeholder(tf.float32, [3, None])),
        "fully defined shape",
    ),
    input_producer_unknown_rank=(lambda tf: tf.train.input_producer(tf.placeholder(tf.float32)), "fully defined shape"),
    input_producer_conflicting_element_shape=lambda tf: tf.train.input_producer([[1, 2]], element_shape=[3]),
    input_producer_no_epochs=(lambda tf: tf.train.input_producer([1], num_epochs=0), "num_epochs must be > 0 not 0"),
    input_producer_capacity_0_summary=lambda tf: tf.train.input_producer([1], capacity=0, summary_name="s"),
    string_input_producer_one_string_array=lambda tf, sess: results(
        tf, sess, tf.train.string_input_producer(np.array(["one"]), num_epochs=1).dequeue()
    ),
    string_input_producer_empty_list=(
        lambda tf: tf.train.string_input_producer([]),
        "requires a non-null input tensor",
    ),
    string_input_producer_none=(lambda tf: tf.train.string_input_producer(None), "requires a non-null input tensor"),
    string_input_producer_array_of_two=lambda tf: tf.train.string_input_producer(np.array(["a", "b"])),
    string_input_producer_matrix=lambda tf: tf.train.string_input_producer([["a", "b"]]),
    string_input_producer_bare_string=lambda tf: tf.train.string_input_producer("abc"),
    string_input_producer_numbers=lambda tf: tf.train.string_input_producer([1, 2]),
    range_input_producer_shuffled=lambda tf, sess: results(
        tf, sess, tf.train.range_input_producer(7, num_epochs=2, seed=4, name="r").dequeue()
    ),
    range_input_producer_vector_limit=lambda tf: tf.train.range_input_producer([3]),
    slice_input_producer_nothing=(
        lambda tf: tf.train.slice_input_producer([]),
        "Expected at least one tensor in slice_input_producer",
    ),
    slice_input_producer_bare_tensor=lambda tf: tf.train.slice_input_producer(tf.constant([1, 2])),
    slice_input_producer_scalar=lambda tf: tf.train.slice_input_producer([tf.constant(1)]),
    limit_epochs_named=lambda tf: tf.train.limit_epochs(["a", "b"], num_epochs=3, name="limited"),
    limit_epochs_negative=(
        lambda tf: tf.train.limit_epochs(tf.constant(1), num_epochs=-1),
        "num_epochs must be > 0 not -1",
    ),
    limit_epochs_zero=(lambda tf: tf.train.limit_epochs(tf.constant(1), num_epochs=0), "num_epochs must be > 0 not 0"),
    limit_epochs_uninitialized=(
        lambda tf, sess: sess.run(tf.train.limit_epochs(tf.constant(1), num_epochs=1)),
        "uninitialized value limit_epochs/epochs",
    ),
    match_filenames_once_uninitialized=(
        lambda tf, sess, tmp: sess.run(tf.train.match_filenames_once(tmp + "/*")),
        "uninitialized value matching_filenames",
    ),
)


def _queue(make):
    """Make a case with a producer's elements, its queue, runners and variables."""

    def one(tf, sess):
        queue = make(tf)
        return results(tf, sess, queue.dequeue()), queue_of(queue), _runners(tf), _variables(tf)

    return one


table(
    input_producer_in_order=_queue(lambda tf: tf.train.input_producer([10, 20, 30], num_epochs=2, shuffle=False)),
    string_input_producer_in_order=_queue(
        lambda tf: tf.train.string_input_producer(["b", "a"], num_epochs=2, shuffle=False)
    ),
    string_input_producer_named=_queue(
        lambda tf: tf.train.string_input_producer(["b", "a"], name="foo", num_epochs=1, seed=9, capacity=5)
    ),
    range_input_producer_in_order=_queue(lambda tf: tf.train.range_input_producer(4, num_epochs=2, shuffle=False)),
)
