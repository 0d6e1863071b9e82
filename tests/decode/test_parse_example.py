"""parse_single_example and parse_example: their results, and blocks compared with single examples."""

from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline import InvalidArgumentError
from pipeline.decode.example.features import FixedLenFeature, FixedLenSequenceFeature, VarLenFeature
from pipeline.decode.example.parse import parse_example, parse_single_example
from pipeline.decode.example.sparse_value import SparseTensorValue

pytest.importorskip("google.protobuf", reason="protobuf is not installed")

from pipeline.proto import BytesList, Example, Feature, Features, FloatList, Int64List


def example(**features):
    """Return a serialized example: ints, floats or bytes by name; an empty list is a feature without a list."""

    def feature(values):
        if not len(values):
            return Feature()
        if isinstance(values[0], bytes):
            return Feature(bytes_list=BytesList(value=values))
        if isinstance(values[0], float):
            return Feature(float_list=FloatList(value=values))
        return Feature(int64_list=Int64List(value=values))

    return Example(
        features=Features(feature={name: feature(values) for name, values in features.items()})
    ).SerializeToString()


class TestSingle:
    def test_fixed(self):
        data = example(a=[5], b=[1.5, -2.0], c=[b"x", b""], d=[1, -2, 300, 2**62])
        got = parse_single_example(
            data,
            {
                "a": FixedLenFeature([], np.int64),
                "b": FixedLenFeature([2], np.float32),
                "c": FixedLenFeature((1, 2), "string"),
                "d": FixedLenFeature([2, 2], np.int64),
            },
        )
        assert list(got) == ["a", "b", "c", "d"]
        assert type(got["a"]) is np.int64
        assert got["a"] == 5
        assert got["b"].dtype == np.float32
        assert got["b"].tolist() == [1.5, -2]
        assert got["c"].dtype == object
        assert got["c"].tolist() == [[b"x", b""]]
        assert got["d"].tolist() == [[1, -2], [300, 2**62]]

    def test_scalars(self):
        got = parse_single_example(
            example(s=[b"x"], f=[0.5]), {"s": FixedLenFeature((), bytes), "f": FixedLenFeature((), "f4")}
        )
        assert got == {"s": b"x", "f": np.float32(0.5)}
        assert type(got["s"]) is bytes
        assert type(got["f"]) is np.float32

    def test_defaults(self):
        features = {
            "a": FixedLenFeature([2], np.int64, [7, 8]),
            "b": FixedLenFeature([], "string", "text"),
            "c": FixedLenFeature([1, 2], np.float32, [[0.5, 1]]),
            "d": FixedLenFeature([], np.int64, [7]),
        }
        for data in (example(), example(a=[], b=[], c=[], d=[])):  # a feature without a list counts as missing
            got = parse_single_example(data, features)
            assert got["a"].tolist() == [7, 8]
            assert got["b"] == b"text"
            assert got["c"].tolist() == [[0.5, 1]]
            assert got["d"] == 7
        got["a"][0] = 0
        assert parse_single_example(example(), features)["a"].tolist() == [7, 8]

    def test_any_number(self):
        got = parse_single_example(
            example(a=[5, 6], b=[b"x"], c=[]),
            {name: VarLenFeature(t) for name, t in zip("abcd", ["i8", "S", "f4", "i8"], strict=True)},
        )
        assert [values.tolist() for values in got.values()] == [[5, 6], [b"x"], [], []]
        assert [values.dtype for values in got.values()] == [np.int64, object, np.float32, np.int64]

    def test_rows(self):
        features = {"a": FixedLenSequenceFeature([2], np.int64, allow_missing=True)}
        assert parse_single_example(example(a=[5, 6, 7, 8]), features)["a"].tolist() == [[5, 6], [7, 8]]
        assert parse_single_example(example(), features)["a"].shape == (0, 2)
        strings = {"a": FixedLenSequenceFeature([], "string", allow_missing=True)}
        assert parse_single_example(example(a=[b"x", b"yy"]), strings)["a"].tolist() == [b"x", b"yy"]

    def test_results_may_be_changed(self):
        got = parse_single_example(example(a=[1.5]), {"a": VarLenFeature(np.float32)})
        got["a"][0] = 2


