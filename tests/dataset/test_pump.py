"""Single examples from iterators and functions keep the value they had when they arrived."""

import collections
import functools
import itertools

import numpy as np
import pytest
from tracing import kept_alive

import pipeline
from pipeline._calls import Kept, call_each  # called directly, with a list no dataset passes to functions

Point = collections.namedtuple("Point", "x y")


def refilled(count, shape=(3,)):
    """One array, filled repeatedly."""
    buffer = np.zeros(shape)
    for i in range(count):
        buffer[...] = i
        yield buffer


FORMS = {
    "array": (lambda row: row, lambda batch: batch),
    "tuple": (lambda row: (row, row), lambda batch: batch[1]),
    "dict": (lambda row: {"b": row, "a": row}, lambda batch: batch["a"]),
    "list": (lambda row: [row, row], lambda batch: batch[:, 1]),
    "named": (lambda row: Point(row, row), lambda batch: batch.y),
    "nested": (lambda row: {"x": (row, row)}, lambda batch: batch["x"][1]),
    "strided": (lambda row: row[::2], lambda batch: batch),
    "objects": (lambda row: row.astype(object), lambda batch: batch),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_generator_may_refill_one_buffer(form):
    wrap, pick = FORMS[form]

    def examples():
        yield from map(wrap, refilled(40))

    batches = list(pipeline.dataset(examples).batch(16))
    found = np.concatenate(list(map(pick, batches)))
    assert found[:, 0].tolist() == list(range(40))
    if form == "dict":
        assert list(batches[0]) == ["b", "a"]
    singles = list(pipeline.dataset(examples).take(5))
    assert list(map(repr, singles)) == [repr(wrap(row.copy())) for row in refilled(5)]


PICKS = {
    "alone": lambda text: text,
    "tuple": lambda text: (text, 1),
    "list": lambda text: [text],
    "dict": lambda text: {"a": text},
}


@pytest.mark.parametrize("form", PICKS)
def test_a_function_may_refill_one_bytearray(form):
    text = bytearray(3)

    def refill(number):
        text[:] = b"%03d" % int(number)
        return PICKS[form](text)

    data = pipeline.dataset(range(3)).map(refill)
    for batch in (next(iter(data.batch(3))), next(pipeline.batch(data, 3))):
        batch = batch["a"] if isinstance(batch, dict) else batch[0] if isinstance(batch, (tuple, list)) else batch
        assert np.ravel(batch).tolist() == [b"000", b"001", b"002"]


@pytest.mark.parametrize("size", [1, 7, 1024, 1025, 5000, 10**12])
def test_batches_of_any_size(size):
    batches = list(pipeline.dataset(functools.partial(refilled, 3000)).batch(size))
    assert np.concatenate(batches)[:, 0].tolist() == list(range(3000))
    assert {len(batch) for batch in batches[:-1]} <= {size}
    assert all(batch.flags.writeable and batch.flags.c_contiguous for batch in batches)
    assert all(kept_alive(batch) <= 2 * batch.nbytes for batch in batches)


MIXED = [
    np.ones(2),
    np.zeros(2),
    np.ones(3),
    np.float32(2),
    5,
    "text",
    (np.ones(2), 1),
    (np.ones(2), 1.5),
    {"a": 1},
    {"a": np.ones(1)},
    {},
    (),
    np.array(7),
    pipeline.ListValue([1, 2]),
]


def test_examples_that_differ_stay_what_they_are():
    for pair in itertools.product(range(len(MIXED)), repeat=2):
        given = [MIXED[i] for i in pair] * 2
        found = next(iter(pipeline.dataset(map(MIXED.__getitem__, pair * 2)).batch(4, collate=list)))
        assert list(map(repr, found)) == list(map(repr, given))
        assert list(map(type, found)) == list(map(type, given))


def test_an_error_comes_after_the_examples_before_it():
    def examples():
        yield from refilled(5)
        raise KeyError("six")

    iterator = iter(pipeline.dataset(examples))
    assert [next(iterator)[0] for _ in range(5)] == [0, 1, 2, 3, 4]
    with pytest.raises(KeyError, match="six"):
        next(iterator)


@pytest.mark.parametrize("workers", [None, 1, 2])
def test_numbers_and_texts_have_the_same_dtypes_whoever_makes_them(workers):
    def example(i):
        return np.full(2, i), i, float(i), str(i), np.int16(i), i % 2 == 0

    (batch,) = pipeline.dataset(range(40)).map(example, workers=workers).batch(40)
    assert [column.dtype.str[1:] for column in batch] == ["i8", "i8", "f8", "O", "i2", "b1"]
    assert batch[1].tolist() == list(range(40))


class Swapping(str):
    """A key whose comparison replaces the values in its dict by larger ones."""

    __hash__ = str.__hash__
    example = None

    def __eq__(self, other):
        for key in (self, other):
            if getattr(key, "example", None) is not None:
                key.example["b"] = np.full(100_000, 7.0)
        return str(self) == str(other)

    def __ne__(self, other):
        return not self == other


def test_keys_that_change_their_dict_when_they_are_compared():
    def examples():
        for _ in range(4):
            key = Swapping("a")
            example = {"b": np.zeros(2), key: np.ones(2)}
            key.example = example
            yield example

    dataset = pipeline.dataset(examples()).batch(4)
    with pytest.raises(pipeline.InvalidArgumentError, match=r"(?s)\[2\].*\[100000\]"):
        list(dataset)


def test_a_function_that_empties_the_list_of_examples_ends_the_calls():
    examples = list(range(1000))

    def function(example):
        examples.clear()
        return example

    kept = Kept(1000, list, np.empty)
    assert call_each(function, examples, 0, np.arange(1000), None, None, None, 1000, kept) == (1, False)
    assert kept.values() == ([[0]], None)
