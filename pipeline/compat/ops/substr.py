"""substr: parts of strings, by bytes or characters, with positions broadcast against the strings."""

from __future__ import annotations

from typing import Any

import numpy as np

from pipeline.compat.core.dtypes import string
from pipeline.compat.core.graph import name_scope
from pipeline.compat.core.node import tensor_node
from pipeline.compat.core.shapes import TensorShape, broadcast_static_shape, unknown_shape
from pipeline.compat.core.tensor import Tensor
from pipeline.compat.ops.inputs import INDEX, first_input, next_input
from pipeline.compat.ops.text import bad, objects, one_of, scalar_or, shown, text


def substr(input: Any, pos: Any, len: Any, name: str | None = None, unit: str = "BYTE") -> Tensor:
    """A part of each string.

    Args:
        input: Strings.
        pos: Where the part begins; negative ones count from the end. int32 or int64.
        len: Its length, of the same dtype and shape as `pos`; less where the string ends. Negative: to the
            end in bytes, nothing in characters, where `pos` must not be negative then.
        name: The op's name.
        unit: "BYTE" or "UTF8_CHAR": what `pos` and `len` count.

    Returns:
        Strings of the shape that `input` and `pos` have together.

    Raises:
        ValueError: The shapes do not go together.
        InvalidArgumentError: When run: a position is outside the string.
    """
    unit = one_of(unit, ("BYTE", "UTF8_CHAR"), "unit", "Substr")
    with name_scope(name, "Substr") as scope:
        tensor = text(input, "input", "Substr")
        first, count = _positions(pos, len)
        shape = _shape(tensor.shape, first.shape, count.shape)
        by_bytes = unit == "BYTE"

        def kernel(values: Any, first: Any, count: Any) -> Any:
            return _parts(values, np.asarray(first), np.asarray(count), by_bytes)

        attrs = {"unit": unit.encode(), "T": first.dtype}
        return tensor_node("Substr", [tensor, first, count], kernel, string, shape, name=scope, attrs=attrs)


def _positions(pos: Any, count: Any) -> tuple[Tensor, Tensor]:
    """The two arguments as tensors of one dtype, that that of the first."""
    first = first_input("pos", pos, INDEX)
    return first, next_input("Substr", "len", count, first.dtype, "pos")


def _shape(strings: TensorShape, pos: TensorShape, count: TensorShape) -> TensorShape:
    if pos.ndims is None:
        return unknown_shape()
    if count.ndims is not None:
        if pos.ndims != count.ndims:
            raise ValueError(f"Shape must be rank {count.ndims} but is rank {pos.ndims}")
        pos.merge_with(count)
    return broadcast_static_shape(strings, pos)


def _parts(values: Any, first: Any, count: Any, by_bytes: bool) -> Any:
    if first.shape != count.shape:
        raise bad(f"pos and len should have the same shape, got: {shown(first.shape)} vs. {shown(count.shape)}")
    strings = values if isinstance(values, np.ndarray) else objects([values]).reshape(())
    try:
        strings, first, count = np.broadcast_arrays(strings, first, count)
    except ValueError:
        raise bad(f"Incompatible shapes: {shown(strings.shape)} vs. {shown(first.shape)}") from None
    part = _bytes_part if by_bytes else _characters_part
    triples = zip(strings.ravel().tolist(), first.ravel().tolist(), count.ravel().tolist(), strict=True)
    parts = [part(value, at, size, i) for i, (value, at, size) in enumerate(triples)]
    return scalar_or(objects(parts).reshape(strings.shape))


def _bytes_part(value: bytes, at: int, size: int, index: int) -> bytes:
    if not -len(value) <= at <= len(value):
        raise bad(f"pos {at} out of range for string b'{value.decode(errors='replace')}' at index {index}")
    begin = at + len(value) if at < 0 else at
    return value[begin:] if size < 0 else value[begin : begin + size]


def _characters_part(value: bytes, at: int, size: int, index: int) -> bytes:
    starts = [i for i, byte in enumerate(value) if not 0x80 <= byte < 0xC0]
    if not -len(starts) <= at <= len(starts) or (at < 0 and size < 0):
        raise bad(f"pos {at} out of range for string at index {index}")
    begin = at + len(starts) if at < 0 else at
    end = min(begin + max(size, 0), len(starts))
    starts.append(len(value))
    return value[starts[begin] : starts[end]]
