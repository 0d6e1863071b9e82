"""pipeline.compat.input_state: a graph that goes on from a state gives the batches that would have come."""

import json
import os

import numpy as np
import pytest
import stateful_graphs
from graph_pipelines import drain
from helpers import LIMIT
from stateful_graph_runs import batches, in_order, some_files, started  # noqa: F401  (two are fixtures)
from stateful_graphs import GRAPHS, Settings

import pipeline
import pipeline.compat.v1 as tf
from pipeline.compat.queues import course
from pipeline.compat.session.phased_plan import PhasedPlan

APART = int(os.environ.get("MOMENTS_APART", "7"))  # batches between two moments; `make resume` says 1


def comparable(state):
    """A state without the files that happened to be opened ahead."""
    return {**state, "queues": {name: {**each, "files": None} for name, each in state["queues"].items()}}


@pytest.mark.parametrize(("threads", "every"), [(1, 7), (2, 1024), (4, 7)])
@pytest.mark.parametrize("name", GRAPHS)
def test_every_moment(name, threads, every, folder, monkeypatch):
    """The rest comes with other threads and another capacity; the state of a resumed run is that of a straight one."""
    monkeypatch.setattr(course, "EVERY", every)
    build, here, there = GRAPHS[name], Settings(folder, threads), Settings(folder, 5 - threads, room=30)
    whole, _ = batches(build, here)
    assert len(whole) > 2
    for count in range(0, len(whole) + 1, APART):
        first, state = batches(build, here, count)
        state = json.loads(json.dumps(state))
        rest, _ = batches(build, there, state=state)
        assert first + rest == whole
        between, later = batches(build, there, 2, state)
        assert comparable(later) == comparable(batches(build, here, count + len(between))[1])
        assert batches(build, here, state=later)[0] == whole[count + len(between) :]


# Where the state is taken and loaded ----------------------------------------------------------------------------------


@pytest.fixture(name="whole")
def _whole(folder):
    return batches(GRAPHS["parsed"], Settings(folder))[0]


def test_a_run_that_fails_delivers_nothing(folder, whole):
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.set_random_seed(3)
        made = GRAPHS["parsed"](Settings(folder))
        with tf.control_dependencies([made]):
            fails = tf.Assert(False, ["no"])
        with started(sess):
            found = [repr(sess.run(made)) for _ in range(3)]
            with pytest.raises(tf.errors.InvalidArgumentError):
                sess.run(fails)
            state = pipeline.compat.input_state(sess).state_dict()
            found += [whole[3], repr(sess.run(made))]
            after = pipeline.compat.input_state(sess).state_dict()
    assert found == whole[:5]
    assert batches(GRAPHS["parsed"], Settings(folder), state=state)[0] == whole[3:]
    assert batches(GRAPHS["parsed"], Settings(folder), state=after)[0] == whole[5:]


def test_of_a_monitored_session_and_in_hooks(folder, whole):
    class Keep(tf.train.SessionRunHook):
        def begin(self):
            if states:
                pipeline.compat.input_state(tf.get_default_graph()).load_state_dict(states[-1])

        def after_run(self, context, values):
            states.append(pipeline.compat.input_state(context.session).state_dict())

    found, states = [], []
    for _ in range(3):
        with tf.Graph().as_default():
            tf.set_random_seed(3)
            made = GRAPHS["parsed"](Settings(folder))
            tf.train.get_or_create_global_step()
            with tf.train.MonitoredTrainingSession(hooks=[Keep()], log_step_count_steps=None) as sess:
                assert not found or pipeline.compat.input_state(sess).state_dict() == states[-1]
                found += [repr(sess.run(made)) for _ in range(4)]
                assert pipeline.compat.input_state(sess).state_dict() == states[-1]
    assert found == whole[:12]


def test_of_the_default_session(folder):
    with pytest.raises(ValueError, match="no default session"):
        pipeline.compat.input_state()
    with pytest.raises(TypeError, match="takes a session or a graph"):
        pipeline.compat.input_state("session")
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        tf.set_random_seed(3)
        made = GRAPHS["parsed"](Settings(folder))
        with started(sess):
            sess.run(made)
            assert pipeline.compat.input_state().state_dict() == pipeline.compat.input_state(sess).state_dict()
        with pytest.raises(tf.errors.FailedPreconditionError, match="pass the session"):
            pipeline.compat.input_state(graph).state_dict()


