"""bucket: batches of elements of about one length."""

import numpy as np
import pytest
from dataset_contract import check, stream

import pipeline

ROWS = [[n] * n for n in (1, 4, 2, 7, 3, 3, 5, 1, 6)]


def test_bucket():
    data = stream(ROWS).bucket([3, 6], [2, 2, 1])
    check(data, [
        [[1, 0], [2, 2]],
        [[7] * 7],
        [[4, 4, 4, 4], [3, 3, 3, 0]],
        [[3, 3, 3, 0, 0], [5] * 5],
        [[6] * 6],
        [[1]],
    ])  # fmt: skip


def test_up_to_the_boundary():
    data = stream(ROWS).bucket([3, 6], [9, 9, 9], pad=-1, pad_to_boundary=True)
    assert [batch.shape for batch in data] == [(3, 3), (4, 6), (2, 7)]
    check(data, list(data))


@pytest.mark.parametrize("text", ["a", b"a"], ids=repr)
def test_strings_are_padded_with_empty_ones_up_to_the_boundary(text):
    data = stream([[text], [text] * 2]).bucket([4], [2, 2], pad_to_boundary=True)
    [batch] = data
    assert batch.tolist() == [[text, text[:0], text[:0], text[:0]], [text, text, text[:0], text[:0]]]
    fill = text * 2
    [batch] = stream([[text], [text] * 2]).bucket([4], [2, 2], pad=fill, pad_to_boundary=True)
    assert batch.tolist() == [[text, fill, fill, fill], [text, text, fill, fill]]


def test_a_length_of_its_own():
    data = stream([{"t": row} for row in ROWS]).bucket([4], [3, 3], length=lambda example: len(example["t"]))
    check(data, list(data))
    assert sum(len(batch["t"]) for batch in data) == len(ROWS)


def test_an_example_at_a_boundary_goes_right():
    assert [batch.tolist() for batch in stream([[1], [2, 2]]).bucket([2], [1, 1])] == [[[1]], [[2, 2]]]


def test_sizes_and_boundaries_fit():
    with pytest.raises(ValueError, match="2 boundaries make 3 buckets, and 2 batch sizes are given"):
        pipeline.dataset([]).bucket([1, 2], [1, 1])


@pytest.mark.parametrize("to_boundary", [False, True])
def test_components_keep_their_order(to_boundary):
    rows = [{"x": np.zeros(n), "n": n} for n in (1, 2, 5)]
    data = stream(rows).bucket([3], [2, 1], length=lambda row: row["n"], pad={"x": 0}, pad_to_boundary=to_boundary)
    assert [list(batch) for batch in data] == [["x", "n"]] * 2


@pytest.mark.parametrize("length", [float("nan"), "long", None])
def test_a_length_is_a_number(length):
    data = stream([[1], [2]]).bucket([2], [2, 2], length=lambda row: 1 if row == [1] else length)
    with pytest.raises(ValueError, match=rf"^bucket: the length of an example must be a number, got {length!r} for ex"):
        list(data)
