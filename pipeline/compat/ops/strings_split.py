"""string_split and strings.split: the parts of strings as a sparse matrix."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pipeline.compat.core.convert import convert_to_tensor
from pipeline.compat.core.dtypes import int64, string
from pipeline.compat.core.graph import name_scope
from pipeline.compat.core.node import node
from pipeline.compat.core.sparse_tensor import SparseTensor
from pipeline.compat.core.tensor import Tensor
from pipeline.compat.ops.inputs import renamed
from pipeline.compat.ops.shaping import expand_dims
from pipeline.compat.ops.text import bad, objects, shown, with_rank

_SPACE = b" \t\n\v\f\r"


def string_split(
    source: Any,
    sep: Any = None,
    skip_empty: bool = True,
    delimiter: Any = None,
    result_type: str = "SparseTensor",
    name: str | None = None,
) -> SparseTensor:
    """The parts of each string of a vector, between any of the delimiter's bytes.

    Args:
        source: A vector of strings.
        sep, delimiter: The bytes that separate parts, " " by default; if there is none, every byte is a part.
        skip_empty: Leave out empty parts.
        result_type: "SparseTensor".
        name: The op's name.

    Raises:
        ValueError: `source` is no vector.
    """
    delimiter = renamed("sep", sep, "delimiter", delimiter)
    delimiter = " " if delimiter is None else delimiter
    skip = bool(skip_empty)
    with name_scope(name, "StringSplit") as outer:
        separators = convert_to_tensor(delimiter, dtype=string)
        tensor = convert_to_tensor(source, dtype=string)
        _sparse_only(result_type)

        def kernel(values: Any, separators: Any) -> Any:
            _vector(values)
            return _sparse([_pieces(one, separators, skip) for one in values.tolist()])

        return _node("StringSplit", tensor, separators, kernel, {"skip_empty": skip}, outer)


def split(
    input: Any = None,
    sep: Any = None,
    maxsplit: int = -1,
    result_type: str = "SparseTensor",
    source: Any = None,
    name: str | None = None,
) -> SparseTensor:
    """The parts of each string, as Python's `str.split` makes them.

    Args:
        input, source: Strings: a scalar, which counts as a vector of one, or a vector.
        sep: What separates parts; None or "" for white space, of which runs separate once.
        maxsplit: Split at most so often, unless -1.
        result_type: "SparseTensor".
        name: The op's name.
    """
    input = renamed("input", input, "source", source)
    with name_scope(name, "StringSplit") as outer:
        tensor = convert_to_tensor(input, dtype=string, name="input")
        _sparse_only(result_type)
        if tensor.shape.ndims == 0:
            tensor = expand_dims(tensor, axis=0)
        separator = convert_to_tensor("" if sep is None else sep, dtype=string)
        most = int(maxsplit)

        def kernel(values: Any, separator: Any) -> Any:
            _vector(values)
            return _sparse([_words(one, separator, most) for one in values.tolist()])

        return _node("StringSplitV2", tensor, separator, kernel, {"maxsplit": most}, outer)


def _sparse_only(result_type: Any) -> None:
    if result_type == "RaggedTensor":
        raise NotImplementedError("there are no ragged tensors here; result_type must be 'SparseTensor'")
    if result_type != "SparseTensor":
        raise ValueError("result_type must be 'RaggedTensor' or 'SparseTensor'.")


def _node(
    op_type: str, tensor: Tensor, separator: Tensor, kernel: Callable[..., Any], attrs: dict[str, Any], outer: str
) -> SparseTensor:
    with_rank(tensor, 1)
    with_rank(separator, 0)
    outputs: list[tuple[Any, Any]] = [(int64, [None, 2]), (string, [None]), (int64, [2])]
    made = node(op_type, [tensor, separator], outputs, kernel, op_type, attrs)
    indices, values, shape = made.outputs
    return SparseTensor(indices, values, shape)


def _vector(values: Any) -> None:
    if not isinstance(values, np.ndarray) or values.ndim != 1:
        shape = values.shape if isinstance(values, np.ndarray) else ()
        raise bad(f"input must be a vector, got shape: {shown(shape)}")


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
    return [*words, rest] if len(words) == most else words  # what is left counts, even if it is nothing


def _sparse(rows: list[list[bytes]]) -> tuple[Any, Any, Any]:
    counts = np.fromiter(map(len, rows), np.int64, len(rows))
    values = objects([part for row in rows for part in row])
    indices = np.empty((len(values), 2), np.int64)
    indices[:, 0] = np.repeat(np.arange(len(rows), dtype=np.int64), counts)
    starts = np.cumsum(counts) - counts
    indices[:, 1] = np.arange(len(values), dtype=np.int64) - np.repeat(starts, counts)
    return indices, values, np.array([len(rows), counts.max(initial=0)], np.int64)
