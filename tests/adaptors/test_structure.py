"""Each batch is converted by its own structure, independently of earlier batches."""

import collections

import numpy as np
import pytest

from pipeline.adaptors.structure import mapped

Pair = collections.namedtuple("Pair", "left right")

STRUCTURES = {
    "tuple": ((1, -2), (1, 2)),
    "longer tuple": ((1, -2, -3), (1, 2, 3)),
    "list": ([-1, 2], [1, 2]),
    "empty list": ([], []),
    "dict": ({"x": -1, "y": 2}, {"x": 1, "y": 2}),
    "other keys": ({"y": -1, "z": -2, "x": 3}, {"y": 1, "z": 2, "x": 3}),
    "named tuple": (Pair(-1, {"deep": [-2]}), Pair(1, {"deep": [2]})),
    "one component": (-3, 3),
}


@pytest.mark.parametrize("order", [list(STRUCTURES), list(reversed(STRUCTURES))])
def test_batches_of_any_structure_after_any_other(order):
    for name in order:
        batch, expected = STRUCTURES[name]
        found = mapped(lambda value, name: abs(value), batch)
        assert found == expected
        assert type(found) is type(expected)


def test_an_array_is_one_component():
    array = np.zeros((2, 3))
    assert mapped(lambda value, name: (value, name), array) == (array, "")
    assert mapped(lambda value, name: (value, name), {1: array}, "batch") == {1: (array, "batch/1")}
