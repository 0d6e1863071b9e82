"""enumerate: numbers before examples."""

from __future__ import annotations

from pipeline.datasets.node import Node, Opening
from pipeline.flow.counted import Counted
from pipeline.flow.mapped import Mapped
from pipeline.flow.run import Limited
from pipeline.flow.segment import Segment
from pipeline.flow.steps import (
    EnumerateStep,
)
from pipeline.flow.stream import Stream
from pipeline.flow.table import Index


class Enumerated(Node):
    """Numbers before examples."""

    kind = "enumerate"
    stage = ""

    def __init__(self, source: Node) -> None:
        self.inputs = (source,)
        self.note_place()

    @property
    def indexed(self) -> bool:
        return self.inputs[0].indexed

    def length(self) -> int | None:
        return self.inputs[0].length()

    def open(self, shared: Opening, epoch: int) -> Stream:
        return self.over(self.inputs[0].open(shared, epoch), shared, epoch)

    def over(self, stream: Stream, shared: Opening, epoch: int) -> Stream:
        """Return the stream of the elements of another one, with their numbers."""
        return Segment(Counted(stream), [EnumerateStep()], shared, [Limited(shared, "raise", None)])

    def index(self, shared: Opening, epoch: int) -> Index | None:
        index = self.inputs[0].index(shared, epoch)
        return None if index is None else Mapped(index, EnumerateStep(), None)
