"""pipeline.compat.input_state: what has no state, and what has to match for one to be loaded."""

import numpy as np
import pytest
import stateful_graphs
from helpers import LIMIT
from stateful_graph_runs import batches, in_order, some_files, started  # noqa: F401  (two are fixtures)
from stateful_graphs import GRAPHS, Settings

import pipeline
import pipeline.compat.v1 as tf
from pipeline.compat.graph import determinism

QUEUE = "shuffle_batch/random_shuffle_queue"


# What is refused ------------------------------------------------------------------------------------------------------


def refused(text):
    return pytest.raises(tf.errors.FailedPreconditionError, match=text)


def a_function(s):
    x = tf.py_func(lambda: np.int64(1), [], tf.int64)
    x.set_shape([])
    return s.in_order([x])


def a_queue_of_the_program(s):
    queue = tf.FIFOQueue(1000, tf.int32, shapes=[()])
    tf.train.add_queue_runner(tf.train.QueueRunner(queue, [queue.enqueue_many([list(range(30))])]))
    return s.in_order([queue.dequeue()])


def batches_of_batches(s):
    return s.in_order([s.in_order([s.number()])], enqueue_many=True)


def buckets(s):
    i = s.number()
    return tf.contrib.training.bucket([i], i % 3, s.batch, 3, s.threads)[1]


def a_variable_that_changes(s):
    variable = tf.Variable(7)
    tf.assign(variable, 8)
    return s.in_order([s.number() + variable])


def a_float_that_counts(s):
    variable = tf.Variable(0.0)
    return s.in_order([s.number(), tf.assign_add(variable, 0.5)])


def a_table_that_changes(s):
    table = tf.contrib.lookup.MutableHashTable(tf.int64, tf.int64, -1)
    return s.in_order([table.lookup(tf.cast(s.number(), tf.int64))])


def rows_of_a_function(s):
    rows = tf.py_func(lambda: np.arange(40), [], tf.int64)
    return s.in_order([tf.train.input_producer(rows, [], seed=1).dequeue()])


def a_file_list_that_two_share(s):
    names = sorted(map(str, s.folder.glob("*.txt")))
    files = tf.train.string_input_producer(names, seed=1)  # without end: else one may take all of them
    key, _ = tf.TextLineReader().read(files)
    return [s.in_order([key]), s.in_order([files.dequeue()])]


def a_constant(s):
    return s.in_order([tf.constant(1)])


REFUSED = {
    "PyFunc' is a function that takes nothing": a_function,
    "'fifo_queue_Dequeue' takes from 'fifo_queue', which no producer fills": a_queue_of_the_program,
    "takes from 'batch/fifo_queue', which a batch function fills": batches_of_batches,
    "bucket_queue_0_enqueue' puts elements into another queue as well": buckets,
    "changes the variable 'Variable'": a_variable_that_changes,
    "the variable 'Variable' changes with what is taken, and is no integer": a_float_that_counts,
    "'MutableHashTable' is a MutableHashTableV2": a_table_that_changes,
    "PyFunc' decides the rows of 'input_producer": rows_of_a_function,
    "too takes from what 'batch/fifo_queue' is filled with": a_file_list_that_two_share,
    "they take nothing from a producer, a reader or a random op": a_constant,
}


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("text", REFUSED)
def test_refused(text, threads, folder):
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.set_random_seed(3)
        made = REFUSED[text](Settings(folder, threads))
        with started(sess):
            sess.run(made)
            with refused(text):
                pipeline.compat.input_state(sess).state_dict()


def test_what_takes_past_the_batches_is_refused(folder):
    for name, text in (("reader", "takes from what no batch function fills"), ("random", "too takes from what 'batch")):
        with tf.Graph().as_default(), tf.Session() as sess:
            tf.set_random_seed(3)
            s = Settings(folder)
            key, _ = s.line()
            drawn = tf.random_uniform([], seed=1)
            made = s.in_order([key, drawn])
            with started(sess):
                sess.run(made)
                pipeline.compat.input_state(sess).state_dict()
                sess.run({"reader": key, "random": drawn}[name])
                with refused(text):
                    pipeline.compat.input_state(sess).state_dict()


