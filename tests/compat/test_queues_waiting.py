"""Runs that wait for a queue: order, cancellation by closing queue or session, timeouts, several waits in one run."""

import threading

import numpy as np
import pytest
from helpers import run_in_thread, wait_until

import pipeline.compat.v1 as tf


@pytest.fixture
def sess():
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def native(sess, queue):
    """Return the native queue, which counts waiting calls."""
    return sess.run(queue.queue_ref)


def start(sess, queue, op, side="dequeues", waiting=1):
    """Run `op` in a thread and return it once it waits in `queue`."""
    running = run_in_thread(sess.run, op)
    stats = native(sess, queue).stats
    wait_until(lambda: getattr(stats(), f"waiting_{side}") == waiting, f"{side} wait in {queue.name}")
    return running


def test_a_dequeue_waits_for_an_enqueue(sess):
    queue = tf.FIFOQueue(10, tf.int32)
    dequeue, enqueue = queue.dequeue(), queue.enqueue(7)
    running = start(sess, queue, dequeue)
    sess.run(enqueue)
    assert running.result() == 7


def test_an_enqueue_waits_for_room(sess):
    queue = tf.FIFOQueue(1, tf.int32)
    first, second, dequeue = queue.enqueue(1), queue.enqueue(2), queue.dequeue()
    sess.run(first)
    running = start(sess, queue, second, "enqueues")
    assert sess.run(dequeue) == 1
    assert running.result() is None
    assert sess.run(dequeue) == 2


def test_dequeue_many_collects_more_than_the_capacity(sess):
    queue = tf.FIFOQueue(2, tf.int32, shapes=[()])
    batch, enqueue = queue.dequeue_many(5), queue.enqueue_many([[1, 2, 3, 4, 5]])
    running = start(sess, queue, batch)
    sess.run(enqueue)
    assert running.result().tolist() == [1, 2, 3, 4, 5]


def test_closing_ends_waiting_dequeues_and_says_why(sess):
    queue = tf.FIFOQueue(10, tf.int32, shapes=[()])
    batch, close, enqueue = queue.dequeue_many(5), queue.close(), queue.enqueue(1)
    sess.run(enqueue)
    running = start(sess, queue, batch)
    sess.run(close)
    error = running.exception()
    assert isinstance(error, tf.errors.OutOfRangeError)
    assert error.op is batch.op
    assert error.error_code == 11
    assert error.node_def.name == batch.op.name
    assert "insufficient elements (requested 4, current size 0)" in str(error)
    assert f"[[node {batch.op.name} (defined at {__file__}:" in str(error)
    assert sess.run(queue.size()) == 1


def test_a_cancelling_close_ends_waiting_enqueues(sess):
    queue = tf.FIFOQueue(1, tf.int32)
    enqueue, close, again = queue.enqueue_many([[1, 2, 3]]), queue.close(cancel_pending_enqueues=True), queue.close()
    running = start(sess, queue, enqueue, "enqueues")
    sess.run(close)
    with pytest.raises(tf.errors.CancelledError, match="Enqueue operation was cancelled"):
        running.result()
    sess.run(close)
    with pytest.raises(tf.errors.CancelledError, match="is already closed"):
        sess.run(again)


@pytest.mark.parametrize("kind", ["dequeue", "dequeue_many", "dequeue_up_to"])
def test_closing_the_session_cancels_what_waits(kind):
    with tf.Graph().as_default():
        queue = tf.FIFOQueue(10, tf.int32, shapes=[()])
        op = queue.dequeue() if kind == "dequeue" else getattr(queue, kind)(3)
        sess = tf.Session()
        running = start(sess, queue, op)
        sess.close()
        with pytest.raises(tf.errors.CancelledError, match="Dequeue operation was cancelled"):
            running.result()
        with pytest.raises(RuntimeError, match="Attempted to use a closed Session"):
            sess.run(op)


def test_closing_the_session_cancels_enqueues_that_wait():
    with tf.Graph().as_default():
        queue = tf.FIFOQueue(1, tf.int32)
        op = queue.enqueue_many([[1, 2, 3]])
        sess = tf.Session()
        running = start(sess, queue, op, "enqueues")
        sess.close()
        with pytest.raises(tf.errors.CancelledError, match="Enqueue operation was cancelled"):
            running.result()


