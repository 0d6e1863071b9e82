"""Waiting calls, script by script, through a session's runs: the served call, and the remaining elements."""

import pytest
from graph_pipelines import graph_session  # noqa: F401  (a fixture)
from helpers import plain, run_in_thread, wait_until

import pipeline.compat.v1 as tf

KINDS = {
    "fifo": lambda capacity, **kwargs: tf.FIFOQueue(capacity, [tf.int32], [()], **kwargs),
    "padding": lambda capacity, **kwargs: tf.PaddingFIFOQueue(capacity, [tf.int32], [()], **kwargs),
    "shuffle": lambda capacity, **kwargs: tf.RandomShuffleQueue(capacity, 0, [tf.int32], [()], seed=1, **kwargs),
}
TIMEOUT = tf.RunOptions(timeout_in_ms=50)


class Script:
    """A queue in a session, with a script's calls."""

    def __init__(self, sess, queue, *elements):
        self._sess, self.queue = sess, queue
        self._native = sess.run(queue.queue_ref)
        if elements:
            self.now("enqueue_many", [list(elements)])

    def now(self, method, *args, **kwargs):
        """Run a method's operation; give its result as plain values, or the error."""
        try:
            return plain(self._sess.run(getattr(self.queue, method)(*args), **kwargs))
        except tf.errors.OpError as error:
            return error

    def waits(self, method, *args, **kwargs):
        """Run a method's operation in a thread; return when it waits."""
        op = getattr(self.queue, method)(*args)
        before = self.waiting()
        call = run_in_thread(self._sess.run, op, **kwargs)
        wait_until(lambda: sum(self.waiting()) > sum(before), f"{method} waits")
        return call

    def waiting(self):
        stats = self._native.stats()
        return stats.waiting_enqueues, stats.waiting_dequeues


def is_error(outcome, kind, text):
    error = outcome if isinstance(outcome, Exception) else outcome.exception()
    assert type(error) is kind, error
    assert text in error.message.splitlines()[0]
    return True


def short(outcome, requested, size):
    """Return whether this is the error for a closed queue with too few elements."""
    text = f"is closed and has insufficient elements (requested {requested}, current size {size})"
    return is_error(outcome, tf.errors.OutOfRangeError, text)


def in_order(kind, values):
    """Return the values in the order due for this kind of queue: sorted if it is random."""
    return sorted(values) if kind == "shuffle" else values


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


@pytest.fixture
def script(sess, kind):
    return lambda capacity, *elements, **kwargs: Script(sess, KINDS[kind](capacity, **kwargs), *elements)


def test_cancelled_enqueue_many_leaves_what_is_in(script, kind):
    q = script(3)
    waiting = q.waits("enqueue_many", [[1, 2, 3, 4, 5]])
    assert q.now("close", True) is None
    assert is_error(waiting, tf.errors.CancelledError, "Enqueue operation was cancelled")
    assert q.now("size") == 3
    assert in_order(kind, q.now("dequeue_many", 3)) == [1, 2, 3]
    assert short(q.now("dequeue"), 1, 0)
    assert short(q.now("dequeue_many", 2), 2, 0)
    assert short(q.now("dequeue_up_to", 2), 2, 0)


def test_plain_close_waits_for_the_enqueues_before_it(script, kind):
    q = script(2, 1, 2)
    many, close, late = q.waits("enqueue_many", [[3, 4, 5]]), q.waits("close"), q.waits("enqueue", 9)
    first = [q.now("dequeue"), q.now("dequeue")]
    assert q.waiting() == (3, 0)
    assert q.now("is_closed") is False
    first.append(q.now("dequeue"))
    assert many.result() is None
    assert close.result() is None
    assert is_error(late, tf.errors.CancelledError, "is closed.")
    rest = q.now("dequeue_many", 2)
    assert sorted(first + rest) == [1, 2, 3, 4, 5]
    assert kind == "shuffle" or rest == [4, 5]


def test_cancelling_close_cancels_a_plain_one(script):
    q = script(1, 1)
    waiting = q.waits("enqueue", 2), q.waits("close")
    q.now("close", True)
    for each in waiting:
        assert is_error(each, tf.errors.CancelledError, "Enqueue operation was cancelled")
    assert is_error(q.now("close"), tf.errors.CancelledError, "is already closed.")
    assert q.now("close", True) is None
    assert q.now("dequeue") == 1


