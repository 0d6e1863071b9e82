"""Sequential sources, read part by part; a state stores the next example's position in the files."""

from __future__ import annotations

from typing import Any

from pipeline.nest import length, map_values
from pipeline.sources.nodes import OfParts, Parts, PartsStream
from pipeline.sources.order import Epochs, Order
from pipeline.sources.source import Source, as_length


class BlockPiece:
    """A piece in block form."""

    def __init__(self, block: Any) -> None:
        self.block = block

    def __len__(self) -> int:
        return length(self.block)

    def __getitem__(self, rows: slice) -> BlockPiece:
        return BlockPiece(map_values(lambda column: column[rows], self.block))


class PartsSource(Source):
    """Examples from parts, one part after another.

    Args:
        parts: The examples.
        epochs: Number and order of epochs.
        stream: The stream class.

    Raises:
        ValueError, TypeError: As for Order.
    """

    def __init__(self, parts: Parts, epochs: Epochs, stream: type[PartsStream] = PartsStream) -> None:
        self.name = self.__qualname__ = parts.kind
        self.parts = parts
        self.order = Order(len(parts.names), None, epochs, parts.unit)
        self._source = OfParts(parts, self.order, stream)
        super().__init__(self._source)

    def __repr__(self) -> str:
        return f"<{self.name}: {len(self.parts.names):,} {self.parts.unit}, num_epochs={self.order.num_epochs}>"

    def __len__(self) -> int:
        """Count the examples in all epochs. TypeError if they are infinite or unknown."""
        if self.order.num_epochs is None:
            raise TypeError(f"{self.name}: with num_epochs=None there is no number of examples")
        if self.total is None:
            raise TypeError(f"{self.name}: the number of examples is known only at their end")
        return as_length(self.total, f"{self.name}: the number of examples")

    def __bool__(self) -> bool:
        return True  # always: the number of examples may be unknown

    @property
    def total(self) -> int | None:
        """As `Source.total`."""
        return self._source.total()
