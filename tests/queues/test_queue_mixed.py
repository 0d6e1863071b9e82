"""Blocks with strings next to numbers: only columns that need conversion go through Python."""

import numpy as np
import pytest

from pipeline import FIFOQueue, InvalidArgumentError
from pipeline.queues import typed, values

FLOATS = [np.arange(3, dtype=np.float32) + i for i in range(12)]
STRINGS = [b"a", b"bc", b""]


@pytest.fixture
def queue():
    return FIFOQueue(100, ["float32"] * 12 + ["string", "int32"], [()] * 14)


@pytest.fixture
def converted(monkeypatch):
    """Return the indexes of components whose values were converted."""
    seen = []

    def elements(value, component, index, *more):
        seen.append(index)
        return values.elements(value, component, index, *more)

    monkeypatch.setattr(typed, "elements", elements)
    return seen


@pytest.mark.parametrize(
    "strings",
    [STRINGS, np.array(STRINGS, object), np.array(STRINGS), np.array(["a", "bc", ""]), ["a", b"bc", bytearray()]],
    ids=["list", "objects", "S", "U", "others"],
)
@pytest.mark.parametrize("whole", [np.arange(3, dtype=np.int32), [0, 1, 2], np.arange(3, dtype=np.int64)])
def test_only_what_does_not_fit_is_converted(queue, converted, strings, whole):
    queue.enqueue_many([*FLOATS, strings, whole])
    fits = isinstance(whole, np.ndarray) and whole.dtype == np.int32
    assert converted == ([12] if fits else [12, 13])
    *floats, texts, numbers = queue.dequeue_many(3)
    assert [each.tolist() for each in floats] == [each.tolist() for each in FLOATS]
    assert texts.tolist() == STRINGS
    assert (numbers.dtype, numbers.tolist()) == (np.int32, [0, 1, 2])


@pytest.mark.parametrize("at", [0, 5, 12, 13])
@pytest.mark.parametrize("rows", [0, 2, 4])
def test_a_component_of_another_length(queue, at, rows):
    block = [*FLOATS, STRINGS, np.arange(3, dtype=np.int32)]
    block[at] = (STRINGS * 2)[:rows] if at == 12 else np.zeros(rows, np.float32 if at < 12 else np.int32)
    wrong = at or 1  # the first one fixes the row count
    with pytest.raises(InvalidArgumentError, match=f"Shape mismatch in tuple component {wrong}") as caught:
        queue.enqueue_many(block)
    first = 3 if at else rows
    said = f"component {wrong} has {rows if at else 3} rows, and component 0 has {first}"  # padding could not help
    assert str(caught.value).endswith(said)
    assert queue.size() == 0


def test_a_list_that_changes_while_it_is_stored(queue):
    """The strings at the time of the call are stored."""
    strings = list(STRINGS)
    block = [*FLOATS, strings, np.arange(3, dtype=np.int32)]
    queue.enqueue_many(block)
    strings[:] = [1, 2, 3]
    assert queue.dequeue_many(3)[12].tolist() == STRINGS


def test_objects_that_are_not_strings(queue):
    with pytest.raises(TypeError, match=r"component 12.*expected bytes or str, got int 7"):
        queue.enqueue_many([*FLOATS, np.array([b"a", 7, b"c"], object), np.arange(3, dtype=np.int32)])
    assert queue.size() == 0