def test_second_plain_close_that_waits_is_too_late(script):
    q = script(1, 1)
    waiting = q.waits("enqueue", 2), q.waits("close"), q.waits("close"), q.waits("enqueue_many", [[5, 6]])
    assert q.now("dequeue") == 1
    assert waiting[0].result() is waiting[1].result() is None
    assert is_error(waiting[2], tf.errors.CancelledError, "is already closed.")
    assert is_error(waiting[3], tf.errors.CancelledError, "is closed.")
    assert q.now("dequeue") == 2
    assert short(q.now("dequeue"), 1, 0)


def test_timeout_puts_back_what_was_collected(script, kind):
    q = script(10, 1, 2, 3)
    assert is_error(
        q.now("dequeue_many", 5, options=TIMEOUT), tf.errors.DeadlineExceededError, "Timed out waiting for notification"
    )
    assert q.now("size") == 3
    q.now("enqueue_many", [[4, 5]])
    assert in_order(kind, q.now("dequeue_many", 5)) == [1, 2, 3, 4, 5]


def test_dequeue_up_to_takes_the_rest_of_a_closed_queue(script, kind):
    q = script(10, 1, 2, 3)
    first, second = q.waits("dequeue_up_to", 5), q.waits("dequeue_up_to", 5)
    assert q.now("size") == 0
    q.now("close")
    assert in_order(kind, first.result().tolist()) == [1, 2, 3]
    assert short(second, 5, 0)


def test_nothing_is_taken_past_those_who_wait(script, kind):
    q = script(10)
    many, one = q.waits("dequeue_many", 3), q.waits("dequeue")
    assert q.now("dequeue_many", 0) == []
    q.now("enqueue", 1)
    q.now("enqueue", 2)
    assert q.waiting() == (0, 2)
    assert q.now("size") == 0
    q.now("enqueue", 3)
    assert in_order(kind, many.result().tolist()) == [1, 2, 3]
    assert q.waiting() == (0, 1)
    q.now("enqueue", 4)
    assert one.result() == 4


def test_no_row_slips_between_those_of_one_call(script, kind):
    q = script(2)
    calls = q.waits("enqueue_many", [[1, 2, 3, 4]]), q.waits("enqueue_many", [[5, 6, 7]]), q.waits("enqueue", 8)
    assert in_order(kind, [q.now("dequeue") for _ in range(8)]) == [1, 2, 3, 4, 5, 6, 7, 8]
    assert [each.result() for each in calls] == [None] * 3


def test_timeout_of_an_enqueue_frees_the_next(script, kind):
    q = script(1, 1)
    late, next_one = q.waits("enqueue", 2, options=tf.RunOptions(timeout_in_ms=300)), q.waits("enqueue", 3)
    assert is_error(late, tf.errors.DeadlineExceededError, "Timed out waiting for notification")
    assert [q.now("dequeue"), q.now("dequeue")] == [1, 3]
    assert next_one.result() is None


def test_closed_queue_gives_what_it_has(script, kind):
    q = script(10, 1, 2, 3, 4)
    q.now("close")
    assert len(q.now("dequeue_many", 3)) == 3
    assert short(q.now("dequeue_many", 3), 3, 1)
    assert len(q.now("dequeue_up_to", 3)) == 1
    assert short(q.now("dequeue_up_to", 3), 3, 0)


def test_restored_elements_go_to_those_behind(script, kind):
    q = script(10, 1, 2, 3)
    calls = [q.waits("dequeue_many", 5), q.waits("dequeue_many", 2), q.waits("dequeue"), q.waits("dequeue")]
    q.now("close")
    assert short(calls[0], 2, 0)
    pair, one = calls[1].result().tolist(), calls[2].result().item()
    assert (pair, one) == (([2, 1], 3) if kind == "shuffle" else ([1, 2], 3))
    assert short(calls[3], 1, 0)


def test_restored_elements_go_to_dequeue_up_to(script, kind):
    q = script(10, 1, 2, 3)
    calls = [q.waits("dequeue_many", 5), q.waits("dequeue_many", 4), q.waits("dequeue_up_to", 7)]
    q.now("close")
    assert short(calls[0], 2, 0)
    assert short(calls[1], 4, 3)
    assert in_order(kind, calls[2].result().tolist()) == [1, 2, 3]


def test_enqueue_many_of_a_timeout_stays_as_far_as_it_came(script):
    q = script(2)
    assert is_error(
        q.now("enqueue_many", [[1, 2, 3, 4]], options=TIMEOUT), tf.errors.DeadlineExceededError, "Timed out"
    )
    assert q.now("size") == 2


