"""bucket: batches of examples of about the same length, padded to the longest of each batch."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from pipeline.datasets.node import Node, Opening
from pipeline.errors import invalid
from pipeline.flow.block import Block, Examples
from pipeline.flow.collate import Collate
from pipeline.flow.functions import called, check_function, name_of
from pipeline.flow.held import Arrivals, Element
from pipeline.flow.ids import as_one, joined
from pipeline.flow.stream import Stream, dropped, whole
from pipeline.nest import Nest, parts_of


class Bucket(Node):
    """Batches by length.

    Args:
        source: The examples.
        boundaries: Where buckets end, ascending: an example shorter than a boundary goes left of it.
        batch_sizes: How many examples to a batch, for each bucket: one more than boundaries.
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
        self.inputs = (source,)
        self.boundaries, self.batch_sizes, self.measure = list(boundaries), list(batch_sizes), measure
        self.pad, self.pad_to_boundary, self.drop_remainder = pad, pad_to_boundary, drop_remainder
        self.note_place()

    def options(self) -> dict[str, Any]:
        found = {"boundaries": self.boundaries, "batch_sizes": self.batch_sizes, "length": name_of(self.measure)}
        flags = {"pad_to_boundary": self.pad_to_boundary, "drop_remainder": self.drop_remainder}
        return found | {name: True for name, given in flags.items() if given}

    def open(self, shared: Opening, epoch: int) -> Stream:
        return shared.gauged(self, _Buckets(Arrivals(self.inputs[0].open(shared, epoch)), self, shared))


class _Buckets:
    def __init__(self, arrivals: Arrivals, node: Bucket, shared: Opening) -> None:
        self._arrivals, self._node, self._shared = arrivals, node, shared
        self._buckets: list[list[Element]] = [[] for _ in node.batch_sizes]
        self._count = 0
        self._ended = False

    def take(self, n: int) -> Block | None:
        while not self._ended:
            element = self._arrivals.next()
            if element is None:
                self._ended = True
                break
            number = self._bucket_of(element)
            bucket = self._buckets[number]
            bucket.append(element)
            if len(bucket) == self._node.batch_sizes[number]:
                return self._emit(number)
        if self._node.drop_remainder:
            self._shared.dropped[0] += sum(map(len, self._buckets))
            self._buckets = [[] for _ in self._buckets]
        number = next((i for i, bucket in enumerate(self._buckets) if bucket), -1)
        return None if number < 0 else self._emit(number)

    def _bucket_of(self, element: Element) -> int:
        if self._node.measure is len and isinstance(element.example, (dict, tuple)):
            kind = type(element.example).__name__
            raise invalid(
                f"bucket: an example is a {kind}, whose len() is how many components it has: pass length=, such as "
                "length=lambda example: len(example['tokens'])"
            )
        length = called(self._node.measure, element.example)
        try:
            return bisect.bisect_right(self._node.boundaries, length)
        except TypeError:
            raise invalid(f"bucket: the length of an example must be a number, got {length!r:.80}") from None

    def _emit(self, number: int) -> Block:
        elements, self._buckets[number] = self._buckets[number], []
        blocks = [each.block for each in elements]
        boundaries, fill = self._node.boundaries, self._node.pad
        batch = Collate("bucket", fill).batch(Examples([each.example for each in elements]), blocks)
        if self._node.pad_to_boundary and number < len(boundaries):
            batch = _longer(batch, boundaries[number], fill)
        first, self._count = self._count, self._count + 1
        return Block(Examples([batch]), as_one(joined([each.ids for each in blocks])), range(first, self._count))

    def skip(self, n: int) -> int:
        return dropped(self, n)

    def position(self) -> Any:
        held = [[each.arrival for each in bucket] for bucket in self._buckets]
        return self._arrivals.position(held, self._count, self._ended)

    def seek(self, position: Any) -> None:
        held = position["held"]
        if len(held) != len(self._buckets):
            raise ValueError(f"it has {len(held)} buckets, not {len(self._buckets)}")
        found = self._arrivals.seek(position, [each for bucket in held for each in bucket])
        self._buckets = [[found[each] for each in bucket] for bucket in held]
        self._count, self._ended = whole(position["count"]), bool(position["ended"])

    def close(self) -> None:
        self._arrivals.close()


def _longer(batch: Any, length: int, fill: Any) -> Any:
    """Pad the second dimension of all arrays that are padded up to a length."""
    nest = Nest(batch, True) if parts_of(batch) is not None else None
    columns = [batch] if nest is None else nest.flatten(batch)
    names = [None] if nest is None else nest.names
    fills = [fill.get(name) if isinstance(fill, Mapping) else fill for name in names]
    wide = [_padded(column, length, value) for column, value in zip(columns, fills, strict=True)]
    made = wide[0] if nest is None else nest.pack(wide)
    return {name: made[name] for name in batch} if isinstance(batch, dict) else made  # in their order


def _padded(column: Any, length: int, value: Any) -> Any:
    if value is None or not isinstance(column, np.ndarray) or column.ndim < 2 or column.shape[1] >= length:
        return column
    wide = np.full((column.shape[0], length, *column.shape[2:]), value, column.dtype)
    wide[:, : column.shape[1]] = column
    return wide
