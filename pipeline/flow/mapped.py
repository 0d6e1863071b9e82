"""Mapped: the elements of an index, each changed by a step when it is made."""

from __future__ import annotations

from pipeline._next import Meter
from pipeline.flow.block import Block, Columns, Examples, Numbers
from pipeline.flow.segment import name_failure
from pipeline.flow.steps import (
    Failure,
    Step,
    run,
)
from pipeline.flow.table import Index


class Mapped:
    """The elements of an index, each changed by a step when it is made."""

    def __init__(self, index: Index, step: Step, meter: Meter | None) -> None:
        self._index, self._step, self._meter = index, step, meter

    def __len__(self) -> int:
        return len(self._index)

    def block(self, numbers: Numbers) -> Block:
        block = self._index.block(numbers)
        return Block(_MappedValues(block, self._step, self._meter), block.ids, block.numbers)


class _MappedValues:
    """What a step makes of a block, when it is asked for."""

    def __init__(self, block: Block, step: Step, meter: Meter | None) -> None:
        self._block, self._step, self._meter = block, step, meter

    def __len__(self) -> int:
        return len(self._block)

    def __getitem__(self, which: slice) -> _MappedValues:
        return _MappedValues(self._block[which], self._step, self._meter)

    def made(self) -> Columns | Examples:
        return self._made() if self._meter is None else self._meter.make(len(self), self._made)

    def _made(self) -> Columns | Examples:
        outputs = []
        for output in run([self._step], self._block):
            if isinstance(output, Failure):
                name_failure(self._block, output, [self._step])
                raise output.error
            outputs.append(output.example)
        return Examples(outputs)

    def name(self, i: int) -> str | None:
        return self._block.values.name(i)
