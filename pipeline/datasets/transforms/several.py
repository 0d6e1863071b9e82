"""Several: elements that as many threads take at once, in the order in which they come."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pipeline.datasets.node import Node, Opening
from pipeline.flow.prefetch import Prefetch
from pipeline.flow.stream import Stream


class Several(Node):
    """The elements of several inputs, each taken by a thread of its own. They have no positions.

    Args:
        inputs: The elements. The same input several times: as many threads make its elements at once.
        n: How many may wait.
    """

    kind = "several"
    stage = "queue"

    def __init__(self, inputs: Sequence[Node], n: int) -> None:
        self.inputs, self.n = tuple(inputs), n
        self.note_place()

    def options(self) -> dict[str, Any]:
        return {"n": self.n}

    @property
    def prompt(self) -> bool:
        return True

    def open(self, shared: Opening, epoch: int) -> Stream:
        streams = [each.open(shared.of_thread(), epoch) for each in self.inputs]
        return Prefetch(streams, self.n, shared, f"{shared.name}/prefetch", shared.begun(self), self.live)
