"""Nested structures: flatten, rebuild, map and compare lists, tuples, named tuples and dicts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pipeline.compat.values.sparse_tensor import IndexedSlices, SparseTensor


def is_nested(value: Any) -> bool:
    """Return whether `value` is a list, tuple or mapping, except a sparse tensor."""
    return isinstance(value, (list, tuple, Mapping))


def _children(value: Any) -> list[Any]:
    if isinstance(value, Mapping):
        return [value[key] for key in sorted(value)]
    return list(value)


def _walk(value: Any, composites: bool) -> Iterator[Any]:
    if is_nested(value):
        for child in _children(value):
            yield from _walk(child, composites)
    elif composites and isinstance(value, SparseTensor):
        yield from (value.indices, value.values, value.dense_shape)
    elif composites and isinstance(value, IndexedSlices):
        yield value.values
        yield value.indices
        if value.dense_shape is not None:
            yield value.dense_shape
    else:
        yield value


def flatten(structure: Any, composites: bool = False) -> list[Any]:
    """Return the leaves of `structure` from left to right, sorted by key in mappings.

    With `composites`, sparse tensors and indexed slices are split into their tensors.
    """
    return list(_walk(structure, composites))


def _rebuild(like: Any, children: list[Any]) -> Any:
    if isinstance(like, Mapping):
        by_key = dict(zip(sorted(like), children, strict=True))
        return type(like)((key, by_key[key]) for key in like)  # type: ignore[call-arg]
    if hasattr(like, "_fields"):
        return type(like)(*children)
    return type(like)(children)


def _pack(like: Any, leaves: Iterator[Any], composites: bool) -> Any:
    if is_nested(like):
        return _rebuild(like, [_pack(child, leaves, composites) for child in _children(like)])
    if composites and isinstance(like, SparseTensor):
        return SparseTensor(next(leaves), next(leaves), next(leaves))
    if composites and isinstance(like, IndexedSlices):
        values, indices = next(leaves), next(leaves)
        return IndexedSlices(values, indices, None if like.dense_shape is None else next(leaves))
    return next(leaves)


def pack_as(structure: Any, leaves: list[Any], composites: bool = False) -> Any:
    """Return a structure like `structure` with these leaves, given in `flatten` order."""
    return _pack(structure, iter(leaves), composites)


def map_structure(function: Callable[..., Any], *structures: Any, composites: bool = False) -> Any:
    """Return the results of `function` on corresponding leaves of `structures`, nested like the first one."""
    corresponding = zip(*(flatten(each, composites) for each in structures), strict=True)
    return pack_as(structures[0], [function(*leaves) for leaves in corresponding], composites)


def assert_same_structure(first: Any, second: Any, check_types: bool = True) -> None:
    """Check that two structures nest in the same way.

    Raises:
        ValueError: Corresponding parts differ in length or keys, or only one is nested.
        TypeError: Corresponding parts are sequences with different types.
    """
    if is_nested(first) != is_nested(second):
        nested, single = (first, second) if is_nested(first) else (second, first)
        raise ValueError(
            "The two structures don't have the same nested structure.\n\n"
            f"First structure: type={type(first).__name__} str={first}\n\n"
            f"Second structure: type={type(second).__name__} str={second}\n\n"
            f'More specifically: Substructure "type={type(nested).__name__} str={nested}" is a sequence, '
            f'while substructure "type={type(single).__name__} str={single}" is not'
        )
    if not is_nested(first):
        return
    if check_types and type(first) is not type(second):
        raise TypeError(
            "The two structures don't have the same sequence type. "
            f"First structure has type {type(first)}, while second structure has type {type(second)}."
        )
    if isinstance(first, Mapping) and isinstance(second, Mapping) and set(first) != set(second):
        raise ValueError(
            f"The two dictionaries don't have the same set of keys. {sorted(first)} and {sorted(second)} differ."
        )
    if len(first) != len(second):
        raise ValueError(
            "The two structures don't have the same nested structure.\n\n"
            f"First structure: type={type(first).__name__} str={first}\n\n"
            f"Second structure: type={type(second).__name__} str={second}\n\n"
            f"More specifically: The two structures don't have the same number of elements: {len(first)} and "
            f"{len(second)}."
        )
    for one, other in zip(_children(first), _children(second), strict=True):
        assert_same_structure(one, other, check_types)
