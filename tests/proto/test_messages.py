"""Messages from a table of their fields: presence, oneofs, lists, maps, bytes, text and copies."""

import copy
import pickle
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.errors import InvalidArgumentError
from pipeline.proto.fields import MessageField, MessageListField, PartMap, Scalar, ScalarMapField, Scalars
from pipeline.proto.message import Message
from pipeline.proto.scalar_types import BOOL, BYTES, DOUBLE, FLOAT, INT32, INT64, STRING, Enumeration
from pipeline.proto.tensor import TensorProto, shape_message, type_name


class Leaf(Message):
    """A small message."""

    number = Scalar(1, INT64)
    text = Scalar(2, STRING)


class Tree(Message):
    """One field of each kind; declared out of order, since numbers decide the order."""

    leaves = MessageListField(9, Leaf)
    whole = Scalar(1, INT32)
    real = Scalar(2, DOUBLE)
    single = Scalar(3, FLOAT)
    flag = Scalar(4, BOOL)
    data = Scalar(5, BYTES)
    colour = Scalar(6, Enumeration({1: "RED"}.get))
    reals = Scalars(7, DOUBLE)
    flags = Scalars(8, BOOL)
    named = PartMap(10, Leaf)
    counts = ScalarMapField(11, INT32)
    number = Scalar(12, INT64, oneof="choice")
    leaf = MessageField(13, Leaf, oneof="choice")
    part = MessageField(14, Leaf)


def full():
    return Tree(
        whole=-1,
        real=0.1,
        single=0.1,
        flag=True,
        data=b"\0x",
        colour=1,
        reals=[1, 0.5],
        flags=[True, False],
        leaves=[{"number": 1}, Leaf(text="é")],
        named={"b": Leaf(number=2), "a": {}},
        counts={"x": 3},
        number=0,
        part={},
    )


trees = st.builds(
    Tree,
    whole=st.integers(-(2**31), 2**31 - 1),
    real=st.floats(allow_nan=False),
    data=st.binary(max_size=9),
    reals=st.lists(st.floats(allow_nan=False), max_size=4),
    flags=st.lists(st.booleans(), max_size=4),
    named=st.dictionaries(st.text(max_size=2), st.builds(Leaf, number=st.integers(-9, 9)), max_size=3),
    counts=st.dictionaries(st.text(max_size=2), st.integers(-9, 9), max_size=3),
)


class TestBytes:
    def test_in_the_order_of_numbers(self):
        assert Tree(single=1, whole=2).SerializeToString() == b"\x08\x02\x1d\x00\x00\x80?"

    def test_what_is_zero_is_not_written_but_in_a_oneof(self):
        assert Tree(whole=0, real=0, flag=False, data=b"", reals=[], named={}).SerializeToString() == b""
        assert Tree(number=0).SerializeToString() == b"\x60\x00"
        assert Tree(part={}).SerializeToString() == b"\x72\x00"

    def test_maps(self):
        assert Tree(counts={"x": 3}).SerializeToString() == b"\x5a\x05\n\x01x\x10\x03"
        assert Tree(named={"x": Leaf(number=3)}).SerializeToString() == b"\x52\x07\n\x01x\x12\x02\x08\x03"
        both = Tree(counts={"b": 1, "a": 2})
        assert both.SerializeToString() != both.SerializeToString(deterministic=True)
        assert both == Tree(counts={"a": 2, "b": 1})

    def test_a_field_of_another_wire_type_is_unknown(self):
        assert Tree.FromString(b"\x0a\x01x" + b"\x6d\0\0\0\0" + b"\x08\x05") == Tree(whole=5)

    def test_unpacked_numbers(self):
        assert Tree.FromString(b"\x40\x01\x40\x00\x42\x02\x01\x00").flags == [True, False, True, False]
        assert Tree.FromString(b"\x39" + np.float64(2).tobytes()).reals == [2]

    @pytest.mark.parametrize("data", [b"\x3a\x03abc", b"\x12\x01", b"\x5a\x03\n\x01\xff", b"\x4a\x02\x08"])
    def test_damaged(self, data):
        tree = full()
        with pytest.raises(InvalidArgumentError, match=f"^{len(data)} bytes are not a valid Tree: "):
            tree.MergeFromString(data)
        assert tree == full()

    @given(trees)
    def test_round_trips(self, tree):
        assert Tree.FromString(tree.SerializeToString()) == tree
        assert tree.ByteSize() == len(tree.SerializeToString())

    @given(st.binary(max_size=60))
    def test_any_bytes_are_a_message_or_an_error(self, data):
        try:
            tree = Tree.FromString(data)
        except InvalidArgumentError:
            return
        assert Tree.FromString(tree.SerializeToString()) == tree
        assert str(tree) == str(copy.deepcopy(tree))


