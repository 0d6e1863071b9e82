"""pack changes no value: if a value does not fit into a row unchanged, a clear error is raised."""

import numpy as np
import pytest

import pipeline

METHODS = pytest.mark.parametrize("method", ["concat", "first_fit", "best_fit"])
DIFFERING = [
    ([np.array([1], np.int8), np.array([300])], "dtype int8 in one example and int64 in another"),
    ([[1], [2.7]], "dtype int64 in one example and float64 in another"),
    ([np.array([1], np.uint8), np.array([-1])], "uint8"),
    ([np.array([1, 2], np.int32), np.array([2**40])], "int32"),
    ([np.array(["a"]), np.array(["bcd"])], "<U1"),
    ([np.array([1.0]), np.array([1j])], "complex128"),
]


@METHODS
@pytest.mark.parametrize(("rows", "text"), DIFFERING, ids=[text for _, text in DIFFERING])
def test_dtypes(rows, text, method):
    with pytest.raises(TypeError, match=text) as caught:
        list(pipeline.dataset(rows).pack(4, method=method))
    assert "pack: 'tokens'" in str(caught.value)


@METHODS
def test_shapes(method):
    rows = [np.zeros((1, 2)), np.zeros((1, 1))]
    with pytest.raises(pipeline.InvalidArgumentError, match=r"shape \[2\] in one example and \[1\] in another"):
        list(pipeline.dataset(rows).pack(4, method=method))


@METHODS
@pytest.mark.parametrize("name", ["segment_ids", "positions"])
def test_names(name, method):
    with pytest.raises(pipeline.InvalidArgumentError, match=f"has the field '{name}'"):
        list(pipeline.dataset([{"x": [1], name: [2]}]).pack(4, method=method))


@METHODS
def test_padding(method):
    data = pipeline.dataset([{"a": np.array([1, 2]), "b": np.array([0.5, 1.5], np.float32)}])
    (row,) = data.pack(3, pad={"a": 5, "b": -0.25}, method=method)
    assert (row["a"].tolist(), row["b"].tolist(), row["segment_ids"].tolist()) == (
        [1, 2, 5],
        [0.5, 1.5, -0.25],
        [1, 1, 0],
    )
    for pad, text in [(0.5, "0.5 does not fit 'a' of dtype int64"), ({"c": 1}, "no field 'c'"), ("x", "does not fit")]:
        with pytest.raises(pipeline.InvalidArgumentError, match=text):
            list(data.pack(3, pad=pad, method=method))


@METHODS
def test_strings_and_the_other_byte_order(method):
    (row,) = pipeline.dataset([["a"], ["bcd"]]).pack(3, method=method)
    assert row["tokens"].tolist() == ["a", "bcd", ""]
    (row,) = pipeline.dataset([np.array(["ab"])]).pack(2, method=method)
    assert row["tokens"].tolist() == ["ab", ""]
    (row,) = pipeline.dataset([np.array([1], np.dtype("i4").newbyteorder())]).pack(2, method=method)
    assert (row["tokens"].dtype, row["tokens"].tolist()) == (np.int32, [1, 0])


@METHODS
@pytest.mark.parametrize("value", [1, "a", np.float32(2), None])
def test_a_single_value_is_named(method, value):
    if value is None:
        value = np.array(3)
    with pytest.raises(pipeline.InvalidArgumentError, match=r"^pack: the field 'label' is a single value, and fields"):
        list(pipeline.dataset([{"x": [1, 2], "label": value}]).pack(4, method=method))
