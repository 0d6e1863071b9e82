"""Intended improvements on TensorFlow."""

import threading
import traceback
import types

import numpy as np
import pytest
from graph_pipelines import closed_queue, drain, graph_session, running  # noqa: F401  (a fixture)
from helpers import LIMIT, run_in_thread, wait_until

import pipeline.compat.v1 as tf
from pipeline.compat.input import keep_input
from pipeline.sync.stop_flag import StopFlag


def test_enqueue_many_of_a_scalar_is_an_error(sess):
    q, value = tf.FIFOQueue(10, tf.int32, [()]), tf.placeholder(tf.int32)
    with pytest.raises(tf.errors.InvalidArgumentError):
        sess.run(q.enqueue_many((value,)), {value: 3})
    assert sess.run(q.size()) == 0


@pytest.mark.parametrize("method", ["dequeue_many", "dequeue_up_to"])
def test_number_of_elements_must_be_a_number(sess, method):
    q, n = tf.FIFOQueue(10, tf.int32, [()]), tf.placeholder(tf.int32)
    sess.run(q.enqueue_many([[1, 2, 3]]))
    for wrong in ([], [1, 2]):
        with pytest.raises(tf.errors.InvalidArgumentError, match="n must be a scalar"):
            sess.run(getattr(q, method)(n), {n: wrong})
    assert sess.run(q.size()) == 3


def test_negative_number_of_records_is_an_error(sess):
    queue = closed_queue(sess, ["work"])
    with pytest.raises(tf.errors.InvalidArgumentError):
        sess.run(tf.IdentityReader().read_up_to(queue, -1))
    assert sess.run(queue.size()) == 1


def test_coordinator_records_the_error_that_it_is_given():
    coord = tf.train.Coordinator()

    def fail():
        raise ValueError("mine")

    try:
        fail()
    except ValueError as error:
        mine = error
    try:
        raise TypeError("other")
    except TypeError:
        coord.request_stop(mine)
    with pytest.raises(ValueError, match="mine") as caught:
        coord.join()
    assert caught.value is mine
    assert "fail" in [frame.name for frame in traceback.extract_tb(mine.__traceback__)]


@pytest.mark.parametrize("wrong", [(1, 2), (None, None, None), (ValueError, None, None)])
def test_coordinator_stops_even_if_it_is_told_wrongly(wrong):
    coord = tf.train.Coordinator()
    coord.request_stop(wrong)
    assert coord.should_stop()
    with pytest.raises(ValueError, match=r"ex must be .*a tuple"):
        coord.join()


def test_coordinator_needs_no_error_that_is_being_handled():
    coord = tf.train.Coordinator()
    coord.request_stop(RuntimeError("made here"))
    assert coord.should_stop()
    with pytest.raises(RuntimeError, match="made here"):
        coord.join()


def test_priority_queue_without_shapes(sess):
    q = tf.PriorityQueue(10, [tf.string, tf.int32])
    assert [str(shape) for shape in q.shapes] == ["<unknown>"] * 3
    for order in (2, 1):
        sess.run(q.enqueue((order, "x" * order, np.arange(order))))
    order, text, numbers = sess.run(q.dequeue())
    assert (order, text, numbers.tolist()) == (1, b"x", [0])
    needs = "PriorityQueue's DequeueMany requires the components to have specified shapes"
    with pytest.raises(tf.errors.InvalidArgumentError, match=needs):
        sess.run(q.dequeue_many(1))
    value = tf.placeholder(tf.int64)
    with pytest.raises(tf.errors.InvalidArgumentError):
        sess.run(q.enqueue((value, "x", 1)), {value: [1, 2]})
    assert sess.run(q.size()) == 1


def test_padding_of_many_dimensions(sess):
    q = tf.PaddingFIFOQueue(10, tf.int32, [[None] * 6])
    for sizes in ((1, 2, 1, 1, 2, 1), (2, 1, 1, 3, 1, 1)):
        sess.run(q.enqueue((np.ones(sizes, np.int32),)))
    batch = sess.run(q.dequeue_many(2))
    assert batch.shape == (2, 2, 2, 1, 3, 2, 1)
    assert batch.sum() == 4 + 6


