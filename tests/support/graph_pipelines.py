"""Shared helpers for tests of graph-mode pipelines."""

import contextlib
import threading

import pytest
from helpers import LIMIT

import pipeline.compat.v1 as tf


@pytest.fixture(name="sess")
def graph_session():
    """A session on a new graph, both the defaults; after the test none of its threads may be left."""
    before = set(threading.enumerate())
    with tf.Graph().as_default() as graph, tf.Session(graph=graph) as session:
        yield session
    for thread in set(threading.enumerate()) - before:
        thread.join(LIMIT)
        assert not thread.is_alive(), f"{thread} did not end"


@contextlib.contextmanager
def running(sess):
    """Run queue runners, with initialised variables; raise their errors at the end."""
    sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
    coord = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(sess, coord)
    try:
        yield coord
    finally:
        coord.request_stop()
        coord.join(threads, stop_grace_period_secs=LIMIT)


def drain(sess, fetches):
    """Return the fetched values up to the end of the input."""
    found = []
    with contextlib.suppress(tf.errors.OutOfRangeError):
        while True:
            found.append(sess.run(fetches))
    return found


def closed_queue(sess, items):
    """Return a closed queue with strings."""
    queue = tf.FIFOQueue(len(items) + 1, tf.string, shapes=[()])
    if items:
        sess.run(queue.enqueue_many([list(map(str, items))]))
    sess.run(queue.close())
    return queue
