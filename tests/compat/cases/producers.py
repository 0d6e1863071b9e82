"""Producers of input: rows, strings, ranges, slices, epochs, names of files."""

import os

import numpy as np
from compat_cases import case


def results(tf, sess, *fetches, most=60):
    """What the fetches give with the queue runners at work, up to the end; then the error that stopped the threads."""
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


def variables(tf):
    return [[variable.name for variable in tf.local_variables()], [v.name for v in tf.global_variables()]]


def queue_of(queue):
    return [queue.name, [dtype.name for dtype in queue.dtypes], [str(shape) for shape in queue.shapes]]


def runners(tf):
    return [
        [runner.name, [op.name for op in runner.enqueue_ops], runner.close_op.name, runner.cancel_op.name]
        for runner in tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)
    ]


@case()
def input_producer_in_order(tf, sess):
    queue = tf.train.input_producer([10, 20, 30], num_epochs=2, shuffle=False)
    return results(tf, sess, queue.dequeue()), queue_of(queue), runners(tf), variables(tf)


@case()
def input_producer_shuffled(tf, sess):
    queue = tf.train.input_producer([10, 20, 30], num_epochs=2, seed=5)
    return results(tf, sess, queue.dequeue())


@case()
def input_producer_three_epochs_of_five(tf, sess):
    return results(tf, sess, tf.train.input_producer(list(range(5)), num_epochs=3, seed=3).dequeue())


@case()
def input_producer_three_epochs_of_six(tf, sess):
    return results(tf, sess, tf.train.input_producer(np.arange(6), num_epochs=3, seed=42).dequeue())


@case()
def input_producer_graph_seed(tf, sess):
    tf.set_random_seed(11)
    tf.constant(1)
    return results(tf, sess, tf.train.input_producer(list(range(8)), num_epochs=2).dequeue())


@case()
def string_input_producer_graph_seed(tf, sess):
    tf.set_random_seed(3)
    return results(tf, sess, tf.train.string_input_producer(["a", "b", "c", "d", "e"], num_epochs=2).dequeue())


@case()
def slice_input_producer_graph_seed(tf, sess):
    tf.set_random_seed(3)
    x, y = tf.train.slice_input_producer([np.arange(7), np.arange(14.0).reshape(7, 2)], num_epochs=2)
    return results(tf, sess, x, y)


@case()
def two_producers_graph_seed(tf, sess):
    tf.set_random_seed(8)
    first = tf.train.range_input_producer(6, num_epochs=1).dequeue()
    second = tf.train.range_input_producer(6, num_epochs=1).dequeue()
    return results(tf, sess, first, second)


@case()
def input_producer_both_seeds(tf, sess):
    tf.set_random_seed(8)
    return results(tf, sess, tf.train.input_producer(list(range(9)), num_epochs=2, seed=1).dequeue())


@case()
def input_producer_matrix_rows(tf, sess):
    queue = tf.train.input_producer(np.arange(8.0, dtype=np.float32).reshape(4, 2), num_epochs=1, seed=1)
    return results(tf, sess, queue.dequeue()), queue_of(queue)


@case()
def input_producer_named(tf, sess):
    queue = tf.train.input_producer([1], num_epochs=1, name="nm", capacity=4, summary_name="full")
    return queue_of(queue), runners(tf), results(tf, sess, queue.dequeue()), variables(tf)


@case()
def input_producer_in_a_scope_twice(tf, sess):
    with tf.name_scope("data"):
        first, second = tf.train.input_producer([1], shuffle=False), tf.train.input_producer([2], shuffle=False)
    return queue_of(first), queue_of(second), runners(tf)


@case()
def input_producer_element_shape(tf, sess):
    rows = tf.placeholder_with_default(np.arange(4).reshape(2, 2), [None, None])
    queue = tf.train.input_producer(rows, element_shape=[2], num_epochs=1, shuffle=False)
    return results(tf, sess, queue.dequeue()), queue_of(queue)


@case()
def input_producer_element_shape_unknown_rank(tf, sess):
    rows = tf.placeholder_with_default(np.arange(4).reshape(2, 2), None)
    queue = tf.train.input_producer(rows, element_shape=[2], num_epochs=1, shuffle=False)
    return results(tf, sess, queue.dequeue()), queue_of(queue)


@case()
def input_producer_unknown_number_of_rows(tf, sess):
    rows = tf.placeholder_with_default([1, 2, 3], [None])
    return results(tf, sess, tf.train.input_producer(rows, num_epochs=1, seed=2).dequeue())


@case()
def input_producer_summary(tf, sess):
    tf.train.input_producer([1, 2, 3], shuffle=False, capacity=8, summary_name="full")
    sess.run(tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)[0].enqueue_ops)
    (summary,) = tf.get_collection(tf.GraphKeys.SUMMARIES)
    return sess.run(summary), summary.name