def test_runner_of_inputs_that_are_not_kept_does_not_spin(sess, monkeypatch):
    pauses = []

    def sleep(seconds):
        pauses.append(seconds)
        threading.Event().wait(seconds)

    monkeypatch.setattr(keep_input, "time", types.SimpleNamespace(sleep=sleep))
    counted = tf.Variable(0)
    tf.train.maybe_batch([counted.assign_add(1)], False, 2)
    with running(sess):
        wait_until(lambda: len(pauses) >= 2, "the runner goes round")
        assert sess.run(counted) == 0
    assert set(pauses) == {0.05}


@pytest.mark.parametrize(("dtype", "value"), [(tf.int32, 2**31), (tf.uint8, 256), (tf.int8, -129), (tf.uint16, -1)])
def test_python_int_out_of_range_is_an_error(sess, dtype, value):
    with pytest.raises(OverflowError, match=f"{value}.*{dtype.name}"):
        tf.FIFOQueue(1, dtype).enqueue(value)


def test_join_notices_the_end_of_a_thread_within_50_ms(monkeypatch):
    coord, release = tf.train.Coordinator(), threading.Event()
    wait, slices = StopFlag.wait, []

    def noted(flag, timeout=None):
        slices.append(timeout)
        return wait(flag, timeout)

    monkeypatch.setattr(StopFlag, "wait", noted)
    thread = threading.Thread(target=release.wait)
    thread.start()
    joining = run_in_thread(coord.join, [thread])
    wait_until(lambda: len(slices) >= 2, "join looks again")
    release.set()
    thread.join(LIMIT)
    joining.result()
    assert max(slices) <= 0.05  # it checks the threads this often


def test_consumer_hears_why_the_producer_ended(sess):
    numbers = tf.train.input_producer([[1], [0]], shuffle=False, num_epochs=1).dequeue()
    batch = tf.train.batch([tf.Print(tf.floordiv(6, numbers), [])], 1)
    sess.run(tf.local_variables_initializer())
    coord = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(sess, coord)
    with pytest.raises(tf.errors.OutOfRangeError) as caught:
        drain_to_the_error(sess, batch)
    assert "is closed and has insufficient elements" in str(caught.value).splitlines()[0]
    assert isinstance(caught.value.__cause__, tf.errors.InvalidArgumentError)
    with pytest.raises(tf.errors.InvalidArgumentError) as joined:
        coord.join(threads, stop_grace_period_secs=LIMIT)
    assert caught.value.__cause__ is joined.value


def drain_to_the_error(sess, fetch):
    while True:
        sess.run(fetch)


def test_session_closed_under_a_runner_is_its_error():
    with tf.Graph().as_default():
        q = tf.FIFOQueue(2, tf.int32, [()])
        runner, coord = tf.train.QueueRunner(q, [q.enqueue(1)]), tf.train.Coordinator()
        sess = tf.Session()
        threads = runner.create_threads(sess, coord, daemon=True, start=True)
        stats = sess.run(q.queue_ref).stats
        wait_until(lambda: stats().waiting_enqueues == 1, "the queue to be full")
        sess.close()
        with pytest.raises(tf.errors.CancelledError):
            coord.join(threads, stop_grace_period_secs=LIMIT)


def test_reader_at_work_keeps_its_counters_to_itself(sess):
    queue = tf.FIFOQueue(5, tf.string, [()])
    reader = tf.IdentityReader()
    reading = run_in_thread(sess.run, reader.read(queue))
    stats = sess.run(queue.queue_ref).stats
    wait_until(lambda: stats().waiting_dequeues == 1, "the reader waits")
    counting = run_in_thread(sess.run, reader.num_records_produced())
    assert sess.run(queue.size()) == 0
    assert counting.alive()
    sess.run(queue.enqueue("work"))
    assert reading.result().key == b"work"
    assert counting.result() == 1
