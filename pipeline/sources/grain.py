"""grain: elements from Grain's datasets and DataLoaders."""

from __future__ import annotations

import copy
import itertools
import sys
from collections.abc import Generator, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.errors import invalid
from pipeline.keywords import tells_keywords
from pipeline.nest import map_values
from pipeline.on_error import add_note
from pipeline.sources.extras import hint_of, needs, stacked
from pipeline.sources.nodes import Parts, Table
from pipeline.sources.order import Epochs
from pipeline.sources.source import Source, TableSource
from pipeline.sources.stream import BlockPiece, PartsSource
from pipeline.sources.strings import as_objects

# Elements read at once.
_PIECE = 64


@tells_keywords
def grain(
    data: Any,
    *,
    batched: bool = False,
    num_epochs: int | None = 1,
    shuffle: bool = False,
    seed: int | None = None,
    shard: tuple[int, int] | None = None,
) -> Source:
    """Read elements from a Grain dataset or DataLoader.

    A `MapDataset` is indexed. An `IterDataset` and a `DataLoader` are streams in Grain's order, with Grain's states.
    Each element costs some Python code.

    Args:
        data: A MapDataset, IterDataset or DataLoader; not an iterator.
        batched: Split a stream's elements, if they are batches, into rows.
        num_epochs: Number of epochs; None repeats forever.
        shuffle: Shuffle, in a different order each epoch; for a MapDataset.
        seed: Seed for the order.
        shard: (index, count): read every count-th element; for a MapDataset.

    Raises:
        ValueError: An option is wrong or does not fit a stream, or a MapDataset repeats forever.
        TypeError: `data` is something else, or a number is not an integer.
        ImportError: Grain is not installed.
        InvalidArgumentError: When you iterate: elements differ in shape or structure.

    Examples:
        >>> import grain
        >>> squares = grain.MapDataset.range(4).map(lambda number: number**2)
        >>> [batch.tolist() for batch in pipeline.grain(squares).batch(2)]
        [[0, 1], [4, 9]]
    """
    library = needs("grain", "grain")
    if isinstance(data, library.MapDataset):
        if batched:
            raise ValueError("grain: batched=True is for streams; of a MapDataset leave its .batch(...) out")
        return TableSource(_Map(data), Epochs(num_epochs, shuffle, seed, shard))
    if not isinstance(data, (library.IterDataset, library.DataLoader)):
        raise TypeError(f"grain: a {type(data).__name__} is not a MapDataset, IterDataset or DataLoader{hint_of(data)}")
    if shuffle or seed is not None or shard is not None:
        raise ValueError(
            "grain: a stream keeps Grain's order: give shuffle, seed and shard to Grain's dataset or sampler, or the "
            "batch function"
        )
    return PartsSource(_Stream(data, bool(batched)), Epochs(num_epochs))


class _Map(Table):
    """A MapDataset, by index."""

    kind = "grain"
    unit = "elements"
    most = _PIECE
    one_by_one = by_epoch = True

    def __init__(self, data: Any) -> None:
        if len(data) == sys.maxsize:
            raise ValueError("grain: the MapDataset repeats without end: leave .repeat() out, and pass num_epochs=None")
        self._data = data

    def __len__(self) -> int:
        return len(self._data)

    def take(self, numbers: NDArray[np.int64]) -> Any:
        return stacked([self._element(number) for number in numbers.tolist()], self.kind)

    def loose(self, numbers: NDArray[np.int64]) -> Any:
        return stacked([self._element(number) for number in numbers.tolist()], self.kind, loose=True)

    def _element(self, number: int) -> Any:
        try:
            element = self._data[number]
        except Exception as error:
            add_note(error, f"grain: in element {number}")
            raise
        if element is None:
            text = (
                f"grain: the MapDataset has left out element {number}: pass dataset.to_iter_dataset(), which skips it"
            )
            raise invalid(text)
        return element

    def data(self) -> list[Any]:
        return [self._data]

    def facts(self) -> dict[str, Any]:
        return {"dataset": type(self._data).__name__, "elements": len(self)}


class _Stream(Parts):
    """An IterDataset or a DataLoader."""

    kind = "grain"
    unit = "datasets"
    names: Sequence[str] = ("",)
    of_files = False
    most = _PIECE
    one_by_one = True

    def __init__(self, data: Any, batched: bool) -> None:
        self._data = data
        self._batched = batched

    def read(self, part: int, epoch: int, place: Any) -> Generator[tuple[Any, Any]]:
        """Yield pieces, each after the preceding state of Grain's iterator."""
        iterator = iter(self._data)
        try:
            if place is not None:
                iterator.set_state(_as_given(place))
            yield from self._pieces(iterator, "start" if place is None else "place of the state")
        finally:
            getattr(iterator, "close", int)()  # end its threads and processes; older versions leave that to chance

    def _pieces(self, iterator: Any, begin: str) -> Iterator[tuple[Any, Any]]:
        error, count = None, 0
        while error is None:
            before = _plain(iterator.get_state())
            piece: list[Any] = []
            try:
                piece.extend(itertools.islice(iterator, 1 if self._batched else _PIECE))
            except Exception as failed:  # deliver the elements before it
                error = failed
                add_note(error, f"grain: in element {count + len(piece)} after the {begin}")
            count += len(piece)
            if piece:
                yield before, BlockPiece(map_values(_column, piece[0])) if self._batched else piece
            elif error is None:
                return
        raise error

    def block(self, piece: Any) -> Any:
        return piece.block if self._batched else stacked(piece, self.kind)

    def loose(self, piece: Any) -> Any:
        return piece.block if self._batched else stacked(piece, self.kind, loose=True)

    def facts(self) -> dict[str, Any]:
        return {"dataset": type(self._data).__name__, "batched": self._batched}


def _column(values: Any) -> NDArray[Any]:
    return as_objects(np.asarray(values), "grain: a batch")


def _plain(state: Any) -> Any:
    """Return an iterator's state as plain data; a DataLoader's is text in bytes."""
    return state.decode() if isinstance(state, bytes) else copy.deepcopy(state)


def _as_given(place: Any) -> Any:
    return place.encode() if isinstance(place, str) else copy.deepcopy(place)