@case()
def input_producer_cancel_op(tf, sess):
    ran = tf.no_op(name="cancelled")
    tf.train.input_producer([1], shuffle=False, cancel_op=ran)
    return runners(tf)


@case()
def input_producer_strings(tf, sess):
    return results(tf, sess, tf.train.input_producer([b"x", b"yy"], shuffle=False, num_epochs=1).dequeue())


@case()
def input_producer_bool_and_capacity_1(tf, sess):
    queue = tf.train.input_producer([True, False, True], shuffle=False, num_epochs=2, capacity=1)
    return results(tf, sess, queue.dequeue())


@case()
def input_producer_zero_rows_end(tf, sess):
    queue = tf.train.input_producer(np.zeros([0], np.int32), num_epochs=2)
    return results(tf, sess, queue.dequeue())


@case()
def input_producer_scalar(tf):
    return tf.train.input_producer(3)


@case(message="fully defined shape")
def input_producer_unknown_row_shape(tf):
    tf.train.input_producer(tf.placeholder(tf.float32, [3, None]))


@case(message="fully defined shape")
def input_producer_unknown_rank(tf):
    tf.train.input_producer(tf.placeholder(tf.float32))


@case()
def input_producer_conflicting_element_shape(tf):
    tf.train.input_producer([[1, 2]], element_shape=[3])


@case(message="num_epochs must be > 0 not 0")
def input_producer_no_epochs(tf):
    tf.train.input_producer([1], num_epochs=0)


@case()
def input_producer_capacity_0_summary(tf):
    tf.train.input_producer([1], capacity=0, summary_name="s")


@case()
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


@case()
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


@case()
def string_input_producer_in_order(tf, sess):
    queue = tf.train.string_input_producer(["b", "a"], num_epochs=2, shuffle=False)
    return results(tf, sess, queue.dequeue()), queue_of(queue), runners(tf), variables(tf)


@case()
def string_input_producer_named(tf, sess):
    queue = tf.train.string_input_producer(["b", "a"], name="foo", num_epochs=1, seed=9, capacity=5)
    return results(tf, sess, queue.dequeue()), queue_of(queue), runners(tf), variables(tf)


@case()
def string_input_producer_of_a_tensor(tf, sess):
    strings = tf.placeholder_with_default(["c", "d"], [None])
    return results(tf, sess, tf.train.string_input_producer(strings, num_epochs=1, shuffle=False).dequeue())


@case()
def string_input_producer_empty_at_run_time(tf, sess):
    strings = tf.placeholder_with_default(np.zeros([0], object), [None])
    return results(tf, sess, tf.train.string_input_producer(strings).dequeue())


@case()
def string_input_producer_one_string_array(tf, sess):
    return results(tf, sess, tf.train.string_input_producer(np.array(["one"]), num_epochs=1).dequeue())


@case(message="requires a non-null input tensor")
def string_input_producer_empty_list(tf):
    tf.train.string_input_producer([])


@case(message="requires a non-null input tensor")
def string_input_producer_none(tf):
    tf.train.string_input_producer(None)


@case()
def string_input_producer_array_of_two(tf):
    tf.train.string_input_producer(np.array(["a", "b"]))


@case()
def string_input_producer_matrix(tf):
    tf.train.string_input_producer([["a", "b"]])


@case()
def string_input_producer_bare_string(tf):
    tf.train.string_input_producer("abc")


@case()
def string_input_producer_numbers(tf):
    tf.train.string_input_producer([1, 2])


@case()
def range_input_producer_in_order(tf, sess):
    queue = tf.train.range_input_producer(4, num_epochs=2, shuffle=False)
    return results(tf, sess, queue.dequeue()), queue_of(queue), runners(tf), variables(tf)


@case()
def range_input_producer_shuffled(tf, sess):
    return results(tf, sess, tf.train.range_input_producer(7, num_epochs=2, seed=4, name="r").dequeue())


@case()
def range_input_producer_int64(tf, sess):
    queue = tf.train.range_input_producer(tf.constant(3, tf.int64), num_epochs=1, shuffle=False)
    return results(tf, sess, queue.dequeue()), queue_of(queue)


@case()
def range_input_producer_limit_tensor(tf, sess):
    queue = tf.train.range_input_producer(tf.placeholder_with_default(3, []), num_epochs=1, shuffle=False)
    return results(tf, sess, queue.dequeue()), queue_of(queue)


@case()
def range_input_producer_vector_limit(tf):
    tf.train.range_input_producer([3])


@case()
def slice_input_producer_in_order(tf, sess):
    x, y = tf.train.slice_input_producer([["a", "b", "c"], np.eye(3, dtype=np.float32)], num_epochs=1, shuffle=False)
    return results(tf, sess, x, y), [x.name, str(x.shape), y.name, str(y.shape)], variables(tf), runners(tf)


