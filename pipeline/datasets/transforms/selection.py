"""Selection: a choice among the elements of one input: the ground of take, skip, shard, shuffle and sample.

Where elements can be had by number, only numbers are chosen, and nothing is made that does not come. A choice behind a
function is made before it: what the function would be called with is chosen, and keeps its number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pipeline.datasets.node import Node, Opening
from pipeline.datasets.transforms.steps import Steps
from pipeline.flow.block import Block, Numbers
from pipeline.flow.stream import Stream
from pipeline.flow.table import Index, Indexed


class Selection(Node):
    """A choice among the elements of one input.

    Attributes:
        keep: Whether elements keep the numbers that they have in the input: where this stands before a function that
            it was written behind.
        counts: Whether it chooses by how many elements there were before, so that those that a function leaves out
            must not count.
    """

    keep = False
    counts = False
    stage = ""

    def __init__(self, source: Node) -> None:
        self.inputs = (source,)
        self.note_place()

    @property
    def indexed(self) -> bool:
        return self.inputs[0].indexed

    def open(self, shared: Opening, epoch: int) -> Stream:
        source = self.inputs[0]
        if self._sinks and isinstance(source, Steps):
            sunk = self._over(source.inputs[0])
            return source.over(sunk.open(shared, epoch), shared, epoch)
        index = self.index(shared, epoch)
        if index is not None:
            return Indexed(index, len(index))
        return self.stream(source.open(shared, epoch), shared, epoch)

    @property
    def _sinks(self) -> bool:
        source = self.inputs[0]
        if not (self.can_sink and isinstance(source, Steps)):
            return False
        return source.fixed if self.counts else source.one_to_one

    @property
    def renumbers(self) -> bool:
        return self._sinks and self.indexed and not self.keep

    @property
    def can_sink(self) -> bool:
        """Whether it may be made before a function that it stands behind."""
        return True

    def _over(self, source: Node) -> Selection:
        other = type(self).__new__(type(self))
        other.__dict__.update(self.__dict__)
        other.inputs, other.keep, other.stands_for = (source,), True, self.stands_for or self
        return other

    def stream(self, stream: Stream, shared: Opening, epoch: int) -> Stream:
        """Return the chosen elements of a stream that has no numbers to ask for."""
        raise NotImplementedError

    def pick(self, shared: Opening, epoch: int, length: int) -> tuple[int, Callable[[Any], Numbers]]:
        """Return how many elements are chosen of so many, and what finds them by their numbers here."""
        raise NotImplementedError

    def index(self, shared: Opening, epoch: int) -> Index | None:
        index = self.inputs[0].index(shared, epoch) if self.inputs[0].indexed else None
        if index is None:
            return None
        return Picked(index, *self.pick(shared, epoch, len(index)), self.keep)


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


def sliced(first: int, step: int) -> Callable[[Any], Numbers]:
    def pick(numbers: Any) -> Numbers:
        if isinstance(numbers, range):
            return range(first + numbers.start * step, first + numbers.stop * step, numbers.step * step)
        return first + numbers * step  # type: ignore[no-any-return]

    return pick
