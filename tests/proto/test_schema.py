"""Messages by protobuf: a private pool, both of protobuf's implementations, and the messages of the drop-in."""

import copy
import pickle
import textwrap

import pytest
from helpers import run_script

import pipeline.compat.v1 as tf

pytest.importorskip("google.protobuf", reason="protobuf is not installed")

COPIES = {
    "example": lambda: tf.train.Example(features={"feature": {"a": tf.train.Feature(int64_list={"value": [1]})}}),
    "summary": lambda: tf.Summary(value=[{"tag": "loss", "simple_value": 0.5}]),
    "nested": lambda: tf.Summary.Value(tag="loss", simple_value=0.5),
    "nested twice": lambda: tf.SummaryMetadata.PluginData(plugin_name="scalars"),
    "map": lambda: tf.ConfigProto(device_count={"CPU": 2}, gpu_options={"allow_growth": True}),
    "attribute": lambda: tf.AttrValue(list=tf.AttrValue.ListValue(i=[1, 2])),
    "runner": lambda: tf.train.QueueRunnerDef(queue_name="q", queue_closed_exception_types=[11]),
}


@pytest.mark.parametrize("name", COPIES)
def test_copies(name):
    message = COPIES[name]()
    for copied in (
        copy.copy(message),
        copy.deepcopy(message),
        pickle.loads(pickle.dumps(message)),
        type(message).FromString(message.SerializeToString(deterministic=True)),
    ):
        assert type(copied) is type(message)
        assert copied == message
        assert str(copied) == str(message)


def test_names_of_classes():
    assert tf.Summary.Value.DESCRIPTOR.full_name == "tensorflow.Summary.Value"
    assert (tf.Summary.Value.__module__, tf.Summary.Value.__qualname__) == ("pipeline.proto.summary", "Summary.Value")
    assert tf.train.Example.__doc__.startswith("An example: ")


def test_enums_print_their_names():
    assert str(tf.SessionLog(status=tf.SessionLog.STOP)) == "status: STOP\n"
    assert str(tf.AttrValue(type=1)) == "type: DT_FLOAT\n"
    assert str(tf.AttrValue(type=123)) == "type: DT_UINT64_REF\n"
    assert str(tf.AttrValue(type=99)) == "type: 99\n"
    assert str(tf.train.QueueRunnerDef(queue_closed_exception_types=[11, 1])).split() == [
        *("queue_closed_exception_types:", "OUT_OF_RANGE", "queue_closed_exception_types:", "CANCELLED"),
    ]


def test_presence_and_oneofs():
    value = tf.Summary.Value(simple_value=0)
    assert value.WhichOneof("value") == "simple_value"
    assert value.SerializeToString() == b"\x15\0\0\0\0"
    value.image.height = 3
    assert value.WhichOneof("value") == "image"
    assert not value.HasField("metadata")
    value.metadata.SetInParent()
    assert value.HasField("metadata")
    assert tf.ConfigProto().gpu_options.allow_growth is False


def test_fields_that_are_not_modelled_come_back():
    data = b"\x82\x01\x02\x08\x01"  # ConfigProto.experimental, with one of its fields
    assert tf.ConfigProto.FromString(data).SerializeToString() == data


# TensorFlow and users register their own classes with these names in protobuf's default pool, before or after.
IN_ONE_PROCESS = """
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
def theirs():
    file = descriptor_pb2.FileDescriptorProto(name="tensorflow/core/example.proto", package="tensorflow")
    file.message_type.add(name="Example").field.add(name="other", number=7, label=1, type=9)
    file.message_type.add(name="Summary").nested_type.add(name="Value").field.add(name="x", number=1, label=1, type=9)
    descriptor_pool.Default().AddSerializedFile(file.SerializeToString())
    return descriptor_pool.Default().FindMessageTypeByName("tensorflow.Example")
def ours():
    import pipeline.compat.v1 as tf
    value = pickle.loads(pickle.dumps(tf.Summary.Value(tag="x")))
    assert type(value) is tf.Summary.Value and value.tag == "x"
    return tf.train.Example.DESCRIPTOR
import pickle
a, b = [theirs(), ours()] if FIRST else [ours(), theirs()]
assert a.full_name == b.full_name and a is not b
from google.protobuf.internal import api_implementation
print(api_implementation.Type())
"""


@pytest.mark.parametrize("first", [True, False], ids=["theirs first", "ours first"])
@pytest.mark.parametrize("implementation", ["upb", "python"])
def test_messages_of_the_same_names(first, implementation, monkeypatch):
    if implementation == "upb":
        pytest.importorskip("google._upb._message", reason="protobuf has no compiled wheel for this Python")
    monkeypatch.setenv("PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION", implementation)
    done = run_script(f"FIRST = {first}\n{IN_ONE_PROCESS}")
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == implementation


PURE = """
import pipeline.compat.v1 as tf
example = tf.train.Example()
example.features.feature["a"].float_list.value.extend([0.5, 2])
assert tf.train.Example.FromString(example.SerializeToString()) == example
assert tf.io.parse_single_example is not None
config = tf.ConfigProto(device_count={"CPU": 1}, operation_timeout_in_ms=5000)
with tf.Session(config=config) as session:
    print(session.run(tf.parse_single_example(example.SerializeToString(), {"a": tf.FixedLenFeature([2], tf.float32)})))
print(tf.get_default_graph().as_graph_def().node[0].op, tf.SessionLog.START, tf.Summary.Value(tag="t", simple_value=2))
"""


def test_the_implementation_in_python(monkeypatch):
    monkeypatch.setenv("PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION", "python")
    done = run_script(PURE)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [*("{'a':", "array([0.5,", "2.", "],", "dtype=float32)}"), *["Const", "1"]] + [
        *("tag:", '"t"', "simple_value:", done.stdout.split()[-1])
    ]


WITHOUT = """
import sys
sys.modules["google.protobuf.descriptor_pb2"] = None  # as if it were not installed
import numpy as np
import pipeline
import pipeline.compat.v1 as tf
from pipeline import *
for use in (
    lambda: pipeline.proto.Example, lambda: pipeline.Example, lambda: tf.train.Example, lambda: tf.ConfigProto,
    lambda: tf.summary.FileWriter, lambda: pipeline.monitor(logdir="logs"),
    lambda: tf.get_default_graph().as_graph_def(),
):
    try:
        use()
    except ImportError as error:
        assert str(error) == "messages such as Example and Summary need protobuf: pip install protobuf", error
    else:
        raise AssertionError("no error")
record = bytes.fromhex("0a0c0a0a0a016112051a030a0108")
print(pipeline.parse_single_example(record, {"a": pipeline.FixedLenFeature([], np.int64)})["a"])
queue = tf.train.input_producer([1, 2], num_epochs=1, shuffle=False)
batch = tf.train.batch([queue.dequeue()], 2)
with tf.Session() as session:
    session.run(tf.local_variables_initializer())
    coord = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(session, coord)
    print(session.run(batch))
    coord.request_stop()
    coord.join(threads)
reader = pipeline.types.IdentityReader()
reader.restore_state(b"\\x08\\x03\\x10\\x03")
assert reader.serialize_state() == b"\\x08\\x03\\x10\\x03"
with pipeline.monitor(show=False):
    print(len(list(pipeline.arrays(np.arange(10)).batch(5))))
"""


def test_without_protobuf(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = run_script(textwrap.dedent(WITHOUT))
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["8", "[1 2]", "2"]
    assert not list(tmp_path.iterdir())
