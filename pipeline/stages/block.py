"""Block: consecutive examples of a stream, with the numbers that name them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pipeline._batch import concatenate
from pipeline._flow import mix_numbers, mix_outputs
from pipeline.nest import Nest, TupleParts, has_nested, holds_arrays, map_values, parts_of
from pipeline.queues.rows import Rows

Numbers: TypeAlias = "NDArray[np.int64]"


class Columns:
    """Examples as columns: arrays in the structure of one example, whose first dimension counts the examples."""

    __slots__ = ("block", "size")

    def __init__(self, block: Any, size: int) -> None:
        self.block, self.size = block, size

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, which: slice) -> Columns:
        block, size = self.block, len(range(self.size)[which])
        if type(block) is np.ndarray:
            return Columns(block[which], size)
        if type(block) is TupleParts and all([type(column) is np.ndarray for column in block]):
            return Columns(TupleParts([column[which] for column in block]), size)  # 1 us instead of 4
        return Columns(map_values(lambda column: column[which], block), size)

    def picked(self, places: NDArray[np.int64]) -> Columns:
        """Return the examples at these places."""

        def pick(column: Any) -> Any:
            if isinstance(column, np.ndarray):
                return column.take(places, axis=0)
            return [column[i] for i in places]

        return Columns(map_values(pick, self.block), len(places))

    def first(self) -> Any:
        """Return the first example."""
        block = self.block
        if type(block) is np.ndarray:
            return block[0]
        if holds_arrays(block):
            return {name: column[0] for name, column in block.items()}
        if type(block) is TupleParts and all([type(column) is np.ndarray for column in block]):
            return tuple([column[0] for column in block])
        return next(self.examples())

    def examples(self) -> Iterator[Any]:
        """Yield the examples one at a time."""
        block = self.block
        if isinstance(block, np.ndarray) or parts_of(block) is None:
            return iter(block)
        if isinstance(block, dict) and not has_nested(block, True):
            keys = tuple(block)
            return (dict(zip(keys, row, strict=True)) for row in zip(*block.values(), strict=True))
        if type(block) is TupleParts and not has_nested(block, True):
            return zip(*block, strict=True)
        nest = Nest(block, True)
        return (nest.pack(row) for row in zip(*nest.flatten(block), strict=True))


class Examples:
    """Examples in a list: their shapes and structure may differ."""

    __slots__ = ("items",)

    def __init__(self, items: list[Any]) -> None:
        self.items = items

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, which: slice) -> Examples:
        return Examples(self.items[which])

    def picked(self, places: NDArray[np.int64]) -> Examples:
        """Return the examples at these places."""
        items = self.items
        return Examples([items[i] for i in places.tolist()])

    def first(self) -> Any:
        """Return the first example."""
        return self.items[0]

    def examples(self) -> Iterator[Any]:
        """Yield the examples one at a time."""
        return iter(self.items)


class Names:
    """What errors call the examples of a block, such as a file and a line.

    Args:
        call: Returns the name of example `i`, or None if it has none.
        first: The number that `call` takes for the block's first example.
    """

    __slots__ = ("call", "first")

    def __init__(self, call: Callable[[int], str | None], first: int = 0) -> None:
        self.call, self.first = call, first

    def __call__(self, i: int) -> str | None:
        """Return the name of example `i` of the block."""
        return self.call(self.first + i)

    def after(self, n: int) -> Names:
        """Return the names of the block without its first n examples."""
        return Names(self.call, self.first + n)

    def picked(self, places: NDArray[np.int64]) -> Names:
        """Return the names of the examples at these places."""
        return Names(lambda i: self(int(places[i])))


class Block:
    """Consecutive examples.

    Attributes:
        values: The examples, as columns or in a list.
        numbers: The number of each: it seeds `example_rng`, and names the example in errors.
        error: The error that comes after these examples; None if there is none.
        names: What errors call the examples, besides their numbers; None if they have no names.
        sizes: How many examples of the source each element consists of; None if each is one.
    """

    __slots__ = ("error", "names", "numbers", "sizes", "values")

    def __init__(
        self,
        values: Columns | Examples,
        numbers: Numbers,
        error: Exception | None = None,
        names: Names | None = None,
        sizes: NDArray[np.int64] | None = None,
    ) -> None:
        self.values, self.numbers, self.error, self.names, self.sizes = values, numbers, error, names, sizes

    def __len__(self) -> int:
        return len(self.numbers)

    def part(self, begin: int, end: int) -> Block:
        """Return the examples from `begin` up to `end`; the error follows if these are the last."""
        names, sizes = self.names, self.sizes
        return Block(
            self.values[begin:end],
            self.numbers[begin:end],
            self.error if end >= len(self.numbers) else None,
            names if names is None or not begin else names.after(begin),
            None if sizes is None else sizes[begin:end],
        )

    def picked(self, places: NDArray[np.int64]) -> Block:
        """Return the examples at these places, without the error."""
        names = None if self.names is None else self.names.picked(places)
        sizes = None if self.sizes is None else self.sizes[places]
        return Block(self.values.picked(places), self.numbers[places], None, names, sizes)

    def renumbered(self, other: int) -> Block:
        """Return the same examples as those of input or pass number `other`: their numbers differ for each."""
        return Block(self.values, mixed(self.numbers, other), self.error, self.names, self.sizes)

    def named(self, i: int) -> str:
        """Return what errors call example `i`."""
        name = None if self.names is None else self.names(i)
        return name or example(int(self.numbers[i]))


def example(number: int) -> str:
    """Return what errors call an example without a name. Mixed numbers tell nobody anything."""
    return f"example {number}" if number < 1 << 40 else "an example"


def listed(examples: list[Any], numbers: Any, sizes: Any = None) -> Block:
    """Return a block of a list of examples."""
    return Block(
        Examples(examples),
        np.asarray(numbers, np.int64),
        sizes=None if sizes is None else np.asarray(sizes, np.int64),
    )


def failed(error: Exception) -> Block:
    """Return a block without examples, whose error comes at once."""
    return Block(Examples([]), np.empty(0, np.int64), error)


def joined(blocks: Sequence[Block]) -> Block:
    """Return one block of the examples of several, and the error of the last."""
    if len(blocks) == 1:
        return blocks[0]
    if not blocks:
        return Block(Examples([]), np.empty(0, np.int64))
    names = None
    if any([each.names is not None for each in blocks]):
        names = Names(_names_in(list(blocks)))
    sizes = None
    if any([each.sizes is not None for each in blocks]):
        sizes = np.concatenate([sizes_of(each) for each in blocks])
    numbers = np.concatenate([each.numbers for each in blocks])
    return Block(join_values([each.values for each in blocks]), numbers, blocks[-1].error, names, sizes)


def _names_in(blocks: list[Block]) -> Callable[[int], str | None]:
    def name(i: int) -> str | None:
        for block in blocks:
            if i < len(block):
                return None if block.names is None else block.names(i)
            i -= len(block)
        raise IndexError(i)

    return name


def sizes_of(block: Block) -> NDArray[np.int64]:
    """Return how many examples of the source each element of a block consists of."""
    return np.ones(len(block), np.int64) if block.sizes is None else block.sizes


def mixed(numbers: Any, other: int) -> Numbers:
    """Return new numbers for examples of input, or pass, number `other`: these differ for each."""
    return mix_numbers(np.ascontiguousarray(numbers, np.int64), other)


def outputs_of(number: int, first: int, count: int) -> Numbers:
    """Return the numbers of `count` outputs of one example, from output number `first` on."""
    return mix_outputs(number, first, count)


def join_values(many: Sequence[Columns | Examples]) -> Columns | Examples:
    """Return the examples of several blocks as one: as columns if all are columns that fit together."""
    if len(many) == 1:
        return many[0]
    if all([isinstance(each, Columns) for each in many]):
        first: Any = many[0]
        columns = [flat(each.block) for each in many]  # type: ignore[union-attr]
        if all(_alike(columns[0], each) for each in columns[1:]):
            made = [_concatenated(list(parts)) for parts in zip(*(values for _, values in columns), strict=True)]
            return Columns(packed(first.block, made), sum(map(len, many)))
    return Examples([example for each in many for example in each.examples()])


def flat(block: Any) -> tuple[Any, list[Any]]:
    """Return the structure of a block, which can be compared, and its columns."""
    if type(block) is np.ndarray:
        return None, [block]
    if isinstance(block, dict) and not has_nested(block, True):
        return tuple(block), list(block.values())
    if parts_of(block) is None:
        return None, [block]
    nest = Nest(block, True)
    return nest, nest.flatten(block)


def packed(like: Any, values: list[Any]) -> Any:
    """Return columns in the structure of another block."""
    if type(like) is np.ndarray:
        return values[0]
    if isinstance(like, dict) and not has_nested(like, True):
        return dict(zip(like, values, strict=True))
    return values[0] if parts_of(like) is None else Nest(like, True).pack(values, True)


def gathered(block: Any) -> Any:
    """Return columns whose rows were only chosen as arrays."""
    return map_values(lambda column: np.asarray(column) if isinstance(column, Rows) else column, block)


def owned(value: Any) -> Any:
    """Return an array that may be written to, and that is most of what it keeps alive: a copy if it is not.

    Anything but arrays is returned as it is.
    """
    if type(value) is not np.ndarray:
        return value
    base = value.base
    if value.flags.writeable and (base is None or 2 * value.nbytes >= getattr(base, "nbytes", 0) > 0):
        return value
    return value.copy()


def handed_out(element: Any) -> Any:
    """Return an element whose arrays may be written to, and are most of what they keep alive."""
    kind = type(element)
    if kind is np.ndarray:
        return owned(element)
    if kind is dict:
        return {key: handed_out(value) for key, value in element.items()}
    if kind is tuple:
        return tuple([handed_out(value) for value in element])
    return element


def is_plain(column: Any) -> bool:
    """Whether a column is an array whose rows can be stacked by copying their bytes."""
    return type(column) is np.ndarray and column.dtype.isnative and not column.dtype.hasobject


def size_of(values: Columns | Examples) -> int:
    """Return about how many bytes examples have."""
    if type(values) is Columns:
        return sum([getattr(each, "nbytes", 64 * len(values)) for each in flat(values.block)[1]])
    return sum([getattr(each, "nbytes", 64) for each in values.examples()])


def _alike(one: tuple[Any, list[Any]], other: tuple[Any, list[Any]]) -> bool:
    """Whether two blocks have the same structure, and their columns the same dtypes and shapes."""
    if one[0] != other[0]:
        return False
    pairs = zip(one[1], other[1], strict=True)
    return all(
        (isinstance(a, list) and isinstance(b, list))
        or (getattr(a, "dtype", 0) == getattr(b, "dtype", 1) and a.shape[1:] == b.shape[1:])
        for a, b in pairs
    )


def _concatenated(columns: list[Any]) -> Any:
    if isinstance(columns[0], list):
        return [each for column in columns for each in column]
    return np.concatenate(columns) if columns[0].dtype.hasobject else concatenate(columns)
