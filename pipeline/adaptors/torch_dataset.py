"""PyTorch Datasets as sources."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Generator, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.adaptors.torch_tensors import block_of, example_of, torch
from pipeline.capabilities import GivesSeveral, SetsEpoch, Stateful
from pipeline.datasets.dataset import Workers
from pipeline.errors import FailedPreconditionError, invalid
from pipeline.iterators import iterator_of
from pipeline.on_error import name_item
from pipeline.resume.plain import not_plain
from pipeline.resume.stateful import iterator_at
from pipeline.sources.extras import MANY, stacked
from pipeline.sources.fetched import Fetch, OfRowNumbers, RowOf
from pipeline.sources.nodes import OfTable, Parts, Table
from pipeline.sources.order import Epochs
from pipeline.sources.source import Source, TableSource
from pipeline.sources.stream import BlockPiece, PartsSource
from pipeline.stages.node import Node

# Examples of a stream between two recorded positions.
_PIECE = 16


def dataset(
    data: Any,
    *,
    num_epochs: int | None = 1,
    shuffle: bool = False,
    seed: int | None = None,
    shard: tuple[int, int] | None = None,
    workers: Workers = None,
) -> Source:
    """Read examples from a PyTorch Dataset, IterableDataset or DataLoader, with arrays instead of tensors.

    A map-style Dataset is indexed; if it has `__getitems__`, that reads several items at once. An IterableDataset is a
    stream. A DataLoader is a stream of batches; the examples are their rows.

    A resumed iterator continues a stream that has `state_dict` and `load_state_dict`, such as torchdata's
    StatefulDataLoader. It reads any other stream again from the start of its epoch, so the stream must repeat itself.
    If a stream or its sampler has `set_epoch`, it is called with the epoch's number.

    Args:
        data: A Dataset, an IterableDataset or a DataLoader from `torch.utils.data`.
        num_epochs: Number of epochs; None repeats forever.
        shuffle: Shuffle the items, in a different order each epoch; for map-style Datasets.
        seed: Seed for the order.
        shard: (index, count): read every count-th item; for map-style Datasets.
        workers: Call `__getitem__` in threads or processes, as in `map`; for map-style Datasets.

    Returns:
        A Dataset. An error raised by an item has a note with the item's index.

    Raises:
        ValueError: `num_epochs` or `shard` is wrong, or an argument is not for streams.
        TypeError: `data` is something else, or a number is not an integer.

    Examples:
        >>> import torch
        >>> data = torch.utils.data.TensorDataset(torch.arange(4))
        >>> [batch.tolist() for (batch,) in pipeline.torch.dataset(data).batch(2)]
        [[0, 1], [2, 3]]
    """
    data_kinds = torch.utils.data
    if isinstance(data, (data_kinds.IterableDataset, data_kinds.DataLoader)):
        if shuffle or seed is not None or shard is not None:
            raise ValueError(
                f"dataset: a {type(data).__name__} decides its order and its shards itself: shuffle, seed and shard "
                "are for map-style Datasets. To mix its examples add .shuffle(10_000, seed=1)"
            )
        if workers is not None:
            raise ValueError(
                f"dataset: a {type(data).__name__} makes its examples one after the other: workers= is for map-style "
                "Datasets. For the function of a step write .map(function, workers=...)"
            )
        blocks = isinstance(data, data_kinds.DataLoader) and data.batch_size is not None
        return PartsSource(_Stream(data, blocks), Epochs(num_epochs))
    if not hasattr(type(data), "__getitem__") or not hasattr(type(data), "__len__"):
        raise TypeError(
            "dataset: expected a Dataset with __getitem__ and __len__, an IterableDataset or a DataLoader, "
            f"got {data!r:.80}"
        )
    return TableSource(_Items(data, workers), Epochs(num_epochs, shuffle, seed, shard))


class _Items(Table):
    """A map-style Dataset."""

    kind = "dataset"
    unit = "items"
    takes_workers = "pipeline.torch.dataset"
    most = 64  # item sizes are unknown
    one_by_one = True

    def __init__(self, data: Any, workers: Any) -> None:
        self._data, self._workers = data, workers

    def __len__(self) -> int:
        return len(self._data)

    def fetch(self, source: OfTable) -> Node | None:
        if self._workers is None:
            return None
        return Fetch(OfRowNumbers(source), RowOf(_Items(self._data, None), self._data), self._workers, source)

    def take(self, numbers: NDArray[np.int64]) -> Any:
        return self._column(self._examples(numbers))

    def loose(self, numbers: NDArray[np.int64]) -> Any:
        return self._column(self._examples(numbers), loose=True)

    def _column(self, examples: list[Any], loose: bool = False) -> Any:
        return stacked(examples, f"dataset: {type(self._data).__name__}", loose=loose)

    def _examples(self, numbers: NDArray[np.int64]) -> list[Any]:
        wanted = numbers.tolist()
        several = isinstance(self._data, GivesSeveral)
        try:
            found = list(self._data.__getitems__(wanted)) if several else [self._item(number) for number in wanted]
        except Exception as error:
            if several:
                name_item(error, str(wanted[0]), f"in one of the items {wanted} of {type(self._data).__name__}")
            raise
        if len(found) != len(wanted):  # their indices are unknown
            text = f"was asked for {len(wanted):,} items and returned {len(found):,}"
            raise invalid(f"dataset: __getitems__ of {type(self._data).__name__} {text}: {wanted}")
        return [example_of(item) for item in found]

    def _item(self, number: int) -> Any:
        try:
            return self._data[number]
        except Exception as error:
            name_item(error, str(number), f"in item {number} of {type(self._data).__name__}")
            raise

    def data(self) -> list[Any]:
        return [self._data]

    def facts(self) -> dict[str, Any]:
        return {"type": type(self._data).__name__, "rows": len(self)}


class _Examples:
    """Some neighbouring examples from a stream, not a block yet: they may differ in shape."""

    def __init__(self, examples: list[Any]) -> None:
        self.examples = examples

    def __len__(self) -> int:
        return len(self.examples)

    def __getitem__(self, rows: slice) -> _Examples:
        return _Examples(self.examples[rows])


class _Stream(Parts):
    """An IterableDataset or DataLoader. A position is its own state, or the number of preceding pieces."""

    kind = "dataset"
    unit = "datasets"
    names: Sequence[str] = ("",)
    of_files = False
    most = MANY
    one_by_one = True

    def __init__(self, data: Any, blocks: bool) -> None:
        self._data = data
        self._blocks = blocks
        self._stateful = isinstance(data, Stateful)

    @property
    def count(self) -> int | None:  # type: ignore[override]
        """The number of examples, if the stream has a length."""
        given = self._data.dataset if isinstance(self._data, torch.utils.data.DataLoader) else self._data
        return len(given) if hasattr(type(given), "__len__") and not self._blocks else None

    def read(self, part: int, epoch: int, place: Any) -> Generator[tuple[Any, Any]]:
        loader = isinstance(self._data, torch.utils.data.DataLoader)
        told = [self._data, self._data.dataset, self._data.sampler] if loader else [self._data]
        for each in told:
            if isinstance(each, SetsEpoch):
                each.set_epoch(epoch)
        yield from self._by_states(place) if self._stateful else self._by_numbers(place or 0)

    def _by_states(self, place: Any) -> Generator[tuple[Any, Any]]:
        """Yield (state before it, piece); the first state of an epoch is None."""
        examples = iterator_at(self._data, place["state"]) if place else iterator_of(self._data)
        before: Any = place or {}
        while (piece := self._piece(examples)) is not None:
            yield before, piece
            before = self._asked()

    def _asked(self) -> Any:
        """Return the data's state; raise an error unless JSON keeps it unchanged."""
        state = copy.deepcopy(self._data.state_dict())
        odd = not_plain(state, "", True)
        if odd is None:
            return {"state": state}
        name = type(self._data).__name__
        text = f"{name}.state_dict must return plain data that JSON keeps unchanged, but {odd}"
        return FailedPreconditionError(None, None, text)

    def _by_numbers(self, first: int) -> Generator[tuple[Any, Any]]:
        """Yield pieces, each after its index; pieces before the first are read and dropped."""
        examples = iterator_of(self._data)
        skipped = first * (1 if self._blocks else _PIECE)
        next(itertools.islice(examples, skipped, skipped), None)
        for number in itertools.count(first):
            if (piece := self._piece(examples)) is None:
                return
            yield number, piece

    def _piece(self, examples: Iterator[Any]) -> BlockPiece | _Examples | None:
        """Return the next examples; None at the end."""
        found = list(itertools.islice(examples, 1 if self._blocks else _PIECE))
        if not found:
            return None
        return BlockPiece(block_of(found[0])) if self._blocks else _Examples(found)

    def block(self, piece: Any) -> Any:
        return self._block(piece)

    def loose(self, piece: Any) -> Any:
        return self._block(piece, loose=True)

    def _block(self, piece: Any, loose: bool = False) -> Any:
        if self._blocks:
            return piece.block
        examples = [example_of(each) for each in piece.examples]
        return stacked(examples, f"dataset: {type(self._data).__name__}", loose=loose)

    def facts(self) -> dict[str, Any]:
        return {"type": type(self._data).__name__}
