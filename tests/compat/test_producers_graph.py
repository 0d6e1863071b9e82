"""Producers in graph mode: threads, file patterns matched once, and stopping."""

import itertools

import numpy as np
import pytest
from graph_pipelines import drain, graph_session, running  # noqa: F401  (a fixture)
from helpers import LIMIT, run_in_thread

import pipeline.compat.v1 as tf


def test_files_that_patterns_match_are_the_input(sess, tmp_path):
    for name in ("b.txt", "a.txt", "c.csv"):
        (tmp_path / name).write_text(name)
    names = tf.train.match_filenames_once(f"{tmp_path}/*.txt")
    queue = tf.train.string_input_producer(names, num_epochs=1, shuffle=False)
    name = queue.dequeue()
    with running(sess):
        found = drain(sess, name)
    assert found == [f"{tmp_path}/a.txt".encode(), f"{tmp_path}/b.txt".encode()]


def test_endless_producer_ends_with_a_stop(sess):
    row = tf.train.input_producer(np.arange(5), seed=1).dequeue()
    with running(sess):
        rows = [sess.run(row) for _ in range(50)]
    epochs = np.reshape(rows, (10, 5))
    assert np.array_equal(np.sort(epochs), np.tile(np.arange(5), (10, 1)))


def test_sessions_have_epochs_of_their_own():
    with tf.Graph().as_default():
        row = tf.train.input_producer(np.arange(6), num_epochs=2, seed=42).dequeue()
        orders = []
        for _ in range(2):
            with tf.Session() as session, running(session):
                orders.append(drain(session, row))
    assert orders[0] == orders[1] == [2, 5, 3, 4, 1, 0, 3, 2, 1, 0, 5, 4]


def test_uninitialised_epochs_are_the_error_of_join(sess):
    queue = tf.train.input_producer([1, 2], num_epochs=1)
    coord = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(sess, coord)
    with pytest.raises(tf.errors.OutOfRangeError):
        sess.run(queue.dequeue())
    with pytest.raises(tf.errors.FailedPreconditionError, match="input_producer/limit_epochs/epochs"):
        coord.join(threads, stop_grace_period_secs=LIMIT)


def test_cancel_op_is_run_instead_of_the_close(sess):
    stopped = tf.Variable(0)
    queue = tf.train.input_producer(np.arange(100), shuffle=False, capacity=10, cancel_op=stopped.assign(1))
    row = queue.dequeue()
    sess.run(tf.global_variables_initializer())
    coord = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(sess, coord)
    assert [sess.run(row) for _ in range(3)] == [0, 1, 2]
    assert not sess.run(queue.is_closed())
    coord.request_stop()
    while not sess.run(stopped):
        pass
    sess.run(queue.close(cancel_pending_enqueues=True))
    coord.join(threads, stop_grace_period_secs=LIMIT)


def test_threads_share_the_rows(sess):
    row = tf.train.range_input_producer(300, num_epochs=2, shuffle=True).dequeue()
    with running(sess):
        calls = [run_in_thread(drain, sess, row) for _ in range(4)]
        rows = list(itertools.chain.from_iterable(call.result() for call in calls))
    assert sorted(rows) == sorted([*range(300), *range(300)])


def test_rows_of_slices_stay_together(sess):
    images = np.arange(40, dtype=np.float32).reshape(20, 2)
    image, label = tf.train.slice_input_producer([images, list(map(str, range(20)))], num_epochs=3)
    with running(sess):
        found = drain(sess, [image, label])
    assert len(found) == 60
    assert all(image[0] == 2 * int(label) for image, label in found)


def test_graph_seed_makes_a_program_repeat():
    def program(seed):
        with tf.Graph().as_default(), tf.Session() as session:
            tf.set_random_seed(seed)
            row = tf.train.input_producer(np.arange(30), capacity=30, num_epochs=2).dequeue()
            batch = tf.train.shuffle_batch([row], 10, 100, 0)
            (_, runner) = tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)
            session.run(tf.local_variables_initializer())
            session.run(tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)[0].enqueue_ops[0])
            for _ in range(30):
                session.run(runner.enqueue_ops[0])
            return np.concatenate([session.run(batch) for _ in range(3)]).tolist()

    assert program(5) == program(5)
    assert program(5) != program(6)
    assert sorted(program(5)) == list(range(30))


def test_uninitialised_names_of_files_are_the_error_of_join(sess, tmp_path):
    name = tf.train.string_input_producer(tf.train.match_filenames_once(f"{tmp_path}/*")).dequeue()
    coord = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(sess, coord)
    with pytest.raises(tf.errors.OutOfRangeError):
        sess.run(name)
    with pytest.raises(tf.errors.FailedPreconditionError, match="matching_filenames"):
        coord.join(threads, stop_grace_period_secs=LIMIT)


def test_no_file_that_matches_is_the_error_of_join(sess, tmp_path):
    name = tf.train.string_input_producer(tf.train.match_filenames_once(f"{tmp_path}/*.none")).dequeue()
    sess.run(tf.local_variables_initializer())
    coord = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(sess, coord)
    with pytest.raises(tf.errors.OutOfRangeError):
        sess.run(name)
    with pytest.raises(tf.errors.InvalidArgumentError, match="requires a non-null input tensor"):
        coord.join(threads, stop_grace_period_secs=LIMIT)
