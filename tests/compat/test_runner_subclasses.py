"""Subclasses of tf.train.QueueRunner that override `_run`: producers in Python, as in TensorFlow 1 programs.

The private names are TensorFlow's, used by such subclasses.
"""

import contextlib
import threading

import numpy as np
import pytest

import pipeline.compat.v1 as tf

WAIT = 30


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default():
        yield


class Fed(tf.train.QueueRunner):
    """Calls a function that feeds and runs the op, and counts as TensorFlow's own `_run` does."""

    def __init__(self, func, queue, enqueue_ops, **options):
        self.func = func
        super().__init__(queue, enqueue_ops, **options)

    def _run(self, sess, enqueue_op, coord=None):
        if coord:
            coord.register_thread(threading.current_thread())
        counted = False
        try:
            while not (coord and coord.should_stop()):
                try:
                    self.func(sess, enqueue_op)
                except self._queue_closed_exception_types:
                    with self._lock:
                        self._runs_per_session[sess] -= 1
                        counted = True
                        if self._runs_per_session[sess] == 0:
                            with contextlib.suppress(tf.errors.CancelledError):
                                sess.run(self._close_op)
                    return
        except Exception as error:
            if coord:
                coord.request_stop(error)
            else:
                with self._lock:
                    self._exceptions_raised.append(error)
                raise
        finally:
            if not counted:
                with self._lock:
                    self._runs_per_session[sess] -= 1


def _fed(feed, threads=1, kind=Fed, **options):
    """A queue, its runner, and the dequeue op; `feed` gives the number to enqueue."""
    number = tf.placeholder(tf.int32, [])
    queue = tf.FIFOQueue(5, [tf.int32], shapes=[[]])
    runner = kind(lambda sess, op: sess.run(op, {number: feed()}), queue, [queue.enqueue(number)] * threads, **options)
    tf.train.add_queue_runner(runner)
    return queue, runner, queue.dequeue()


def _up_to(count):
    numbers, lock = iter(range(count)), threading.Lock()

    def feed():
        with lock:
            for number in numbers:
                return number
        raise tf.errors.OutOfRangeError(None, None, "no numbers are left")

    return feed


def _drain(sess, number):
    """Return the numbers before the final error, and the error."""
    seen = []
    while True:
        try:
            seen.append(int(sess.run(number)))
        except tf.errors.OpError as error:
            return seen, error


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("given", [True, False])
def test_a_producer_of_ones_own_fills_and_closes_the_queue(threads, given):
    _, runner, number = _fed(_up_to(40), threads)
    with tf.Session() as sess:
        coord = tf.train.Coordinator() if given else None
        started = tf.train.start_queue_runners(sess, coord)
        seen, _ = _drain(sess, number)
        assert sorted(seen) == list(range(40))
        if coord:
            coord.request_stop()
            coord.join(started, stop_grace_period_secs=WAIT)
        for thread in started:
            thread.join(WAIT)
            assert not thread.is_alive()
        assert runner._runs_per_session[sess] == 0
        again = runner.create_threads(sess, start=True)
        assert len(again) == threads
        for thread in again:
            thread.join(WAIT)
            assert not thread.is_alive()


def test_the_names_are_those_of_tensorflow():
    class Odd(tf.errors.OpError):
        pass

    queue, runner, _ = _fed(_up_to(1), queue_closed_exception_types=(Odd,))
    assert runner._queue is queue
    assert runner._queue_closed_exception_types == (Odd,) == runner.queue_closed_exception_types
    assert runner._enqueue_ops is runner.enqueue_ops
    assert isinstance(runner._close_op, tf.Operation)
    assert isinstance(runner._cancel_op, tf.Operation)
    assert runner._exceptions_raised == [] == runner.exceptions_raised
    assert len(runner._runs_per_session) == 0
    with tf.Session() as sess:
        runner.create_threads(sess)
        assert runner._runs_per_session[sess] == 1
        assert runner.create_threads(sess) == []