class TestBlock:
    def test_fixed(self):
        block = [example(a=[i], b=[i / 2, 1.0], c=[b"%d" % i]) for i in range(3)]
        features = {
            "a": FixedLenFeature([], np.int64),
            "b": FixedLenFeature([2], np.float32),
            "c": FixedLenFeature([1], "string"),
            "d": FixedLenFeature([2], np.int64, [-1, 300]),
        }
        for serialized in (block, tuple(block), iter(block), np.array(block, object)):
            got = parse_example(serialized, features)
            assert got["a"].tolist() == [0, 1, 2]
            assert got["b"].tolist() == [[0, 1], [0.5, 1], [1, 1]]
            assert got["c"].tolist() == [[b"0"], [b"1"], [b"2"]]
            assert got["d"].tolist() == [[-1, 300]] * 3
            assert [got[name].dtype for name in "abcd"] == [np.int64, np.float32, object, np.int64]
            assert all(array.flags.writeable for array in got.values())

    def test_any_number_is_sparse(self):
        got = parse_example([example(a=[1]), example(), example(a=[5, 6])], {"a": VarLenFeature(np.int64)})["a"]
        assert isinstance(got, SparseTensorValue)
        assert got.indices.tolist() == [[0, 0], [2, 0], [2, 1]]
        assert got.values.tolist() == [1, 5, 6]
        assert got.dense_shape.tolist() == [3, 2]
        assert got.indices.dtype == got.dense_shape.dtype == np.int64

    def test_rows_are_padded(self):
        block = [example(a=[1, 2], s=[b"x"]), example(a=[3, 4, 5, 6]), example(s=[b"y", b"z"])]
        features = {
            "a": FixedLenSequenceFeature([2], np.int64, True, -1),
            "s": FixedLenSequenceFeature([], "string", True, "pad"),
            "z": FixedLenSequenceFeature([3], np.float32, True),
        }
        got = parse_example(block, features)
        assert got["a"].tolist() == [[[1, 2], [-1, -1]], [[3, 4], [5, 6]], [[-1, -1], [-1, -1]]]
        assert got["s"].tolist() == [[b"x", b"pad"], [b"pad", b"pad"], [b"y", b"z"]]
        assert got["z"].shape == (3, 0, 3)
        plain = parse_example([example(a=[1]), example()], {"a": FixedLenSequenceFeature([], np.int64, True)})
        assert plain["a"].tolist() == [[1], [0]]

    def test_no_examples(self):
        features = {
            "a": FixedLenFeature([2], np.int64),
            "b": VarLenFeature(np.float32),
            "c": FixedLenSequenceFeature([], "string", allow_missing=True),
        }
        got = parse_example([], features)
        assert got["a"].shape == (0, 2)
        assert got["b"].indices.shape == (0, 2)
        assert got["b"].dense_shape.tolist() == [0, 0]
        assert got["c"].shape == (0, 0)

    def test_one_example_is_no_block(self):
        with pytest.raises(InvalidArgumentError, match="parse_single_example"):
            parse_example(example(a=[1]), {"a": VarLenFeature(np.int64)})
        with pytest.raises(InvalidArgumentError, match=r"to be a vector, got shape: \[1,1\]"):
            parse_example(np.array([[b""]], object), {"a": VarLenFeature(np.int64)})


