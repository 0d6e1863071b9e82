"""Fit: compare examples with the given shapes, or with the first example's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pipeline.dtypes import refuse_missing
from pipeline.errors import invalid
from pipeline.foreign import numpy_of
from pipeline.nest import Nest, is_nested, parts_of
from pipeline.queues.components import parse_partial_shapes, parse_shapes
from pipeline.queues.values import compatible
from pipeline.stages.collate import is_array, refuse_none


class Fit:
    """Returns matching examples, and raises for others.

    The first example decides the keys, or the component count, and the dtypes.

    Args:
        shapes: One shape per component, for a dict in sorted key order; None takes the first example's.
        vary: True if sizes may vary without given shapes.
    """

    def __init__(self, shapes: Sequence[Any] | None, vary: bool) -> None:
        self._shapes, self._vary = shapes, vary
        self._first: list[tuple[Any, Any, tuple[int | None, ...]]] | None = None

    def __call__(self, example: Any) -> Any:
        found = [(name, *_kind(value)) for name, value in _components(example)]
        if self._first is None:
            self._first = self._expected(found)
        expected = self._first
        if [each[0] for each in found] != [each[0] for each in expected]:
            names, got = [each[0] for each in expected], [each[0] for each in found]
            raise invalid(f"every example must have the components of the first one, {names}; got {got}")
        for i, ((name, dtype, shape), (_, wanted, expected_shape)) in enumerate(zip(found, expected, strict=True)):
            where = "an example" if name is None else f"component {name!r} of an example"
            if not compatible(shape, expected_shape):
                sizes = ", ".join("?" if size is None else str(size) for size in expected_shape)
                raise invalid(f"{where} has shape {list(shape)}, expected [{sizes}]")
            if wanted is None:  # only empty lists so far
                expected[i] = name, dtype, expected_shape
            elif dtype is not None and dtype != wanted:
                raise TypeError(f"{where} has dtype {dtype}, expected {wanted}")
        return example

    def _expected(self, found: list[Any]) -> list[tuple[Any, Any, tuple[int | None, ...]]]:
        shapes: Sequence[Any]
        if self._shapes is None:
            shapes = [(None,) * len(shape) if self._vary else shape for _, _, shape in found]
        else:
            shapes = (parse_partial_shapes if self._vary else parse_shapes)(self._shapes, len(found))
        return [(name, dtype, shape) for (name, dtype, _), shape in zip(found, shapes, strict=True)]


def _components(example: Any) -> list[tuple[Any, Any]]:
    if isinstance(example, dict) and not any(is_nested(each, False) for each in example.values()):
        return sorted(example.items(), key=lambda item: str(item[0]))
    if type(example) in (list, tuple) and not any(is_nested(each, False) for each in example):
        return list(enumerate(example))
    if parts_of(example) is None:
        return [(None, example)]
    nest = Nest(example, False)
    return list(zip(nest.names, nest.flatten(example), strict=True))


def _kind(value: Any) -> tuple[Any, tuple[int, ...]]:
    """Return a component's dtype, or None for an empty untyped list, and its shape."""
    if not is_array(value):  # a str or an object, such as a ListValue: NumPy would look into it
        return np.dtype(object), ()
    refuse_missing(value, "an example")
    try:
        array = numpy_of(value)
    except ValueError as error:
        raise invalid(f"an example has a list of lists of different lengths: {value!r:.60}") from error
    refuse_none(array, value, "an example")
    if isinstance(value, list) and not array.size:
        return None, array.shape
    return (np.dtype(object) if array.dtype.kind in "SU" else array.dtype), array.shape
