"""The tensors that make an example: their conversion, and dtypes and shapes that a queue of them has."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pipeline.compat.graph.shapes import as_shape
from pipeline.compat.values.convert import convert_to_tensor
from pipeline.compat.values.sparse_tensor import IndexedSlices, SparseTensor


def as_components(values: Any) -> list[Any]:
    """Convert each of several values to a tensor; SparseTensors and IndexedSlices stay as they are.

    Raises:
        TypeError: `values` cannot be iterated over.
    """
    if not isinstance(values, Iterable):
        raise TypeError("Argument `values` must be iterable.")
    return [value if isinstance(value, (SparseTensor, IndexedSlices)) else convert_to_tensor(value) for value in values]


def common_dtypes(entries: Sequence[Sequence[Any]]) -> list[Any]:
    """Return the dtypes of the first entry; TypeError if those of another one differ."""
    first = [tensor.dtype for tensor in entries[0]]
    for entry in entries[1:]:
        other = [tensor.dtype for tensor in entry]
        if other != first:
            texts = [", ".join(dtype.name for dtype in dtypes) for dtypes in (first, other)]
            raise TypeError(f"Expected types to be consistent: {texts[0]} vs. {texts[1]}.")
    return first


def common_shapes(entries: Sequence[Sequence[Any]], enqueue_many: bool) -> list[list[int | None]]:
    """Return the shapes of the examples of the first entry, with which those of the others must be compatible.

    Raises:
        ValueError: They are not; the rank of a tensor is unknown, or 0 while it holds many examples.
    """
    count = len(entries[0])
    for entry in entries:
        for i in range(count):
            if entry[i].shape.ndims is None:
                raise ValueError(f"Cannot infer Tensor's rank: {entry[i]}")
    shapes = []
    for i in range(count):
        of_entries = [as_shape(entry[i].shape.as_list()) for entry in entries]
        if enqueue_many:
            of_entries = [shape.with_rank_at_least(1)[1:] for shape in of_entries]
        for shape in of_entries[1:]:
            of_entries[0].merge_with(shape)
        shapes.append(of_entries[0].as_list())
    return shapes
