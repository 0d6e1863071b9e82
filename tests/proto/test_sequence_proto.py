"""SequenceExample and its parts, and messages as text."""

import copy

import numpy as np
import pytest

message = pytest.importorskip("google.protobuf.message", reason="protobuf is not installed")

from pipeline.proto import (  # noqa: E402
    BytesList,
    Example,
    Feature,
    FeatureList,
    FeatureLists,
    Features,
    FloatList,
    Int64List,
    SequenceExample,
)

# As TensorFlow writes it.
DATA = (
    b"\n\x0c\n\n\n\x01c\x12\x05\x1a\x03\n\x01\x01\x12\x19\n\x17\n\x01x\x12\x12"
    b"\n\x05\x1a\x03\n\x01\x03\n\x05\n\x03\n\x01q\n\x00\n\x00"
)


def sequence():
    steps = [
        Feature(int64_list=Int64List(value=[3])),
        Feature(bytes_list=BytesList(value=[b"q"])),
        Feature(),
        Feature(),
    ]
    return SequenceExample(
        context=Features(feature={"c": Feature(int64_list=Int64List(value=[1]))}),
        feature_lists=FeatureLists(feature_list={"x": FeatureList(feature=steps)}),
    )


class TestSequenceExample:
    def test_bytes(self):
        assert sequence().SerializeToString() == DATA
        assert SequenceExample.FromString(DATA) == sequence()

    def test_changes_in_place(self):
        made = SequenceExample()
        made.context.feature["c"].int64_list.value.append(1)
        steps = made.feature_lists.feature_list["x"].feature
        steps.add().int64_list.value.append(3)
        steps.append(Feature(bytes_list=BytesList(value=[b"q"])))
        steps.extend([Feature(), Feature()])
        assert made == sequence()
        del steps[0]
        assert made != sequence()
        assert len(steps) == 3
        assert steps[0].bytes_list.value == [b"q"]

    def test_steps_are_copied_in(self):
        step = Feature(int64_list=Int64List(value=[1]))
        made = FeatureList(feature=[step])
        step.int64_list.value.append(2)
        assert made.feature[0].int64_list.value == [1]

    def test_fields(self):
        assert not SequenceExample().HasField("context")
        assert not SequenceExample().HasField("feature_lists")
        assert sequence().HasField("context")
        assert SequenceExample(feature_lists=FeatureLists()).HasField("feature_lists")
        with pytest.raises(ValueError, match="feature"):
            SequenceExample().HasField("feature")

    def test_copies(self):
        assert copy.deepcopy(sequence()) == sequence()
        made = sequence()
        made.Clear()
        assert made == SequenceExample()

    def test_wrong_parts(self):
        with pytest.raises(TypeError):
            FeatureList(feature=[1])
        with pytest.raises(TypeError):
            FeatureLists(feature_list={"x": Feature()})
        with pytest.raises(TypeError):
            sequence().feature_lists.feature_list["x"].feature[0] = Feature()
        with pytest.raises(message.DecodeError):
            SequenceExample.FromString(b"abc")


class TestText:
    def test_sequence(self):
        text = str(sequence())
        assert text.startswith(
            'context {\n  feature {\n    key: "c"\n    value {\n      int64_list {\n        value: 1\n'
        )
        assert text.endswith("      feature {\n      }\n      feature {\n      }\n    }\n  }\n}\n")

    def test_bytes(self):
        assert str(BytesList(value=[b"a\"'\0\xff\n\\?"])) == 'value: "a\\"\\\'\\000\\377\\n\\\\?"\n'

    def test_floats(self):
        values = [0.1, 1, 1e10, 1e-9, 100000, 123456789, float("nan"), float("inf")]
        lines = str(FloatList(value=values)).splitlines()
        found = [float(line.removeprefix("value: ")) for line in lines]
        np.testing.assert_array_equal(np.array(found, np.float32), np.array(values, np.float32))

    def test_empty(self):
        assert str(Example()) == str(Int64List()) == ""
        assert str(Example(features=Features())) == "features {\n}\n"
