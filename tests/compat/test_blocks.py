"""Block execution: a runner moving many elements at a time shows the same elements in the same order."""

import sys
import threading

import numpy as np
import pytest
from helpers import run_in_thread, wait_until

import pipeline.compat.v1 as tf
from pipeline.compat.queues import move_blocks as blocks
from pipeline.compat.queues.move_blocks import in_blocks


@pytest.fixture
def sess():
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def mover(sess, enqueue):
    """Return the function called by a runner's thread for an operation; fail if it does not run in blocks."""
    move = in_blocks(sess, enqueue, sess.make_callable(enqueue))
    assert move is not None
    return move


def drained(sess, queue, dtype=None):
    """All elements in a queue."""
    return [sess.run(queue.dequeue()) for _ in range(sess.run(queue.size()))]


def upstream(sess, values, dtype=tf.int32, shape=(), cls=tf.FIFOQueue, **options):
    queue = cls(1000, dtypes=dtype, shapes=[shape], **options)
    sess.run(queue.enqueue_many([values]))
    return queue


def test_a_block_is_what_is_there(sess):
    source = upstream(sess, list(range(10)))
    target = tf.FIFOQueue(100, tf.int32, shapes=[()])
    mover(sess, target.enqueue(source.dequeue()))()
    assert drained(sess, target) == list(range(10))
    assert sess.run(source.size()) == 0


def test_a_block_is_no_more_than_fits(sess):
    source = upstream(sess, list(range(10)))
    target = tf.FIFOQueue(4, tf.int32, shapes=[()])
    mover(sess, target.enqueue(source.dequeue()))()
    assert [sess.run(source.size()), sess.run(target.size())] == [6, 4]
    assert drained(sess, target) == [0, 1, 2, 3]


def test_rows_go_through_what_is_between(sess):
    source = upstream(sess, list(range(6)))
    table = tf.constant(np.arange(24, dtype=np.float32).reshape(6, 2, 2))
    row = tf.gather(table, source.dequeue())
    scaled = tf.reshape(tf.cast(row, tf.float64) * 2 + [[1.0], [2.0]], [4])
    target = tf.FIFOQueue(100, [tf.float64, tf.float32, tf.string], shapes=[[4], [2], []])
    enqueue = target.enqueue([scaled, row[1], tf.constant("k")])
    sess.run(enqueue)
    first = sess.run(target.dequeue())
    mover(sess, enqueue)()
    got = drained(sess, target)
    assert len(got) == 5
    rows = np.arange(24, dtype=np.float64).reshape(6, 2, 2)
    for i, (wide, narrow, key) in enumerate([first, *got]):
        np.testing.assert_array_equal(wide, (rows[i] * 2 + [[1.0], [2.0]]).reshape(4))
        np.testing.assert_array_equal(narrow, rows[i][1])
        assert key == b"k"
    assert (wide.dtype, narrow.dtype) == (np.float64, np.float32)


def test_a_shuffled_source_is_drawn_from_one_by_one(sess):
    source = upstream(sess, list(range(50)), cls=tf.RandomShuffleQueue, min_after_dequeue=20, seed=3)
    target = tf.FIFOQueue(100, tf.int32, shapes=[()])
    mover(sess, target.enqueue(source.dequeue()))()
    assert [sess.run(source.size()), sess.run(target.size())] == [49, 1]


@pytest.mark.parametrize("minimum", [0, 5])
def test_a_waiting_dequeue_draws_as_if_elements_came_one_by_one(sess, minimum):
    def drawn(move_all):
        source = upstream(sess, list(range(60)))
        target = tf.RandomShuffleQueue(30, minimum, tf.int32, shapes=[()], seed=3)
        batch, enqueue = target.dequeue_many(40), target.enqueue(source.dequeue())
        waiting = run_in_thread(sess.run, batch)
        stats = sess.run(target.queue_ref).stats
        wait_until(lambda: stats().waiting_dequeues == 1, "the batch waits")
        move_all(enqueue, source)
        return [*waiting.result(), *sess.run(target.dequeue_many(10))]

    def one_by_one(enqueue, source):
        for _ in range(60):
            sess.run(enqueue)

    def in_one(enqueue, source):
        move = mover(sess, enqueue)
        move()
        assert sess.run(source.size()) == 0

    assert drawn(in_one) == drawn(one_by_one)


def test_the_calls_that_wait_count_as_room_and_as_elements(sess):
    source = tf.FIFOQueue(3, tf.int32, shapes=[()])
    target = tf.FIFOQueue(4, tf.int32, shapes=[()])
    fill, batch = source.enqueue_many([list(range(20))]), target.dequeue_many(10)
    waiting = [run_in_thread(sess.run, fill), run_in_thread(sess.run, batch)]
    native = sess.run([source.queue_ref, target.queue_ref])
    wait_until(lambda: native[0].stats().waiting_enqueues == native[1].stats().waiting_dequeues == 1, "both wait")
    mover(sess, target.enqueue(source.dequeue()))()
    assert waiting[1].result().tolist() == list(range(10))
    assert drained(sess, target) == [10, 11, 12, 13]
    sess.run(source.dequeue_many(6))
    assert waiting[0].exception() is None


