"""Sessions and graphs used by several threads, and behaviour that recorded cases cannot show."""

import contextlib
import threading
import warnings

import numpy as np
import pytest
from helpers import LIMIT, run_in_thread

import pipeline.compat.v1 as tf


@pytest.fixture
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


@pytest.fixture
def sess(graph):
    with tf.Session(graph=graph) as sess:
        yield sess


def test_close_cancels_runs_that_are_blocked(graph):
    sess = tf.Session()
    queue = tf.FIFOQueue(1, tf.int32, shapes=[[]])
    put, taken = queue.enqueue([1]), queue.dequeue()
    other = tf.FIFOQueue(1, tf.int32, shapes=[[]]).dequeue_many(2)
    sess.run(put)
    calls = [run_in_thread(sess.run, what) for what in (put, other, put)]
    for call in calls:
        # A test cannot see whether a run is blocked yet; it must end either way.
        assert call.alive()
    sess.close()
    for call in calls:
        assert isinstance(call.exception(), (tf.errors.CancelledError, RuntimeError))
    with pytest.raises(RuntimeError, match="Attempted to use a closed Session"):
        sess.run(taken)


def test_the_default_graph_and_session_are_each_threads_own(graph, sess):
    seen = []

    def look():
        seen.append((tf.get_default_graph(), tf.get_default_session()))

    with sess.as_default():
        thread = threading.Thread(target=look)
        thread.start()
        thread.join(LIMIT)
    assert seen[0][0] is not graph
    assert seen[0][1] is None


def test_many_threads_run_one_session(sess):
    queue = tf.FIFOQueue(10, tf.int32, shapes=[[]])
    value = tf.placeholder(tf.int32, [])
    put, taken = queue.enqueue([value * 2]), queue.dequeue() + 1
    count, threads = 200, 4

    def produce(first):
        for number in range(first, first + count):
            sess.run(put, {value: number})

    def consume():
        return [int(sess.run(taken)) for _ in range(count)]

    producers = [run_in_thread(produce, count * number) for number in range(threads)]
    consumers = [run_in_thread(consume) for _ in range(threads)]
    for producer in producers:
        producer.result()
    got = sorted(number for consumer in consumers for number in consumer.result())
    assert got == [2 * number + 1 for number in range(count * threads)]


def test_several_threads_build_one_graph(graph):
    def build(_):
        with graph.as_default():
            return [tf.constant(number, name="c").name for number in range(100)]

    calls = [run_in_thread(build, number) for number in range(4)]
    names = [name for call in calls for name in call.result()]
    assert len(set(names)) == len(names) == len(graph.get_operations()) == 400


def test_name_scopes_are_each_threads_own(graph):
    inside, leave = threading.Event(), threading.Event()

    def stay():
        with graph.as_default(), tf.name_scope("theirs"):
            inside.set()
            leave.wait(LIMIT)
            return tf.constant(1, name="c").name

    call = run_in_thread(stay)
    assert inside.wait(LIMIT)
    with tf.name_scope("mine"):
        assert tf.constant(1, name="c").name == "mine/c:0"
        leave.set()
        assert call.result() == "theirs/c:0"


def test_results_are_the_callers_own(sess):
    constant = tf.constant(np.arange(3))
    first = sess.run(constant)
    with contextlib.suppress(ValueError):  # A read-only array is fine, too.
        first[0] = 7
    assert sess.run(constant).tolist() == [0, 1, 2]


def test_a_fed_array_is_not_written_to(sess):
    given = np.arange(3, dtype=np.float32)
    fed = tf.placeholder(tf.float32, [3])
    queue = tf.FIFOQueue(2, tf.float32, shapes=[[3]])
    put, taken = queue.enqueue([fed]), queue.dequeue()
    sess.run(put, {fed: given})
    given[:] = 9
    assert sess.run(taken).tolist() == [0, 1, 2]
    assert given.flags.writeable


def test_a_missing_name_says_what_to_do():
    with pytest.raises(AttributeError, match=r"has no `tf\.gradients`.*python -m pipeline check"):
        _ = tf.gradients
    with pytest.raises(AttributeError, match=r"has no `tf\.train\.AdamOptimizer`"):
        _ = tf.train.AdamOptimizer
    with pytest.raises(AttributeError, match=r"has no `tf\.nn\.conv2d`.*see docs/migrate\.md"):
        _ = tf.nn.conv2d
    assert not hasattr(tf, "__nothing__")


def test_the_ways_to_import_it():
    from pipeline.compat.v1 import train
    from pipeline.compat.v1.train import batch

    assert train is tf.train
    assert batch is tf.train.batch
    assert tf.compat.v1 is tf


def test_every_name_of_the_table_is_there():
    from pipeline.compat.names import MODULES

    missing = []
    for entry in " ".join(MODULES.values()).split():
        value = tf
        try:
            for part in entry.partition("=")[0].split("."):
                value = getattr(value, part)
        except (AttributeError, ImportError) as error:
            missing.append(f"{entry}: {error}")
    assert missing == []


def slow(released):
    """Return an operation that runs until `released` is set."""
    return tf.py_func(lambda: [released.wait(LIMIT), np.int32(3)][1], [], tf.int32, stateful=True)


def test_a_run_that_took_too_long_says_so_when_it_is_done(graph):
    released = threading.Event()
    op = slow(released)
    limited = tf.Session(config=tf.ConfigProto(operation_timeout_in_ms=10))
    with tf.Session() as sess, limited:
        options = tf.RunOptions(timeout_in_ms=10)
        calls = [run_in_thread(sess.run, op, options=options), run_in_thread(limited.run, op)]
        calls.append(run_in_thread(limited.make_callable(op)))
        with pytest.raises(tf.errors.DeadlineExceededError):
            limited.run(tf.FIFOQueue(1, tf.int32).dequeue())
        assert all(call.alive() for call in calls)
        released.set()
        for call in calls:
            with pytest.raises(tf.errors.DeadlineExceededError, match="Timed out waiting for notification"):
                call.result()
        assert sess.run(op) == 3


@pytest.mark.parametrize("through", ["run", "callable"])
def test_a_run_that_the_session_did_not_wait_for_is_cancelled(graph, through):
    released, begun = threading.Event(), threading.Event()
    sess = tf.Session()
    op = tf.py_func(lambda: [begun.set(), released.wait(LIMIT), np.int32(3)][2], [], tf.int32, stateful=True)
    call = run_in_thread(sess.run, op) if through == "run" else run_in_thread(sess.make_callable(op))
    assert begun.wait(LIMIT)
    sess.close()
    released.set()
    with pytest.raises(tf.errors.CancelledError, match="Run call was cancelled"):
        call.result()


def test_a_second_interactive_session_warns():
    with contextlib.closing(tf.InteractiveSession(graph=tf.Graph())):
        with pytest.warns(UserWarning, match="An interactive session is already active"):
            second = tf.InteractiveSession(graph=tf.Graph())
        second.close()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tf.InteractiveSession(graph=tf.Graph()).close()
