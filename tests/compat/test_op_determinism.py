"""enable_op_determinism: batches that depend on the input and the seeds alone, whatever the threads."""

import random
import threading
import time

import numpy as np
import pytest
from graph_pipelines import drain, graph_session, running  # noqa: F401  (a fixture)
from helpers import LIMIT, run_in_thread
from lockstep import play

import pipeline
import pipeline.compat.v1 as tf
from pipeline.compat.graph import determinism
from pipeline.compat.queues import runner
from pipeline.explain.workers import Worker


@pytest.fixture(autouse=True)
def enabled(monkeypatch):
    monkeypatch.setattr(determinism._Switch, "on", False)
    tf.config.experimental.enable_op_determinism()


def unevenly(x):
    """Ten times x, sometimes late."""
    if random.random() < 0.1:
        time.sleep(random.random() * 0.002)
    return np.int64(x * 10)


def late(x, function=unevenly):
    y = tf.py_func(function, [x], tf.int64)
    y.set_shape([])
    return y


def numbers(count=30, epochs=2, **options):
    return tf.train.range_input_producer(count, num_epochs=epochs, seed=5, **options).dequeue()


def example(count=30):
    """A number, what a slow function makes of it, and a random one."""
    i = numbers(count)
    return [i, late(i), tf.random_uniform([], seed=9)]


def lines(folder):
    reader = tf.TextLineReader()
    names = tf.train.string_input_producer(folder, num_epochs=2, seed=1)
    return reader.read(names)


def some_lines(threads, folder):
    key, line = lines(folder)
    return tf.train.shuffle_batch(
        [key, late(tf.string_to_number(line, tf.int64))], 4, 40, 20, threads, seed=4, allow_smaller_final_batch=True
    )


def some_joined_lines(threads, folder):
    """Several readers of one queue of names: how many there are decides the order."""
    files = tf.train.string_input_producer(folder, num_epochs=2, seed=1)
    sources = [list(tf.TextLineReader().read(files)) for _ in range(3)]
    made = [[key, late(tf.string_to_number(line, tf.int64))] for key, line in sources]
    return tf.train.batch_join(made, 4, 8 * threads, allow_smaller_final_batch=True)


def kept(threads, folder):
    keep = tf.less(tf.random_uniform([], seed=2), 0.7)
    return tf.train.maybe_shuffle_batch(example(), 4, 40, 20, keep, threads, seed=4, allow_smaller_final_batch=True)


def buckets(threads, folder):
    i, j, r = example()
    made = tf.contrib.training.bucket([j, r], i % 3, [4, 5, 6], 3, threads, 6, allow_smaller_final_batch=True)
    return [made[0], *made[1]]


def sequences(threads, folder):
    i = numbers()
    length = tf.cast(late(i) % 7 + 1, tf.int32)
    return tf.contrib.training.bucket_by_sequence_length(
        length, [tf.fill([length], i)], 3, [3, 5], threads, capacity=4, dynamic_pad=True
    )


PIPELINES = {
    "batch": lambda threads, _: tf.train.batch(example(), 7, threads, allow_smaller_final_batch=True),
    "shuffled": lambda threads, _: tf.train.shuffle_batch(example(), 7, 30 + 10 * threads, 20, threads, seed=4),
    "many": lambda threads, _: tf.train.shuffle_batch(
        [tf.stack([late(numbers())] * 3)], 7, 40, 20, threads, seed=4, enqueue_many=True
    ),
    "blocks": lambda threads, _: tf.train.shuffle_batch([numbers()], 7, 30 + 10 * threads, 20, threads, seed=4),
    "joined": lambda threads, _: tf.train.shuffle_batch_join(
        [[late(numbers(10 + 10 * k))] for k in range(3)], 7, 30 + 10 * threads, 20, seed=4
    ),
    "joined blocks": lambda threads, _: tf.train.batch_join(
        [[numbers(10 + 10 * k)] for k in range(3)], 7, 10 * threads
    ),
    "kept": kept,
    "lines": some_lines,
    "joined lines": some_joined_lines,
    "buckets": buckets,
    "sequences": sequences,
}