class TestPresence:
    def test_reading_sets_nothing(self):
        tree = Tree()
        assert (tree.whole, tree.real, tree.data, tree.flag, tree.colour) == (0, 0.0, b"", False, 0)
        assert (tree.leaf.number, tree.part.text, len(tree.leaves), len(tree.counts)) == (0, "", 0, 0)
        assert not any(tree.HasField(name) for name in ("leaf", "part", "choice"))
        assert tree == Tree()
        assert tree.ListFields() == []

    def test_a_part_read_before_it_is_set_is_the_same_object(self):
        tree = Tree()
        first, second = tree.part, tree.part
        second.number = 5
        assert first is second
        assert tree.HasField("part")
        assert tree.SerializeToString() == b"\x72\x02\x08\x05"

    def test_one_of_several(self):
        tree = Tree(number=1)
        leaf = tree.leaf
        assert tree.WhichOneof("choice") == "number"
        leaf.number = 2
        assert (tree.WhichOneof("choice"), tree.number) == ("leaf", 0)
        tree.number = 3
        leaf.number = 4  # no longer a part of the tree
        assert (tree.WhichOneof("choice"), tree.leaf.number) == ("number", 0)
        tree.ClearField("number")
        assert tree.WhichOneof("choice") is None

    def test_set_in_parent(self):
        tree = Tree()
        tree.part.SetInParent()
        assert tree.HasField("part")
        tree.Clear()
        assert tree == Tree()

    def test_copies_count_as_set(self):
        tree = Tree()
        tree.leaf.CopyFrom(Leaf())
        assert tree.WhichOneof("choice") == "leaf"

    def test_list_fields(self):
        found = [(field.number, field.name) for field, _ in full().ListFields()]
        assert found == sorted(found)
        assert [name for _, name in found if name in ("number", "part", "leaf")] == ["number", "part"]

    def test_threads_that_read_first_see_one_object(self):
        for _ in range(50):
            tree, seen, start = Tree(), [], threading.Barrier(4)

            def read(tree=tree, seen=seen, start=start):
                start.wait()
                seen.append((tree.part, tree.leaves, tree.named))

            threads = [threading.Thread(target=read) for _ in range(4)]
            for one in threads:
                one.start()
            for one in threads:
                one.join()
            assert all(a is b for other in seen for a, b in zip(seen[0], other, strict=True))