@case()
def slice_input_producer_shuffled(tf, sess):
    x, y = tf.train.slice_input_producer([list(range(6)), list("abcdef")], num_epochs=2, seed=7)
    return results(tf, sess, x, y)


@case()
def slice_input_producer_of_one(tf, sess):
    made = tf.train.slice_input_producer([[5, 6]], num_epochs=1, shuffle=False, name="one", capacity=2)
    return type(made).__name__, len(made), results(tf, sess, *made)


@case()
def slice_input_producer_unknown_shapes(tf, sess):
    rows = tf.placeholder_with_default(np.arange(4).reshape(2, 2), [None, None])
    labels = tf.placeholder_with_default([1, 2], None)
    x, y = tf.train.slice_input_producer([rows, labels], num_epochs=1, shuffle=False)
    return results(tf, sess, x, y), [str(x.shape), str(y.shape)]


@case()
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


@case()
def slice_input_producer_longer_second(tf, sess):
    x, y = tf.train.slice_input_producer([[1, 2], [1, 2, 3]], num_epochs=1, shuffle=False)
    return results(tf, sess, x, y)


@case(message="Expected at least one tensor in slice_input_producer")
def slice_input_producer_nothing(tf):
    tf.train.slice_input_producer([])


@case()
def slice_input_producer_bare_tensor(tf):
    tf.train.slice_input_producer(tf.constant([1, 2]))


@case()
def slice_input_producer_scalar(tf):
    tf.train.slice_input_producer([tf.constant(1)])


@case()
def slice_input_producer_into_batches(tf, sess):
    x, y = tf.train.slice_input_producer([list(range(5)), list("abcde")], num_epochs=2, seed=1)
    return results(tf, sess, *tf.train.batch([x, y], 4, allow_smaller_final_batch=True))


@case()
def limit_epochs_none_is_the_same(tf):
    tensor = tf.constant(1)
    assert tf.train.limit_epochs(tensor) is tensor
    return tensor


@case()
def limit_epochs_counts(tf, sess):
    tensor = tf.train.limit_epochs(tf.constant([1, 2]), num_epochs=2)
    sess.run(tf.local_variables_initializer())
    found = [tensor.name, str(tensor.shape), variables(tf), len(tf.trainable_variables())]
    for _ in range(4):
        try:
            found.append(sess.run(tensor))
        except tf.errors.OutOfRangeError as error:
            found.append("Reached limit of 2" in error.message)
        found.append(sess.run(tf.local_variables()[0]))
    return found


@case()
def limit_epochs_named(tf):
    return tf.train.limit_epochs(["a", "b"], num_epochs=3, name="limited")


@case(message="num_epochs must be > 0 not -1")
def limit_epochs_negative(tf):
    tf.train.limit_epochs(tf.constant(1), num_epochs=-1)


@case(message="num_epochs must be > 0 not 0")
def limit_epochs_zero(tf):
    tf.train.limit_epochs(tf.constant(1), num_epochs=0)


@case(message="uninitialized value limit_epochs/epochs")
def limit_epochs_uninitialized(tf, sess):
    sess.run(tf.train.limit_epochs(tf.constant(1), num_epochs=1))


def touch(directory, *names):
    for name in names:
        with open(os.path.join(directory, name), "w"):
            pass


@case()
def match_filenames_once_finds(tf, sess, tmp):
    touch(tmp, "b.txt", "a.txt", "c.csv")
    names = tf.train.match_filenames_once(tmp + "/*.txt")
    sess.run(tf.local_variables_initializer())
    found = [sess.run(names)]
    touch(tmp, "d.txt")
    found.append(sess.run(names))
    sess.run(tf.local_variables_initializer())
    found.append(sess.run(names))
    return [[os.path.basename(name) for name in each] for each in found], names.name, str(names.shape), variables(tf)


@case()
def match_filenames_once_several_patterns(tf, sess, tmp):
    touch(tmp, "b.txt", "a.txt", "c.csv")
    names = tf.train.match_filenames_once([tmp + "/*.txt", tmp + "/*.csv", tmp + "/a*"], name="found")
    sess.run(tf.local_variables_initializer())
    return [os.path.basename(name) for name in sess.run(names)]


@case()
def match_filenames_once_no_match(tf, sess, tmp):
    names = tf.io.match_filenames_once(tmp + "/nothing/*")
    sess.run(tf.local_variables_initializer())
    return sess.run(names).tolist()


@case(message="uninitialized value matching_filenames")
def match_filenames_once_uninitialized(tf, sess, tmp):
    sess.run(tf.train.match_filenames_once(tmp + "/*"))
