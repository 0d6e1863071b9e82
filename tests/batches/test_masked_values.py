"""Masked values and nulls in an example are errors, because NumPy drops the mask when it converts an array."""

import functools
import operator
import sys
import types

import numpy as np
import pytest

import pipeline

pa = pytest.importorskip("pyarrow", reason="the extra arrow is not installed")

MASKED = np.ma.masked_equal(np.arange(4.0), 2)
TEXT = "has 1 of 4 values missing: fill them in first, or leave out their rows"


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
    [
        (lambda x: x, "an example"),
        (lambda x: {"y": 1, "x": x}, "component 'x' of an example"),
        (lambda x: {"a": {"x": x}, "b": 1}, "component 'a/x' of an example"),
    ],
    ids=["bare", "dict", "nested"],
)
def test_what_a_function_returns(make, name, workers):
    given = functools.partial(operator.getitem, [make(MASKED)] * 2)
    with pytest.raises(pipeline.InvalidArgumentError, match=f"^{name} {TEXT}"):
        list(pipeline.dataset(range(2)).map(given, workers=workers))


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda x: x, "an example"),
        (lambda x: {"y": 1, "x": x}, "component 'x' of an example"),
        (lambda x: (x, 1), "component '0' of an example"),
        (lambda x: {"a": {"x": x}}, "component 'a/x' of an example"),
    ],
    ids=["bare", "dict", "tuple", "nested"],
)
@pytest.mark.parametrize("ahead", [0, 2])
def test_examples_that_come_as_they_are(make, name, ahead):
    """Without batches, and from functions called in your own thread."""
    given = [make(np.zeros(4)), make(MASKED)]
    dataset = pipeline.dataset(range(2)).map(given.__getitem__)
    with iter(dataset.prefetch(ahead) if ahead else dataset) as examples:
        next(examples)
        with pytest.raises(pipeline.InvalidArgumentError, match=f"^{name} {TEXT}"):
            next(examples)


def test_nulls_that_a_function_returns():
    nulls = pa.array([0.0, 1.0, None, 3.0])
    for make in (lambda _: nulls, lambda _: {"x": nulls, "y": 1}, lambda _: (nulls, 1)):
        with pytest.raises(pipeline.InvalidArgumentError, match=TEXT):
            list(pipeline.dataset([0]).map(make))


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda x: x, "a batch"),
        (lambda x: (np.zeros(4), x), "component '1' of a batch"),
        (lambda x: [x, np.zeros(4)], "component '0' of a batch"),
        (lambda x: {"x": x}, "component 'x' of a batch"),
    ],
    ids=["bare", "tuple", "list", "dict"],
)
@pytest.mark.parametrize("options", [{}, {"dynamic_pad": True}, {"num_threads": 0}], ids=str)
def test_blocks_of_examples(make, name, options):
    with pytest.raises(pipeline.InvalidArgumentError, match=f"^{name} {TEXT}"):
        list(pipeline.batch(iter([make(MASKED)]), 2, enqueue_many=True, **options))
    with pytest.raises(pipeline.InvalidArgumentError, match="values missing: fill them in first"):
        list(pipeline.dataset([0]).map(lambda _: make(MASKED)).unbatch().batch(2))


def test_masked_arrays_in_a_list():
    for given in ([MASKED, MASKED], [[MASKED], [MASKED]], [np.zeros(4), MASKED]):
        with pytest.raises(pipeline.InvalidArgumentError, match=TEXT):
            list(pipeline.dataset([{"x": given}]).batch(1))
        with pytest.raises(pipeline.InvalidArgumentError, match=TEXT):
            pipeline.arrays(given)


@pytest.mark.parametrize("last", [{"x": MASKED}, {"x": [MASKED]}, {"x": (1, MASKED)}, {"x": {"y": MASKED}}], ids=str)
def test_masked_arrays_in_a_batch_that_is_a_list(last):
    rows = [{"x": 1, "y": "a"}, {"x": pipeline.ListValue([1]), "y": None}, {"x": [1, 2]}, last]
    with pytest.raises(pipeline.InvalidArgumentError, match=f"component '3/x.*' of an example {TEXT}"):
        list(pipeline.dataset([0]).map(lambda _: rows))


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


def test_while_another_thread_imports_them(monkeypatch):
    """Otherwise both actors in examples/replay.py may fail on a busy machine, and its learner hang."""
    monkeypatch.setitem(sys.modules, "numpy.ma", types.ModuleType("numpy.ma"))
    buffer = pipeline.replay(3, priorities=True)
    assert buffer.add({"a": np.zeros(4)}, priority=1.0) == 0
    assert pipeline.stack([np.zeros(4), np.ones(4)]).shape == (2, 4)
