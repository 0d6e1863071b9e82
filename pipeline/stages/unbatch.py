"""unbatch: split batches into rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from pipeline._block import mix_outputs
from pipeline.errors import invalid
from pipeline.nest import ListParts, TupleParts, is_nested, refuse_missing_in
from pipeline.stages.block import Block, Columns, as_columns, flat
from pipeline.stages.collate import bare, stacked
from pipeline.stages.node import Moves, Node, OneInput, opened
from pipeline.stages.run import Run
from pipeline.stages.stream import Maker, Rest, Stream, Unit, whole


class Unbatch(OneInput):
    """The rows in batches.

    Args:
        source: The batches.
        tensors: True for TensorFlow's conventions: batches are column lists, and a column may be a list of values.
    """

    kind = "unbatch"
    batched = False
    holds_back = counts_batches = False

    def __init__(self, source: Node, tensors: bool = False) -> None:
        self.tensors = tensors
        super().__init__(source)

    def indexed_over(self, source: Node) -> bool:
        return False

    def length(self) -> int | None:
        return None

    def name_of(self, number: int) -> str | None:
        return None

    def stream(self, run: Run, state: Any = None) -> Stream:
        before, given = (None, 0) if state is None else state
        return Rest(Unbatching(opened(self.source, run, before), self.tensors), whole(given))

    def moved(self, state: Any, more: int, moves: Moves) -> Any:
        before, given = state
        return [moves.moved(self.source, before), whole(given) + more]


class Unbatching(Maker):
    """Splits batches into rows: a unit is a batch."""

    def __init__(self, source: Stream, tensors: bool) -> None:
        super().__init__(source)
        self._tensors = tensors

    def make(self, n: int) -> Unit | None:
        block = self.source.take(1)
        if block is None:
            return None
        batch = block.values.first()
        rows = rows_of_batch(columns_of(batch) if self._tensors else batch)
        count = len(rows)
        return Unit(iter((Block(rows, mix_outputs(int(block.numbers[0]), 0, count)),)), count)


def columns_of(batch: Any) -> Any:
    """Return a batch with value lists as arrays; a list counts as columns."""
    if type(batch) in (list, tuple):
        kind = ListParts if type(batch) is list else tuple
        return bare(kind(map(_column, batch)))
    return {key: _column(value) for key, value in batch.items()} if type(batch) is dict else batch


def _column(values: Any) -> Any:
    return stacked(values, "a block") if type(values) is list and values else values


def rows_of_batch(batch: Any) -> Columns:
    """Return a batch as read-only columns: they may belong to the user.

    Raises:
        InvalidArgumentError: Components have different row counts, or values are missing.
    """
    if isinstance(batch, tuple) and not hasattr(batch, "_make"):
        batch = TupleParts(batch)
    refuse_missing_in(batch, "a batch", many=True)
    if type(batch) is list and not is_nested(batch, False):  # plain values, from which `batch` makes an array
        structure, arrays = None, [_column(batch)]
    else:
        structure, arrays = flat(batch)
    for each in arrays:
        if isinstance(each, (str, bytes, bytearray)) or not hasattr(type(each), "__len__"):
            raise invalid(f"unbatch: a batch has a component without rows: {each!r:.80}")
    try:
        lengths = [len(each) for each in arrays]
    except TypeError as error:  # a scalar array
        raise invalid(f"unbatch: a batch has a component without rows: {error}") from None
    if len(set(lengths)) != 1:
        raise invalid(f"unbatch: the components of a batch have different numbers of rows: {lengths}")
    return Columns([_read_only(each) for each in arrays], lengths[0], structure)


def _read_only(column: Any) -> Any:
    if isinstance(column, tuple):  # a tuple with plain values
        return list(column)
    if type(column) is not np.ndarray:
        return column if type(column) is list else as_columns(column, len(column)).arrays[0]
    column = column.view()
    column.flags.writeable = False
    return column
