"""Iterables as sources of examples: what each item is, whether they can be read again, and which are mistakes."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any

import numpy as np

from pipeline import spans
from pipeline.dtypes import refuse_missing
from pipeline.iterators import iterator_of, why_async
from pipeline.nest import Nest, parts_of
from pipeline.runners.enqueue_ops import op_name
from pipeline.sources.extras import closed, is_closed, place_of

WANTED = "the source of a batch must be a callable that returns an example, or an iterable, queue or producer of them"


def is_generator_function(source: Any) -> bool:
    """Whether a call of this gives a generator, so that its examples are those of the generator."""
    return inspect.isgeneratorfunction(source)


def starts_over(source: Any) -> bool:
    """Whether each `items(source)` begins with the first item: not for iterators, which are read once."""
    return is_generator_function(source) or not hasattr(type(source), "__next__")


def items(source: Any) -> Iterator[Any]:
    """An iterator over the examples of what `check_iterable` lets pass."""
    if is_generator_function(source):
        return _noted(iterator_of(source()), source)
    if _is_arrow_column(source):  # its items are objects of its own; NumPy gets the values
        return iter(np.asarray(source))
    kind = type(source)
    if not hasattr(kind, "__iter__") and hasattr(kind, "__len__"):  # such as a Dataset of PyTorch; it may know no end
        return _noted(map(source.__getitem__, range(len(source))), source)
    if isinstance(source, (np.ndarray, list, tuple)):
        return iter(source)
    return _noted(while_open(source, iterator_of(source)), source)


def length(source: Any) -> int:
    """How many examples there are in what has a length; FailedPreconditionError for a Dataset of a closed file."""
    if is_closed(source):
        raise closed("batch: the source")
    return len(source)


def while_open(source: Any, made: Iterator[Any]) -> Iterator[Any]:
    """The items of a source, which `made` gives: where that is a Dataset of h5py, its file may be closed meanwhile."""
    place = place_of(source)
    return _checked(source, made, f"batch: the source{place}") if place else made


def _checked(source: Any, made: Iterator[Any], where: str) -> Iterator[Any]:
    try:
        yield from made
    except Exception as error:
        if is_closed(source):
            raise closed(where) from error
        raise


def _noted(iterator: Iterator[Any], source: Any) -> Iterator[Any]:
    """The iterator, with spans where it makes an item if the run is traced."""
    if not spans.on:
        return iterator
    return itertools.starmap(spans.noted(iterator.__next__, op_name(source)), itertools.repeat(()))


def check_iterable(source: Any) -> None:
    """Raise TypeError for what is no source of examples, or whose items are not its rows.

    Raises:
        InvalidArgumentError: It is an array with masked values or nulls.
        FailedPreconditionError: It is an array of HDF5, and its file was closed.
    """
    if is_closed(source):
        raise closed("batch: the source")
    if _is_table(source):
        raise TypeError(
            f"{WANTED}, not a {_kind(source)}, whose items are columns: for its rows use pipeline.arrow(table)"
        )
    if isinstance(source, Mapping):
        raise TypeError(
            f"{WANTED}, not a {_kind(source)}: for the rows of arrays use pipeline.arrays; "
            "for dicts as examples, a callable that returns one"
        )
    if isinstance(source, (str, bytes, bytearray)):
        raise TypeError(f"{WANTED}, not {source!r:.80}")
    if not hasattr(type(source), "__iter__") and not hasattr(type(source), "__getitem__"):
        why = why_async(source)
        raise TypeError(f"{WANTED}, not {source!r:.80}{f': {why}' if why else ''}")
    if isinstance(source, (np.ndarray, np.generic)) and source.ndim == 0:
        raise TypeError(f"{WANTED}, not an array of shape (), which has no rows")
    refuse_missing(source, "batch: the source")


def check_callable(source: Any) -> None:
    """Raise TypeError for a callable whose results are no examples."""
    if (why := why_async(source)) is not None:
        raise TypeError(f"{WANTED}, not {source!r:.80}: {why}")


def check_example(example: Any, many: bool) -> None:
    """Raise TypeError for a first example that would become an array of objects by mistake."""
    _check_value(example, "the first example")
    if isinstance(example, Mapping) and not isinstance(example, dict):
        raise TypeError(f"batch: the first example is a {_kind(example)}; return dict(example)")
    if parts_of(example):
        nest = Nest(example, many)
        for name, value in zip(nest.names, nest.flatten(example), strict=True):
            where = f"component {name if name.isdigit() else repr(name)} of the first example"
            rows = value if many and isinstance(value, list) else ()
            _check_value(rows[0] if rows else value, where)
            if isinstance(value, Mapping):
                raise TypeError(f"batch: {where} is a {_kind(value)}; make a dict of it")


def _check_value(value: Any, where: str) -> None:
    if isinstance(value, Iterator):
        raise TypeError(
            f"batch: {where} is a {_kind(value)}, which is itself a source: call the function and pass its result, "
            "as in batch(rows(), ...), or pass a generator function"
        )
    if isinstance(value, AsyncIterator):
        raise TypeError(f"batch: {where} is an {_kind(value)}: nobody iterates over it here; return its values")
    if inspect.isawaitable(value):
        raise TypeError(f"batch: {where} is a {_kind(value)}: nobody awaits it here; return its result")
    if _is_table(value):
        raise TypeError(
            f"batch: {where} is a {_kind(value)}: return its columns as a dict of arrays, as in "
            "{name: table[name].to_numpy() ...}, with enqueue_many=True"
        )


def _is_table(thing: Any) -> bool:
    """Whether this is a table of pyarrow, pandas, polars or the like: they share the interchange protocol."""
    return hasattr(type(thing), "__dataframe__")


def _is_arrow_column(thing: Any) -> bool:
    return hasattr(type(thing), "__array__") and (
        hasattr(type(thing), "__arrow_c_array__") or hasattr(type(thing), "__arrow_c_stream__")
    )


def _kind(thing: Any) -> str:
    return type(thing).__name__
