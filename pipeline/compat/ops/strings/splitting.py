"""string_split, strings.split, substr and string_join: split, cut and join strings."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pipeline.compat.graph.dtypes import int64, string
from pipeline.compat.graph.node import node, tensor_node
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.shapes import TensorShape, broadcast_static_shape, scalar, unknown_shape
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.ops.arrays.shaping import expand_dims
from pipeline.compat.ops.making.inputs import INDEX, first_input, next_input, renamed
from pipeline.compat.ops.making.opdef import check_scalar
from pipeline.compat.ops.making.text import encoded, objects, one_of, scalar_or, text, with_rank
from pipeline.compat.values.convert import convert_to_tensor
from pipeline.compat.values.sparse_tensor import SparseTensor
from pipeline.errors import invalid, show

_SPACE = b" \t\n\v\f\r"


def string_split(
    source: Any,
    sep: Any = None,
    skip_empty: bool = True,
    delimiter: Any = None,
    result_type: str = "SparseTensor",
    name: str | None = None,
) -> Any:
    """Split each string in a vector at every delimiter byte; return a sparse matrix of the parts.

    Args:
        source: A string vector.
        sep: Bytes to split at, " " by default; if it is empty, every byte becomes a part.
        skip_empty: Omit empty parts.
        delimiter: Old name for `sep`.
        result_type: "SparseTensor", because the drop-in has no ragged tensors.
        name: Scope name.

    Raises:
        ValueError: `source` is not a vector, or `result_type` has another value.
    """
    delimiter = renamed("sep", sep, "delimiter", delimiter)
    delimiter = " " if delimiter is None else delimiter
    skip = bool(skip_empty)
    with name_scope(name, "StringSplit", [source]):
        separators = convert_to_tensor(delimiter, dtype=string)
        tensor = convert_to_tensor(source, dtype=string)
        _check_type(result_type)

        def kernel(values: Any, separators: Any) -> Any:
            _check_vector(values)
            check_scalar(separators, "delimiter must be a scalar, got shape: {}")
            return _sparse([_pieces(one, separators, skip) for one in values.tolist()])

        return _split_node("StringSplit", tensor, separators, kernel, {"skip_empty": skip})


def split(
    input: Any = None,
    sep: Any = None,
    maxsplit: int = -1,
    result_type: str = "SparseTensor",
    source: Any = None,
    name: str | None = None,
) -> Any:
    """Split each string as Python's `str.split` does; return a sparse matrix of the parts.

    Args:
        input: A string vector, or a scalar, treated as a vector of one element.
        sep: The separator; None or "" for runs of whitespace.
        maxsplit: The maximum number of splits, -1 for no limit.
        result_type: "SparseTensor", because the drop-in has no ragged tensors.
        source: Old name for `input`.
        name: Scope name.

    Raises:
        ValueError: `result_type` has another value.
    """
    input = renamed("input", input, "source", source)
    with name_scope(name, "StringSplit", [input, source]):
        _check_type(result_type)
        tensor = convert_to_tensor(input, dtype=string, name="input")
        if tensor.shape.ndims == 0:
            tensor = expand_dims(tensor, axis=0)
        separator = convert_to_tensor("" if sep is None else sep, dtype=string)
        most = int(maxsplit)

        def kernel(values: Any, separator: Any) -> Any:
            _check_vector(values)
            check_scalar(separator, "sep must be a scalar, got shape: {}")
            return _sparse([_words(one, separator, most) for one in values.tolist()])

        return _split_node("StringSplitV2", tensor, separator, kernel, {"maxsplit": most})


def _check_type(result_type: Any) -> None:
    if result_type != "SparseTensor":
        raise ValueError(
            f"result_type must be 'SparseTensor', not {result_type!r}: the drop-in has no ragged tensors. "
            "tf.sparse_tensor_to_dense pads the rows of a SparseTensor."
        )


def _split_node(
    op_type: str, tensor: Tensor, separator: Tensor, kernel: Callable[..., Any], attrs: dict[str, Any]
) -> SparseTensor:
    with_rank(tensor, 1)
    with_rank(separator, 0)
    outputs: list[tuple[Any, Any]] = [(int64, [None, 2]), (string, [None]), (int64, [2])]
    made = node(op_type, [tensor, separator], outputs, kernel, op_type, attrs)
    indices, values, shape = made.outputs
    return SparseTensor(indices, values, shape)


def _check_vector(values: Any) -> None:
    if not isinstance(values, np.ndarray) or values.ndim != 1:
        shape = values.shape if isinstance(values, np.ndarray) else ()
        raise invalid(f"input must be a vector, got shape: {show(shape)}")


def _pieces(value: bytes, separators: bytes, skip: bool) -> list[bytes]:
    if not separators:
        return [value[i : i + 1] for i in range(len(value))]
    if not value:
        return []
    first = separators[:1]
    for other in separators[1:]:
        value = value.replace(bytes((other,)), first)
    parts = value.split(first)
    return [part for part in parts if part] if skip else parts


def _words(value: bytes, separator: bytes, most: int) -> list[bytes]:
    if separator:
        return value.split(separator, most if most >= 0 else -1)
    if most < 0:
        return value.split()
    if most == 0:
        return [value]
    words: list[bytes] = []
    rest = value.lstrip(_SPACE)
    while rest and len(words) < most:
        word = rest.split(None, 1)[0]
        words.append(word)
        rest = rest[len(word) :].lstrip(_SPACE)
    return [*words, rest] if len(words) == most else words  # the rest is a part even if it is empty


def _sparse(rows: list[list[bytes]]) -> tuple[Any, Any, Any]:
    """Return indices, values and shape for a sparse matrix with these rows."""
    counts = np.fromiter(map(len, rows), np.int64, len(rows))
    values = objects([part for row in rows for part in row])
    indices = np.empty((len(values), 2), np.int64)
    indices[:, 0] = np.repeat(np.arange(len(rows), dtype=np.int64), counts)
    starts = np.cumsum(counts) - counts
    indices[:, 1] = np.arange(len(values), dtype=np.int64) - np.repeat(starts, counts)
    return indices, values, np.array([len(rows), counts.max(initial=0)], np.int64)


def substr(input: Any, pos: Any, len: Any, name: str | None = None, unit: str = "BYTE") -> Tensor:
    """Return a substring per string.

    Args:
        input: Strings.
        pos: First position, int32 or int64; negative positions count from the end.
        len: Length, with the dtype and shape of `pos`; the substring may end early with the string. If negative, the
            substring extends to the end (bytes), or is empty and `pos` must not be negative (characters).
        name: Name of the op.
        unit: "BYTE" or "UTF8_CHAR", the unit of `pos` and `len`.

    Returns:
        Strings with the broadcast shape of `input` and `pos`.

    Raises:
        ValueError: The static shapes do not fit.
        InvalidArgumentError: At run time, if a position is outside its string, or the shapes do not fit.
    """
    unit = one_of(unit, ("BYTE", "UTF8_CHAR"), "unit", "Substr")
    with name_scope(name, "Substr", [input, pos, len]) as scope:
        tensor = text(input, "input", "Substr")
        first, count = _positions(pos, len)
        shape = _shape(tensor.shape, first.shape, count.shape)
        by_bytes = unit == "BYTE"

        def kernel(values: Any, first: Any, count: Any) -> Any:
            return _parts(values, np.asarray(first), np.asarray(count), by_bytes)

        attrs = {"unit": unit.encode(), "T": first.dtype}
        return tensor_node("Substr", [tensor, first, count], kernel, string, shape, name=scope, attrs=attrs)


def _positions(pos: Any, count: Any) -> tuple[Tensor, Tensor]:
    """Return the two arguments as tensors with the first one's dtype."""
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
        raise invalid(f"pos and len should have the same shape, got: {show(first.shape)} vs. {show(count.shape)}")
    strings = values if isinstance(values, np.ndarray) else objects([values]).reshape(())
    try:
        strings, first, count = np.broadcast_arrays(strings, first, count)
    except ValueError:
        raise invalid(f"Incompatible shapes: {show(strings.shape)} vs. {show(first.shape)}") from None
    part = _bytes_part if by_bytes else _characters_part
    triples = zip(strings.ravel().tolist(), first.ravel().tolist(), count.ravel().tolist(), strict=True)
    parts = [part(value, at, size, i) for i, (value, at, size) in enumerate(triples)]
    return scalar_or(objects(parts).reshape(strings.shape))


