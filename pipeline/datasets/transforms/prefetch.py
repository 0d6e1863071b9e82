"""prefetch: a thread prepares elements while the consumer works."""

from __future__ import annotations

from typing import Any

from pipeline.datasets.node import Node, Opening
from pipeline.flow.prefetch import Prefetch
from pipeline.flow.stream import Stream


class Prefetched(Node):
    """Elements that a thread takes ahead.

    Args:
        source: The elements.
        n: How many may wait; 0 changes nothing.
    """

    kind = "prefetch"
    stage = "queue"

    def __init__(self, source: Node, n: int) -> None:
        self.inputs, self.n = (source,), n
        self.note_place()

    def options(self) -> dict[str, Any]:
        return {"n": self.n}

    @property
    def indexed(self) -> bool:
        return self.inputs[0].indexed

    def length(self) -> int | None:
        return self.inputs[0].length()

    def index(self, shared: Opening, epoch: int) -> Any:
        return self.inputs[0].index(shared, epoch)

    @property
    def by_index(self) -> bool:
        return not self.n and self.inputs[0].by_index

    @property
    def placed(self) -> bool:
        return self.inputs[0].placed

    @property
    def orderable(self) -> bool:
        return self.inputs[0].orderable

    @property
    def renumbers(self) -> bool:
        return self.inputs[0].renumbers

    @property
    def prompt(self) -> bool:
        return bool(self.n) or self.inputs[0].prompt

    @property
    def transparent(self) -> bool:
        return True

    def open(self, shared: Opening, epoch: int) -> Stream:
        return self.over(self.inputs[0].open(self.inner(shared), epoch), shared, epoch)

    def inner(self, shared: Opening) -> Opening:
        return shared.of_thread() if self.n else shared

    def over(self, stream: Stream, shared: Opening, epoch: int) -> Stream:
        if not self.n:
            return stream
        return Prefetch([stream], self.n, shared, f"{shared.name}/prefetch", shared.begun(self), self.live)