def test_an_error_of_ones_own_reaches_the_coordinator():
    def feed():
        raise ValueError("no such picture")

    _, _, number = _fed(feed)
    with tf.Session() as sess:
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess, coord)
        _, error = _drain(sess, number)
        assert isinstance(error.__cause__, ValueError)
        with pytest.raises(ValueError, match="no such picture"):
            coord.join(threads, stop_grace_period_secs=WAIT)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_without_a_coordinator_an_error_is_kept_once_and_ends_the_wait():
    failure = ValueError("no such picture")

    def feed():
        raise failure

    _, runner, number = _fed(feed)
    with tf.Session() as sess:
        threads = runner.create_threads(sess, daemon=True, start=True)
        _, error = _drain(sess, number)
        threads[0].join(WAIT)
        assert error.__cause__ is failure
        assert "no such picture" in str(error)
    assert runner.exceptions_raised == [failure]


class Wrong(tf.train.QueueRunner):
    def __init__(self, func, *args, **options):
        super().__init__(*args, **options)

    def _run(self, sess):
        pass


def test_a_run_of_the_wrong_shape_reaches_the_coordinator():
    _, _, number = _fed(None, kind=Wrong)
    with tf.Session() as sess:
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess, coord)
        _, error = _drain(sess, number)
        assert isinstance(error.__cause__, TypeError)
        with pytest.raises(TypeError, match="_run"):
            coord.join(threads, stop_grace_period_secs=WAIT)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_run_of_the_wrong_shape_ends_the_wait_without_a_coordinator():
    _, runner, number = _fed(None, kind=Wrong)
    with tf.Session() as sess:
        threads = runner.create_threads(sess, daemon=True, start=True)
        _, error = _drain(sess, number)
        threads[0].join(WAIT)
        assert isinstance(error.__cause__, TypeError)
    assert [type(each) for each in runner.exceptions_raised] == [TypeError]


class Wrapped(Fed):
    def _run(self, sess, enqueue_op, coord=None):
        self.entered = (sess, enqueue_op, coord)
        super(Fed, self)._run(sess, enqueue_op, coord)


def test_a_run_that_wraps_the_base():
    rows = tf.train.limit_epochs(tf.constant([1, 2, 3]), num_epochs=2)
    queue = tf.FIFOQueue(5, [tf.int32], shapes=[[]])
    op = queue.enqueue_many(rows)
    runner = Wrapped(None, queue, [op] * 2)
    number = queue.dequeue()
    with tf.Session() as sess:
        sess.run(tf.local_variables_initializer())
        coord = tf.train.Coordinator()
        threads = runner.create_threads(sess, coord, start=True)
        seen, _ = _drain(sess, number)
        assert sorted(seen) == [1, 1, 2, 2, 3, 3]
        assert runner.entered == (sess, op, coord)
        coord.request_stop()
        coord.join(threads, stop_grace_period_secs=WAIT)
        assert runner._runs_per_session[sess] == 0


class Threaded(tf.train.QueueRunner):
    """Makes its threads itself, as TensorFlow's own `create_threads` does."""

    def create_threads(self, sess, coord=None, daemon=False, start=False):
        with self._lock:
            if self._runs_per_session.get(sess, 0) > 0:
                return []
            self._runs_per_session[sess] = len(self._enqueue_ops)
            self._exceptions_raised = []
        threads = [threading.Thread(target=self._run, args=(sess, op, coord)) for op in self._enqueue_ops]
        if coord:
            threads.append(threading.Thread(target=self._close_on_stop, args=(sess, self._cancel_op, coord)))
        for thread in threads:
            thread.daemon = daemon
            if start:
                thread.start()
        return threads


def test_threads_of_ones_own():
    rows = tf.train.limit_epochs(tf.constant(np.arange(3)), num_epochs=2)
    queue = tf.FIFOQueue(5, [tf.int64], shapes=[[]])
    runner = Threaded(queue, [queue.enqueue_many(rows)] * 2)
    tf.train.add_queue_runner(runner)
    number = queue.dequeue()
    with tf.Session() as sess:
        sess.run(tf.local_variables_initializer())
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess, coord)
        seen, _ = _drain(sess, number)
        assert sorted(seen) == [0, 0, 1, 1, 2, 2]
        coord.request_stop()
        coord.join(threads, stop_grace_period_secs=WAIT)
        assert runner._runs_per_session[sess] == 0