def test_an_element_that_the_program_puts_in_is_refused(folder):
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.set_random_seed(3)
        made = GRAPHS["lines in order"](Settings(folder))
        with started(sess):
            sess.run(tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)[-1].enqueue_ops[0])
            sess.run(made)
            with refused("takes from what no batch function fills|puts into it"):
                pipeline.compat.input_state(sess).state_dict()


def test_graphs_without_the_switch_have_no_state(monkeypatch, folder):
    monkeypatch.setattr(determinism._Switch, "on", False)
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        made = GRAPHS["lines"](Settings(folder))
        with started(sess):
            sess.run(made)
            for where in (sess, graph):
                with refused(r"Call tf\.config\.experimental\.enable_op_determinism\(\) before the graph is built"):
                    pipeline.compat.input_state(where).load_state_dict(
                        {"format": "queue-runner/input-state", "version": 1, "queues": {}, "drawn": {}}
                    )
            with refused("enable_op_determinism"):
                pipeline.compat.input_state(sess).state_dict()


def test_loading_once_the_runners_run_is_refused(folder):
    _, state = batches(GRAPHS["lines"], Settings(folder), 2)
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.set_random_seed(3)
        GRAPHS["lines"](Settings(folder))
        with started(sess), refused(r"before tf\.train\.start_queue_runners"):
            pipeline.compat.input_state(sess).load_state_dict(state)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_threads_that_start_again_after_an_error_have_no_state(folder):
    failures = [ValueError("once")]

    def function(i):
        if i == 30 and failures:
            raise failures.pop()
        return np.int64(i)

    with tf.Graph().as_default(), tf.Session() as sess:
        y = tf.py_func(function, [Settings(folder).number(shuffle=False)], tf.int64)
        y.set_shape([])
        made = tf.train.batch([y], 4, 2, 1000)
        sess.run(tf.local_variables_initializer())
        _, batch = tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)
        with sess.as_default():
            first = batch.create_threads(sess, start=True)
            others = tf.train.start_queue_runners()
            for thread in first:
                thread.join(LIMIT)
            assert not failures
            sess.run(made)
            pipeline.compat.input_state(sess).state_dict()
            others += batch.create_threads(sess, start=True)
            with refused("its threads were started a second time"):
                pipeline.compat.input_state(sess).state_dict()
            for thread in others:
                thread.join(LIMIT)


# What has to match ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("build", "what"),
    [
        (lambda s: s.shuffled(tf.TextLineReader().read(s.names(seed=2))), "source 'input_producer': seeds"),
        (
            lambda s: s.shuffled(tf.TextLineReader().read(s.names("bin"))),
            "source 'input_producer': its values are others",
        ),
        (lambda s: s.shuffled(tf.TextLineReader(1).read(s.names())), "source 'TextLineReaderV2': options"),
        (lambda s: s.shuffled(tf.WholeFileReader(name="TextLineReaderV2").read(s.names())), "source .*: kind"),
        (lambda s: s.shuffled([*s.line(), s.number()]), "queue 'shuffle_batch/random_shuffle_queue': sources"),
        (lambda s: s.shuffled([s.line()[1], tf.constant(7)]), "components"),
        (lambda s: s.shuffled(s.line(), name="other"), "queue 'shuffle_batch/random_shuffle_queue'"),
        (lambda s: Settings(s.folder, pool=19).shuffled(s.line()), "min_after_dequeue"),
    ],
)
def test_another_program(build, what, folder, monkeypatch):
    _, state = batches(GRAPHS["lines"], Settings(folder), 3)
    with pytest.raises(pipeline.StateMismatchError, match=what):
        batches(build, Settings(folder), state=state)


