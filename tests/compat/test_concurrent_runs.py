"""Runs with several operations that may wait: none waits for an unnecessary thread."""

import threading

import pytest

import pipeline.compat.v1 as tf


@pytest.fixture
def started(monkeypatch):
    """Return the names of started threads."""
    names = []
    start = threading.Thread.start

    def noting(thread):
        names.append(thread.name)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", noting)
    return names


def queues(count=2):
    made = [tf.FIFOQueue(100, tf.int32, shapes=[[]], name=f"queue{index}") for index in range(count)]
    return made, [each.enqueue_many([list(range(50))]) for each in made]


def test_what_is_there_is_taken_without_a_thread(started):
    with tf.Graph().as_default(), tf.Session() as sess:
        (first, second), filling = queues()
        taken = [first.dequeue(), second.dequeue_many(2), first.dequeue_up_to(2)]
        for each in filling:
            sess.run(each)
        started.clear()
        results = [sess.run(taken) for _ in range(3)]
        assert [[one, *two.tolist(), *three.tolist()] for one, two, three in results] == [
            [0, 0, 1, 1, 2],
            [3, 2, 3, 4, 5],
            [6, 4, 5, 7, 8],
        ]
        sess.run([first.enqueue(9), second.enqueue(9)])
    assert started == []


def test_a_thread_that_waited_once_waits_again(started):
    with tf.Graph().as_default(), tf.Session() as sess:
        (early, late), (fill_early, fill_late) = queues()
        both = [late.dequeue_many(50), early.dequeue()]
        left = early.size()
        sess.run(fill_early)
        for turn in range(5):
            results = []
            caller = threading.Thread(target=lambda: results.append(sess.run(both)), name="caller")  # noqa: B023
            caller.start()
            while sess.run(left) == 50 - turn:  # the dequeue that need not wait continues
                pass
            sess.run(fill_late)
            caller.join()
            assert results[0][0].tolist() == list(range(50))
            assert results[0][1] == turn
    assert len(started) == 6


def test_the_end_of_one_queue_ends_the_wait_for_the_other():
    with tf.Graph().as_default(), tf.Session() as sess:
        (empty, ended), _ = queues()
        sess.run(ended.close())
        for order in ([empty.dequeue(), ended.dequeue()], [ended.dequeue(), empty.dequeue()]):
            for _ in range(3):
                with pytest.raises(tf.errors.OutOfRangeError, match="queue1"):
                    sess.run(order)


def test_closing_the_session_ends_both_waits():
    with tf.Graph().as_default():
        sess = tf.Session()
        (first, second), _ = queues()
        errors = []

        def wait():
            try:
                sess.run([first.dequeue_many(2), second.dequeue()])
            except tf.errors.CancelledError as error:
                errors.append(error)

        graph = sess.graph

        def waiting():
            with graph.as_default():
                wait()

        caller = threading.Thread(target=waiting)
        caller.start()
        sess.run(first.enqueue(1))
        sess.close()
        caller.join()
        assert len(errors) == 1


def test_a_deadline_holds_for_all_waits():
    with tf.Graph().as_default(), tf.Session() as sess:
        (first, second), filling = queues()
        sess.run(filling[0])
        options = tf.RunOptions(timeout_in_ms=50)
        with pytest.raises(tf.errors.DeadlineExceededError):
            sess.run([second.dequeue(), first.dequeue_many(60)], options=options)
        assert sess.run(first.size()) == 50