class TestWire:
    UNPACKED = b"\n\x0d\n\x0b\n\x01a\x12\x06\x1a\x04\x08\x05\x08\x06"

    def test_unpacked_numbers(self):
        features = {"a": FixedLenFeature([2], np.int64)}
        assert parse_single_example(self.UNPACKED, features)["a"].tolist() == [5, 6]
        assert parse_example([self.UNPACKED, example(a=[1, 300])], features)["a"].tolist() == [[5, 6], [1, 300]]

    def test_the_last_feature_of_a_name_counts(self):
        data = example(a=[1]) + example(a=[2])
        assert parse_single_example(data, {"a": FixedLenFeature([], np.int64)}) == {"a": 2}

    def test_a_later_feature_with_an_empty_list_counts(self):
        data = example(a=[1]) + b"\n\x09\n\x07\n\x01a\x12\x02\x1a\x00"
        assert parse_single_example(data, {"a": VarLenFeature(np.int64)})["a"].tolist() == []
        assert parse_example([data], {"a": VarLenFeature(np.int64)})["a"].values.tolist() == []
        with pytest.raises(InvalidArgumentError):
            parse_example([data], {"a": FixedLenFeature([], np.int64, 9)})

    def test_a_later_feature_without_a_list_counts_where_it_does_in_tensorflow(self):
        data = example(a=[1]) + example(a=[])
        for block in ([data], [data] * 20, [data, example(a=[5])]):
            assert parse_example(block, {"a": VarLenFeature(np.int64)})["a"].values.tolist() == [5] * (len(block) == 2)
            assert parse_example(block, {"a": FixedLenFeature([], np.int64)})["a"][0] == 1
        assert parse_single_example(data, {"a": VarLenFeature(np.int64)})["a"].tolist() == [1]

    # Other features named "a", and their errors.
    LATER: ClassVar = {
        "no value": (b"\n\x03\n\x01a", "0 values"),
        "no name": (b"\n\x02\x12\x00", "0 names"),
        "two values": (b"\n\x07\n\x01a\x12\x00\x12\x00", "2 values"),
        "an unknown kind": (b"\n\x07\n\x01a\x12\x02\x22\x00", "Unsupported datatype"),
    }

    @pytest.mark.parametrize("name", LATER)
    def test_a_later_feature_that_tensorflow_refuses(self, name):
        entry, error = self.LATER[name]
        data = example(a=[5]) + b"\n" + bytes([len(entry)]) + entry
        for feature in (VarLenFeature(np.int64), FixedLenFeature([], np.int64), FixedLenFeature([], np.int64, 9)):
            with pytest.raises(InvalidArgumentError, match=error):
                parse_single_example(data, {"a": feature})
            for block in ([data], [example(a=[5]), data], [data] * 20):
                with pytest.raises(InvalidArgumentError, match=error) as caught:
                    parse_example(block, {"a": feature})
                assert block[caught.value.record] == data

    @pytest.mark.parametrize("inner", [b"\x22\x00", b"\x22\x00\x1a\x03\n\x01\x07"], ids=["alone", "before a list"])
    def test_an_unknown_kind_before_a_good_feature_is_refused_as_in_tensorflow(self, inner):
        entry = b"\n\x01a\x12" + bytes([len(inner)]) + inner
        data = b"\n" + bytes([len(entry) + 2]) + b"\n" + bytes([len(entry)]) + entry + example(a=[5])
        for feature in (VarLenFeature(np.int64), FixedLenFeature([], np.int64), FixedLenFeature([], np.int64, 9)):
            with pytest.raises(InvalidArgumentError, match="Unsupported datatype"):
                parse_single_example(data, {"a": feature})
            for block in ([data], [example(a=[5]), data], [data] * 20):
                with pytest.raises(InvalidArgumentError, match="Unsupported datatype") as caught:
                    parse_example(block, {"a": feature})
                assert block[caught.value.record] == data

    def test_an_unknown_kind_that_nobody_asks_for(self):
        data = example(a=[5]) + b"\n\x09\n\x07\n\x01b\x12\x02\x22\x00"
        assert parse_single_example(data, {"a": VarLenFeature(np.int64)})["a"].tolist() == [5]
        assert parse_example([data] * 9, {"a": VarLenFeature(np.int64)})["a"].values.tolist() == [5] * 9

    @pytest.mark.parametrize("second", [b"\x1a\x03\n\x01\x07", b"\x0a\x03\n\x01x", b"\x22\x00"])
    def test_of_several_lists_in_a_feature_the_first_counts(self, second):
        inner = b"\x1a\x03\n\x01\x05" + second
        entry = b"\n\x01a\x12" + bytes([len(inner)]) + inner
        data = b"\n" + bytes([len(entry) + 2]) + b"\n" + bytes([len(entry)]) + entry
        assert parse_single_example(data, {"a": VarLenFeature(np.int64)})["a"].tolist() == [5]
        assert parse_example([data] * 9, {"a": VarLenFeature(np.int64)})["a"].values.tolist() == [5] * 9

    def test_unknown_fields_and_other_orders(self):
        entry = b"\x12\x05\x1a\x03\n\x01\x07" + b"\x18\x01" + b"\n\x01a"  # the value before the key
        inner = b"\x18\x01\n" + bytes([len(entry)]) + entry
        data = b"\x10\x01\n" + bytes([len(inner)]) + inner
        for got in (parse_single_example(data, {"a": FixedLenFeature([1], np.int64)})["a"].tolist(),):
            assert got == [7]

    def test_names_beyond_ascii_and_long_ones(self):
        name = "é" * 100
        features = {name: FixedLenFeature([], np.int64), name.encode() + b"x": FixedLenFeature([], np.int64, 4)}
        assert parse_single_example(example(**{name: [3]}), features) == {name: 3, name + "x": 4}

    def test_large_features(self):
        pixels = np.arange(10_000, dtype=np.float32)
        data = example(p=pixels.astype(float).tolist(), n=list(range(-500, 500)), s=[bytes(70_000)])
        features = {
            "p": FixedLenFeature([100, 100], np.float32),
            "n": VarLenFeature(np.int64),
            "s": FixedLenFeature([], "string"),
        }
        got = parse_single_example(data, features)
        assert np.array_equal(got["p"].ravel(), pixels)
        assert got["n"].tolist() == list(range(-500, 500))
        assert got["s"] == bytes(70_000)
        block = parse_example([data, data], features)
        assert np.array_equal(block["p"][1], got["p"])
        assert block["n"].values.tolist() == list(range(-500, 500)) * 2