@pytest.fixture
def folder(tmp_path):
    """Files with lines that are numbers."""
    names = []
    for k in range(6):
        path = tmp_path / f"{k}.txt"
        path.write_text("".join(f"{100 * k + i}\n" for i in range(3 + 4 * k)))
        names.append(str(path))
    return names


def batches(build, threads, folder=None):
    """All batches of a pipeline in a new graph, taken unevenly."""
    found = []
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.set_random_seed(3)
        made = build(threads, folder)
        with running(sess):
            try:
                while True:
                    found.append(sess.run(made))
                    if random.random() < 0.1:
                        time.sleep(random.random() * 0.002)
            except tf.errors.OutOfRangeError:
                return found


@pytest.mark.parametrize("name", PIPELINES)
def test_threads_and_time_do_not_matter(name, folder):
    runs = [repr(batches(PIPELINES[name], threads, folder)) for _ in range(20) for threads in (1, 2, 4)]
    assert len(runs[0]) > 300
    assert set(runs) == {runs[0]}


@pytest.mark.parametrize("name", ["blocks", "joined lines", "lines"])
def test_block_execution_gives_the_same_batches(name, folder, monkeypatch):
    in_blocks = [repr(batches(PIPELINES[name], threads, folder)) for threads in (1, 4)]
    monkeypatch.setattr(runner, "in_blocks", lambda *_: None)
    monkeypatch.setattr(runner, "blocks_in_order", lambda *_: None)
    one_by_one = [repr(batches(PIPELINES[name], threads, folder)) for threads in (1, 4)]
    assert {*in_blocks, *one_by_one} == {in_blocks[0]}


@pytest.mark.parametrize("threads", [1, 3])
def test_draws_are_those_of_the_oracle(threads):
    def build(threads, _):
        i = tf.train.range_input_producer(100, num_epochs=1, shuffle=False).dequeue()
        return tf.train.shuffle_batch([late(i)], 1, 60, 20, threads, seed=4, allow_smaller_final_batch=True)

    found = np.concatenate(batches(build, threads)).tolist()
    assert found == play(3, 4, 20, [10 * i for i in range(100)])[0]


