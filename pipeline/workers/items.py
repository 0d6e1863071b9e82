"""What `map_ahead` takes its items from: an iterable, a function that reads, a queue, the blocks of a source."""

from __future__ import annotations

import collections
import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from pipeline.errors import DeadlineExceededError
from pipeline.explain.workers import note_items
from pipeline.iterators import iterator_of
from pipeline.pulls import this_thread
from pipeline.queues.base import QueueBase
from pipeline.runners.enqueue_ops import op_name

# Seconds between two checks, in a thread that waits, of whether its loop has ended.
CHECK_INTERVAL = 0.1


class LoopLeft(Exception):
    """A wait for the next item is in vain."""


class Elements(Iterator[Any]):
    """The elements of a queue. Nothing wakes a thread that waits in a queue that is not its loop's own, so it checks.

    Attributes:
        stopped: Whether the loop has ended.
    """

    def __init__(self, queue: QueueBase) -> None:
        self.stopped: Callable[[], bool] = lambda: False
        self._queue = queue

    def __next__(self) -> Any:
        while True:
            try:
                return self._queue.dequeue(timeout=CHECK_INTERVAL)
            except DeadlineExceededError:
                if self.stopped():
                    raise LoopLeft from None


class Calls(Iterator[Any]):
    """What a function gives, call by call, such as records that it reads."""

    def __init__(self, function: Callable[[], Any]) -> None:
        self._function = function

    def __next__(self) -> Any:
        return self._function()


class Block(NamedTuple):
    """What a source has given at once.

    Attributes:
        end: The number of the item after it.
        size: How many items it has.
        place: Where the source stood after it.
        named: Returns what an item is called, by its place in the block; None if items have no names.
    """

    end: int
    size: int
    place: Any
    named: Callable[[int], str] | None


class ItemNames(Sequence[str]):
    """What some items are called, found out when somebody asks.

    Args:
        numbers: The items.
        blocks: Where they come from, those that are known.
    """

    def __init__(self, numbers: range, blocks: Sequence[Block]) -> None:
        self._numbers, self._blocks = numbers, blocks

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, at: Any) -> Any:
        numbers = self._numbers[at]
        return [self._name(each) for each in numbers] if isinstance(numbers, range) else self._name(numbers)

    def _name(self, number: int) -> str:
        return name_in(self._blocks, number) or f"item {number}"


def name_in(blocks: Iterable[Block], number: int) -> str | None:
    """What an item of some blocks is called, such as its file; None if it has no name."""
    for block in blocks:
        if block.named is not None and block.end - block.size <= number < block.end:
            return block.named(number - block.end + block.size)
    return None


class PlacedItems(Iterator[Any]):
    """The items of something that gives blocks and knows its place; nobody else takes any.

    Args:
        source: A Positioned with a method `block`. Its method `_earlier` makes the place after any of the examples of a
            block from the place after all of them.
        take: Takes the next items of the source, at most so many: how many these are, what yields them, and what
            returns the name of each, or None.
        most: How many items to take at once.
    """

    def __init__(
        self,
        source: Any,
        take: Callable[[Any, int], tuple[int, Iterator[Any], Callable[[int], str] | None]],
        most: int,
    ) -> None:
        self.source = source
        self._take = take
        self._most = most
        self._end = 0  # the number of the first item of the next block
        self._begin()

    def _begin(self) -> None:
        self._following: Iterator[Any] = iter(())  # of the last block
        # Those of which items are under way; first where it all began.
        self._blocks = collections.deque([Block(self._end, 0, self.source._position(), None)])

    def __next__(self) -> Any:
        for item in self._following:
            return item
        turn, this_thread.turn = this_thread.turn, None  # it is not pulled from by itself
        try:
            count, following, named = self._take(self.source, self._most)
        finally:
            this_thread.turn = turn
        self._end += count
        self._blocks.append(Block(self._end, count, self.source._position(), named))
        self._following = following
        return next(following)

    def forget(self, number: int) -> None:
        """Nobody will ask about what comes before this item."""
        while self._blocks[0].end < number:
            self._blocks.popleft()

    def place(self, number: int) -> list[Any]:
        """Where the source is when so many items have come; places before that are forgotten."""
        self.forget(number)
        return list(self.source._earlier(self._blocks[0].place, self._blocks[0].end - number))

    def name(self, number: int) -> str | None:
        """What an item is called that was not forgotten; None if it has no name."""
        return name_in(self._blocks, number)

    def go_to(self, number: int, place: Sequence[Any]) -> None:
        """Let item `number`, which comes at this place, be the next one."""
        self.source._go_to(place)
        self._end = number
        self._begin()

    def skip(self, count: int) -> None:
        """Leave out items after `go_to`."""
        self.source._skip(count)
        self._end += count
        self._begin()
        self._begin()


def note_taken(numbers: range, placed: PlacedItems | None) -> None:
    """Note which items a thread has just taken what was made of; see `note_items`."""
    note_items(names_of(numbers, placed))


def names_of(numbers: range, placed: PlacedItems | None) -> ItemNames:
    """What items are called that have just been taken."""
    return ItemNames(numbers, () if placed is None else tuple(placed._blocks))


def item_note(function: Any, number: int, shown: str) -> str:
    """What a note calls the item that the user's function failed for.

    Args:
        function: The function.
        number: Which item.
        shown: Its name, or itself.
    """
    name = op_name(function).rpartition("<locals>.")[2]
    return f"function '{name}', item {number}{'' if shown == str(number) else f', {shown}'}"


def items_of(source: Any) -> Iterator[Any]:
    """An iterator over items; it ends with StopIteration or OutOfRangeError. TypeError for what has none."""
    if isinstance(source, QueueBase):
        return Elements(source)
    if inspect.isgeneratorfunction(source):
        return iterator_of(source())
    if is_called(source):
        return Calls(source)
    if is_sequence(source) and not hasattr(type(source), "__iter__"):  # such as a Dataset of PyTorch: it knows no end
        return map(source.__getitem__, range(len(source)))
    return iterator_of(source)


def is_called(source: Any) -> bool:
    """Whether each call gives an item. What gives blocks, as a slice_input_producer does, is no iterable."""
    if not callable(source) or isinstance(source, QueueBase) or inspect.isgeneratorfunction(source):
        return False
    return hasattr(source, "block") or not hasattr(type(source), "__iter__")


def is_sequence(items: Any) -> bool:
    """Whether the items can be had by number; a mapping's cannot, and what gives blocks is read in order."""
    if hasattr(items, "keys") or hasattr(items, "block"):
        return False
    return hasattr(items, "__len__") and hasattr(items, "__getitem__")
