"""bucket_by_sequence_length: batches with examples of similar length."""

from collections import Counter

import numpy as np
import pytest
from helpers import raises
from orchestration import fresh_collection, no_thread_left, source

from pipeline.batches.buckets import bucket_by_sequence_length


@pytest.fixture(autouse=True)
def _fresh():
    with fresh_collection(), no_thread_left():
        yield


def sequences(lengths):
    """Arrays with these lengths, each filled with its number."""
    return [np.full(n, i, np.int32) for i, n in enumerate(lengths)]


def taken(batches):
    with batches:
        return [(lengths.tolist(), rows.tolist()) for lengths, rows in batches]


def test_boundaries_belong_to_the_upper_bucket():
    examples = sequences([9, 10, 20, 19, 0, 25])
    with bucket_by_sequence_length(len, examples, 2, [10, 20]) as batches:
        got = [(lengths.tolist(), rows.shape) for lengths, rows in batches]
    assert got == [([10, 19], (2, 19)), ([9, 0], (2, 9)), ([20, 25], (2, 25))]


def test_lengths_and_padding():
    with bucket_by_sequence_length(len, sequences([1, 2]), 2, [5]) as batches:
        [(lengths, rows)] = batches
    assert (lengths.dtype, rows.dtype) == (np.int32, np.int32)
    assert rows.tolist() == [[0, 0], [1, 1]]


@pytest.mark.parametrize("smaller", [False, True])
def test_rest_of_each_bucket(smaller):
    got = taken(bucket_by_sequence_length(len, sequences([1, 7, 1, 1]), 2, [5], allow_smaller_final_batch=smaller))
    rest = [([1], [[3]]), ([7], [[1] * 7])] if smaller else []
    assert got == [([1, 1], [[0], [2]]), *rest]


def test_a_batch_size_for_each_bucket():
    with bucket_by_sequence_length(len, sequences([1, 7] * 6), [3, 2], [5]) as batches:
        assert Counter(lengths.tolist()[0] * 100 + len(lengths) for lengths, _ in batches) == {103: 2, 702: 3}


def test_dicts_and_the_length_as_a_component():
    examples = [{"words": ["w"] * n, "id": n} for n in (1, 2, 6)]
    with bucket_by_sequence_length(
        lambda example: example["id"], examples, 1, [5], shapes=[(), (None,)], allow_smaller_final_batch=True
    ) as batches:
        got = [(lengths.tolist(), each["id"].tolist(), each["words"].tolist()) for lengths, each in batches]
    assert got == [([n], [n], [["w"] * n]) for n in (1, 2, 6)]


def test_examples_of_one_shape():
    got = taken(bucket_by_sequence_length(int, range(6), 3, [3], dynamic_pad=False))
    assert got == [([0, 1, 2], [0, 1, 2]), ([3, 4, 5], [3, 4, 5])]
    with raises(ValueError, "bucket: component 1 has shape [1] in one example and [2] in another"):
        list(bucket_by_sequence_length(len, sequences([1, 2]), 2, [5], dynamic_pad=False))


@pytest.mark.parametrize("threads", [0, 1, 4])
def test_every_example_comes_once(threads):
    lengths = [1 + i * 7 % 30 for i in range(2000)]
    with bucket_by_sequence_length(
        len, source(sequences(lengths)), 8, [10, 20], threads, 2, allow_smaller_final_batch=True
    ) as batches:
        got = []
        for counts, rows in batches:
            assert len({np.searchsorted([10, 20], n, side="right") for n in counts}) == 1
            got += rows[:, 0].tolist()
            assert counts.tolist() == [lengths[row] for row in rows[:, 0]]
    assert sorted(got) == list(range(2000))


class TestEnds:
    def test_leaving_early(self):
        with bucket_by_sequence_length(len, lambda: np.ones(3), 2, [5], 3, 1) as batches:
            next(batches)

    def test_error_of_input_length(self):
        with raises(TypeError, "input_length must return an integer, got 2.5"):
            next(bucket_by_sequence_length(lambda _: 2.5, [np.ones(3)], 2, [5]))

    def test_error_skipped(self):
        examples = sequences([1, 2, 3])

        def length(example):
            if len(example) == 2:
                raise ValueError("no length")
            return len(example)

        batches = bucket_by_sequence_length(length, examples, 2, [5], on_error="skip")
        assert [lengths for lengths, _ in taken(batches)] == [[1, 3]]
        assert batches.num_errors == 1


@pytest.mark.parametrize("options", [{}, {"num_threads": 0}, {"deterministic": True}], ids=str)
@pytest.mark.parametrize(("length", "told"), [(None, "None"), (1.5, "1.5"), (np.zeros(2), "array([0., 0.])")])
def test_lengths_that_are_no_integers(length, told, options):
    batches = bucket_by_sequence_length(lambda _: length, sequences([1, 6]), 2, [5], dynamic_pad=True, **options)
    with raises(TypeError, f"input_length must return an integer, got {told}"):
        list(batches)


@pytest.mark.parametrize("kind", [int, np.int32, np.uint8, lambda length: np.array(length)])
def test_lengths_may_be_of_any_integer_type(kind):
    batches = bucket_by_sequence_length(lambda each: kind(len(each)), sequences([1, 6]), 1, [5], dynamic_pad=True)
    assert [int(lengths[0]) for lengths, _ in batches] == [1, 6]


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"input_length": 3}, TypeError, "input_length must be a callable"),
        ({"bucket_boundaries": 10}, TypeError, "bucket_boundaries must be a list or tuple, but received: 10"),
        ({"bucket_boundaries": []}, ValueError, "bucket_boundaries must not be empty"),
        ({"bucket_boundaries": [1.5]}, TypeError, "bucket_boundaries must be integers, but saw: 1.5"),
        ({"bucket_boundaries": [2, 2]}, ValueError, "bucket_boundaries must be increasing, from 1 up, but saw: "),
        ({"bucket_boundaries": [0, 2]}, ValueError, "bucket_boundaries must be increasing, from 1 up, but saw: "),
        ({"batch_size": [1, 2, 3]}, ValueError, "If batch_size is a list it must have an element for each of the 2"),
        ({"batch_size": 0}, ValueError, "batch_size must be >= 1, got 0"),
        ({"num_threads": -1}, ValueError, "num_threads must be at least 1, or 0 to read in your own thread"),
    ],
)
def test_bad_arguments(arguments, error, text):
    given = {"input_length": len, "tensors": [], "batch_size": 2, "bucket_boundaries": [5], **arguments}
    with raises(error, text):
        bucket_by_sequence_length(**given)
