"""TensorFlow and our messages in one process, imported in either order; needs TensorFlow."""

import importlib.util

import pytest
from helpers import run_script

pytestmark = pytest.mark.skipif(importlib.util.find_spec("tensorflow") is None, reason="make test-jax")

PROGRAM = """
import pickle
example = ours.train.Example()
example.features.feature["a"].int64_list.value.extend([1, -2])
read = theirs.train.Example.FromString(example.SerializeToString())
assert str(read) == str(example) and type(read) is not type(example)
value = ours.Summary.Value(tag="loss", simple_value=0.5)
again = pickle.loads(pickle.dumps(value))
assert type(again) is ours.Summary.Value and again == value
event = ours.Event(step=3, summary=ours.Summary(value=[value]))
assert str(theirs.compat.v1.Event.FromString(event.SerializeToString())) == str(event)
with ours.Graph().as_default() as graph:
    ours.train.batch([ours.constant([1.5, 2]), ours.placeholder(ours.string, [])], 4, dynamic_pad=True)
definition = graph.as_graph_def(add_shapes=True)
read = theirs.compat.v1.GraphDef.FromString(definition.SerializeToString())
assert str(read) == str(definition) and read.node[0].op == "Const"
config = ours.ConfigProto(device_count={"CPU": 2}, operation_timeout_in_ms=5000)
config.graph_options.rewrite_options.layout_optimizer = 2
assert str(theirs.compat.v1.ConfigProto.FromString(config.SerializeToString())) == str(config)
try:
    example.CopyFrom(theirs.train.Example())
except TypeError:
    print("two classes")
"""


@pytest.mark.parametrize("first", ["ours", "theirs"])
def test_messages_of_both(first):
    imports = ["import pipeline.compat.v1 as ours\nours.train.Example, ours.Summary", "import tensorflow as theirs"]
    done = run_script("\n".join([*(imports if first == "ours" else reversed(imports)), PROGRAM]))
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[-2] == "two classes"