def test_closing_the_session_ends_a_plain_close():
    with tf.Graph().as_default():
        queue = tf.FIFOQueue(1, tf.int32)
        enqueue, close = queue.enqueue_many([[1, 2, 3]]), queue.close()
        sess = tf.Session()
        waiting = start(sess, queue, enqueue, "enqueues")
        closing = start(sess, queue, close, "enqueues", 2)
        sess.close()
        assert isinstance(waiting.exception(), tf.errors.CancelledError)
        # The queue was closed; the run must stop.
        with pytest.raises(tf.errors.CancelledError, match="Run call was cancelled"):
            closing.result()


def test_a_timeout_of_one_run_takes_nothing(sess):
    queue = tf.FIFOQueue(10, tf.int32, shapes=[()])
    batch = queue.dequeue_many(5)
    sess.run(queue.enqueue_many([[1, 2, 3]]))
    with pytest.raises(tf.errors.DeadlineExceededError, match="Timed out waiting for notification"):
        sess.run(batch, options=tf.RunOptions(timeout_in_ms=20))
    assert sess.run(queue.size()) == 3
    sess.run(queue.enqueue_many([[4, 5]]))
    assert sess.run(batch).tolist() == [1, 2, 3, 4, 5]


def test_a_timeout_of_the_session():
    config = tf.ConfigProto(operation_timeout_in_ms=20)
    with tf.Graph().as_default(), tf.Session(config=config) as sess:
        queue = tf.FIFOQueue(1, tf.int32)
        with pytest.raises(tf.errors.DeadlineExceededError, match="Timed out"):
            sess.run(queue.dequeue())
        sess.run(queue.enqueue(1))
        with pytest.raises(tf.errors.DeadlineExceededError, match="Timed out"):
            sess.run(queue.enqueue(2))
        assert sess.run(queue.dequeue()) == 1


def test_a_timeout_frees_those_behind(sess):
    queue = tf.FIFOQueue(10, tf.int32, shapes=[()])
    batch, one = queue.dequeue_many(3), queue.dequeue()
    sess.run(queue.enqueue_many([[1, 2]]))
    ready = threading.Event()

    def wait():
        ready.set()
        sess.run(batch, options=tf.RunOptions(timeout_in_ms=200))

    first = run_in_thread(wait)
    stats = native(sess, queue).stats
    wait_until(lambda: stats().waiting_dequeues == 1, "the batch waits")
    second = start(sess, queue, one, waiting=2)
    assert isinstance(first.exception(), tf.errors.DeadlineExceededError)
    assert second.result() == 1


def test_two_waits_of_one_run_go_side_by_side(sess):
    queue = tf.FIFOQueue(10, tf.int32)
    dequeue, enqueue = queue.dequeue(), queue.enqueue(5)
    assert sess.run([dequeue, enqueue]) == [5, None]


def test_a_run_that_hands_over_between_queues(sess):
    first, second = tf.FIFOQueue(1, tf.int32), tf.FIFOQueue(1, tf.int32)
    takes = second.dequeue()
    moves = second.enqueue(first.dequeue() + 1)
    gives = first.enqueue(1)
    assert sess.run([takes, moves, gives]) == [2, None, None]


def test_a_failure_ends_the_other_waits_of_a_run(sess):
    queue, closed = tf.FIFOQueue(10, tf.int32), tf.FIFOQueue(10, tf.int32)
    sess.run(closed.close())
    waits, fails = queue.dequeue(), closed.dequeue()
    with pytest.raises(tf.errors.OutOfRangeError, match="is closed and has insufficient elements") as caught:
        sess.run([waits, fails])
    assert caught.value.op is fails.op
    assert native(sess, queue).stats().waiting_dequeues == 0


def test_three_dequeues_of_one_run_take_three_elements(sess):
    queue = tf.FIFOQueue(10, tf.int32)
    sess.run(queue.enqueue_many([[1, 2, 3, 4]]))
    assert sorted(sess.run([queue.dequeue() for _ in range(3)])) == [1, 2, 3]
    assert sess.run(queue.size()) == 1