def test_strings(sess):
    source = upstream(sess, ["a,1", "b,2", "c,3"], tf.string)
    name, number = tf.decode_csv(source.dequeue(), [[""], [0]])
    target = tf.FIFOQueue(100, [tf.string, tf.int32], shapes=[[], []])
    mover(sess, target.enqueue([name + "!", number]))()
    assert drained(sess, target) == [[b"a!", 1], [b"b!", 2], [b"c!", 3]]


def test_a_bad_row_fails_by_itself(sess):
    source = upstream(sess, ["1", "2", "x", "4", "5"], tf.string)
    target = tf.FIFOQueue(100, [tf.int32], shapes=[[]])
    parsed = tf.decode_csv(source.dequeue(), [[0]])[0]
    move = mover(sess, target.enqueue(parsed))
    with pytest.raises(tf.errors.InvalidArgumentError, match="Field 0 in record 0 is not a valid int32") as caught:
        move()
    assert caught.value.op is parsed.op
    assert drained(sess, target) == [1, 2]
    assert sess.run(source.size()) == 2  # the others are in their old positions
    move()
    assert drained(sess, target) == [4, 5]


def test_elements_of_a_wrong_shape_are_refused_one_by_one(sess):
    source = upstream(sess, [b"abc", b"def"], tf.string)
    target = tf.FIFOQueue(100, [tf.uint8], shapes=[[4]])
    row = tf.decode_raw(source.dequeue(), tf.uint8)
    row.set_shape([4])
    move = mover(sess, target.enqueue(row))
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"component 0. Expected \[4\], got \[3\]"):
        move()
    assert drained(sess, target) == []


def test_rows_left_behind_go_to_another_thread_of_the_runner(sess):
    source = upstream(sess, [0, 1, 9, 2], tf.int32)
    target = tf.FIFOQueue(100, [tf.int32], shapes=[[]])
    enqueue = target.enqueue(tf.gather([10, 11, 12], source.dequeue()))
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"indices = 9 is not in \[0, 3\)"):
        mover(sess, enqueue)()
    mover(sess, enqueue)()
    assert drained(sess, target) == [10, 11, 12]


def test_the_end_of_the_input(sess):
    source = upstream(sess, [1, 2])
    target = tf.FIFOQueue(100, tf.int32, shapes=[()])
    move = mover(sess, target.enqueue(source.dequeue()))
    sess.run(source.close())
    move()
    with pytest.raises(tf.errors.OutOfRangeError, match="is closed and has insufficient elements"):
        move()
    assert drained(sess, target) == [1, 2]


def test_a_closed_target(sess):
    source = upstream(sess, [1, 2])
    target = tf.FIFOQueue(100, tf.int32, shapes=[()])
    enqueue = target.enqueue(source.dequeue())
    sess.run(target.close())
    with pytest.raises(tf.errors.CancelledError, match="is closed") as caught:
        mover(sess, enqueue)()
    assert caught.value.op is enqueue
    assert drained(sess, source) == [1, 2]


@pytest.mark.parametrize(
    "reader",
    [
        lambda: tf.TextLineReader(skip_header_lines=1),
        lambda: tf.FixedLengthRecordReader(3, header_bytes=3),
    ],
    ids=["lines", "fixed length"],
)
def test_records_of_a_reader(sess, tmp_path, reader):
    names = [str(tmp_path / name) for name in "ab"]
    for name in names:
        with open(name, "w") as file:
            file.write("h1\n" + "".join(f"{name[-1]}{i}\n" for i in range(5)))
    files = upstream(sess, names, tf.string)
    key, value = reader().read(files)
    target = tf.FIFOQueue(100, [tf.string, tf.string], shapes=[[], []])
    move = mover(sess, target.enqueue([key, value]))
    move()
    move()
    got = drained(sess, target)
    assert [value.strip() for _, value in got] == [f"{n}{i}".encode() for n in "ab" for i in range(5)]
    assert [key.partition(b":")[0].decode() for key, _ in got] == [names[0]] * 5 + [names[1]] * 5


def test_records_before_a_corrupt_one_arrive(sess, tmp_path):
    path = str(tmp_path / "r")
    with tf.python_io.TFRecordWriter(path) as writer:
        for i in range(4):
            writer.write(b"%d" % i)
    with open(path, "r+b") as file:
        file.seek(-1, 2)
        file.write(b"x")
    files = upstream(sess, [path], tf.string)
    value = tf.TFRecordReader().read(files).value
    target = tf.FIFOQueue(100, tf.string, shapes=[[]])
    move = mover(sess, target.enqueue(value))
    move()
    assert drained(sess, target) == [b"0", b"1", b"2"]
    with pytest.raises(tf.errors.DataLossError, match="corrupted record") as caught:
        move()
    assert caught.value.op is value.op


