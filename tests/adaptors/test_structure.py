"""What is done to each component of a batch: batches must be put together as the first was."""

import pytest

from pipeline.adaptors.structure import mapping


@pytest.mark.parametrize(
    ("first", "other", "got", "before"),
    [
        ((1, -2), (1, 2, 3), "a tuple of 3", "a tuple of 2"),
        ((1, -2), {"x": 1}, "a dict with 'x'", "a tuple of 2"),
        ({"x": 1, "y": 2}, {"x": 1, "z": 2}, "a dict with 'x', 'z'", "a dict with 'x', 'y'"),
        ({"x": 1, "y": 2}, [1, 2], "a list of 2", "a dict with 'x', 'y'"),
    ],
)
def test_a_batch_of_another_structure_is_told_from_the_one_before(first, other, got, before):
    change = mapping(first, lambda value, name: abs)
    assert change(first) == mapping(first, lambda value, name: lambda each: abs(each))(first)
    text = f"^a batch is {got}, and the one before was {before}: make all batches alike$"
    with pytest.raises(TypeError, match=text):
        change(other)
