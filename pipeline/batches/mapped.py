"""What `function=` and `workers=` of the batch functions make of a source: one whose examples workers make."""

from __future__ import annotations

import functools
import reprlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from pipeline.batches.items import StatefulItems
from pipeline.batches.source import is_iterable
from pipeline.errors import CancelledError, OutOfRangeError
from pipeline.nest import map_values
from pipeline.on_error import ending, name_item
from pipeline.queues.base import QueueBase
from pipeline.resume.stateful import is_stateful
from pipeline.runners.enqueue_ops import op_name
from pipeline.sources.source import TableCursor, gathered, rows_of
from pipeline.sources.stream import PartsCursor
from pipeline.workers.ahead import MapAhead
from pipeline.workers.chunks import FailedItem, made_by
from pipeline.workers.items import Calls, ItemNames, PlacedItems, is_called, is_sequence, item_note, items_of, names_of
from pipeline.workers.map_ahead import check_executor, check_function, map_ahead

# A chunk is a batch, unless that is too little to be worth the way to a worker, or keeps one worker busy for long.
_LEAST, _MOST = 8, 256


def mapped(
    source: Any,
    function: Callable[[Any], Any] | None,
    workers: Any,
    num_threads: int | None,
    chunksize: int,
    at_once: bool,
    careful: bool,
    placed: bool = False,
) -> Any:
    """A source whose examples workers make of those of another one.

    Args:
        source: What `check_source` lets pass.
        function, workers, num_threads: As for `batch`; there is a function, or there are workers.
        chunksize: See `chunk_of`.
        at_once: Without workers, whoever asks for an example may call the function; the source need not know its place.
        careful: An example that the source fails to make is one that fails, and not the end of the source.
        placed: The place of a source that has `state_dict` is asked for after each example.

    Raises:
        TypeError: There is no function, and the source is no dataset; or `map_ahead` does not take them.
    """
    if function is None:
        if isinstance(source, (np.ndarray, list, tuple, range)) or not (is_iterable(source) and is_sequence(source)):
            raise TypeError(
                "workers: pass function= too, which workers call with each example of the source; without it, the "
                "source is a dataset, an object with __getitem__ and __len__, and workers make its items"
            )
        function, source = source.__getitem__, range(len(source))
    check_function("function", function)
    gives_blocks = hasattr(source, "block") and not callable(source) and not hasattr(type(source), "__iter__")
    if careful and is_sequence(source) and not hasattr(type(source), "__iter__"):
        source = CarefulItems(source)
    elif careful and is_called(source):
        source = _careful_calls(source)
    if at_once and workers is None and not isinstance(source, QueueBase):
        return Applied(function, _placed(source, careful) if gives_blocks else items_of(source))
    if workers is None:
        from pipeline.workers.threads import AtOnce, Threads  # 2 ms of import time, for those who pass a function only

        workers = AtOnce() if num_threads == 0 else Threads(num_threads or 1)
        chunksize = 1 if num_threads == 0 else chunksize  # an error is to come before the next call
    items = _placed(source, careful) if gives_blocks else source
    if placed and is_iterable(source) and is_stateful(source):
        items = PlacedItems(StatefulItems(source), _take_item, 1)
    made = map_ahead(function, items, workers=check_executor("workers", workers), chunksize=chunksize)
    made.of_loop = True
    return made


class Applied:
    """A source that calls a function with the next item for each example."""

    def __init__(self, function: Callable[[Any], Any], items: Iterator[Any]) -> None:
        self._function, self._items = function, items
        self._goes_on = isinstance(items, (Calls, MapAhead))  # after an error; what another iterator raises ends it
        self._placed = items if isinstance(items, PlacedItems) else None
        self._next = 0
        self._made = False  # the example of the last item
        self.__qualname__ = op_name(function)

    def __call__(self) -> Any:
        number, placed = self._next, self._placed
        self._next, self._made = number + 1, False
        if placed is not None:
            placed.forget(number)
        try:
            item = next(self._items)
        except (StopIteration, OutOfRangeError, CancelledError):
            raise
        except Exception as error:
            if not self._goes_on:
                ending(error)
            raise
        if isinstance(item, FailedItem):
            raise item.error
        try:
            example = made_by(self._function, item)
        except Exception as error:
            name = None if placed is None else placed.name(number)
            note = item_note(self._function, number, name or reprlib.repr(item))
            name_item(error, name or f"item {number}", note)
            raise
        self._made = True
        return example

    @property
    def inner(self) -> Any:
        """As that of `MapAhead`."""
        return None if self._placed is None else self._placed.source

    def taken(self) -> ItemNames | None:
        """What the last item is called, for an error in storing what was made of it; None if that was not made."""
        if not self._made:
            return None
        return names_of(range(self._next - 1, self._next), self._placed)


class CarefulItems:
    """The items of a sequence; of one that it fails to return, the error as a FailedItem."""

    def __init__(self, sequence: Any) -> None:
        self._sequence = sequence

    def __len__(self) -> int:
        return len(self._sequence)

    def __getitem__(self, number: int) -> Any:
        try:
            return self._sequence[number]
        except Exception as error:
            return FailedItem(error)


def _careful_calls(source: Callable[[], Any]) -> Callable[[], Any]:
    """What a function gives, call by call; for a call that fails, the error as a FailedItem."""

    @functools.wraps(source, updated=())
    def call() -> Any:
        try:
            return source()
        except (StopIteration, OutOfRangeError, CancelledError):
            raise
        except Exception as error:
            return FailedItem(error)

    return call


def _placed(source: Any, careful: bool) -> Iterator[Any]:
    """The examples of what gives blocks, with their places if it knows them."""
    if isinstance(source, PartsCursor):
        source.inside = True
    if isinstance(source, (PartsCursor, TableCursor)):
        return PlacedItems(source, _take_carefully if careful else _take, source.ahead)
    return _rows(source)


def _rows(source: Any) -> Iterator[Any]:
    """The examples of what gives blocks."""
    while True:
        try:
            block = source.block(getattr(source, "ahead", _MOST))
        except OutOfRangeError:
            return
        yield from rows_of(map_values(gathered, block))


Taken = tuple[int, Iterator[Any], Callable[[int], str] | None]  # see PlacedItems


def _take(cursor: PartsCursor | TableCursor, most: int) -> Taken:
    """How many examples a source gives next, these, and what they are called."""
    pulled = cursor._pull(most)
    return len(pulled), cursor._examples_of(pulled), cursor._named(pulled)


def _take_item(source: StatefulItems, _: int) -> Taken:
    """As `_take`, one item; after each its place is known."""
    return 1, iter((source.next_item(),)), None


def _take_carefully(cursor: PartsCursor | TableCursor, most: int) -> Taken:
    """As `_take`. If that fails, the examples are made one by one, and those that fail alone are FailedItems."""
    pulled = cursor._pull(most)
    count, named = len(pulled), cursor._named(pulled)

    def alone(i: int) -> Any:
        try:
            return next(cursor._examples_of(pulled[i : i + 1]))
        except Exception as error:
            return FailedItem(error)

    try:
        return count, cursor._examples_of(pulled), named
    except Exception as error:
        return count, map(alone, range(count)) if count > 1 else iter([FailedItem(error)]), named


def read_by(source: Any) -> Any:
    """What a source reads: itself, or what a function is called with the examples of, if that knows its place."""
    return source.inner if isinstance(source, (Applied, MapAhead)) else source


def chunk_of(batch_size: int, enqueue_many: bool) -> int:
    """How many items of a source workers take at once."""
    if enqueue_many:  # each is a block
        return 1
    return min(max(batch_size, _LEAST), _MOST)
