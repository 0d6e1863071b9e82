"""bucket: batches with elements of similar length."""

import re

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


@pytest.mark.parametrize(
    ("option", "saved", "now"), [("batch_sizes", [2, 2], [3, 2]), ("max_tokens", 16, 24)], ids=["sizes", "tokens"]
)
def test_states_of_other_sizes_are_refused(option, saved, now):
    rows = pipeline.dataset([np.zeros(n) for n in (1, 5, 2, 6, 1)])
    with iter(rows.bucket([4], **{option: saved})) as batches:
        next(batches)
        state = batches.state_dict()
    said = re.escape(f"bucket: {option} was {saved} when the state was saved and is {now} now")
    with iter(rows.bucket([4], **{option: now})) as batches, pytest.raises(ValueError, match=said):
        batches.load_state_dict(state)


@pytest.mark.parametrize("text", ["a", b"a"], ids=repr)
def test_strings_are_padded_with_empty_ones_up_to_the_boundary(text):
    data = stream([[text], [text] * 2]).bucket([4], [2, 2], pad_to_boundary=True)
    [batch] = data
    assert batch.tolist() == [[text, text[:0], text[:0], text[:0]], [text, text, text[:0], text[:0]]]
    fill = text * 2
    [batch] = stream([[text], [text] * 2]).bucket([4], [2, 2], pad=fill, pad_to_boundary=True)
    assert batch.tolist() == [[text, fill, fill, fill], [text, text, fill, fill]]


def _tokens(row):
    return len(row["tokens"])


def _shapes(data, names):
    return [tuple(batch[name].shape for name in names) for batch in data]


def test_fixed_vectors_and_images_are_not_padded_up_to_the_boundary():
    rows = [{"tokens": [1] * n, "box": [n] * 4, "image": np.zeros((2, 3))} for n in (1, 4, 2, 4, 4, 5, 1)]
    data = stream(rows).bucket([7], [2, 2], length=_tokens, pad_to_boundary=True)
    names = ("tokens", "box", "image")
    full = ((2, 7), (2, 4), (2, 2, 3))
    assert _shapes(data, names) == [full, full, full, ((1, 7), (1, 4), (1, 2, 3))]
    check(data, list(data))


def test_components_are_padded_up_to_the_boundary_by_name():
    rows = [{"tokens": [1] * n, "box": [n] * 4} for n in (1, 2, 3)]
    for pad, box in ({"tokens": 0}, 4), ({"tokens": 0, "box": 0}, 7):
        data = stream(rows).bucket([7], [2, 2], length=_tokens, pad=pad, pad_to_boundary=True)
        assert _shapes(data, ("tokens", "box")) == [((2, 7), (2, box)), ((1, 7), (1, box))]
        check(data, list(data))


def test_components_that_vary_are_padded_up_to_the_boundary():
    rows = [(np.ones(n), {"frames": np.ones((n + 1, 2)), "words": [n] * (n % 2 + 1)}) for n in (1, 2, 3, 2, 2)]
    data = stream(rows).bucket([6], [2, 2], length=lambda row: len(row[0]), pad_to_boundary=True)
    shapes = [(x.shape, y["frames"].shape, y["words"].shape) for x, y in data]
    assert shapes == [((2, 6), (2, 6, 2), (2, 6)), ((2, 6), (2, 6, 2), (2, 6)), ((1, 6), (1, 6, 2), (1, 6))]
    check(data, list(data))


def test_examples_of_one_length_are_padded_up_to_the_boundary():
    rows = [{"tokens": [1, 2], "mask": np.ones(2), "pair": [np.ones(2), np.ones(3)], "n": 2}] * 3
    data = stream(rows).bucket([4], [2, 2], length=_tokens, pad_to_boundary=True)
    assert [batch["tokens"].shape for batch in data] == [(2, 4), (1, 4)]
    assert [batch["mask"].shape for batch in data] == [(2, 4), (1, 4)]
    assert [batch["pair"][1].shape for batch in data] == [(2, 3), (1, 3)]  # the first dimension is not the length
    check(data, list(data))


def test_a_fixed_vector_that_looked_like_a_sequence_is_an_error():
    rows = [{"tokens": [1] * n, "box": [0] * 4} for n in (4, 4, 2, 3)]
    data = stream(rows).bucket([7], [2, 2], length=_tokens, pad_to_boundary=True)
    iterator = iter(data)
    assert next(iterator)["tokens"].shape == (2, 7)
    with pytest.raises(ValueError, match=r"component 'box' has shape \[4\] in all .* such as pad=\{'tokens': 0\}"):
        next(iterator)


def test_a_length_of_its_own():
    data = stream([{"t": row} for row in ROWS]).bucket([4], [3, 3], length=lambda example: len(example["t"]))
    check(data, list(data))
    assert sum(len(batch["t"]) for batch in data) == len(ROWS)


def test_an_example_at_a_boundary_goes_right():
    assert [batch.tolist() for batch in stream([[1], [2, 2]]).bucket([2], [1, 1])] == [[[1]], [[2, 2]]]


def test_sizes_and_boundaries_fit():
    with pytest.raises(ValueError, match="2 boundaries need 3 batch sizes, got 2"):
        pipeline.dataset([]).bucket([1, 2], [1, 1])


@pytest.mark.parametrize("to_boundary", [False, True])
def test_components_keep_their_order(to_boundary):
    rows = [{"x": np.zeros(n), "n": n} for n in (1, 2, 5)]
    data = stream(rows).bucket([3], [2, 1], length=lambda row: row["n"], pad={"x": 0}, pad_to_boundary=to_boundary)
    assert [list(batch) for batch in data] == [["x", "n"]] * 2


@pytest.mark.parametrize("length", [float("nan"), "long", None, -1, 1.0, True, np.True_, np.arange(2)])
def test_a_length_is_an_integer(length):
    data = stream([[1], [2]]).bucket([2], [2, 2], length=lambda row: 1 if row == [1] else length)
    text = f"bucket: the length of an example must be an integer of at least 0, got {length!r} for ex"
    with pytest.raises(ValueError, match=re.escape(text)):
        list(data)


@pytest.mark.parametrize("number", [np.uint8, np.int64, np.array])
def test_a_length_of_numpy(number):
    data = stream([[1], [2, 2], [3]]).bucket([2], [2, 2], length=lambda row: number(len(row)))
    assert [batch.tolist() for batch in data] == [[[1], [3]], [[2, 2]]]
