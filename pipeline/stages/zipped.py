"""zip: tuples with one element from each dataset."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pipeline.nest import TupleParts
from pipeline.stages.block import Block, Columns, Examples, Numbers, as_columns, block_of
from pipeline.stages.index import Index
from pipeline.stages.node import Node, index_of, opened
from pipeline.stages.run import Run
from pipeline.stages.stream import Ahead, Several, Stream, whole


class Zip(Node):
    """Tuples with one element from each dataset, until one ends."""

    kind = "zip"
    by_number = True

    def __init__(self, inputs: Sequence[Node]) -> None:
        self.inputs = tuple(inputs)
        self.indexed = all(each.indexed for each in inputs)
        self.note_place()

    def call(self) -> str:
        return f"pipeline.{self.kind}(...)"

    def length(self) -> int | None:
        lengths = [each.length() for each in self.inputs]
        return None if None in lengths else min(each for each in lengths if each is not None)

    def index(self, run: Run) -> Index:
        return ZippedIndex([index_of(each, run.inner(i)) for i, each in enumerate(self.inputs)])

    def stream(self, run: Run, state: Any = None) -> Stream:
        states = [(None, 0)] * len(self.inputs) if state is None else state
        inputs = zip(self.inputs, states, strict=True)
        return Zipping(
            [Ahead(opened(each, run.inner(i), at), whole(skip)) for i, (each, (at, skip)) in enumerate(inputs)]
        )

    def state_at(self, place: int) -> Any:
        return [[place * each.step, 0] for each in self.inputs]


def zipped(blocks: Sequence[Block]) -> Block:
    """Return tuples from several blocks with the same number of examples."""
    first, values = blocks[0], [each.values for each in blocks]
    made: Columns | Examples
    if all([type(each) is Columns for each in values]):
        made = as_columns(TupleParts([block_of(each) for each in values]), len(first))  # type: ignore[arg-type]
    else:
        made = Examples(list(zip(*(each.examples() for each in values), strict=True)))
    return Block(made, first.numbers, names=first.names)


class ZippedIndex(Index):
    """Tuples with one element from each index."""

    def __init__(self, sources: Sequence[Index]) -> None:
        self._sources = sources
        self.ahead = all(each.ahead for each in sources)
        self.of_sources = all(each.of_sources for each in sources)

    def __len__(self) -> int:
        return min(map(len, self._sources))

    def block(self, places: Numbers) -> Block:
        error: Exception | None = None
        blocks: list[Block] = []
        for source in self._sources:  # do not advance the others past a failure
            block = source.block(places) if len(places) else None
            if block is None:
                break
            if block.error is not None:
                error, places = block.error, places[: len(block)]
            blocks.append(block)
        if not len(places):
            return Block(Examples([]), places, error)
        made = zipped([each if len(each) == len(places) else each.part(0, len(places)) for each in blocks])
        made.error = error
        return made


class Zipping(Several):
    """Tuples with one element from each stream. The state is the list of their states."""

    def take(self, n: int) -> Block | None:
        blocks = []
        for source in self.sources:
            block = source.look(n)
            if block is None:
                return None
            n = len(block)
            blocks.append(block)
        for source in self.sources:
            source.drop(n)
        return zipped([each if len(each) == n else each.part(0, n) for each in blocks])

    def drop(self, n: int) -> int:
        return min([int(source.drop(n)) for source in self.sources])