def test_make_callable_and_evaluations_deliver_too(folder, whole):
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.set_random_seed(3)
        made = GRAPHS["parsed"](Settings(folder))
        take = sess.make_callable(made)
        with started(sess):
            assert [repr(take()), repr(made.eval())] == whole[:2]
            state = pipeline.compat.input_state(sess).state_dict()
    assert batches(GRAPHS["parsed"], Settings(folder), state=state)[0] == whole[2:]


def test_before_the_first_batch_there_is_nothing_to_save(folder, whole):
    _, state = batches(GRAPHS["parsed"], Settings(folder), 0)
    assert state["queues"] == {}
    assert batches(GRAPHS["parsed"], Settings(folder), state=state)[0] == whole


def test_another_batch_size_goes_on_at_the_same_example(folder):
    lines = GRAPHS["lines in order"]
    _, state = batches(lines, Settings(folder), 5)
    (first, *_), _ = batches(lines, Settings(folder, batch=2), 1, state)
    assert first == batches(lines, Settings(folder, batch=2), 11)[0][10]


def test_what_was_drawn_from_a_pool_that_is_not_filled_any_more_has_no_state(folder):
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.set_random_seed(3)
        made = GRAPHS["parsed"](Settings(folder, room=1))
        state = pipeline.compat.input_state(sess)
        with started(sess):
            sess.run(made)
            before = state.state_dict()
        assert state.state_dict() == before
        sess.run(made)  # of what the pool has left
        sess.run(made)
        with pytest.raises(tf.errors.FailedPreconditionError, match="from what its pool had left"):
            state.state_dict()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("shuffled", [False, True])
def test_what_cuts_the_input_off_is_not_its_end(shuffled, folder):
    def build(s):
        queue = tf.train.range_input_producer(100, num_epochs=1, seed=1)
        examples = [queue.dequeue()]
        return queue.close(cancel_pending_enqueues=True), s.shuffled(examples) if shuffled else s.in_order(examples)

    whole, _ = batches(lambda s: build(s)[1], Settings(folder, batch=1))
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.set_random_seed(3)
        close, made = build(Settings(folder, threads=2, batch=1))
        stateful_graphs.initialize(sess)
        threads = tf.train.start_queue_runners(sess)  # without a Coordinator the producer's error ends its thread alone
        found = [repr(sess.run(made)) for _ in range(5)]
        before = pipeline.compat.input_state(sess).state_dict()
        sess.run(close)
        found += map(repr, drain(sess, made))
        for thread in threads:
            thread.join(LIMIT)
        assert len(found) < 100
        if shuffled:
            with pytest.raises(tf.errors.FailedPreconditionError, match="from what its pool had left"):
                pipeline.compat.input_state(sess).state_dict()
            found, state = found[:5], before
        else:
            state = pipeline.compat.input_state(sess).state_dict()
    assert found + batches(lambda s: build(s)[1], Settings(folder, batch=1), state=state)[0] == whole


def test_reads_again_only_what_the_pool_needs(tmp_path, monkeypatch):
    """What is computed of an example is computed for those of the pool alone; of the others, the lines are read."""
    stateful_graphs.write(tmp_path, [700] * 4)
    made = []

    def noted(x):
        y = tf.py_func(lambda each: made.append(int(each)) or np.int64(each), [x], tf.int64)
        y.set_shape([])
        return y

    def build(s):
        return s.shuffled([noted(tf.string_to_number(s.line()[1], tf.int64))])

    settings = Settings(tmp_path, pool=100)  # one thread, so that few are made ahead
    whole, _ = batches(build, settings)
    _, state = batches(build, settings, 1000)
    del made[:]
    takes, take = [], PhasedPlan.take
    monkeypatch.setattr(PhasedPlan, "take", lambda *args: takes.append(0) or take(*args))
    assert batches(build, settings, 1, state)[0] == whole[1000:1001]
    assert len(made) < 150
    assert len(takes) < 400  # of more than 1,000: the other lines are read many at a time
