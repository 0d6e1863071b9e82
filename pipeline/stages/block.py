"""Block: consecutive examples from a stream, with their numbers."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pipeline._batch import concatenate
from pipeline._block import Block as Block
from pipeline._block import Columns as Columns
from pipeline._block import Examples as Examples
from pipeline._block import Names as Names
from pipeline._block import handed_out as handed_out
from pipeline.dtypes import refuse_missing
from pipeline.foreign import numpy_of
from pipeline.nest import Nest, TupleParts, has_nested, holds_arrays, parts_of

Numbers: TypeAlias = "NDArray[np.int64]"


_SOME = 64  # examples sampled to estimate bytes, at 0.3 us each
_OF_OBJECT = 64  # bytes of a Python object, about


def listed(examples: list[Any], numbers: Any) -> Block:
    """Return a block for a list of examples."""
    return Block(Examples(examples), np.asarray(numbers, np.int64))


def failed(error: Exception) -> Block:
    """Return a block with an error and no examples."""
    return Block(Examples([]), np.empty(0, np.int64), error)


def joined(blocks: Sequence[Block], concatenate: Callable[[list[Any]], Any] | None = None) -> Block:
    """Join blocks into one with all examples and the last block's error.

    Args:
        blocks: The blocks.
        concatenate: Joins the parts of a column; by default `concatenated`.
    """
    if len(blocks) == 1:
        return blocks[0]
    if not blocks:
        return Block(Examples([]), np.empty(0, np.int64))
    names = None
    if any([each.names is not None for each in blocks]):
        names = Names(_names_in([(len(each), each.names) for each in blocks]))
    sizes: Any = blocks[0].sizes
    if any([each.sizes is not sizes for each in blocks]):
        sizes = np.concatenate([sizes_of(each) for each in blocks])
    numbers = np.concatenate([each.numbers for each in blocks])
    values = join_values([each.values for each in blocks], concatenate or concatenated)
    return Block(values, numbers, blocks[-1].error, names, sizes)


def _names_in(parts: list[tuple[int, Names | None]]) -> Callable[[int], str | None]:
    """Return joint names for several blocks, given by their lengths and names."""

    def name(i: int) -> str | None:
        for length, names in parts:
            if i < length:
                return None if names is None else names(i)
            i -= length
        raise IndexError(i)

    return name


def sizes_of(block: Block) -> NDArray[np.int64]:
    """Return the number of source examples in each of a block's elements."""
    return np.full(len(block), block.sizes) if isinstance(block.sizes, int) else block.sizes


def concatenated(parts: list[Any]) -> Any:
    """Return the parts of a column, arrays or lists, as one."""
    if type(parts[0]) is list:
        return [each for part in parts for each in part]
    return np.concatenate(parts) if parts[0].dtype.hasobject else concatenate(parts)


def join_values(
    many: Sequence[Columns | Examples], concatenate: Callable[[list[Any]], Any] = concatenated
) -> Columns | Examples:
    """Join several blocks, in columns if all have matching columns."""
    if len(many) == 1:
        return many[0]
    if all([type(each) is Columns for each in many]):
        found: list[Any] = list(many)
        first = found[0]
        if all([_alike(first, each) for each in found[1:]]):
            made = [concatenate(list(parts)) for parts in zip(*[each.arrays for each in found], strict=True)]
            return Columns(made, sum(map(len, found)), first.structure)
    return Examples([example for each in many for example in each.examples()])


def as_columns(block: Any, size: int) -> Columns:
    """Return examples as columns.

    Args:
        block: Arrays or lists in one example's structure; their first dimension counts the examples.
        size: The number of examples.
    """
    structure, arrays = flat(block)
    return Columns([each if type(each) in _KINDS else _column(each) for each in arrays], size, structure)


def flat(block: Any) -> tuple[Any, list[Any]]:
    """Return a block's structure, in the form used by `Columns`, and its columns."""
    if type(block) is np.ndarray:
        return None, [block]
    if isinstance(block, dict) and (holds_arrays(block) or not has_nested(block, True)):
        return tuple(block), list(block.values())
    if parts_of(block) is None:
        return None, [block]
    if type(block) is TupleParts and not has_nested(block, True):
        return len(block), list(block)
    nest = Nest(block, True)
    return nest, nest.flatten(block)


def block_of(values: Columns) -> Any:
    """Return columns in one example's structure, with `TupleParts` and `ListParts` for tuples and lists."""
    structure = values.structure
    if isinstance(structure, Nest):
        return structure.pack(values.arrays, True)
    return TupleParts(values.arrays) if type(structure) is int else values.packed(values.arrays)


_KINDS = frozenset({np.ndarray, list})


def _column(values: Any) -> Any:
    refuse_missing(values, "a block")  # np.asarray would drop the mask
    return numpy_of(values) if hasattr(values, "__array__") else list(values)


def is_plain(column: Any) -> bool:
    """Return whether a column is an array with rows that stack by copying bytes."""
    return type(column) is np.ndarray and column.dtype.isnative and not column.dtype.hasobject


def size_of(values: Columns | Examples) -> int:
    """Estimate the size of examples in bytes, from a sample."""
    if type(values) is Columns:
        return sum([_sampled(each, len(each)) if type(each) is list else each.nbytes for each in values.arrays])
    return _sampled(values.examples(), len(values))


def _sampled(values: Iterable[Any], count: int) -> int:
    step = 1 + count // _SOME
    return sum([_bytes_of(each) for each in itertools.islice(values, 0, None, step)]) * step


def _bytes_of(value: Any) -> int:
    if isinstance(value, (str, bytes)):
        return len(value)
    if isinstance(value, dict):
        return sum([_bytes_of(each) for each in value.values()])
    if isinstance(value, list):
        return len(value) * (_OF_OBJECT + _bytes_of(value[0])) if value else _OF_OBJECT
    return sum(map(_bytes_of, value)) if isinstance(value, tuple) else getattr(value, "nbytes", _OF_OBJECT)


def _alike(one: Columns, other: Columns) -> bool:
    """Return whether two blocks match: the same structure, and equal column dtypes and shapes."""
    if one.structure != other.structure:
        return False
    return all(
        (
            (type(a) is list and type(b) is list)
            or (getattr(a, "dtype", 0) == getattr(b, "dtype", 1) and a.shape[1:] == b.shape[1:])
        )
        and {text_of(a), text_of(b)} != {str, bytes}  # a batch cannot contain both
        for a, b in zip(one.arrays, other.arrays, strict=True)
    )


def text_of(column: Any) -> type | None:
    """Return `str` or `bytes` if a list or object array holds such values, else None."""
    if type(column) is not list and not column.dtype.hasobject:
        return None
    values = column if type(column) is list else column.flat
    first = next((each for each in values if each is not None), None)
    return str if isinstance(first, str) else bytes if isinstance(first, bytes) else None
