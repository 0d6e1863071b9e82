"""bucket: batches of examples of about the same length, padded to the longest of each batch."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pipeline.errors import invalid
from pipeline.stages.arrivals import Arrival, Arrivals
from pipeline.stages.block import Block, Examples, Names
from pipeline.stages.boundary import ToBoundary
from pipeline.stages.calls import called, check_function, name_of
from pipeline.stages.collate import Collate
from pipeline.stages.node import Node, OneInput
from pipeline.stages.run import Run
from pipeline.stages.stream import Stage, Stream


class Bucket(OneInput):
    """Batches by length.

    Args:
        source: The examples.
        boundaries: Where buckets end, ascending: an example shorter than a boundary goes left of it.
        batch_sizes: How many examples make a batch, for each bucket: one more than boundaries.
        measure: Returns the length of an example.
        pad: What fills shorter rows, for all components or by name.
        pad_to_boundary: Whether rows are padded up to the boundary of their bucket.
        drop_remainder: Whether examples at the end that fill no batch are dropped.
    """

    kind = "bucket"

    def __init__(
        self,
        source: Node,
        boundaries: Sequence[int],
        batch_sizes: Sequence[int],
        measure: Callable[[Any], int],
        pad: Any,
        pad_to_boundary: bool,
        drop_remainder: bool = False,
    ) -> None:
        check_function("bucket: length", measure, "a number")
        self.boundaries, self.batch_sizes, self.measure = list(boundaries), list(batch_sizes), measure
        self.pad, self.pad_to_boundary, self.drop_remainder = pad, pad_to_boundary, drop_remainder
        super().__init__(source)

    def indexed_over(self, source: Node) -> bool:
        return False

    def length(self) -> int | None:
        return None

    def functions(self) -> tuple[Any, ...]:
        return (self.measure,)

    def options(self) -> dict[str, Any]:
        found = {"boundaries": self.boundaries, "batch_sizes": self.batch_sizes, "length": name_of(self.measure)}
        flags = {"pad_to_boundary": self.pad_to_boundary, "drop_remainder": self.drop_remainder}
        return found | {name: True for name, given in flags.items() if given}

    def stream(self, run: Run, state: Any = None) -> Stream:
        before, shapes = (None, None) if state is None else state
        return Bucketing(Arrivals(self.source, run, before), self, run, ToBoundary(self.pad, shapes))


class Holding(Stage):
    """A stage that holds groups of examples. Its state is that of `Arrivals`.

    Args:
        source: The examples.
        count: How many groups there are at first.
    """

    source: Arrivals

    def __init__(self, source: Arrivals, count: int) -> None:
        super().__init__(source)
        self.groups: list[list[Arrival]] = [[] for _ in range(count)]
        self._begun = False

    def take(self, n: int) -> Block | None:
        if not self._begun:
            self.groups = self.source.restored() or self.groups
            self.restored()
            self._begun = True
        while (arrival := self.source.next()) is not None:
            group = self.put(arrival)
            if group is not None:
                return self._block(group)
        group = self.left()
        return None if group is None else self._block(group)

    def _block(self, group: list[Arrival]) -> Block:
        sizes = np.array([sum(each.size for each in group)], np.int64)
        return Block(Examples([self.made(group)]), np.array([group[0].number], np.int64), sizes=sizes)

    def restored(self) -> None:
        """The groups are those of a state."""

    def put(self, arrival: Arrival) -> list[Arrival] | None:
        """Put an example into a group; return a group that goes out, if one does."""
        raise NotImplementedError

    def left(self) -> list[Arrival] | None:
        """Return a group that goes out at the end."""
        raise NotImplementedError

    def made(self, group: list[Arrival]) -> Any:
        """Return what is made of a group."""
        raise NotImplementedError

    def state(self) -> Any:
        return self.source.state_with(self.groups)


class Bucketing(Holding):
    """Batches by length. The state is [that of `Arrivals`, that of `ToBoundary`]."""

    def __init__(self, source: Arrivals, node: Bucket, run: Run, to_boundary: ToBoundary) -> None:
        super().__init__(source, len(node.batch_sizes))
        self._node, self._run, self._to_boundary = node, run, to_boundary

    def state(self) -> Any:
        return [super().state(), self._to_boundary.state()]

    def restored(self) -> None:
        if len(self.groups) != len(self._node.batch_sizes):
            raise invalid(f"load_state_dict: the state is damaged: it has {len(self.groups)} buckets")

    def put(self, arrival: Arrival) -> list[Arrival] | None:
        length, which = self._bucket_of(arrival)
        if self._node.pad_to_boundary:
            self._to_boundary.note(arrival.example, length)
        self.groups[which].append(arrival)
        return self._pop(which) if len(self.groups[which]) == self._node.batch_sizes[which] else None

    def _bucket_of(self, arrival: Arrival) -> tuple[Any, int]:
        """Return the length of an example, and its bucket."""
        if self._node.measure is len and isinstance(arrival.example, (dict, tuple)):
            kind = type(arrival.example).__name__
            raise invalid(
                f"bucket: an example is a {kind}, whose len() is how many components it has: pass length=, such as "
                "length=lambda example: len(example['tokens'])"
            )
        length = called(self._node.measure, arrival.example, lambda: self._named(arrival))
        try:
            which = bisect.bisect_right(self._node.boundaries, length) if length == length else None
        except TypeError:
            which = None
        if which is None:  # NaN too
            name = self._named(arrival)
            raise invalid(f"bucket: the length of an example must be a number, got {length!r:.80} for {name}")
        return length, which

    def _named(self, arrival: Arrival) -> str:
        return self._node.named(arrival.block(), 0)

    def _pop(self, which: int) -> list[Arrival]:
        group, self.groups[which] = self.groups[which], []
        return group

    def left(self) -> list[Arrival] | None:
        if self._node.drop_remainder:
            self._run.note_dropped(self._node.written, sum(map(len, self.groups)))
            return None
        return next((self._pop(i) for i, group in enumerate(self.groups) if group), None)

    def made(self, group: list[Arrival]) -> Any:
        names = Names(lambda i: None if (given := group[i].names) is None else given(0))
        numbers = np.array([each.number for each in group], np.int64)
        block = Block(Examples([each.example for each in group]), numbers, names=names)
        batch = Collate("bucket", self._node.pad).batch(block)
        if self._node.pad_to_boundary:
            _, which = self._bucket_of(group[0])
            if which < len(self._node.boundaries):
                batch = self._to_boundary.padded(batch, self._node.boundaries[which])
        return batch
