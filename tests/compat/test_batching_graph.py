"""Batch functions in graph mode: threads, errors, and dropped examples."""

import itertools
import time

import numpy as np
import pytest
from graph_pipelines import drain, graph_session, running  # noqa: F401  (a fixture)
from helpers import LIMIT, run_in_thread
from orchestration import threads_since

import pipeline.compat.v1 as tf


def counting(number=10, epochs=1):
    return tf.train.range_input_producer(number, num_epochs=epochs, shuffle=False).dequeue()


def test_one_thread_keeps_the_order(sess):
    batch = tf.train.batch([counting(1000)], 64, allow_smaller_final_batch=True)
    with running(sess):
        found = drain(sess, batch)
    assert np.concatenate(found).tolist() == list(range(1000))


@pytest.mark.parametrize("shuffled", [False, True])
def test_threads_deliver_each_example_once(sess, shuffled):
    x = counting(500)
    pair = [x, tf.as_string(x)]
    if shuffled:
        made = tf.train.shuffle_batch(pair, 32, 200, 50, num_threads=4, allow_smaller_final_batch=True)
    else:
        made = tf.train.batch(pair, 32, num_threads=4, allow_smaller_final_batch=True)
    with running(sess):
        calls = [run_in_thread(drain, sess, made) for _ in range(3)]
        batches = list(itertools.chain.from_iterable(call.result() for call in calls))
    numbers = np.concatenate([numbers for numbers, _ in batches]).tolist()
    strings = [string for _, strings in batches for string in strings]
    assert sorted(numbers) == list(range(500))
    assert list(map(int, strings)) == numbers


def test_join_has_a_thread_for_each_source(sess):
    sources = [[counting(50) + 1000 * i] for i in range(3)]
    made = tf.train.batch_join(sources, 30)
    with running(sess):
        found = np.concatenate(drain(sess, made))
    assert len(found) == 150
    for i in range(3):
        assert found[found // 1000 == i].tolist() == [1000 * i + j for j in range(50)]


def test_stages_end_one_after_the_other(sess):
    first = tf.train.batch([counting(12)], 3)
    second = tf.train.batch([tf.reduce_sum(first)], 2, enqueue_many=False)
    third = tf.train.shuffle_batch([second], 2, 20, 0, enqueue_many=True, num_threads=2)
    with running(sess) as coord:
        found = drain(sess, third)
        assert not coord.should_stop()
    assert sorted(np.concatenate(found).tolist()) == [3, 12, 21, 30]


def test_error_of_an_input_stops_the_threads(sess):
    x = counting(1000)
    batch = tf.train.batch([tf.gather(list(range(10)), x)], 4)
    coord = tf.train.Coordinator()
    sess.run(tf.local_variables_initializer())
    threads = tf.train.start_queue_runners(sess, coord)
    assert np.concatenate(drain(sess, batch)).tolist() == list(range(8))
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"indices = 10 is not in \[0, 10\)"):
        coord.join(threads, stop_grace_period_secs=LIMIT)


def test_consumer_is_told_what_stopped_the_threads(sess):
    def fail():
        raise ValueError("this is why")

    broken = tf.py_func(fail, [], tf.int64)
    broken.set_shape([])
    batch = tf.train.batch([broken], 4)
    coord = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(sess, coord)
    with pytest.raises(tf.errors.OutOfRangeError, match="this is why"):
        sess.run(batch)
    with pytest.raises(tf.errors.InvalidArgumentError, match="this is why"):
        coord.join(threads, stop_grace_period_secs=LIMIT)


@pytest.mark.skipif(not hasattr(time, "pthread_getcpuclockid"), reason="nobody says what a thread uses here")
def test_what_is_statically_dropped_costs_nothing(sess):
    evaluated = []
    x = tf.py_func(lambda: evaluated.append(1) or 1, [], tf.int64)
    x.set_shape([])
    batch = tf.train.maybe_batch([x], False, 2, num_threads=4)
    begun = threads_since()
    with running(sess) as coord:
        assert not coord.wait_for_stop(0.5)
        clocks = [time.pthread_getcpuclockid(thread.ident) for thread in begun()]
        used = sum(map(time.clock_gettime, clocks))
    assert len(clocks) > 4
    assert not evaluated
    assert used < 0.25, f"{used:.2f} s of CPU time of these threads in 0.5 s"
    with pytest.raises(tf.errors.OutOfRangeError):
        sess.run(batch)


def test_stop_in_the_middle_of_an_endless_input(sess):
    x = tf.train.range_input_producer(10, shuffle=True).dequeue()
    batch = tf.train.batch([x, x], 7, num_threads=3)
    with running(sess):
        for _ in range(5):
            sess.run(batch)
    left = drain(sess, batch)
    assert len(left) <= 5


def test_close_of_the_session_frees_a_waiting_batch():
    with tf.Graph().as_default():
        x = tf.placeholder_with_default(1, [])
        batch = tf.train.batch([x], 4)
        session = tf.Session()
        call = run_in_thread(session.run, batch)
        (runner,) = tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)
        for _ in range(3):
            session.run(runner.enqueue_ops[0])
        session.close()
        assert isinstance(call.exception(), (tf.errors.CancelledError, RuntimeError))


def test_timeout_of_a_batch_loses_nothing(sess):
    x = tf.placeholder(tf.int32, [])
    batch = tf.train.batch([x], 2)
    (runner,) = tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)
    sess.run(runner.enqueue_ops[0], {x: 1})
    with pytest.raises(tf.errors.DeadlineExceededError):
        sess.run(batch, options=tf.RunOptions(timeout_in_ms=30))
    sess.run(runner.enqueue_ops[0], {x: 2})
    assert sess.run(batch).tolist() == [1, 2]
