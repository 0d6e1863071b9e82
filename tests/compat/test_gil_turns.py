"""Threads of queue runners take turns at the GIL, and still wait for each other if a program makes them."""

import contextlib
import sys
import threading
import time

import numpy as np
import pytest

import pipeline.compat.v1 as tf
from pipeline.compat.queues.gil_turns import FeederThreads, GilTurns, TakingTurns, done


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default():
        yield


def taken(fetches, count, enough=lambda results: False):
    """Return the results of n runs, or fewer if those are `enough`, with all runners started."""
    with tf.Session() as sess:
        sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess, coord)
        results = []
        while len(results) < count and not enough(results):
            results.append(sess.run(fetches))
        coord.request_stop()
        coord.join(threads)
    return results


def test_functions_that_wait_for_each_other():
    meeting = threading.Barrier(3)

    def meet():
        with contextlib.suppress(threading.BrokenBarrierError):  # at the end, when some wait for room
            meeting.wait()
        return np.float32(1)

    number = tf.py_func(meet, [], tf.float32)
    number.set_shape([])
    batch = tf.train.batch([number], 5, num_threads=3, capacity=10)
    with tf.Session() as sess:
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess, coord)
        assert [sess.run(batch).tolist() for _ in range(20)] == [[1.0] * 5] * 20
        coord.request_stop()
        meeting.abort()
        coord.join(threads)


def test_one_queue_after_another():
    numbers = tf.train.range_input_producer(50, shuffle=False, num_epochs=2)
    first = tf.FIFOQueue(2, tf.int32, shapes=[[]])
    doubled = first.enqueue(tf.py_func(lambda x: np.int32(2 * x), [numbers.dequeue()], tf.int32))
    tf.train.add_queue_runner(tf.train.QueueRunner(first, [doubled] * 3))
    second = tf.FIFOQueue(2, tf.int32, shapes=[[]])
    raised = second.enqueue(tf.py_func(lambda x: np.int32(x + 1), [first.dequeue()], tf.int32))
    tf.train.add_queue_runner(tf.train.QueueRunner(second, [raised] * 3))
    assert sorted(taken(second.dequeue(), 100)) == sorted(2 * [2 * number + 1 for number in range(50)])


def test_the_end_of_one_thread_leaves_the_turn_to_others():
    calls = iter(range(40))
    lock = threading.Lock()

    def count():
        with lock:
            number = next(calls, None)
        if number is None:
            raise StopIteration
        return np.int32(number)

    number = tf.py_func(count, [], tf.int32)
    number.set_shape([])
    batch = tf.train.batch([number], 7, num_threads=4, allow_smaller_final_batch=True)
    with tf.Session() as sess:
        threads = tf.train.start_queue_runners(sess)
        got = [each for _ in range(6) for each in sess.run(batch).tolist()]
        with pytest.raises(tf.errors.OutOfRangeError):
            sess.run(batch)
        for thread in threads:
            thread.join()
    assert sorted(got) == list(range(40))


def test_all_readers_of_a_join_have_their_turn(tmp_path):
    for name in ("a", "b", "c"):
        (tmp_path / name).write_bytes(name.encode() * 30_000)
    reads = []
    for name in ("a", "b", "c"):
        names = tf.train.string_input_producer([str(tmp_path / name)])
        reads.append([tf.FixedLengthRecordReader(1).read(names)[1]])
    letters = set()

    def all_seen(results):
        letters.update(*(letter for result in results[-1:] for letter in result.tolist()))
        return letters == set(b"abc")

    # On a busy machine the third thread begins late; only a turn for each by the end is guaranteed.
    taken(tf.train.batch_join(reads, 100, capacity=200), 30_000, all_seen)
    assert letters == set(b"abc")


def test_functions_that_wait_for_something_else_do_so_at_the_same_time():
    inside, most, lock = 0, 0, threading.Lock()

    def fetch():
        nonlocal inside, most
        with lock:
            inside += 1
            most = max(most, inside)
        time.sleep(0.002)  # such as a server's answer takes
        with lock:
            inside -= 1
        return np.float32(1)

    number = tf.py_func(fetch, [], tf.float32)
    number.set_shape([])
    batch = tf.train.batch([number], 10, num_threads=6)
    with tf.Session() as sess:
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess, coord)
        for _ in range(200):
            sess.run(batch)
            if most == 6:
                break
        coord.request_stop()
        coord.join(threads)
    assert most == 6


def test_without_a_gil_no_thread_takes_turns(monkeypatch):
    monkeypatch.setattr(sys, "_is_gil_enabled", lambda: False, raising=False)
    asked = []
    monkeypatch.setattr(GilTurns, "take", lambda self: bool(asked.append(self)))
    number = tf.py_func(lambda: np.float32(1), [], tf.float32)
    number.set_shape([])
    taken(tf.train.batch([number], 30, num_threads=3), 100)  # a thread with expensive elements would try one of 256
    assert not asked


