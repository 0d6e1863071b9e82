"""Record: an iterator's delivery position."""

from __future__ import annotations

from typing import Any, NamedTuple


class Record(NamedTuple):
    """The position after a delivered element.

    Attributes:
        batches: Elements delivered: batches after `batch`.
        examples: Number of examples in them.
        value: The sum of their bytes, if there is a checksum.
        state: The stream's state after them.
    """

    batches: int
    examples: int
    value: int
    state: Any
