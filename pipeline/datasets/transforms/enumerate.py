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

    @property
    def one_to_one(self) -> bool:
        return self.indexed

    @property
    def orderable(self) -> bool:
        return self.inputs[0].indexed and self.inputs[0].orderable

    def parted(self) -> tuple[Node, Node] | None:
        return (self, self.inputs[0]) if self.indexed else None

    def open(self, shared: Opening, epoch: int) -> Stream:
        return self.over(Counted(self.inputs[0].open(shared, epoch)), shared, epoch)

    def over(self, stream: Stream, shared: Opening, epoch: int) -> Stream:
        return Segment(stream, [EnumerateStep()], shared, [Limited(shared, "raise", None)])

    def index(self, shared: Opening, epoch: int) -> Index | None:
        index = self.inputs[0].index(shared, epoch) if self.indexed else None
        return None if index is None else self.mapped(index, shared, epoch)

    def mapped(self, index: Index, shared: Opening, epoch: int) -> Index:
        return Mapped(index, EnumerateStep(), None)