def _bytes_part(value: bytes, at: int, size: int, index: int) -> bytes:
    if not -len(value) <= at <= len(value):
        raise invalid(f"pos {at} out of range for string b'{value.decode(errors='replace')}' at index {index}")
    begin = at + len(value) if at < 0 else at
    return value[begin:] if size < 0 else value[begin : begin + size]


def _characters_part(value: bytes, at: int, size: int, index: int) -> bytes:
    starts = [i for i, byte in enumerate(value) if not 0x80 <= byte < 0xC0]
    if not -len(starts) <= at <= len(starts) or (at < 0 and size < 0):
        raise invalid(f"pos {at} out of range for string at index {index}")
    begin = at + len(starts) if at < 0 else at
    end = min(begin + max(size, 0), len(starts))
    starts.append(len(value))
    return value[starts[begin] : starts[end]]


def join(inputs: Any, separator: str = "", name: str | None = None) -> Tensor:
    """Concatenate strings from several tensors elementwise.

    Args:
        inputs: A list of string tensors with equal shapes; scalars broadcast.
        separator: Text between the strings.
        name: Name of the op.

    Raises:
        ValueError: The static shapes differ.
        TypeError: `inputs` is not a list, or contains something other than strings.
        InvalidArgumentError: At run time, if the shapes differ.
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
    """Return the kernel for blocks: scalars in many rows are a vector; other shapes run row by row."""

    def rows(is_row: Sequence[bool], *values: Any) -> Any:
        for row, value in zip(is_row, values, strict=True):
            if (row and value.ndim > 1) or (not row and isinstance(value, np.ndarray)):
                return None
        return _joined(glue, values)

    return rows
