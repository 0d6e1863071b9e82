"""bucket: batch examples with similar lengths, padded to each batch's longest."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pipeline.errors import invalid
from pipeline.stages.arrivals import Arrival, Arrivals
from pipeline.stages.block import Block, Examples, Names
from pipeline.stages.boundary import ToBoundary
from pipeline.stages.collate import Collate
from pipeline.stages.lengths import Lengths, rounded, too_long
from pipeline.stages.node import Node, OneInput
from pipeline.stages.run import Run
from pipeline.stages.stream import Stage, Stream

# Default boundaries: the first one, and the growth to the next. On average 6% of a batch is padding.
_FIRST, _GROWTH = 8, 1.125


def boundaries_up_to(length: int, multiple: int) -> list[int]:
    """Return bucket boundaries up to a length. They are multiples of a number, and the gaps grow."""
    found, edge = [], rounded(_FIRST, multiple)
    while edge <= length:
        found.append(edge)
        edge = max(edge + multiple, rounded(int(edge * _GROWTH), multiple))
    return found


class Bucket(OneInput):
    """Batches by length.

    Args:
        source: The examples.
        boundaries: Upper bounds of the buckets, ascending. An example goes into the first bucket whose bound exceeds
            its length.
        sizes: Examples per batch for each bucket, `len(boundaries) + 1` numbers. Or one number: the most tokens per
            batch after padding, examples times the longest.
        measure: A function from an example to its length, or a length field's name.
        pad: Value used to pad shorter rows, for all components or by name.
        pad_to_boundary: True if rows are padded up to their bucket's boundary.
        drop_remainder: Drop examples at the end if they fill no batch.
        multiple_of: Divisor of padded lengths.
    """

    kind = "bucket"
    batched = True
    reorders = True

    def __init__(
        self,
        source: Node,
        boundaries: Sequence[int],
        sizes: Sequence[int] | int,
        measure: str | Callable[[Any], int],
        pad: Any,
        pad_to_boundary: bool,
        drop_remainder: bool = False,
        multiple_of: int = 1,
    ) -> None:
        self.boundaries, self.measure = list(boundaries), Lengths("bucket: length", measure)
        self.batch_sizes = None if isinstance(sizes, int) else list(sizes)
        self.pad, self.pad_to_boundary, self.drop_remainder = pad, pad_to_boundary, drop_remainder
        self.max_tokens, self.multiple_of = sizes if isinstance(sizes, int) else 0, multiple_of
        super().__init__(source)

    def indexed_over(self, source: Node) -> bool:
        return False

    def length(self) -> int | None:
        return None

    def functions(self) -> tuple[Any, ...]:
        return self.measure.functions()

    def options(self) -> dict[str, Any]:
        found: dict[str, Any] = {"boundaries": self.boundaries, "length": self.measure.name}
        if self.batch_sizes is None:
            found["max_tokens"] = self.max_tokens
        else:
            found["batch_sizes"] = self.batch_sizes
        if self.multiple_of > 1:
            found["multiple_of"] = self.multiple_of
        flags = {"pad_to_boundary": self.pad_to_boundary, "drop_remainder": self.drop_remainder}
        return found | {name: True for name, given in flags.items() if given}

    def stream(self, run: Run, state: Any = None) -> Stream:
        before, shapes = (None, None) if state is None else state
        return Bucketing(Arrivals(self.source, run, before), self, run, ToBoundary(self.pad, shapes))


class Bucketing(Stage):
    """Batches by length. The state is [`Arrivals` state, `ToBoundary` state]."""

    source: Arrivals

    def __init__(self, source: Arrivals, node: Bucket, run: Run, to_boundary: ToBoundary) -> None:
        super().__init__(source)
        self._node, self._run, self._to_boundary = node, run, to_boundary
        self._groups: list[list[Arrival]] = [[] for _ in range(len(node.boundaries) + 1)]
        self._widths = [0] * len(self._groups)  # padded width of each bucket's batch, if it matters
        self._measured = node.batch_sizes is None or node.multiple_of > 1  # lengths count as widths
        self._padded = node.pad_to_boundary or node.multiple_of > 1
        self._begun = False

    def take(self, n: int) -> Block | None:
        if not self._begun:
            self._restore()
            self._begun = True
        while (arrival := self.source.next()) is not None:
            made = self._put(arrival)
            if made is not None:
                return made
        return self._left()

    def _restore(self) -> None:
        groups = self.source.restored() or self._groups
        if len(groups) != len(self._groups):
            raise invalid(f"load_state_dict: the state is damaged: it has {len(groups)} buckets")
        for which, group in enumerate(groups):
            self._groups[which] = group
            if self._measured:
                self._widths[which] = max((self._width(*self._bucket_of(each)) for each in group), default=0)

    def _put(self, arrival: Arrival) -> Block | None:
        """Put an example into its bucket; return a batch if the bucket is full."""
        length, which = self._bucket_of(arrival)
        if self._padded:
            self._to_boundary.note(arrival.example, length)
        group, node = self._groups[which], self._node
        width = self._width(length, which) if self._measured else 0
        if node.batch_sizes is not None:
            group.append(arrival)
            self._widths[which] = max(width, self._widths[which])
            return self._batch(which) if len(group) == node.batch_sizes[which] else None
        if width > node.max_tokens:
            raise too_long("bucket", self._named(arrival), length, width, node.max_tokens)
        made = None
        if (len(group) + 1) * max(width, self._widths[which]) > node.max_tokens:
            made = self._batch(which)
        group = self._groups[which]
        group.append(arrival)
        self._widths[which] = max(width, self._widths[which])
        full = made is None and (len(group) + 1) * self._widths[which] > node.max_tokens
        return self._batch(which) if full else made

    def _width(self, length: int, which: int) -> int:
        """Return the padded length for an example in a bucket."""
        boundaries = self._node.boundaries
        if self._node.pad_to_boundary and which < len(boundaries):
            length = boundaries[which]
        return rounded(length, self._node.multiple_of)

    def _bucket_of(self, arrival: Arrival) -> tuple[int, int]:
        """Return an example's length and bucket."""
        length = self._node.measure.whole(arrival.example, lambda: self._named(arrival))
        return length, bisect.bisect_right(self._node.boundaries, length)

    def _named(self, arrival: Arrival) -> str:
        return self._node.named(arrival.block(), 0)

    def _left(self) -> Block | None:
        """Return one of the final batches."""
        if self._node.drop_remainder:
            self._run.note_dropped(self._node.written, sum(map(len, self._groups)))
            return None
        return next((self._batch(i) for i, group in enumerate(self._groups) if group), None)

    def _batch(self, which: int) -> Block:
        """Batch the examples in a bucket, and empty it."""
        group, width = self._groups[which], self._widths[which]
        self._groups[which], self._widths[which] = [], 0
        names = Names(lambda i: None if (given := group[i].names) is None else given(0))
        numbers = np.array([each.number for each in group], np.int64)
        block = Block(Examples([each.example for each in group]), numbers, names=names)
        batch = Collate("bucket", self._node.pad).batch(block)
        if self._padded:
            boundaries = self._node.boundaries
            if self._measured or which < len(boundaries):
                batch = self._to_boundary.padded(batch, width if self._measured else boundaries[which])
        return Block(Examples([batch]), numbers[:1], sizes=np.array([sum(each.size for each in group)], np.int64))

    def state(self) -> Any:
        return [self.source.state_with(self._groups), self._to_boundary.state()]
