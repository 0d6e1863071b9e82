"""pack changes no value: what does not fit into a row as it is, is an error that says so."""

import numpy as np
import pytest

import pipeline

SPLIT = pytest.mark.parametrize("split", [True, False])
DIFFERING = [
    ([np.array([1], np.int8), np.array([300])], "dtype int8 in one example and int64 in another"),
    ([[1], [2.7]], "dtype int64 in one example and float64 in another"),
    ([np.array([1], np.uint8), np.array([-1])], "uint8"),
    ([np.array([1, 2], np.int32), np.array([2**40])], "int32"),
    ([np.array(["a"]), np.array(["bcd"])], "<U1"),
    ([np.array([1.0]), np.array([1j])], "complex128"),
]


@SPLIT
@pytest.mark.parametrize(("rows", "text"), DIFFERING, ids=[text for _, text in DIFFERING])
def test_dtypes(rows, text, split):
    with pytest.raises(TypeError, match=text) as caught:
        list(pipeline.dataset(rows).pack(4, split=split))
    assert "pack: 'tokens'" in str(caught.value)


@SPLIT
def test_shapes(split):
    rows = [np.zeros((1, 2)), np.zeros((1, 1))]
    with pytest.raises(pipeline.InvalidArgumentError, match=r"shape \[2\] in one example and \[1\] in another"):
        list(pipeline.dataset(rows).pack(4, split=split))


@SPLIT
@pytest.mark.parametrize("name", ["segment_ids", "positions"])
def test_names(name, split):
    with pytest.raises(pipeline.InvalidArgumentError, match=f"has the field '{name}'"):
        list(pipeline.dataset([{"x": [1], name: [2]}]).pack(4, split=split))


@SPLIT
def test_padding(split):
    data = pipeline.dataset([{"a": np.array([1, 2]), "b": np.array([0.5, 1.5], np.float32)}])
    (row,) = data.pack(3, pad={"a": 5, "b": -0.25}, split=split)
    assert (row["a"].tolist(), row["b"].tolist(), row["segment_ids"].tolist()) == (
        [1, 2, 5],
        [0.5, 1.5, -0.25],
        [1, 1, 0],
    )
    for pad, text in [(0.5, "0.5 does not fit 'a' of dtype int64"), ({"c": 1}, "no field 'c'"), ("x", "does not fit")]:
        with pytest.raises(pipeline.InvalidArgumentError, match=text):
            list(data.pack(3, pad=pad, split=split))


@SPLIT
def test_strings_and_the_other_byte_order(split):
    (row,) = pipeline.dataset([["a"], ["bcd"]]).pack(3, split=split)
    assert row["tokens"].tolist() == ["a", "bcd", ""]
    (row,) = pipeline.dataset([np.array(["ab"])]).pack(2, split=split)
    assert row["tokens"].tolist() == ["ab", ""]
    (row,) = pipeline.dataset([np.array([1], np.dtype("i4").newbyteorder())]).pack(2, split=split)
    assert (row["tokens"].dtype, row["tokens"].tolist()) == (np.int32, [1, 0])
