"""If an example does not fit a transformation, the error names both the value and the expectation."""

import numpy as np
import pytest

import pipeline


@pytest.mark.parametrize("example", [7, "two words"])
def test_packing_single_tokens(example):
    with pytest.raises(pipeline.errors.InvalidArgumentError, match=f"must be a sequence.*got .*{example}"):
        next(iter(pipeline.dataset([example]).pack(4)))


@pytest.mark.parametrize(
    "wrap", [lambda ids: {"ids": ids, "n": 1}, lambda ids: {"a": {"ids": ids}, "n": 1}], ids=["flat", "nested"]
)
@pytest.mark.parametrize("rows", [[[1, 2], [3]], [[1], [2]]])
def test_padding_a_component_that_there_is_not(wrap, rows):
    examples = pipeline.dataset([wrap(ids) for ids in rows])
    with pytest.raises(ValueError, match=r"pad: there is no component 'idz'; there are .*ids"):
        next(iter(examples.batch(2, pad={"idz": 0})))


BESIDE = "fill in missing values, or leave it out"


@pytest.mark.parametrize("value", [1, 2.5, np.zeros(2), [1], {"a": 1}], ids=repr)
def test_none_beside_numbers_and_arrays_is_an_error_in_any_order(value):
    said = r"is None, .* \(example [01]\)|examples differ in structure.* \(example 0 and example 1\)"
    for rows in ([value, None], [None, value]):
        for options in ({}, {"pad": 0}, {"collate": "row_splits"}):
            with pytest.raises((TypeError, ValueError), match=said) as raised:
                list(pipeline.dataset([{"v": row} for row in rows]).batch(2, **options))
            assert BESIDE in str(raised.value) or isinstance(value, dict)
            assert "'v'" in str(raised.value) or isinstance(value, dict)


@pytest.mark.parametrize(
    "value", ["a", b"a", pipeline.ListValue([1]), None, object()], ids=lambda each: type(each).__name__
)
def test_none_beside_texts_and_objects_is_an_object(value):
    for rows in ([value, None], [None, value]):
        [batch] = pipeline.dataset([{"v": row} for row in rows]).batch(2)
        assert batch["v"].dtype == object
        assert batch["v"].tolist() == rows


def test_none_in_lists():
    for row in ([None, 1], [1, None], [None, 2.5]):
        for data in (pipeline.dataset([row] * 2), pipeline.dataset([{"v": row}] * 2)):
            for batches in (data.batch(2), data.batch(2, pad=0), data.pack(8)):
                with pytest.raises(TypeError, match=r"is a list of numbers with None: \["):
                    list(batches)
    for row in ([None, "a"], ["a", None], [None, None]):
        [batch] = pipeline.dataset([{"v": row}] * 2).batch(2)
        assert batch["v"].shape == (2, 2)
        assert batch["v"].tolist() == [row] * 2


def test_a_number_beside_texts_is_an_error_in_any_order():
    for rows in ([1, "a"], ["a", 1]):
        with pytest.raises(
            TypeError, match=r"^batch: component 'v' is (int|str) in one example and (int|str) in anoth"
        ):
            list(pipeline.dataset([{"v": row} for row in rows]).batch(2))
