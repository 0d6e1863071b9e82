"""Fetches: the tensors and operations computed by a run, and the structure of its results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pipeline.compat.graph.tensor import Operation, Tensor
from pipeline.compat.values.sparse_tensor import IndexedSlices, IndexedSlicesValue, SparseTensor
from pipeline.decode.example.sparse_value import SparseTensorValue

Leaf = Tensor | Operation
Assemble = Callable[[list[Any]], Any]


def structure_key(fetches: Any) -> Any:
    """Return a key that is equal for equal elements and structure; None if the fetches have none."""
    kind = fetches.__class__
    if kind is Tensor or kind is Operation:
        return fetches
    if kind is list or isinstance(fetches, tuple):
        keys = tuple([structure_key(each) for each in fetches])
        return None if None in keys else (kind, keys)
    if isinstance(fetches, Mapping):
        keys = tuple([structure_key(each) for each in fetches.values()])
        return None if None in keys else (kind, tuple(fetches), keys)
    return fetches if kind is str else None


def fetching(graph: Any, fetches: Any) -> tuple[list[Leaf], Assemble]:
    """Return the tensors and operations to fetch, and a function from their values to the result.

    Raises:
        TypeError: Something cannot be fetched.
        ValueError: An element belongs to another graph, or its name does not exist.
    """
    leaves: list[Leaf] = []
    assemble = _collect(graph, fetches, leaves)
    return leaves, assemble


def _collect(graph: Any, fetches: Any, leaves: list[Leaf]) -> Assemble:
    if fetches is None:
        raise TypeError(f'Argument `fetch` = {fetches} has invalid type "{type(fetches).__name__}". Cannot be None')
    if isinstance(fetches, (list, tuple)):
        return _sequence(graph, fetches, leaves)
    if isinstance(fetches, Mapping):
        return _mapping(graph, fetches, leaves)
    if hasattr(fetches, "__attrs_attrs__"):
        kind = type(fetches)
        parts = [_collect(graph, getattr(fetches, each.name), leaves) for each in kind.__attrs_attrs__]
        return lambda values: kind(*[part(values) for part in parts])
    if isinstance(fetches, SparseTensor):
        parts = [_element(graph, each, leaves) for each in (fetches.indices, fetches.values, fetches.dense_shape)]
        return lambda values: SparseTensorValue(*[part(values) for part in parts])
    if isinstance(fetches, IndexedSlices):
        rows = [fetches.values, fetches.indices] + ([] if fetches.dense_shape is None else [fetches.dense_shape])
        parts = [_element(graph, each, leaves) for each in rows]
        return lambda values: IndexedSlicesValue(
            *[part(values) for part in parts], *([None] if len(parts) == 2 else [])
        )
    return _element(graph, fetches, leaves)


def _element(graph: Any, fetch: Any, leaves: list[Leaf]) -> Assemble:
    try:
        leaf = graph.as_graph_element(fetch)
    except TypeError as error:
        raise TypeError(
            f'Argument `fetch` = {fetch!r:.200} has invalid type "{type(fetch).__name__}" must be a string or Tensor. '
            f"({error})"
        ) from None
    except (ValueError, KeyError) as error:
        raise ValueError(f"Argument `fetch` = {fetch!s:.200} cannot be interpreted as a Tensor. ({error})") from None
    if not graph.is_fetchable(leaf):
        raise ValueError(f"Operation {leaf.name!r} has been marked as not fetchable.")
    at = len(leaves)
    leaves.append(leaf)
    return lambda values: values[at]


def _sequence(graph: Any, fetches: Any, leaves: list[Leaf]) -> Assemble:
    begin = len(leaves)
    parts = [_collect(graph, each, leaves) for each in fetches]
    kind = type(fetches)
    if all(isinstance(each, (Tensor, Operation)) for each in fetches):  # no nested structures
        end = len(leaves)
        if kind is list:
            return lambda values: values[begin:end]
        if kind is tuple:
            return lambda values: tuple(values[begin:end])
    if hasattr(kind, "_fields"):
        return lambda values: kind(*[part(values) for part in parts])
    make = tuple if kind is tuple else list
    return lambda values: make([part(values) for part in parts])


def _mapping(graph: Any, fetches: Any, leaves: list[Leaf]) -> Assemble:
    parts = {key: _collect(graph, each, leaves) for key, each in fetches.items()}
    kind: Any = type(fetches)
    factory = getattr(fetches, "default_factory", None)

    def assemble(values: list[Any]) -> Any:
        result = kind(factory) if factory is not None else kind()
        for key, part in parts.items():
            result[key] = part(values)
        return result

    return assemble
