"""An example's tensors: their conversion, and the dtypes and shapes for a queue."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pipeline.compat.graph.shapes import as_shape
from pipeline.compat.values.convert import convert_to_tensor
from pipeline.compat.values.sparse_tensor import IndexedSlices, SparseTensor


def as_components(values: Any) -> list[Any]:
    """Convert several values to tensors; SparseTensors and IndexedSlices stay as they are.

    Raises:
        TypeError: `values` cannot be iterated over.
    """
    if not isinstance(values, Iterable):
        raise TypeError("Argument `values` must be iterable.")
    return [value if isinstance(value, (SparseTensor, IndexedSlices)) else convert_to_tensor(value) for value in values]


def common_dtypes(sources: Sequence[Sequence[Any]]) -> list[Any]:
    """Return the first source's dtypes; TypeError if another source's differ."""
    first = [tensor.dtype for tensor in sources[0]]
    for source in sources[1:]:
        other = [tensor.dtype for tensor in source]
        if other != first:
            texts = [", ".join(dtype.name for dtype in dtypes) for dtypes in (first, other)]
            raise TypeError(f"Expected types to be consistent: {texts[0]} vs. {texts[1]}.")
    return first


def common_shapes(sources: Sequence[Sequence[Any]], enqueue_many: bool) -> list[list[int | None]]:
    """Return the example shapes in the first source; those in other sources must be compatible.

    Raises:
        ValueError: They are not; a tensor's rank is unknown, or 0 while it holds many sources.
    """
    count = len(sources[0])
    for source in sources:
        for i in range(count):
            if source[i].shape.ndims is None:
                raise ValueError(f"Cannot infer Tensor's rank: {source[i]}")
    shapes = []
    for i in range(count):
        of_each = [as_shape(source[i].shape.as_list()) for source in sources]
        if enqueue_many:
            of_each = [shape.with_rank_at_least(1)[1:] for shape in of_each]
        for shape in of_each[1:]:
            of_each[0].merge_with(shape)
        shapes.append(of_each[0].as_list())
    return shapes