class TestUniform:
    """Blocks whose examples differ only in values take a separate code path with the same results."""

    FEATURES: ClassVar = {
        "a": FixedLenFeature([2], np.int64),
        "b": VarLenFeature(np.float32),
        "c": FixedLenSequenceFeature([], "string", True),
    }

    def check(self, block):
        got = parse_example(block, self.FEATURES)
        singles = [parse_single_example(one, self.FEATURES) for one in block]
        assert got["a"].tolist() == [one["a"].tolist() for one in singles]
        assert got["b"].values.tolist() == [value for one in singles for value in one["b"]]
        assert got["c"].ravel().tolist() == [value for one in singles for value in one["c"]]
        assert got["a"].flags.writeable
        assert got["b"].values.flags.writeable

    def test_uniform(self):
        self.check([example(a=[i, 300 + i], b=[i / 2, -1.0], c=[b"%03d" % i], d=[i]) for i in range(100)])

    def test_longer_than_a_byte_can_say(self):
        self.check([example(a=[i, -i - 1], b=[0.5] * 100, c=[b"%0200d" % i]) for i in range(10)])

    def test_numbers_of_other_sizes_in_as_many_bytes(self):
        self.check([example(a=[1, 300] if i % 2 else [300, 1], b=[0.5], c=[b"x"]) for i in range(10)])

    def test_other_names_or_lists_in_as_many_bytes(self):
        good = example(a=[1, 2], b=[0.5], c=[b"xyzw"])
        other = example(a=[1, 2], b=[0.5], d=[b"xyzw"])
        assert len(good) == len(other)
        got = parse_example([good] * 9 + [other], self.FEATURES)
        assert got["c"].ravel().tolist() == [b"xyzw"] * 9 + [b""]

    @pytest.mark.parametrize("at", [0, 4, 9])
    def test_one_that_is_wrong(self, at):
        for wrong, text in [
            (example(a=[1], b=[0.5], c=[b"xx"]), "Number of int64 values"),
            (example(a=[b"12"], b=[0.5], c=[b"x"]), "Data types don't match"),
            (example(a=[1, 2], b=[0.5], c=[b"x"])[:-1] + b"\n", ""),
            (b"\xff" * len(example(a=[1, 2], b=[0.5], c=[b"x"])), "Could not parse example"),
        ]:
            block = [example(a=[1, 2], b=[0.5], c=[b"x"])] * 10
            block[at] = wrong
            if text:
                with pytest.raises(InvalidArgumentError, match=text) as caught:
                    parse_example(block, self.FEATURES)
                assert caught.value.record == at
            else:
                self.check(block)


ints = st.lists(st.sampled_from([0, 1, 127, 128, 300, -1, 2**63 - 1, -(2**63)]), max_size=5)
floats = st.lists(st.floats(width=32, allow_nan=False), max_size=5)
strings = st.lists(st.binary(max_size=3), max_size=5)
serialized = st.builds(example, a=ints, b=floats, c=strings)


@settings(deadline=None)
@given(st.lists(serialized, min_size=1, max_size=5), st.integers(1, 2), st.booleans())
def test_a_block_is_what_its_examples_are(block, size, default):
    fixed = {
        "a": FixedLenFeature([size], np.int64, [-3] * size if default else None),
        "b": FixedLenFeature([size], np.float32, [0.5] * size if default else None),
        "c": FixedLenFeature([size], "string", ["d"] * size if default else None),
    }
    any_ = {"a": VarLenFeature(np.int64), "b": VarLenFeature(np.float32), "c": VarLenFeature("string")}
    for name in "abc":
        try:
            singles = [parse_single_example(one, {name: fixed[name]})[name].tolist() for one in block]
        except InvalidArgumentError:
            with pytest.raises(InvalidArgumentError, match=name):
                parse_example(block, {name: fixed[name]})
        else:
            assert parse_example(block, {name: fixed[name]})[name].tolist() == singles
        sparse = parse_example(block, {name: any_[name]})[name]
        values = [parse_single_example(one, {name: any_[name]})[name].tolist() for one in block]
        assert sparse.values.tolist() == [value for one in values for value in one]
        assert sparse.indices.tolist() == [[i, k] for i, one in enumerate(values) for k in range(len(one))]
        assert sparse.dense_shape.tolist() == [len(block), max(map(len, values))]
