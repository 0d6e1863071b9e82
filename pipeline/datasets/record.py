"""Record: how far the elements of an iterator were handed out."""

from __future__ import annotations

from typing import Any, NamedTuple


class Record(NamedTuple):
    """The position after a delivered element.

    Attributes:
        batches: Elements delivered: batches after `batch`.
        examples: How many examples these consist of.
        value: The sum of their bytes, if there is a checksum.
        state: The state of the stream after them.
    """

    batches: int
    examples: int
    value: int
    state: Any
