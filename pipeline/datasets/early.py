"""Early: inputs that keep a place of their own are opened before it is their turn, so that a position says it.

The iterator of a user's that says where it is, or a producer, goes on where somebody left it. So when a pool goes back
to a position from before their turn, they have to go back too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pipeline.datasets.node import Node, Opening, nodes_of
from pipeline.flow.stream import Stream, seek_later


class Early:
    """Opens inputs, one after the other.

    Args:
        inputs: The inputs.
        shared: What their streams share.
        epoch: Which pass it is.
    """

    def __init__(self, inputs: Sequence[Node], shared: Opening, epoch: int) -> None:
        self._inputs, self._shared, self._epoch = inputs, shared, epoch
        self._kept = [i for i, node in enumerate(inputs) if any(each.keeps_place for each in nodes_of(node))]
        self._streams: dict[int, Stream] = {}
        self._open_from(0)

    def _open_from(self, first: int) -> None:
        self.close()
        self._streams = {i: self._inputs[i].open(self._shared, self._epoch) for i in self._kept if i >= first}

    def open(self, number: int) -> Stream:
        """Return the stream of an input whose turn it is."""
        early = self._streams.pop(number, None)
        return self._inputs[number].open(self._shared, self._epoch) if early is None else early

    def position(self) -> list[list[Any]]:
        """Return where the inputs stand whose turn has not come, each with its number, as far as they can say it."""
        found = [(i, stream.position()) for i, stream in self._streams.items()]
        return [[i, at] for i, at in found if not isinstance(at, Exception)]

    def seek(self, first: int, places: Sequence[Any]) -> None:
        """Go to where those stood; the turn of the others, before the number `first`, had come."""
        self._open_from(first)
        for i, at in places:
            seek_later(self._streams[i], at)

    def close(self) -> None:
        """Close what was opened early."""
        while self._streams:
            self._streams.popitem()[1].close()