def test_sessions_do_not_share():
    with tf.Graph().as_default():
        queue = tf.FIFOQueue(10, tf.int32, shared_name="q")
        private = tf.FIFOQueue(10, tf.int32)
        with tf.Session() as one, tf.Session() as other:
            one.run([queue.enqueue(1), private.enqueue(1)])
            assert one.run([queue.size(), private.size()]) == [1, 1]
            assert other.run([queue.size(), private.size()]) == [0, 0]


def test_many_threads_run_one_session(sess):
    queue = tf.FIFOQueue(64, tf.int64, shapes=[()])
    value = tf.placeholder(tf.int64, [])
    enqueue, dequeue, total = queue.enqueue(value), queue.dequeue(), 4 * 500

    def produce(part):
        for i in range(part, total, 4):
            sess.run(enqueue, {value: i})

    def consume():
        return [sess.run(dequeue) for _ in range(total // 4)]

    producers = [run_in_thread(produce, part) for part in range(4)]
    consumers = [run_in_thread(consume) for _ in range(4)]
    for each in producers:
        each.result()
    assert sorted(np.concatenate([each.result() for each in consumers])) == list(range(total))


def test_a_run_of_a_callable_that_waits_is_cancelled_too():
    with tf.Graph().as_default():
        queue = tf.FIFOQueue(10, tf.int32)
        sess = tf.Session()
        call = sess.make_callable(queue.dequeue())
        running = run_in_thread(call)
        wait_until(lambda: native(sess, queue).stats().waiting_dequeues == 1, "the callable waits")
        sess.close()
        with pytest.raises(tf.errors.CancelledError, match="Dequeue operation was cancelled"):
            running.result()
        with pytest.raises(tf.errors.CancelledError, match="Session has been closed"):
            call()


def test_a_wait_for_runners_that_nobody_started_is_warned_of(sess, caplog, monkeypatch):
    monkeypatch.setattr("pipeline.compat.queues.in_session.CHECK_INTERVAL", 0.01)
    queue = tf.FIFOQueue(10, tf.int32)
    runner = tf.train.QueueRunner(queue, [queue.enqueue(3)])
    tf.train.add_queue_runner(runner)

    def run_until_it_is_said():
        running = run_in_thread(sess.run, queue.dequeue())
        wait_until(lambda: "never started" in caplog.text, "the warning")
        return running

    with pytest.warns(RuntimeWarning, match="threads of its QueueRunner were never started"):
        running = run_until_it_is_said()
    assert "tf.train.start_queue_runners(sess=sess, coord=coord)" in caplog.text
    assert "fifo_queue" in caplog.text
    coord = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(sess, coord)
    assert running.result() == 3
    coord.request_stop()
    coord.join(threads)
    assert caplog.text.count("never started") == 1


def test_a_late_run_hands_over_what_it_took(sess):
    queue = tf.FIFOQueue(10, tf.int32)
    sess.run(queue.enqueue_many([[1, 2]]))
    slow = tf.py_func(lambda x: (threading.Event().wait(0.05), x)[1], [queue.dequeue()], tf.int32)
    in_time = tf.RunOptions(timeout_in_ms=10)
    assert sess.run(slow, options=in_time) == 1
    nothing_taken = tf.py_func(lambda: (threading.Event().wait(0.05), np.int32(1))[1], [], tf.int32)
    with pytest.raises(tf.errors.DeadlineExceededError, match="Timed out"):
        sess.run(nothing_taken, options=in_time)
    assert sess.run(queue.dequeue()) == 2


def test_a_late_run_that_put_its_elements_in_does_not_fail(sess):
    queue = tf.FIFOQueue(10, tf.int32)
    slow = tf.py_func(lambda: (threading.Event().wait(0.05), np.int32(1))[1], [], tf.int32)
    in_time = tf.RunOptions(timeout_in_ms=10)
    sess.run(queue.enqueue(slow), options=in_time)  # a caller that got a timeout would enqueue it again
    assert sess.run(queue.size()) == 1
