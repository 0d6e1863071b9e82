"""tf.train.Example: bytes as TensorFlow writes them, and accepted arguments."""

import contextlib
import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

message = pytest.importorskip("google.protobuf.message", reason="protobuf is not installed")

from pipeline.proto import BytesList, Example, Feature, Features, FloatList, Int64List  # noqa: E402

DAMAGED = message.DecodeError, UnicodeDecodeError  # the second by protobuf's implementation in Python

# Each was written by TensorFlow.
VECTORS = [
    (Example(), b""),
    (Example(features=Features()), b"\n\x00"),
    (
        Example(features=Features(feature={"a": Feature(int64_list=Int64List(value=[1, -2, 300]))})),
        b"\n\x18\n\x16\n\x01a\x12\x11\x1a\x0f\n\r\x01\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01\xac\x02",
    ),
    (
        Example(features=Features(feature={"x": Feature(float_list=FloatList(value=[1.5, 2]))})),
        b"\n\x13\n\x11\n\x01x\x12\x0c\x12\n\n\x08\x00\x00\xc0?\x00\x00\x00@",
    ),
    (
        Example(features=Features(feature={"s": Feature(bytes_list=BytesList(value=[b"q", b""]))})),
        b"\n\x0e\n\x0c\n\x01s\x12\x07\n\x05\n\x01q\n\x00",
    ),
    (Example(features=Features(feature={"z": Feature()})), b"\n\x07\n\x05\n\x01z\x12\x00"),
]

int64s = st.integers(-(2**63), 2**63 - 1)
features = st.one_of(
    st.builds(Feature),
    st.lists(st.binary(max_size=200), max_size=4).map(lambda v: Feature(bytes_list=BytesList(value=v))),
    st.lists(st.floats(width=32, allow_nan=False), max_size=40).map(lambda v: Feature(float_list=FloatList(value=v))),
    st.lists(int64s, max_size=40).map(lambda v: Feature(int64_list=Int64List(value=v))),
)
examples = st.dictionaries(st.text(max_size=3), features, max_size=4).map(
    lambda given: Example(features=Features(feature=given))
)


class TestBytes:
    @pytest.mark.parametrize(("example", "data"), VECTORS)
    def test_vectors(self, example, data):
        assert example.SerializeToString() == data
        assert example.ByteSize() == len(data)
        assert Example.FromString(data) == example

    def test_unpacked_numbers_are_read(self):
        assert Int64List.FromString(b"\x08\x05\n\x02\x06\x07\x08\xff\x01").value == [5, 6, 7, 255]
        assert FloatList.FromString(b"\r\x00\x00\x80?\n\x04\x00\x00\x00@").value == [1, 2]

    def test_unknown_fields_are_skipped(self):
        unknown = b"\x20\x96\x01" + b"\x29" + bytes(8) + b"\x32\x02hi" + b"\x3d" + bytes(4) + b"\x43\x08\x01\x44"
        inner = b"\n\x09\n\x01a\x12\x04\x1a\x02\n\x00" + unknown
        data = b"\n" + bytes([len(inner)]) + inner + unknown
        assert Example.FromString(data).features.feature["a"].WhichOneof("kind") == "int64_list"
        assert BytesList.FromString(unknown + b"\n\x01x").value == [b"x"]

    def test_parts_that_come_twice(self):
        one, two = VECTORS[2][1], VECTORS[3][1]
        both = Example.FromString(one + two)
        assert sorted(both.features.feature) == ["a", "x"]
        again = Example(features=Features(feature={"a": Feature(float_list=FloatList(value=[7]))}))
        assert Example.FromString(one + again.SerializeToString()) == again
        assert Feature.FromString(b"\x1a\x03\n\x01\x01\x1a\x03\n\x01\x02").int64_list.value == [1, 2]
        assert Feature.FromString(b"\x1a\x03\n\x01\x01\n\x03\n\x01x").WhichOneof("kind") == "bytes_list"

    def test_in_the_order_of_names_if_asked(self):
        feature = {name: Feature(int64_list=Int64List(value=[1])) for name in "ba"}
        example = Example(features=Features(feature=feature))
        data = example.SerializeToString(deterministic=True)
        assert data.index(b"a") < data.index(b"b")

    @pytest.mark.parametrize(
        "data",
        [
            b"garbage",
            b"\n\x05\n",
            b"\n",
            b"\n\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
            b"\x00\x00",
            b"\x0b\x08",
            b"\x0c",
            b"\n\x07\n\x05\n\x01\xff\x12\x00",
            b"\n\x0d\n\x0b\n\x01a\x12\x06\x12\x04\n\x02\x00\x00",
            b"\n\x0c\n\n\n\x01a\x12\x05\x1a\x03\n\x01\xff",
        ],
    )
    def test_damaged(self, data):
        for method in (Example.FromString, Example().ParseFromString, Example().MergeFromString):
            with pytest.raises(DAMAGED):
                method(data)

    @pytest.mark.parametrize("given", ["text", None, 5])
    def test_what_is_no_bytes(self, given):
        with pytest.raises(TypeError):
            Example.FromString(given)

    @given(examples)
    def test_round_trips(self, example):
        data = example.SerializeToString()
        assert Example.FromString(data) == example
        whole = example.SerializeToString(deterministic=True)
        assert Example.FromString(data).SerializeToString(deterministic=True) == whole
        assert pickle.loads(pickle.dumps(example)) == copy.deepcopy(example) == example

    @given(st.binary(max_size=100) | st.tuples(examples, st.integers(0), st.binary(max_size=3)))
    def test_other_bytes_are_read_or_refused(self, data):
        if isinstance(data, tuple):
            whole, at = data[0].SerializeToString(), data[1] % (data[0].ByteSize() + 1)
            data = whole[:at] + data[2] + whole[at + len(data[2]) :]
        with contextlib.suppress(*DAMAGED):
            assert isinstance(Example.FromString(data), Example)


