"""Nested examples stay nested: dicts, lists, tuples, named tuples and dataclasses."""

import dataclasses
from typing import Any, NamedTuple

import numpy as np
import pytest
from helpers import raises, told
from orchestration import fresh_collection, no_thread_left

import pipeline
import pipeline.nest
from pipeline import batch, batch_join, shuffle_batch


@pytest.fixture(autouse=True)
def _fresh():
    with fresh_collection(), no_thread_left():
        yield


class Box(NamedTuple):
    corner: Any
    size: Any


@dataclasses.dataclass(frozen=True)
class Sample:
    image: Any
    box: Box

    def __post_init__(self):
        assert np.ndim(self.box.size) == 0  # in an example: a batch is built without this


def nested(i):
    return {
        "b": (np.full(2, i, np.float32), [np.int32(i), {"deep": b"%d" % i}]),
        "a": Box(i, 2 * i),
    }


def values(got):
    """Check the containers in a batch of `nested`, and return its contents as plain lists."""
    assert type(got) is dict
    assert list(got) == ["b", "a"]  # as in the examples
    pair, box = got["b"], got["a"]
    assert type(pair) is tuple
    assert type(pair[1]) is list
    assert type(box) is Box
    assert pair[0].dtype == np.float32
    assert pair[1][0].dtype == np.int32
    numbers = box.corner.tolist()
    assert pair[0].tolist() == [[i, i] for i in numbers]
    assert pair[1][0].tolist() == numbers
    assert pair[1][1]["deep"].tolist() == [b"%d" % i for i in numbers]
    assert box.size.tolist() == [2 * i for i in numbers]
    return numbers


def taken(batches):
    with batches:
        return [values(got) for got in batches]


@pytest.mark.parametrize("deterministic", [False, True])
class TestBatchesOf:
    def test_an_iterable(self, deterministic):
        assert taken(batch(map(nested, range(4)), 2, deterministic=deterministic)) == [[0, 1], [2, 3]]

    def test_a_function(self, deterministic):
        numbers = iter(range(4))
        assert taken(batch(lambda: nested(next(numbers)), 2, deterministic=deterministic)) == [[0, 1], [2, 3]]

    def test_a_pool(self, deterministic):
        got = taken(shuffle_batch([nested(i) for i in range(20)], 5, 19, 10, seed=3, deterministic=deterministic))
        assert sorted(i for numbers in got for i in numbers) == list(range(20))

    def test_a_join(self, deterministic):
        sources = [[nested(i) for i in range(4)], [nested(i) for i in range(4, 8)]]
        got = taken(batch_join(sources, 4, deterministic=deterministic))
        assert sorted(i for numbers in got for i in numbers) == list(range(8))


def test_a_dataclass():
    examples = [Sample(np.full(3, i), Box(i, i + 1)) for i in range(2)]
    [got] = batch(examples, 2)
    assert type(got) is Sample
    assert got.image.tolist() == [[0, 0, 0], [1, 1, 1]]
    assert type(got.box) is Box
    assert got.box.size.tolist() == [1, 2]


def test_a_named_tuple_that_is_flat():
    [got] = batch([Box(1, 2), Box(3, 4)], 2)
    assert type(got) is Box
    assert got.corner.tolist() == [1, 3]


def test_a_list_of_plain_values_is_an_array():
    [got] = batch([(1, [2, 3]), (4, [5, 6])], 2)
    assert got[1].tolist() == [[2, 3], [5, 6]]


def test_buckets():
    def example(i):
        return {"text": np.arange(i), "meta": (i,)}

    batches = pipeline.bucket_by_sequence_length(
        lambda example: len(example["text"]), map(example, [1, 5, 2, 6]), 2, [4], dynamic_pad=True
    )
    got = {tuple(lengths.tolist()): rows for lengths, rows in batches}
    assert set(got) == {(1, 2), (5, 6)}
    assert got[1, 2]["meta"][0].tolist() == [1, 2]
    assert got[1, 2]["text"].tolist() == [[0, 0], [0, 1]]


def test_another_structure():
    nested = "every example must be nested like the first one: "
    inner = nested + "expected dict(b: *), got "
    for other, text in [
        ({"a": {"b": 1, "c": 2}}, inner + "a dict with the keys ['b', 'c']"),
        ({"a": [1]}, inner + "list of 1"),
        ({"a": 1}, inner + "int"),
        ([1], nested + "expected dict(a: dict(b: *)), got int"),
    ]:
        with raises(ValueError, "batch: examples differ in structure: " + text):
            list(batch([{"a": {"b": 1}}, other], 2))


def test_an_error_says_where_in_the_structure():
    with pytest.raises(ValueError, match="a/b"):
        list(batch([{"a": {"b": np.zeros(2)}}, {"a": {"b": np.zeros(3)}}], 2))


def test_states():
    def loop():
        examples = [nested(i) for i in range(30)]
        return shuffle_batch(examples, 3, 20, 9, seed=1, deterministic=True)

    with loop() as batches:
        whole = [values(got) for got in batches]
    with loop() as batches:
        for _ in range(4):
            next(batches)
        state = batches.state_dict()
    resumed = loop()
    resumed.load_state_dict(state)
    assert taken(resumed) == whole[4:]


class Items:
    """A map-style dataset."""

    def __init__(self, items):
        self.items = items

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        return self.items[index]


LISTS = [
    [[{"a": 1}] * count for count in (2, 2, 1, 0, 3, 2)],
    [[1, 2], [3, 4], [5, 6], [7, 8], [1, 2], [3, 3]],
    [[[1], [1, 2]]] * 6,
]


@pytest.mark.parametrize("lists", LISTS, ids=["dicts", "numbers", "lists"])
@pytest.mark.parametrize("form", ["alone", "dict", "tuple", "arrays", "items", "generator"])
@pytest.mark.parametrize(
    "options",
    [{}, {"num_threads": 0}, {"num_threads": 2}, {"deterministic": True}, {"dynamic_pad": True}],
    ids=told,
)
def test_a_list_that_is_a_value(form, lists, options):
    values = [pipeline.ListValue(each) for each in lists]
    sources = {
        "alone": values,
        "dict": [{"a": each} for each in values],
        "tuple": [(each, 1) for each in values],
        "arrays": pipeline.arrays({"a": values}),
        "items": pipeline.arrays({"a": Items(values)}),
        "generator": iter(values),
    }
    got = []
    for each in batch(sources[form], 2, **options):
        got += (each if form in ("alone", "generator") else each["a" if form != "tuple" else 0]).tolist()
    assert sorted(got, key=str) == sorted(values, key=str)
    assert {type(each) for each in got} == {pipeline.ListValue}