def test_timeout_does_not_end_a_plain_close(sess, script):
    q = script(1, 1)
    enqueue = q.waits("enqueue", 2)
    close = q.waits("close", options=TIMEOUT)
    # When a later run times out, the close has timed out too.
    other = Script(sess, tf.FIFOQueue(1, tf.int32))
    assert is_error(other.now("dequeue", options=TIMEOUT), tf.errors.DeadlineExceededError, "Timed out")
    assert close.alive()
    assert q.waiting() == (2, 0)
    q.now("dequeue")
    assert enqueue.result() is None
    assert is_error(close, tf.errors.DeadlineExceededError, "Timed out waiting for notification")
    assert q.now("is_closed") is True


def test_wrong_shape_of_a_closed_queue_is_said_first(sess, script):
    q = script(1)
    q.now("close")
    value = tf.placeholder(tf.int32)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"Expected \[\], got \[2\]"):
        sess.run(q.queue.enqueue((value,)), {value: [1, 2]})


def test_a_shuffled_batch_is_drawn_while_it_fills(sess):
    q = Script(sess, tf.RandomShuffleQueue(5, 3, tf.int32, [()], seed=1))
    batch = q.waits("dequeue_many", 8)
    q.now("enqueue_many", [list(range(11))])
    assert batch.result().tolist() == [2, 3, 5, 4, 6, 8, 1, 10]
    assert q.now("size") == 3


def test_a_shuffled_batch_that_was_not_full_is_put_back(sess):
    q = Script(sess, tf.RandomShuffleQueue(10, 3, tf.int32, [()], seed=1), 1, 2, 3, 4, 5)
    batch = q.waits("dequeue_many", 6)
    assert q.now("size") == 3
    q.now("close")
    assert short(batch, 4, 3)
    assert q.now("dequeue_many", 5) == [4, 5, 2, 1, 3]


def test_the_minimum_no_longer_counts_at_the_close(sess):
    q = Script(sess, tf.RandomShuffleQueue(10, 3, tf.int32, [()]), 1, 2, 3, 4, 5)
    batch = q.waits("dequeue_many", 5)
    assert q.now("size") == 3
    q.now("close")
    assert sorted(batch.result()) == [1, 2, 3, 4, 5]


def test_a_dequeue_of_the_minimum_waits(sess):
    q = Script(sess, tf.RandomShuffleQueue(10, 3, tf.int32, [()]), 1, 2, 3)
    one = q.waits("dequeue")
    q.now("enqueue", 4)
    assert one.result() in (1, 2, 3, 4)
    assert q.now("size") == 3


@pytest.mark.parametrize("method", ["dequeue_many", "dequeue_up_to"])
def test_priorities_are_taken_all_at_once(sess, method):
    q = Script(sess, tf.PriorityQueue(10, tf.int32, [()]))
    batch = q.waits(method, 3)
    q.now("enqueue_many", ([2, 1], [20, 10]))
    assert q.now("size") == 2
    q.now("enqueue", (0, 0))
    assert [each.tolist() for each in batch.result()] == [[0, 1, 2], [0, 10, 20]]
    q.now("enqueue", (7, 70))
    assert is_error(q.now(method, 2, options=TIMEOUT), tf.errors.DeadlineExceededError, "Timed out")
    assert q.now("size") == 1


def test_rest_of_a_closed_priority_queue_is_given(sess):
    q = Script(sess, tf.PriorityQueue(10, tf.int32, [()]))
    batch = q.waits("dequeue_up_to", 5)
    q.now("enqueue_many", ([2, 1], [20, 10]))
    q.now("close")
    assert [each.tolist() for each in batch.result()] == [[1, 2], [10, 20]]


def test_batches_longer_than_a_priority_queue_never_come(sess):
    q = Script(sess, tf.PriorityQueue(1, tf.int32, [()]))
    batch = q.waits("dequeue_many", 2)
    enqueue = q.waits("enqueue_many", ([1, 2], [1, 2]))
    q.now("close", True)
    assert is_error(enqueue, tf.errors.CancelledError, "Enqueue operation was cancelled")
    assert short(batch, 2, 1)


def test_capacity_zero_takes_nothing():
    with tf.Graph().as_default(), tf.Session() as sess:
        q = Script(sess, tf.FIFOQueue(0, tf.int32, [()]))
        taken, given = q.waits("dequeue"), q.waits("enqueue", 1)
        assert q.waiting() == (1, 1)
        assert q.now("size") == 0
        assert q.now("enqueue_many", [[]]) is None
    assert is_error(taken, tf.errors.CancelledError, "Dequeue operation was cancelled")
    assert is_error(given, tf.errors.CancelledError, "Enqueue operation was cancelled")
