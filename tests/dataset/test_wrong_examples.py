"""Errors of examples that do not fit a transformation name what came and what was expected."""

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
