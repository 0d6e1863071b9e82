"""Masked values and nulls of an example are errors: NumPy drops the mask of an array that it makes of another."""

import functools
import operator

import numpy as np
import pytest

import pipeline

pa = pytest.importorskip("pyarrow", reason="the extra arrow is not installed")

MASKED = np.ma.masked_equal(np.arange(4.0), 2)
TEXT = "has 1 of 4 values missing: fill them before, or leave out their rows"


@pytest.mark.parametrize("options", [{}, {"dynamic_pad": True}, {"deterministic": True}], ids=str)
@pytest.mark.parametrize("example", [MASKED, pa.array([0.0, 1.0, None, 3.0])], ids=["masked", "null"])
def test_examples(example, options):
    with pytest.raises(pipeline.InvalidArgumentError, match=f"component 'x' {TEXT}"):
        list(pipeline.batch([{"x": example, "y": 1}] * 2, 2, **options))


def test_an_example_that_is_left_out():
    with pipeline.batch([np.zeros(4), MASKED, np.ones(4)], 2, on_error="skip") as batches:
        [batch] = batches
    assert batch.tolist() == [[0.0] * 4, [1.0] * 4]
    assert batches.num_errors == 1


def test_a_mask_without_masked_values():
    example = np.ma.masked_array(np.arange(4.0), mask=False)
    [batch] = pipeline.batch([example] * 2, 2)
    assert batch.tolist() == [[0.0, 1.0, 2.0, 3.0]] * 2


@pytest.mark.parametrize("workers", [pipeline.threads(1), pipeline.processes(1)], ids=["threads", "processes"])
@pytest.mark.parametrize(
    ("make", "name"),
    [(lambda x: x, "0"), (lambda x: {"y": 1, "x": x}, "'x'"), (lambda x: {"a": {"x": x}, "b": 1}, "'a/x'")],
    ids=["bare", "dict", "nested"],
)
def test_what_a_function_returns(make, name, workers):
    given = functools.partial(operator.getitem, [make(MASKED)] * 2)
    with pytest.raises(pipeline.InvalidArgumentError, match=f"^component {name} of what the function returned {TEXT}"):
        list(pipeline.dataset(range(2)).map(given, workers=workers))


def test_queues():
    queue = pipeline.FIFOQueue(9, ["float64"], [(4,)])
    with pytest.raises(pipeline.InvalidArgumentError, match=f"component 0 {TEXT}"):
        queue.enqueue(MASKED)
    rows = pipeline.FIFOQueue(9, ["float64"], [()])
    with pytest.raises(pipeline.InvalidArgumentError, match=f"component 0 {TEXT}"):
        rows.enqueue_many(MASKED)
    with pytest.raises(pipeline.InvalidArgumentError, match="component 0 has 1 of 1 values missing"):
        rows.enqueue(np.ma.masked)
    assert queue.size() == rows.size() == 0


@pytest.mark.parametrize("make", [pipeline.stack, pipeline.concatenate, pipeline.pad, pipeline.collate])
def test_arrays_into_one(make):
    with pytest.raises(pipeline.InvalidArgumentError, match=rf"arrays\[1\] {TEXT}"):
        make([np.zeros(4), MASKED])


def test_producers():
    with pytest.raises(pipeline.InvalidArgumentError, match=f"^slice_input_producer: item 1 {TEXT}"):
        pipeline.slice_input_producer([np.zeros(4), MASKED])
    with pytest.raises(pipeline.InvalidArgumentError, match=f"^input_producer: the input {TEXT}"):
        pipeline.input_producer(MASKED)