def test_other_values(folder):
    def build(numbers):
        return lambda s: s.shuffled(tf.train.slice_input_producer([numbers], num_epochs=2, seed=5))

    _, state = batches(build(list(range(50))), Settings(folder), 3)
    batches(build(list(range(50))), Settings(folder), state=state)
    with pytest.raises(pipeline.StateMismatchError, match="constants"):
        batches(build([*range(49), 7]), Settings(folder), state=state)


def test_changed_files(tmp_path):
    stateful_graphs.write(tmp_path, [30, 40, 50])
    _, state = batches(GRAPHS["lines"], Settings(tmp_path), 20)
    (tmp_path / "1.txt").write_text("1\n")
    with pytest.raises(pipeline.StateMismatchError, match=r"1\.txt' had 120 bytes when .* and has 2 now"):
        batches(GRAPHS["lines"], Settings(tmp_path), state=state)


def test_more_epochs_can_be_allowed(folder):
    def build(epochs):
        return lambda s: s.shuffled([tf.train.range_input_producer(50, num_epochs=epochs, seed=5).dequeue()])

    first, state = batches(build(2), Settings(folder), 5)
    with pytest.raises(pipeline.StateMismatchError, match="num_epochs"):
        batches(build(3), Settings(folder), state=state)
    rest, _ = batches(build(3), Settings(folder), state=state, allow={"num_epochs"})
    assert first + rest == batches(build(3), Settings(folder))[0]
    with pytest.raises(ValueError, match="only num_epochs, mtime can be allowed"):
        batches(build(3), Settings(folder), state=state, allow={"shard"})
    with pytest.raises(TypeError, match="collection of names"):
        batches(build(3), Settings(folder), state=state, allow="num_epochs")


def test_a_shorter_input_is_noticed(tmp_path):
    """A function that gives other examples than before: no fact shows it."""
    stateful_graphs.write(tmp_path, [30])

    def build(limit):
        def rows(s):
            _, lines = tf.TextLineReader().read_up_to(s.names(), 5)
            kept = tf.py_func(lambda each: each[: limit[0]], [lines], tf.string)
            kept.set_shape([None])
            return s.shuffled([kept], enqueue_many=True)

        return rows

    limit = [5]
    _, state = batches(build(limit), Settings(tmp_path), 8)
    limit[0] = 1
    with pytest.raises(pipeline.StateMismatchError, match="other examples, or fewer"):
        batches(build(limit), Settings(tmp_path), state=state)


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        (lambda state: [], TypeError, "a dict"),
        (lambda state: {"step": 1, "input": state}, tf.errors.InvalidArgumentError, r"keys are 'step', 'input'"),
        (lambda state: {**state, "version": 2}, tf.errors.InvalidArgumentError, "reads versions up to 1"),
        (lambda state: {**state, "queues": None}, tf.errors.InvalidArgumentError, "has no queues"),
        (lambda state: {**state, "queues": {QUEUE: {}}}, tf.errors.InvalidArgumentError, "damaged"),
        (
            lambda state: {**state, "queues": {QUEUE: {**state["queues"][QUEUE], "delivered": 13}}},
            tf.errors.InvalidArgumentError,
            "its checksum is of another one",
        ),
    ],
)  # fmt: skip
def test_what_is_no_state(change, error, text, folder):
    _, state = batches(GRAPHS["lines"], Settings(folder), 3)
    with pytest.raises(error, match=text):
        batches(GRAPHS["lines"], Settings(folder), state=change(state))


def test_a_second_state_is_refused(folder):
    _, state = batches(GRAPHS["lines"], Settings(folder), 3)
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.set_random_seed(3)
        GRAPHS["lines"](Settings(folder))
        stateful_graphs.initialize(sess)
        pipeline.compat.input_state(sess).load_state_dict(state)
        with refused("goes on from a state already"):
            pipeline.compat.input_state(sess).load_state_dict(state)


def test_variables_have_to_be_there(folder):
    _, state = batches(GRAPHS["variable"], Settings(folder), 3)
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.set_random_seed(3)
        GRAPHS["variable"](Settings(folder))
        with refused("uninitialized value Variable"):
            pipeline.compat.input_state(sess).load_state_dict(state)
