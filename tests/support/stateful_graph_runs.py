"""What the tests of input_state share: runs of graphs that go on from a state."""

import pytest
import stateful_graphs
from graph_pipelines import running

import pipeline
import pipeline.compat.v1 as tf
from pipeline.compat.graph import determinism


@pytest.fixture(autouse=True)
def in_order(monkeypatch):
    """Batch functions fill their queues in order."""
    monkeypatch.setattr(determinism._Switch, "on", False)
    tf.config.experimental.enable_op_determinism()


@pytest.fixture(name="folder", scope="module")
def some_files(tmp_path_factory):
    """A folder of small files."""
    folder = tmp_path_factory.mktemp("files")
    stateful_graphs.write(folder, [3 + 4 * k for k in range(6)])
    return folder


def batches(build, settings, count=None, state=None, **options):
    """The first batches of a graph that goes on from a state, all if None, and the state after them."""
    found = []
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.set_random_seed(3)
        made = build(settings)
        stateful_graphs.initialize(sess)
        if state is not None:
            pipeline.compat.input_state(sess).load_state_dict(state, **options)
        coord = tf.train.Coordinator()
        started = tf.train.start_queue_runners(sess, coord)
        try:
            while count is None or len(found) < count:
                found.append(repr(sess.run(made)))
        except tf.errors.OutOfRangeError:
            pass
        saved = pipeline.compat.input_state(sess).state_dict()
        coord.request_stop()
        coord.join(started)
    return found, saved


def started(sess, state=None):
    """Queue runners at work, that go on from a state."""
    sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
    if state is not None:
        pipeline.compat.input_state(sess).load_state_dict(state)
    return running(sess)