class TestMessages:
    def test_changes_in_place(self):
        example = Example()
        example.features.feature["q"].int64_list.value.append(4)
        example.features.feature["q"].int64_list.value.extend(np.array([5, 6]))
        example.features.feature["r"].bytes_list.value[:] = [b"x"]
        assert example.features.feature["q"].int64_list.value[1:] == [5, 6]
        assert example.features.feature["r"].WhichOneof("kind") == "bytes_list"
        example.features.feature["q"].int64_list.value[0] = 3
        del example.features.feature["q"].int64_list.value[1]
        assert Example.FromString(example.SerializeToString()).features.feature["q"].int64_list.value == [3, 6]
        del example.features.feature["q"]
        assert list(example.features.feature) == ["r"]
        assert example.HasField("features")
        example.Clear()
        assert example == Example()
        assert not example.HasField("features")

    def test_one_list_at_a_time(self):
        feature = Feature(int64_list=Int64List(value=[1]))
        assert feature.HasField("int64_list")
        assert len(feature.float_list.value) == 0  # reading a field changes nothing
        assert feature.WhichOneof("kind") == "int64_list"
        feature.float_list.value.append(0.5)
        assert feature.WhichOneof("kind") == "float_list"
        assert len(feature.int64_list.value) == 0
        assert Feature().WhichOneof("kind") is None

    def test_values_are_copied_in(self):
        values = Int64List(value=[1])
        feature = Feature(int64_list=values)
        values.value.append(2)
        assert feature.int64_list.value == [1]

    def test_asking_makes_a_feature_and_get_does_not(self):
        example = Example()
        assert example.features.feature.get("x") is None
        assert "x" not in example.features.feature
        assert example.features.feature["x"] == Feature()
        assert list(example.features.feature) == ["x"]

    def test_numbers(self):
        assert FloatList(value=[0.1, np.float64(2), 3, True]).value == [float(np.float32(0.1)), 2, 3, 1]
        assert FloatList(value=[1e39]).value == [float("inf")]
        assert Int64List(value=np.arange(3, dtype=np.int8)).value == [0, 1, 2]
        assert Int64List(value=[np.int32(4), 2**63 - 1]).value == [4, 2**63 - 1]
        assert np.asarray(FloatList(value=[1, 2]).value, np.float32).tolist() == [1, 2]

    @pytest.mark.parametrize(
        ("make", "value", "error"),
        [
            (Int64List, ["a"], TypeError),
            (Int64List, [1.0], TypeError),
            (Int64List, 5, TypeError),
            (Int64List, [2**63], ValueError),
            (Int64List, [np.array([1])], TypeError),
            (BytesList, ["text"], TypeError),
            (BytesList, b"text", TypeError),
            (FloatList, ["1"], TypeError),
            (FloatList, 0.5, TypeError),
            (FloatList, [[1.0]], TypeError),
        ],
    )
    def test_values_that_do_not_fit(self, make, value, error):
        with pytest.raises(error):
            make(value=value)
        if isinstance(value, list):
            made = make()
            with pytest.raises(error):
                made.value.extend(value)
            assert len(made.value) == 0

    @pytest.mark.parametrize(
        ("error", "wrong"),
        [
            (TypeError, lambda: Feature(int64_list=FloatList(value=[1]))),
            (TypeError, lambda: Features(feature={"a": Int64List(value=[1])})),
            (TypeError, lambda: Features(feature={1: Feature()})),
            (ValueError, lambda: Int64List(values=[1])),
            (ValueError, lambda: Example().features.feature.__setitem__("a", Feature())),
            (ValueError, lambda: Feature().WhichOneof("king")),
            (TypeError, lambda: Example().CopyFrom(Features())),
            (TypeError, lambda: Int64List([1])),
            (AttributeError, lambda: setattr(Feature(), "foo", 1)),
            (AttributeError, lambda: setattr(Example(), "features", Features())),
        ],
        ids=["part", "value", "key", "field", "assigned", "oneof", "copied", "positional", "attribute", "whole part"],
    )
    def test_wrong_parts(self, error, wrong):
        with pytest.raises(error):
            wrong()

    def test_parts_as_dicts(self):
        feature = Feature(int64_list={"value": [1, 2]})
        assert feature == Feature(int64_list=Int64List(value=[1, 2]))
        assert Example(features={"feature": {"a": feature}}) == Example(features=Features(feature={"a": feature}))
        assert Example().IsInitialized()
        assert len(Int64List(value=None).value) == 0
        assert Features().feature.get_or_create("a").WhichOneof("kind") is None


def test_names_that_are_no_text_of_utf8():
    """Other libraries could not read the message."""
    example = Example()
    for name in ("\ud800", "\udcff"):
        with pytest.raises(ValueError):  # noqa: PT011 (each implementation has its own text)
            example.features.feature[name].int64_list.value.append(1)
    assert len(example.features.feature) == 0
