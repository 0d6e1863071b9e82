"""interleave: elements of several datasets in turn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pipeline.datasets.early import Early
from pipeline.datasets.node import ENDLESS, Node, Opening
from pipeline.errors import invalid
from pipeline.flow.block import Block
from pipeline.flow.ids import marked
from pipeline.flow.stream import Stream, dropped, place, seek_later, shorter, whole


class Interleave(Node):
    """Elements of several datasets in turn.

    Args:
        inputs: The datasets; one, if it is a dataset of datasets.
        nested: Whether elements of the only input are datasets themselves.
        cycle_length: How many are open at once.
        block_length: How many elements to take of one in a turn.
    """

    kind = "interleave"

    def __init__(self, inputs: Sequence[Node], nested: bool, cycle_length: int, block_length: int) -> None:
        self.inputs, self.nested = tuple(inputs), nested
        self.cycle_length, self.block_length = cycle_length, block_length
        self.note_place()

    def options(self) -> dict[str, Any]:
        return {"cycle_length": self.cycle_length, "block_length": self.block_length}

    def call(self) -> str:
        return f"pipeline.{self.kind}(...)"

    def length(self) -> int | None:
        known = [None] if self.nested else [each.length() for each in self.inputs]
        if None in known:
            return None
        return ENDLESS if ENDLESS in known else sum(each for each in known if each is not None)

    def open(self, shared: Opening, epoch: int) -> Stream:
        return shared.gauged(self, _Interleaved(self, shared, epoch))


class _Slot:
    """One open dataset.

    Attributes:
        number: Which one it is.
        found_at: Where the dataset of datasets has it; None if there is no such.
        stream: Its elements.
    """

    def __init__(self, number: int, found_at: Any, stream: Stream) -> None:
        self.number, self.found_at, self.stream = number, found_at, stream


class _Interleaved:
    def __init__(self, node: Interleave, shared: Opening, epoch: int) -> None:
        self._node, self._shared, self._epoch = node, shared, epoch
        self._outer = node.inputs[0].open(shared, epoch) if node.nested else None  # of datasets
        self._early = Early(() if node.nested else node.inputs, shared, epoch)
        self._slots: list[_Slot | None] = []  # None: the next dataset, when it is its turn
        self._ended = False  # whether there is no next dataset
        self._following = 0  # the number of the next dataset
        self._at = 0  # whose turn it is
        self._turn = 0  # elements of the turn
        self._count = 0

    def _next_slot(self) -> _Slot | None:
        """Open the next dataset; None after the last one."""
        number = self._following
        if self._outer is not None:
            found_at = self._outer.position()
            node = self._inner()
            stream = None if node is None else node.open(self._shared, self._epoch)
        else:
            found_at, stream = None, self._early.open(number) if number < len(self._node.inputs) else None
        if stream is None:
            return None
        self._following += 1
        return _Slot(number, found_at, stream)

    def _inner(self) -> Node | None:
        assert self._outer is not None
        block = self._outer.take(1)
        if block is None:
            return None
        (made,) = block.made().examples()
        node = getattr(made, "_node", made)
        if not isinstance(node, Node):
            raise invalid(f"interleave: expected a dataset of datasets, and an element is {made!r:.80}")
        return node

    def take(self, n: int) -> Block | None:
        while (slot := self._due()) is not None:
            block = slot.stream.take(min(n, self._node.block_length - self._turn))
            if block is None:
                slot.stream.close()
                self._slots[self._at] = None
                self._advance()
                continue
            self._turn += len(block)
            if self._turn == self._node.block_length:
                self._advance()
            first, self._count = self._count, self._count + len(block)
            return Block(block.values, marked(block.ids, slot.number), range(first, self._count))
        return None

    def _due(self) -> _Slot | None:
        """Return the dataset whose turn it is; None if all have ended.

        It is opened only now: an error in it comes after the elements before it.
        """
        if not self._ended and (self._at == len(self._slots) or self._slots[self._at] is None):
            following = self._next_slot()
            self._slots[self._at : self._at + 1] = [following]
            self._ended = following is None
        if self._ended:  # no place is filled again
            self._at -= self._slots[: self._at].count(None)
            self._slots = [slot for slot in self._slots if slot is not None]
            self._at %= max(1, len(self._slots))
        return self._slots[self._at] if self._slots else None

    def _advance(self) -> None:
        self._at, self._turn = (self._at + 1) % self._node.cycle_length, 0

    def skip(self, n: int) -> int:
        return dropped(self, n)

    def position(self) -> Any:
        outer = None if self._outer is None else self._outer.position()
        slots = [slot and place(slot.number, slot.found_at, slot.stream.position()) for slot in self._slots]
        early = self._early.position()
        places = self._at, self._turn, self._ended, place(*slots)
        return place(self._count, self._following, *places, outer, *([early] if early else []))

    def seek(self, position: Any) -> None:
        self._close_slots()
        count, following, at, turn, ended, slots, outer, *early = position
        self._count, following, self._ended = whole(count), whole(following), bool(ended)
        self._at, self._turn = whole(at, len(slots)), whole(turn, self._node.block_length)
        self._slots = []
        self._early.seek(0, ())
        for slot in slots:
            if slot is None:
                self._slots.append(None)
                continue
            number, found_at, at = slot
            self._following = whole(number)
            if self._outer is not None:
                seek_later(self._outer, found_at)
            again = self._next_slot()
            if again is None:
                raise shorter()
            seek_later(again.stream, at)
            self._slots.append(again)
        self._following = following
        if self._outer is not None:
            seek_later(self._outer, outer)
        self._early.seek(following, early[0] if early else ())

    def close(self) -> None:
        self._close_slots()
        self._early.close()
        if self._outer is not None:
            self._outer.close()

    def _close_slots(self) -> None:
        for slot in self._slots:
            if slot is not None:
                slot.stream.close()