def test_native_loops_give_the_same_batches(folder):
    pipeline.set_random_seed(3)
    try:
        names = pipeline.string_input_producer(folder, num_epochs=2, seed=1)
        reader = pipeline.TextLineReader()
        loop = pipeline.shuffle_batch(
            lambda: reader.read(names), 4, 40, 20, 2, seed=4, allow_smaller_final_batch=True, deterministic=True
        )
        with loop:
            native = [values.tolist() for _, values in loop]
    finally:
        pipeline.set_random_seed(None)
    here = batches(some_lines, 4, folder)
    assert [(values // 10).tolist() for _, values in here] == [[int(each) for each in batch] for batch in native]


@pytest.mark.parametrize("threads", [1, 3])
def test_dequeues_of_one_example_come_in_the_order_of_the_graph(threads):
    def slowly(i):
        time.sleep(0.001)  # so that the second dequeue could come before the first
        return np.int64(i)

    def build(threads, _):
        queue = tf.train.range_input_producer(100, num_epochs=1, shuffle=False)
        with tf.control_dependencies([tf.train.batch([late(numbers(50, 1), slowly)], 1)]):
            first = queue.dequeue()
        return tf.train.batch([first, queue.dequeue()], 10, threads)

    first, second = zip(*batches(build, threads), strict=True)
    assert np.concatenate(first).tolist() == list(range(0, 100, 2))
    assert np.concatenate(second).tolist() == list(range(1, 100, 2))


def test_a_slow_example_does_not_stop_the_other_threads(sess):
    another = threading.Event()

    def function(i):
        if i == 3:
            assert another.wait(LIMIT)
        elif i > 3:
            another.set()
        return np.int64(i)

    i = tf.train.range_input_producer(10, num_epochs=1, shuffle=False).dequeue()
    made = tf.train.batch([late(i, function)], 5, num_threads=2)
    with running(sess):
        assert np.concatenate(drain(sess, made)).tolist() == list(range(10))


def test_functions_that_take_nothing_are_called_one_after_the_other(sess):
    inside = threading.Lock()
    count = iter(range(50))

    def function():
        assert inside.acquire(blocking=False)
        try:
            time.sleep(0.0002)
            return np.int64(next(count))
        finally:
            inside.release()

    x = tf.py_func(function, [], tf.int64)
    x.set_shape([])
    made = tf.train.batch([x], 10, num_threads=4)
    with running(sess):
        assert np.concatenate(drain(sess, made)).tolist() == list(range(50))


@pytest.mark.parametrize("threads", [1, 2, 4])
@pytest.mark.parametrize("blocks", [False, True])
def test_an_error_comes_after_all_that_was_taken_before(threads, blocks):
    for _ in range(10):
        with tf.Graph().as_default(), tf.Session() as sess:
            i = tf.train.range_input_producer(60, num_epochs=1, shuffle=False).dequeue()
            x = tf.gather(list(range(37)), i if blocks else late(i, lambda i: unevenly(i) // 10))
            made = tf.train.batch([x], 1, threads, capacity=100)
            coord = tf.train.Coordinator()
            sess.run(tf.local_variables_initializer())
            started = tf.train.start_queue_runners(sess, coord)
            assert np.concatenate(drain(sess, made)).tolist() == list(range(37))
            with pytest.raises(tf.errors.InvalidArgumentError, match="indices = 37"):
                coord.join(started, stop_grace_period_secs=LIMIT)


def test_an_error_names_the_record_that_another_thread_read(sess, folder, monkeypatch):
    """Also if it is first reported by a thread that neither read the record nor met the error."""
    _, line = tf.TextLineReader().read(tf.train.string_input_producer(folder[1:2], seed=1))  # without end
    failing, met, reported = threading.Event(), threading.Event(), threading.Event()
    first = threading.Lock()

    def fail(worker, error, really=Worker.fail):
        if first.acquire(blocking=False):
            met.set()
            assert reported.wait(LIMIT)
            return really(worker, error)
        try:
            return really(worker, error)
        finally:
            reported.set()

    def function(text):
        if text == b"105":  # its thread is not there when the error is met
            assert met.wait(LIMIT)
        if text == b"104":
            failing.set()
            raise ValueError("bad line")
        if text == b"102":  # its thread stores what came after it, and so meets the error
            assert failing.wait(LIMIT)
        return np.int64(text)

    monkeypatch.setattr(Worker, "fail", fail)
    made = tf.train.batch([late(line, function)], 1, num_threads=4, capacity=100)
    coord = tf.train.Coordinator()
    sess.run(tf.local_variables_initializer())
    started = tf.train.start_queue_runners(sess, coord)
    drain(sess, made)
    with pytest.raises(tf.errors.OutOfRangeError, match=r"1\.txt:5"):
        sess.run(made)
    with pytest.raises(tf.errors.InvalidArgumentError, match="bad line"):
        coord.join(started, stop_grace_period_secs=LIMIT)


def test_a_source_of_a_join_that_ends_leaves_its_turns_to_the_others(sess):
    sources = [[tf.train.range_input_producer(n, num_epochs=1, shuffle=False).dequeue() + 100 * n] for n in (1, 4, 2)]
    made = tf.train.batch_join(sources, 1)
    with running(sess):
        assert np.concatenate(drain(sess, made)).tolist() == [100, 400, 200, 401, 201, 402, 403]


@pytest.mark.parametrize("taken", [0, 1, 5])
def test_joins_stop_in_the_middle(taken):
    for _ in range(20):
        with tf.Graph().as_default(), tf.Session() as sess:
            sources = [[numbers(epochs=None, shuffle=False)] for _ in range(3)]
            made = tf.train.batch_join(sources, 4, capacity=1_000_000)
            with running(sess):  # which ends only when all threads have; none of them waits for room
                for _ in range(taken):
                    sess.run(made)


def test_a_thread_that_ends_lets_the_others_end(sess):
    reached, stopped = threading.Event(), threading.Event()

    def function(i):
        if i == 1:
            reached.set()
            assert stopped.wait(LIMIT)
        return np.int64(i)

    nothing = tf.less(tf.random_uniform([], seed=2), -1.0)
    sources = [[late(numbers(epochs=None, shuffle=False), each)] for each in (function, lambda i: np.int64(i))]
    tf.train.maybe_batch_join(sources, nothing, 4)
    with running(sess) as coord:
        assert reached.wait(LIMIT)
        coord.request_stop()
        stopped.set()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_threads_end_with_their_session():
    with tf.Graph().as_default():
        session = tf.Session()
        never = tf.FIFOQueue(1, tf.int32, shapes=[()])
        made = tf.train.batch_join([[never.dequeue()], [numbers(epochs=None, shuffle=False)]], 4)
        threads = tf.train.start_queue_runners(session)
        call = run_in_thread(session.run, made)
        session.close()
        assert isinstance(call.exception(), (tf.errors.CancelledError, RuntimeError))
        for thread in threads:
            thread.join(LIMIT)
            assert not thread.is_alive()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_runners_start_again_after_an_error(sess):
    failures, failed = [ValueError("once")], threading.Event()

    def function(i):
        if i == 5 and failures:
            raise failures.pop()
        if i > 5:  # or the other thread might take all numbers before the error is known; those it forgets
            assert failed.wait(LIMIT)
        return unevenly(i)

    i = tf.train.range_input_producer(50, num_epochs=1, shuffle=False).dequeue()
    made = tf.train.batch([late(i, function)], 1, num_threads=2, capacity=100)
    sess.run(tf.local_variables_initializer())
    with sess.as_default():
        threads = tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)[-1].create_threads(sess, start=True)
        for thread in threads:
            run_in_thread(lambda thread=thread: (thread.join(), failed.set()))
        producer = tf.train.start_queue_runners()
        for thread in threads:
            thread.join(LIMIT)
            assert not thread.is_alive()
        tf.train.start_queue_runners()
    found = np.concatenate(drain(sess, made)).tolist()
    assert len(producer) == 1
    assert found[:5] == [0, 10, 20, 30, 40]
    assert found[5:] in (list(range(60, 500, 10)), list(range(70, 500, 10)))  # the other had taken 6, or not yet


def test_random_ops_need_a_seed():
    with tf.Graph().as_default():
        x = numbers(shuffle=False)
        for make in (
            lambda: tf.train.shuffle_batch([x], 2, 10, 5),
            lambda: tf.train.string_input_producer(["a"]),
            lambda: tf.random_uniform([2]),
        ):
            with pytest.raises(RuntimeError, match="Random ops require a seed to be set when determinism is enabled"):
                make()
        tf.set_random_seed(1)
        tf.random_uniform([2])


def test_graphs_built_before_stay_as_they_were(sess, monkeypatch):
    orders = []
    for on in (False, True):
        monkeypatch.setattr(determinism._Switch, "on", on)
        made = tf.train.shuffle_batch([tf.placeholder_with_default(0, [])], 8, 100, 2, seed=4)
        queue_runner = tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)[-1]
        (example,) = queue_runner.enqueue_ops[0].inputs[1:]
        monkeypatch.setattr(determinism._Switch, "on", True)
        for i in range(11):
            sess.run(queue_runner.enqueue_ops[0], {example: i})
        orders.append(sess.run(made).tolist())
    free, lockstep = orders
    assert lockstep == play(87654321, 4, 2, range(11))[0][:8]
    assert free != lockstep


def test_also_by_the_names_of_tensorflow_2():
    assert tf.compat.v1.config.experimental.enable_op_determinism is determinism.enable_op_determinism