def test_what_is_not_of_rows_alone_is_not_done_in_blocks(sess):
    source = upstream(sess, [1, 2])
    other = upstream(sess, [1, 2])
    target = tf.FIFOQueue(100, tf.int32, shapes=[()])
    counter = tf.Variable(0)
    with tf.control_dependencies([tf.assign_add(counter, 1)]):
        counted = tf.identity(source.dequeue())
    for element in (
        counted,
        source.dequeue() + counter,
        source.dequeue() + other.dequeue(),
        source.dequeue_many(1)[0],
        tf.py_func(lambda x: x, [source.dequeue()], tf.int32),
        tf.constant(3),
        target.dequeue(),
    ):
        enqueue = target.enqueue(element)
        assert in_blocks(sess, enqueue, sess.make_callable(enqueue)) is None


def test_elements_of_several_shapes_go_one_by_one(sess):
    source = tf.PaddingFIFOQueue(10, tf.int32, [[None]])
    for length in (1, 3):
        sess.run(source.enqueue((np.arange(length, dtype=np.int32),)))
    target = tf.PaddingFIFOQueue(10, tf.int32, [[None]])
    move = mover(sess, target.enqueue(source.dequeue()))
    move()
    assert sess.run(target.size()) == 1
    move()
    assert [len(each) for each in drained(sess, target)] == [1, 3]


def test_a_block_has_a_largest_size(sess, monkeypatch):
    monkeypatch.setattr(blocks, "LARGEST", 5)
    source = upstream(sess, list(range(12)))
    target = tf.FIFOQueue(100, tf.int32, shapes=[()])
    mover(sess, target.enqueue(source.dequeue()))()
    assert drained(sess, target) == list(range(5))


@pytest.mark.parametrize("threads", [1, 3])
def test_whole_epochs_through_runners(sess, threads):
    rows = np.arange(300, dtype=np.float32).reshape(100, 3)
    row, label = tf.train.slice_input_producer([rows, np.arange(100)], num_epochs=3, shuffle=False, capacity=7)
    batch = tf.train.batch([row * 2, label], 32, num_threads=threads, capacity=11, allow_smaller_final_batch=True)
    sess.run(tf.local_variables_initializer())
    coord = tf.train.Coordinator()
    runners = tf.train.start_queue_runners(sess, coord)
    got = []

    def consume():
        while True:
            got.append(sess.run(batch))

    with pytest.raises(tf.errors.OutOfRangeError, match="reached the end of"):
        consume()
    coord.request_stop()
    coord.join(runners)
    values, labels = (np.concatenate([each[i] for each in got]) for i in (0, 1))
    np.testing.assert_array_equal(values, rows[labels] * 2)
    expected = np.tile(np.arange(100), 3)
    assert (labels if threads == 1 else np.sort(labels)).tolist() == (
        expected if threads == 1 else np.sort(expected)
    ).tolist()


@pytest.mark.parametrize("largest", [4, 1])
def test_what_was_taken_first_goes_first_into_the_queue(sess, tmp_path, monkeypatch, largest):
    """Two threads over small files: the one with the first file is slow, the other waits for its turn.

    `_BlockMover` and `_values` are private; the test replaces them, because a thread slowed down there has taken a
    file.
    """
    names = []
    for name in "AB":
        names.append(str(tmp_path / name))
        with open(names[-1], "w") as file:
            file.writelines(f"{name}{i}\n" for i in range(3))
    monkeypatch.setattr(blocks, "LARGEST", largest)
    released, values, taken = threading.Event(), blocks._BlockMover._values, []

    def slowly(self, block):
        taken.append(threading.get_ident())
        if len(taken) == 1:
            released.wait(120)
        return values(self, block)

    monkeypatch.setattr(blocks._BlockMover, "_values", slowly)
    files = upstream(sess, names, tf.string)
    sess.run(files.close())
    target = tf.FIFOQueue(100, tf.string, shapes=[[]])
    enqueue = target.enqueue(tf.TextLineReader().read(files).value)
    native = sess.run(target.queue_ref)
    coord = tf.train.Coordinator()
    threads = tf.train.QueueRunner(target, [enqueue] * 2).create_threads(sess, coord, daemon=True, start=True)

    def waits_or_has_stored():
        frame = sys._current_frames().get(taken[1]) if len(taken) > 1 else None
        return native.size() > 0 or (frame is not None and frame.f_code.co_name == "wait")

    wait_until(waits_or_has_stored, "the second thread to come to its turn, or to overtake")
    early = native.size()
    released.set()
    for thread in threads[:2]:
        thread.join(120)
    assert early == 0
    assert drained(sess, target) == [b"A0", b"A1", b"A2", b"B0", b"B1", b"B2"]
    coord.request_stop()
    coord.join(threads)
