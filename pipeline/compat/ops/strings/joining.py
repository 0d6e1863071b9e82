"""string_join: concatenate the strings of several tensors."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from pipeline.compat.graph.dtypes import string
from pipeline.compat.graph.node import tensor_node
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.shapes import TensorShape, scalar, unknown_shape
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.ops.making.text import encoded, objects, text
from pipeline.errors import invalid, show


def join(inputs: Any, separator: str = "", name: str | None = None) -> Tensor:
    """Concatenate the strings of several tensors elementwise.

    Args:
        inputs: A list of string tensors of the same shape; scalars broadcast.
        separator: Goes between the strings.
        name: Name of the op.

    Raises:
        ValueError: The static shapes differ.
        TypeError: `inputs` is not a list, or holds something other than strings.
        InvalidArgumentError: At run time: the shapes differ.
    """
    glue = encoded(separator)
    with name_scope(name, "StringJoin", [inputs]) as scope:
        tensors = _strings(inputs)
        shape = _joined_shape(tensors)

        def kernel(*values: Any) -> Any:
            return _joined(glue, values)

        attrs = {"N": len(tensors), "separator": glue}
        return tensor_node("StringJoin", tensors, kernel, string, shape, name=scope, attrs=attrs, rows=_blocks(glue))


def _strings(inputs: Any) -> list[Tensor]:
    if not isinstance(inputs, (list, tuple)):
        raise TypeError(f"Expected list for 'inputs' argument to 'string_join' Op, not {inputs!r}.")
    try:
        return [text(value, f"inputs_{i}", "StringJoin") for i, value in enumerate(inputs)]
    except TypeError as error:
        text_ = f"Tensors in list passed to 'inputs' of 'StringJoin' Op do not match expected type string. {error}"
        raise TypeError(text_) from None


def _joined_shape(tensors: Sequence[Tensor]) -> TensorShape:
    shapes = [tensor.shape for tensor in tensors]
    shape: TensorShape = scalar() if all(each.ndims == 0 for each in shapes) else unknown_shape()
    for other in shapes:
        if other.ndims:
            shape = other if not shape.ndims else shape.merge_with(other)
    return shape


def _joined(glue: bytes, values: Sequence[Any]) -> Any:
    shape: tuple[int, ...] | None = None
    for value in values:
        if isinstance(value, np.ndarray) and value.ndim:
            if shape not in (None, value.shape):
                raise invalid(f"Input shapes do not match: {show(shape)} vs. {show(value.shape)}")
            shape = value.shape
    if shape is None:
        return glue.join(values)
    columns = [
        value.ravel().tolist() if isinstance(value, np.ndarray) and value.ndim else itertools.repeat(value)
        for value in values
    ]
    return objects(list(map(glue.join, zip(*columns, strict=False)))).reshape(shape)


def _blocks(glue: bytes) -> Any:
    """The kernel for blocks: scalars of many rows are a vector; other shapes run row by row."""

    def rows(is_row: Sequence[bool], *values: Any) -> Any:
        for row, value in zip(is_row, values, strict=True):
            if (row and value.ndim > 1) or (not row and isinstance(value, np.ndarray)):
                return None
        return _joined(glue, values)

    return rows
