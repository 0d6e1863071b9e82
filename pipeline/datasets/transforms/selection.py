"""Selection: a choice among the elements of one input: the ground of take, skip, shard, shuffle and sample.

Where elements can be had by number, only numbers are chosen, and nothing is made that does not come. A choice behind a
function is made before it: what the function would be called with is chosen, and keeps its number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pipeline.datasets.node import Node, Opening
from pipeline.flow.block import Block, Numbers
from pipeline.flow.counted import Counted, Placed
from pipeline.flow.stream import Stream
from pipeline.flow.table import Index, Indexed


class Selection(Node):
    """A choice among the elements of one input.

    Attributes:
        keep: Whether elements keep the numbers that they have in the input: where this stands before a function that
            it was written behind.
        counts: Whether it chooses by how many elements there were before, so that those that a function leaves out
            must not count.
        needs_index: Whether it can do nothing with elements that come one after the other.
    """

    keep = False
    counts = False
    needs_index = False
    stage = ""

    def __init__(self, source: Node) -> None:
        self.inputs = (source,)
        self.note_place()

    @property
    def indexed(self) -> bool:
        return self.inputs[0].indexed

    @property
    def orderable(self) -> bool:
        source = self.inputs[0]
        return source.orderable and (source.indexed or not self.counts)  # what is left out does not count

    def open(self, shared: Opening, epoch: int) -> Stream:
        source = self.inputs[0]
        if source.transparent:
            return source.over(self._behind(source.inputs[0]).open(source.inner(shared), epoch), shared, epoch)
        parts = self.parted()
        if parts is not None:
            function, chosen = parts
            return function.over(chosen.open(shared, epoch), shared, epoch)
        index = self.index(shared, epoch) if self.needs_index or source.by_index else None
        if index is not None:
            return Indexed(index, len(index))
        stream = self.whole(source, shared, epoch)
        some = self.stream(Counted(stream) if self.keep and source.renumbers else stream, shared, epoch)
        return Placed(some, self.keep) if source.placed else some

    def parted(self) -> tuple[Node, Node] | None:
        parts = None if self.keep and self.inputs[0].renumbers else self.inputs[0].parted()
        if parts is None or not (parts[0].fixed if self.counts else parts[0].one_to_one):
            return None
        function, source = parts
        return function, self._over(source)

    @property
    def renumbers(self) -> bool:
        source = self.inputs[0]
        if source.transparent:
            return self._behind(source.inputs[0]).renumbers
        asked = self.parted() is None and (self.needs_index or source.placed)
        return self.indexed and not self.keep and not asked

    def _behind(self, source: Node) -> Selection:
        """Return the same choice among the elements of another input."""
        other = type(self).__new__(type(self))
        other.__dict__.update(self.__dict__)
        other.inputs, other.stands_for = (source,), self.stands_for or self
        return other

    def _over(self, source: Node) -> Selection:
        """Return the same choice among what a function is applied to."""
        other = self._behind(source)
        other.keep = True
        return other

    def whole(self, source: Node, shared: Opening, epoch: int) -> Stream:
        """Return the stream of all that is chosen among."""
        return source.open(shared, epoch)

    def stream(self, stream: Stream, shared: Opening, epoch: int) -> Stream:
        """Return the chosen elements of a stream that has no numbers to ask for."""
        raise NotImplementedError

    def pick(self, shared: Opening, epoch: int, length: int) -> tuple[int, Callable[[Any], Numbers]]:
        """Return how many elements are chosen of so many, and what finds them by their numbers here."""
        raise NotImplementedError

    def index(self, shared: Opening, epoch: int) -> Index | None:
        if not self.indexed:
            return None
        source = self.inputs[0]
        if source.transparent:  # chosen before it, as in `open`: the numbers of what is chosen are others
            return self._behind(source.inputs[0]).index(shared, epoch)
        parts = self.parted()
        if parts is not None:
            function, chosen = parts
            index = chosen.index(shared, epoch)
            made = None if index is None else function.mapped(index, shared, epoch)
            return made if made is None or self.keep else Renumbered(made)
        index = self.inputs[0].index(shared, epoch)
        return None if index is None else Picked(index, *self.pick(shared, epoch, len(index)), self.keep)


class Picked:
    """Elements of an index, in another order.

    Args:
        index: The elements.
        length: How many there are here.
        pick: Returns which elements of the index those of a range, or of an array of numbers, are.
        keep: Whether they keep the numbers that they have there.
    """

    def __init__(self, index: Index, length: int, pick: Callable[[Any], Numbers], keep: bool) -> None:
        self._index, self._length, self._pick, self._keep = index, length, pick, keep

    def __len__(self) -> int:
        return self._length

    def block(self, numbers: Numbers) -> Block:
        block = self._index.block(self._pick(numbers))
        return block if self._keep else Block(block.values, block.ids, numbers)


class Renumbered:
    """The elements of an index, numbered by their places."""

    def __init__(self, index: Index) -> None:
        self._index = index

    def __len__(self) -> int:
        return len(self._index)

    def block(self, numbers: Numbers) -> Block:
        block = self._index.block(numbers)
        return Block(block.values, block.ids, numbers)


def sliced(first: int, step: int) -> Callable[[Any], Numbers]:
    """Return a function that picks every `step`-th element, from `first` on."""

    def pick(numbers: Any) -> Numbers:
        if isinstance(numbers, range):
            return range(first + numbers.start * step, first + numbers.stop * step, numbers.step * step)
        return first + numbers * step  # type: ignore[no-any-return]

    return pick