class TestValues:
    def test_lists_and_maps(self):
        tree = Tree()
        tree.leaves.add(number=1).text = "a"
        leaf = Leaf(number=2)
        tree.leaves.append(leaf)
        leaf.number = 3
        assert [each.number for each in tree.leaves] == [1, 2]
        tree.counts["x"] += 2
        tree.named["k"].number = 5
        assert (dict(tree.counts), tree.named["k"].number, "q" in tree.named) == ({"x": 2}, 5, False)
        tree.reals[:] = np.array([1.5, 2], np.float32)
        del tree.reals[0]
        assert tree.reals == [2.0]
        assert np.asarray(tree.reals).dtype == np.float64

    @pytest.mark.parametrize(
        ("values", "error", "text"),
        [
            ({"whole": 2**31}, ValueError, "Value out of range: 2147483648 does not fit in int32"),
            ({"whole": 1.5}, TypeError, "a field of type int32 does not take float"),
            ({"data": "text"}, TypeError, "a field of type bytes does not take str"),
            ({"real": "1"}, TypeError, "a field of type double does not take str"),
            ({"reals": [[1.0]]}, TypeError, "a list of numbers"),
            ({"part": Tree()}, TypeError, "part must be a Leaf, not Tree"),
            ({"leaves": [1]}, TypeError, "leaves must be a Leaf, not int"),
            ({"named": {"a": 1}}, TypeError, r"named\['a'\] must be a Leaf, not int"),
            ({"counts": {1: 1}}, TypeError, "a key of counts must be str, not int"),
            ({"other": 1}, ValueError, 'Protocol message Tree has no "other" field'),
            ({"part": {"other": 1}}, ValueError, 'Protocol message Leaf has no "other" field'),
        ],
    )
    def test_what_does_not_fit(self, values, error, text):
        with pytest.raises(error, match=text):
            Tree(**values)

    def test_attributes(self):
        tree = Tree()
        for change in (lambda: setattr(tree, "part", Leaf()), lambda: setattr(tree, "reals", [1])):
            with pytest.raises(AttributeError, match="Assignment not allowed"):
                change()
        for use in (lambda: tree.other, lambda: setattr(tree, "other", 1)):
            with pytest.raises(AttributeError, match='Tree has no "other" field'):
                use()
        with pytest.raises(ValueError, match="no oneof 'group'"):
            tree.WhichOneof("group")
        with pytest.raises(TypeError, match="unhashable"):
            hash(tree)

    def test_copies(self):
        assert copy.copy(full()) == copy.deepcopy(full()) == pickle.loads(pickle.dumps(full())) == full()
        other = Tree(reals=[3], whole=7)
        other.MergeFrom(full())
        assert (list(other.reals), other.whole) == ([3, 1, 0.5], -1)
        other.CopyFrom(full())
        assert other == full()
        assert full() != Leaf()
        with pytest.raises(TypeError, match="cannot merge a Leaf into a Tree"):
            full().MergeFrom(Leaf())


def test_text():
    assert str(full()) == repr(full())
    assert str(full()).splitlines() == [
        "whole: -1",
        "real: 0.1",
        "single: 0.1",
        "flag: true",
        'data: "\\000x"',
        "colour: RED",
        "reals: 1",
        "reals: 0.5",
        "flags: true",
        "flags: false",
        "leaves {",
        "  number: 1",
        "}",
        "leaves {",
        '  text: "\\303\\251"',
        "}",
        "named {",
        '  key: "a"',
        "  value {",
        "  }",
        "}",
        "named {",
        '  key: "b"',
        "  value {",
        "    number: 2",
        "  }",
        "}",
        "counts {",
        '  key: "x"',
        "  value: 3",
        "}",
        "number: 0",
        "part {",
        "}",
    ]


@given(st.floats(allow_nan=False))
def test_text_of_doubles_gives_them_back(value):
    text = str(Tree(reals=[value])).removeprefix("reals: ")
    assert float(text) == value


def test_tensors():
    assert [type_name(number) for number in (1, 7, 101, 24, -1)] == [
        "DT_FLOAT",
        "DT_STRING",
        "DT_FLOAT_REF",
        None,
        None,
    ]
    tensor = TensorProto(dtype=1, tensor_shape=shape_message([2, None, 0]))
    assert [dim.size for dim in tensor.tensor_shape.dim] == [2, -1, 0]
    assert str(tensor).startswith("dtype: DT_FLOAT\ntensor_shape {\n  dim {\n    size: 2\n  }\n")
    assert shape_message(None).unknown_rank