def test_each_thread_that_stands_by_takes_the_place_of_one_that_ended():
    workers = []

    def name():
        workers.append(threading.get_ident())
        if len(workers) >= 500:
            raise StopIteration
        return np.float32(1)

    number = tf.py_func(name, [], tf.float32)
    number.set_shape([])
    batch = tf.train.batch([number], 10, num_threads=4)
    with tf.Session() as sess:
        threads = tf.train.start_queue_runners(sess)
        for _ in range(49):
            sess.run(batch)
        for thread in threads:
            thread.join()
    assert set(workers[499:]) == {thread.ident for thread in threads}


def test_a_thread_that_lost_patience_stands_by_again():
    asked = []

    class Busy(FeederThreads):
        def join(self):
            asked.append(self)
            return len(asked) > 3 and super().join()

    make = TakingTurns(lambda: None, GilTurns(), Busy())
    for _ in range(1000):
        make()
    done()
    assert len(asked) == 4


def test_threads_of_one_operation_take_turns_together_or_not_at_all():
    feeders, turns = FeederThreads(), GilTurns()
    expensive = TakingTurns(lambda: sum(range(200_000)), turns, feeders)
    other = TakingTurns(lambda: None, turns, feeders)
    while feeders.costs.in_turns:
        expensive()
    other()  # waits for no thread: its elements count as expensive, though this call is not
    assert not feeders.costs.measured
    for _ in range(2048):
        other()
        if feeders.costs.in_turns:
            break
    assert feeders.costs.in_turns  # measured again, after a while
    while feeders.costs.measured:
        other()
    done()
    assert feeders.costs.in_turns


def lines_of(path, lines, capacity, threads, names):
    """Return a queue with lines of usually four bytes, filled by several threads running one operation."""
    path.write_text("".join(f"{line}\n" for line in lines))
    _, line = tf.TextLineReader().read(names)
    row = tf.decode_raw(line, tf.uint8) + tf.cast(tf.random_uniform([], maxval=1, dtype=tf.int32), tf.uint8)
    row.set_shape([4])  # and 0 was added by an op that does not run in blocks
    rows = tf.FIFOQueue(capacity, tf.uint8, shapes=[[4]])
    tf.train.add_queue_runner(tf.train.QueueRunner(rows, [rows.enqueue(row)] * threads))
    return rows


def test_elements_in_hand_go_in_before_their_thread_waits_for_a_file_name(tmp_path):
    """The producer of the next name waits for all lines from the file before."""
    names = tf.FIFOQueue(1, tf.string, shapes=[[]])
    path = tmp_path / "lines.txt"
    row = lines_of(path, range(1000, 1040), 2, 6, names).dequeue()
    give = names.enqueue(str(path))
    with tf.Session() as sess:
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess, coord)
        for _ in range(20):
            sess.run(give)
            options = tf.RunOptions(timeout_in_ms=30_000)
            found = [bytes(sess.run(row, options=options)) for _ in range(40)]
            assert sorted(found) == [b"%d" % number for number in range(1000, 1040)]
        sess.run(names.close())
        coord.request_stop()
        coord.join(threads)


def test_elements_in_hand_at_the_end_go_in(tmp_path):
    names = tf.train.string_input_producer([str(tmp_path / "lines.txt")], num_epochs=30)
    row = lines_of(tmp_path / "lines.txt", range(1000, 1040), 3, 5, names).dequeue()
    found = sorted(bytes(each) for each in taken_to_the_end(row))
    assert found == sorted(30 * [b"%d" % number for number in range(1000, 1040)])


def taken_to_the_end(fetches):
    with tf.Session() as sess:
        sess.run(tf.local_variables_initializer())
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess, coord)
        with contextlib.suppress(tf.errors.OutOfRangeError):
            while True:
                yield sess.run(fetches)
        coord.request_stop()
        coord.join(threads)


def test_an_error_names_the_record_of_an_element_in_hand(tmp_path):
    lines = [*range(1000, 1200), "odd", *range(1200, 1300)]
    names = tf.train.string_input_producer([str(tmp_path / "lines.txt")], num_epochs=1)
    row = lines_of(tmp_path / "lines.txt", lines, 2, 6, names).dequeue()
    with tf.Session() as sess:
        sess.run(tf.local_variables_initializer())
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess, coord)
        with pytest.raises(tf.errors.OutOfRangeError, match=r"lines\.txt:201\b"):
            [sess.run(row) for _ in lines]
        with pytest.raises(tf.errors.InvalidArgumentError, match="Shape mismatch"):
            coord.join(threads)
