"""parse_single_example and parse_example on wrong input: TensorFlow's messages, then the reason."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_parse_example import example

from pipeline import InvalidArgumentError, ResourceExhaustedError
from pipeline.decode.example.features import FixedLenFeature, FixedLenSequenceFeature, VarLenFeature
from pipeline.decode.example.parse import parse_example, parse_single_example

INT = FixedLenFeature([], np.int64)
ROWS = FixedLenSequenceFeature([2], np.int64, allow_missing=True)
BROKEN = b"\n\x0c\n\n\n\x01a\x12\x05\x1a\x03\n\x01\xff"  # its only number has no end


@pytest.mark.parametrize(
    ("data", "feature", "single", "block"),
    [
        (
            example(),
            INT,
            "Feature: a (data type: int64) is required but could not be found.",
            "Name: <unknown>, Feature: a (data type: int64) is required but could not be found.",
        ),
        (
            example(a=[0.5]),
            INT,
            "Key: a.  Data types don't match. Data type: float but expected type: int64",
            "Name: <unknown>, Key: a, Index: 1.  Data types don't match. Data type: float but expected type: int64",
        ),
        (
            example(a=[b"x"]),
            VarLenFeature(np.int64),
            "Key: a.  Data types don't match. Expected type: int64, Actual type: string",
            "Name: <unknown>, Key: a, Index: 1.  Data types don't match. Expected type: int64, Actual type: string",
        ),
        (
            example(a=[5, 6]),
            INT,
            "Key: a.  Can't parse serialized Example: Some int64_list slice was not parsed.",
            "Name: <unknown>, Key: a, Index: 1.  Number of int64 values != expected.  "
            "Values size: 2 but output shape: []",
        ),
        (
            example(a=[5, 6, 7]),
            ROWS,
            "Error while parsing feature with key a: number of elements should be divisible by 2, found 3 instead",
            "Name: <unknown>, Key: a, Index: 1.  Number of int64 values is not a multiple of stride length. "
            "Saw 3 values but output shape is: [?,2]",
        ),
        (
            BROKEN,
            INT,
            "Key: a.  Can't parse serialized Example: Parsing int64_list failed.",
            "Name: <unknown>, Key: a, Index: 1.  Can't parse serialized Example.",
        ),
        (
            b"garbage",
            INT,
            "Could not parse example input, value: 'garbage'",
            "Could not parse example input, value: 'garbage'",
        ),
    ],
)
def test_messages(data, feature, single, block):
    with pytest.raises(InvalidArgumentError) as caught:
        parse_single_example(data, {"a": feature})
    assert str(caught.value).split("\n")[0] == single
    assert not hasattr(caught.value, "record")
    good = example(a=[1, 2] if feature is ROWS else [1])
    with pytest.raises(InvalidArgumentError) as caught:
        parse_example([good, data, good], {"a": feature})
    assert str(caught.value).split("\n")[0] == block
    assert caught.value.record == 1


def test_why():
    with pytest.raises(InvalidArgumentError, match=r"there are 2 values where a feature of shape \[1, 3\] has 3"):
        parse_single_example(example(a=[5, 6]), {"a": FixedLenFeature([1, 3], np.int64)})
    with pytest.raises(InvalidArgumentError, match="example 1 of 7 bytes is damaged"):
        parse_example([example(), b"garbage"], {"a": INT})
    with pytest.raises(InvalidArgumentError, match="example 0 does not have it"):
        parse_example([example()], {"a": INT})


def test_names_of_examples():
    with pytest.raises(InvalidArgumentError, match=r"^Name: n1, Feature: a"):
        parse_example([example(a=[1]), example()], {"a": INT}, example_names=["n0", b"n1"])
    with pytest.raises(InvalidArgumentError, match=r"^Name: n0, Key: a\.  Data types"):
        parse_single_example(example(a=[0.5]), {"a": INT}, example_names="n0")
    with pytest.raises(InvalidArgumentError, match="example_names has 1 names for 2 examples"):
        parse_example([example(a=[1])] * 2, {"a": INT}, example_names=["n0"])


def test_long_damaged_examples_are_shown_in_part():
    with pytest.raises(InvalidArgumentError) as caught:
        parse_single_example(b"\xff" * 100_000, {"a": INT})
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize(
    ("features", "error", "text"),
    [
        ({}, ValueError, "cannot be None or falsy"),
        (None, ValueError, "cannot be None or falsy"),
        ([INT], TypeError, "must be a dict"),
        ({1: INT}, TypeError, "name of a feature must be str"),
        ({"a": 5}, ValueError, "Unsupported int 5 for key 'a'"),
        ({"a": FixedLenFeature([], None)}, ValueError, "Missing type for feature a"),
        ({"a": VarLenFeature(None)}, ValueError, "Missing type for feature a"),
        ({"a": FixedLenFeature(None, np.int64)}, ValueError, "Missing shape for feature a"),
        ({"a": FixedLenFeature([None], np.int64)}, ValueError, "First dimension of shape for feature a unknown"),
        ({"a": FixedLenFeature([2, None], np.int64)}, ValueError, "need to be known but received"),
        ({"a": FixedLenFeature([-1], np.int64)}, ValueError, "must be >= 0"),
        ({"a": FixedLenFeature([], np.int32)}, InvalidArgumentError, "int32 is not in the list of allowed values"),
        ({"a": VarLenFeature(np.float64)}, InvalidArgumentError, "float64 is not in the list of allowed values"),
        ({"a": FixedLenFeature([2], np.int64, 7)}, ValueError, r"has 1 values, but the requested shape \[2\] has 2"),
        ({"a": FixedLenFeature([], np.int64, 7.5)}, TypeError, "default_value of feature a"),
        ({"a": FixedLenFeature([], np.float32, "x")}, TypeError, "default_value of feature a"),
        ({"a": FixedLenFeature([], "string", 5)}, TypeError, "default_value of feature a"),
        ({"a": FixedLenSequenceFeature([], np.int64)}, ValueError, "requires allow_missing to be True"),
        ({"a": FixedLenSequenceFeature([0], np.int64, True)}, ValueError, "cannot be counted"),
        ({"a": FixedLenSequenceFeature([], np.int64, True, [1, 2])}, ValueError, "has 2 values"),
    ],
)
def test_features_that_cannot_be(features, error, text):
    for parse, serialized in ((parse_single_example, b""), (parse_example, [b""])):
        with pytest.raises(error, match=text):
            parse(serialized, features)


@pytest.mark.parametrize("serialized", [None, 5, [b""]])
def test_what_is_no_bytes(serialized):
    with pytest.raises(TypeError, match="must be bytes"):
        parse_single_example(serialized, {"a": INT})
    with pytest.raises(TypeError, match="must be bytes"):
        parse_example([serialized], {"a": INT})


FEATURES = {
    "a": FixedLenFeature([2], np.int64, [1, 2]),
    "b": VarLenFeature(np.float32),
    "c": FixedLenSequenceFeature([], "string", allow_missing=True),
}
WHOLE = example(a=[1, 300], b=[0.5, 2.0], c=[b"x", b"y" * 200])


def outcome(parse, serialized):
    try:
        parse(serialized, FEATURES)
    except InvalidArgumentError as error:
        return "refused", getattr(error, "record", 1)
    return "read", 1


@settings(deadline=None, max_examples=400)
@given(st.lists(st.tuples(st.integers(0, len(WHOLE) - 1), st.integers(0, 255)), max_size=4), st.integers(0))
def test_damaged_bytes_are_read_or_refused(changes, cut):
    data = bytearray(WHOLE)
    for at, value in changes:
        data[at] = value
    data = bytes(data[: cut % (len(data) + 1)]) if cut % 3 == 0 else bytes(data)
    assert outcome(parse_single_example, data) == outcome(parse_example, [WHOLE, data])


def test_padding_of_more_than_a_gib():
    long, feature = example(a=[0.5] * 1_000_000), FixedLenSequenceFeature([], np.float32, allow_missing=True)
    block = [example(a=[0.5])] * 4000
    block[17] = long
    text = "'a' of 4,000 examples would be padded to 1,000,000 values each, as example 17 has: 16,000,000,000 bytes"
    with pytest.raises(ResourceExhaustedError, match=text) as caught:
        parse_example(block, {"a": feature})
    assert caught.value.record == 17
    assert parse_example(block, {"a": VarLenFeature(np.float32)})["a"].values.size == 1_003_999
    assert parse_example(block[10:20], {"a": feature})["a"].shape == (10, 1_000_000)
