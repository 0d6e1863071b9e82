"""Element equality in `check_resume`, and the position of the first difference."""

import dataclasses
from typing import NamedTuple

import numpy as np
import pytest

import pipeline
from pipeline.testing import CheckFailed, check_resume


class Pair(NamedTuple):
    one: object
    other: object


@dataclasses.dataclass
class Boxed:
    value: object


class Plain:
    def __init__(self, value):
        self.value = value


class InTurn:
    """A source with one element in the first pass and another in later passes."""

    def __init__(self, first, second):
        self.passes = iter([first])
        self.second = second

    def __iter__(self):
        yield next(self.passes, self.second)


def again(first, second):
    return check_resume(pipeline.dataset(InTurn(first, second)), checks=["again"])


def arrays_of(dtype):
    return np.array([1, 0, 2], dtype)


EQUAL = [
    lambda: float("nan"),
    lambda: np.float32("nan"),
    lambda: np.array([1.0, np.nan]),
    lambda: np.array(["2020-01-01", "NaT"], "datetime64[D]"),
    lambda: np.array([(1, np.nan)], [("a", "i4"), ("b", "f4")]),
    lambda: np.array([np.arange(2), "text", None], object),
    lambda: {"a": [np.arange(3), ("text", b"bytes", None)]},
    lambda: Pair(np.zeros((0, 2)), True),
    lambda: Boxed(np.arange(3)),
    lambda: [Plain(np.arange(3)), Plain("x")],
    lambda: {1, 2},
    lambda: complex("nan"),
    lambda: np.array("one"),
]


@pytest.mark.parametrize("make", EQUAL, ids=range(len(EQUAL)))
def test_equal(make):
    again(make(), make())


@pytest.mark.parametrize(
    ("first", "second", "where", "expected", "got"),
    [
        (1, 2, "", "1", "2"),
        (0.0, float("nan"), "", "0.0", "nan"),
        (1, 1.0, "", "1 (int)", "1.0 (float)"),
        (True, 1, "", "True (bool)", "1 (int)"),
        ("a", b"a", "", "'a' (str)", "b'a' (bytes)"),
        (np.float32(1), np.float64(1), "", "1.0 (float32)", "1.0 (float64)"),
        (np.arange(6).reshape(2, 3), np.array([[0, 1, 2], [3, 9, 5]]), "[1, 1]", "4", "9"),
        (np.arange(3.0), np.arange(3), "", "float64 of shape [3]", "int64 of shape [3]"),
        (np.zeros((2, 1)), np.zeros((1, 2)), "", "float64 of shape [2, 1]", "float64 of shape [1, 2]"),
        ({"a": [1, (2, 3)]}, {"a": [1, (2, 4)]}, "['a'][1][1]", "3", "4"),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, "", "the keys ['a', 'b']", "the keys ['b', 'a']"),
        ([1, 2], [1], "", "2 items: [1, 2]", "1 items: [1]"),
        ((1, 2), [1, 2], "", "(1, 2) (tuple)", "[1, 2] (list)"),
        (np.array([None, "x"], object), np.array([None, "y"], object), "[1]", "'x'", "'y'"),
    ],
)
def test_different(first, second, where, expected, got):
    with pytest.raises(CheckFailed) as failed:
        again(first, second)
    assert (failed.value.element, failed.value.where) == (0, where)
    assert (failed.value.expected, failed.value.got) == (expected, got)


@pytest.mark.parametrize(("first", "second"), [(Boxed(np.arange(3)), Boxed(np.zeros(3, int))), (Plain(1), Plain(2))])
def test_objects_that_differ_inside(first, second):
    with pytest.raises(CheckFailed, match="element 0 differs in the second pass"):
        again(first, second)


@pytest.mark.parametrize("expected", [[[1, 2]], [np.array([1.0, 2.0])], [(1, 2)]])
def test_expected_elements_count_by_value(expected):
    data = pipeline.arrays(np.array([[1, 2]], np.uint8))
    assert check_resume(data, expected=expected, checks=["elements"]).passed == {"elements": "1 element as expected"}
