"""Programs that fill queues by hand: feeding threads, replay memories, tokens as barriers, several sessions."""

import threading

import numpy as np
import pytest
from helpers import run_in_thread

import pipeline.compat.v1 as tf


@pytest.fixture
def sess():
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


class Feeder:
    """Feed blocks of ten examples into a shuffling queue until the stop."""

    def __init__(self, fails_at=None):
        self.images = tf.placeholder(tf.float32, [None, 4])
        self.labels = tf.placeholder(tf.int64, [None])
        self.queue = tf.RandomShuffleQueue(60, 20, [tf.float32, tf.int64], shapes=[[4], []], seed=1)
        self.enqueue = self.queue.enqueue_many([self.images, self.labels])
        self.close = self.queue.close(cancel_pending_enqueues=True)
        self.batch = self.queue.dequeue_many(8)
        self.fails_at = fails_at

    def run(self, sess, coord):
        with coord.stop_on_exception():
            number = 0
            while not coord.should_stop():
                if number == self.fails_at:
                    raise IndexError("no more rows")
                rows = np.full((10, 4), number, np.float64)
                sess.run(self.enqueue, feed_dict={self.images: rows, self.labels: np.arange(10) + 10 * number})
                number += 1

    def stop(self, sess, coord):
        coord.wait_for_stop()
        sess.run(self.close)

    def start(self, sess, coord):
        targets = [self.run, self.run, self.stop]
        threads = [threading.Thread(target=target, args=(sess, coord), daemon=True) for target in targets]
        for thread in threads:
            thread.start()
        return threads


def test_threads_that_feed(sess):
    feeder, coord = Feeder(), tf.train.Coordinator(clean_stop_exception_types=(tf.errors.CancelledError,))
    threads = feeder.start(sess, coord)
    for _ in range(20):
        images, labels = sess.run(feeder.batch)
        assert images.shape == (8, 4)
        assert images.dtype == np.float32
        assert (labels // 10 == images[:, 0]).all()
    coord.request_stop()
    coord.join(threads)
    assert not any(thread.is_alive() for thread in threads)
    while sess.run(feeder.queue.size()) >= 8:
        sess.run(feeder.batch)
    with pytest.raises(tf.errors.OutOfRangeError, match="is closed and has insufficient elements"):
        sess.run(feeder.batch)


def test_a_thread_that_feeds_and_fails(sess):
    feeder, coord = Feeder(fails_at=3), tf.train.Coordinator()
    threads = feeder.start(sess, coord)
    assert isinstance(run_in_thread(lambda: [sess.run(feeder.batch) for _ in range(50)]).exception(), tf.OpError)
    with pytest.raises(IndexError, match="no more rows"):
        coord.join(threads)


def test_a_replay_memory_with_names(sess):
    names = ["state", "action", "done"]
    replay = tf.RandomShuffleQueue(100, 4, [tf.float32, tf.int32, tf.bool], shapes=[[3], [], []], names=names)
    feeds = {
        "state": tf.placeholder(tf.float32, [None, 3]),
        "action": tf.placeholder(tf.int32, [None]),
        "done": tf.placeholder(tf.bool, [None]),
    }
    add, sample = replay.enqueue_many(feeds), replay.dequeue_many(4)
    again = replay.enqueue_many(sample)
    steps = np.arange(12)
    values = {"state": np.stack([steps] * 3, 1), "action": steps, "done": steps % 2 == 0}
    sess.run(add, {feeds[name]: values[name] for name in names})
    for _ in range(5):
        got, _ = sess.run([sample, again])
        assert (got["state"][:, 0] == got["action"]).all()
        assert (got["done"] == (got["action"] % 2 == 0)).all()
    assert sess.run(replay.size()) == 12


def test_workers_wait_for_tokens(sess):
    step = tf.Variable(0)
    tokens = tf.FIFOQueue(-1, tf.int32, shapes=(), shared_name="tokens")
    done = tf.FIFOQueue(-1, tf.int32, shapes=())
    work = done.enqueue(tokens.dequeue())
    with tf.control_dependencies([tf.group(done.dequeue_many(3))]), tf.control_dependencies([tf.assign_add(step, 1)]):
        release = tokens.enqueue_many(tf.fill([3], step))
    sess.run(step.initializer)
    sess.run(tokens.enqueue_many([[0, 0, 0]]))
    seen = []
    for _ in range(4):
        workers = [run_in_thread(sess.run, work) for _ in range(3)]
        sess.run(release)
        for worker in workers:
            worker.result()
        seen.append(sess.run(step).item())
    assert seen == [1, 2, 3, 4]
    assert sess.run(tokens.dequeue_many(3)).tolist() == [4, 4, 4]


def test_sessions_of_one_graph_have_queues_of_their_own():
    with tf.Graph().as_default():
        queue = tf.FIFOQueue(10, tf.int32)
        enqueue, size = queue.enqueue(1), queue.size()
        first, second = tf.Session(), tf.Session()
    first.run([enqueue])
    first.run(enqueue)
    second.run(enqueue)
    assert (first.run(size), second.run(size)) == (2, 1)


def test_a_thread_asks_for_a_size_while_its_default_graph_is_another(sess):
    queue = tf.FIFOQueue(10, tf.int32, shapes=[()])
    sess.run(queue.enqueue_many([[1, 2, 3]]))
    assert run_in_thread(lambda: sess.run(queue.size())).result() == 3
    assert run_in_thread(lambda: sess.run(queue.dequeue_many(2))).result().tolist() == [1, 2]
    assert run_in_thread(lambda: sess.run(queue.close())).result() is None
