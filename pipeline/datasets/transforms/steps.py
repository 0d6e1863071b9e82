"""map, filter, flat_map and enumerate: what is done to examples one by one."""

from __future__ import annotations

import operator
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any

import numpy as np

from pipeline._meter import Meter
from pipeline.datasets.node import Node, Opening, nearest_seed
from pipeline.datasets.seed import Seed
from pipeline.dtypes import integer, truth
from pipeline.flow.block import Block, Columns, Examples, Numbers
from pipeline.flow.parallel import Parallel
from pipeline.flow.run import Limited, name_of
from pipeline.flow.segment import Segment
from pipeline.flow.steps import (
    Draws,
    EnumerateStep,
    Failure,
    FilterStep,
    FlatMapStep,
    MapStep,
    Step,
    check_on_error,
    run,
)
from pipeline.flow.stream import Stream
from pipeline.flow.table import Index
from pipeline.workers.map_ahead import check_executor, check_function
from pipeline.workers.threads import Threads

_KINDS: dict[str, type[Step]] = {"map": MapStep, "filter": FilterStep, "flat_map": FlatMapStep}


class Steps(Node):
    """A function that is called with each example.

    Args:
        source: What it is made from.
        kind: "map", "filter" or "flat_map".
        function: The function.
        workers: Who calls it: None for the thread that asks, a number of threads, or an executor.
        ordered: Whether results come in the order of the examples.
        on_error, max_errors: What happens to examples for which it fails.
        seed: What seeds `example_rng`; None for the nearest one upstream.

    Raises:
        TypeError: It is not callable, is async, or cannot be sent to the workers.
        ValueError: An option is out of range.
    """

    def __init__(
        self,
        source: Node,
        kind: str,
        function: Callable[..., Any],
        workers: int | Executor | None,
        ordered: bool,
        on_error: str,
        max_errors: int | None,
        seed: int | None,
    ) -> None:
        if kind == "flat_map":
            if not callable(function):
                raise TypeError(f"flat_map: the function must be callable, not {function!r:.80}")
        else:
            check_function(f"{kind}: the function", function)
        check_on_error(on_error, max_errors, kind)
        self.kind, self.stage = kind, "function"
        self.inputs = (source,)
        self.function = function
        self.workers = _checked_workers(kind, workers, function)
        self.ordered = truth(ordered, f"{kind}: ordered")
        self.on_error, self.max_errors = on_error, max_errors
        self.name = name_of(function)
        self._own_seed = None if seed is None else Seed(integer(seed, f"{kind}: seed"))
        self._seed = self._own_seed or nearest_seed(source) or Seed(None)
        self.note_place()

    def seed(self) -> Seed | None:
        return self._seed

    @property
    def one_to_one(self) -> bool:
        """Whether there is at most one output for each input, in order: none for an error that is skipped."""
        return self.kind == "map" and self.ordered

    @property
    def fixed(self) -> bool:
        """Whether there is exactly one output for each input, in order."""
        return self.one_to_one and self.on_error == "raise"

    @property
    def indexed(self) -> bool:
        return self.fixed and self.inputs[0].indexed

    @property
    def orderable(self) -> bool:
        return self.one_to_one and self.inputs[0].orderable

    def length(self) -> int | None:
        return self.inputs[0].length() if self.kind == "map" and self.on_error == "raise" else None

    def options(self) -> dict[str, Any]:
        return {"function": self.name} | ({} if self.on_error == "raise" else {"on_error": self.on_error})

    def step(self, shared: Opening, epoch: int) -> Step:
        """Return what is done to an example."""
        skip = self.on_error == "skip"
        return _KINDS[self.kind](self.function, self.name, skip, Draws(*shared.pair(self._seed), epoch))

    def open(self, shared: Opening, epoch: int) -> Stream:
        source = self.inputs[0]
        stream = source.open(shared, epoch)
        return self.over(Counted(stream) if source.renumbers else stream, shared, epoch)

    def over(self, stream: Stream, shared: Opening, epoch: int) -> Stream:
        """Return the stream of what the function makes of another one."""
        steps = [self.step(shared, epoch)]
        skips = [Limited(shared, self.on_error, self.max_errors)]
        if self.workers is None:
            return shared.gauged(self, Segment(stream, steps, shared, skips))
        owned = isinstance(self.workers, int)
        executor = Threads(self.workers) if isinstance(self.workers, int) else self.workers
        part = shared.part(self)
        if part is not None:
            part.executor = executor
        meter = shared.meter(self)
        live = self.once is not None
        return shared.gauged(self, Parallel(stream, steps, shared, skips, executor, self.ordered, owned, meter, live))

    def label(self) -> str:
        return self.name

    def index(self, shared: Opening, epoch: int) -> Index | None:
        index = self.inputs[0].index(shared, epoch) if self.indexed else None
        return None if index is None else _Mapped(index, self.step(shared, epoch), shared.meter(self))


class Enumerated(Node):
    """Numbers before examples."""

    kind = "enumerate"
    stage = ""

    def __init__(self, source: Node) -> None:
        self.inputs = (source,)
        self.note_place()

    @property
    def indexed(self) -> bool:
        return self.inputs[0].indexed

    def length(self) -> int | None:
        return self.inputs[0].length()

    def open(self, shared: Opening, epoch: int) -> Stream:
        return self.over(self.inputs[0].open(shared, epoch), shared, epoch)

    def over(self, stream: Stream, shared: Opening, epoch: int) -> Stream:
        """Return the stream of the elements of another one, with their numbers."""
        return Segment(Counted(stream), [EnumerateStep()], shared, [Limited(shared, "raise", None)])

    def index(self, shared: Opening, epoch: int) -> Index | None:
        index = self.inputs[0].index(shared, epoch)
        return None if index is None else _Mapped(index, EnumerateStep(), None)


class Counted:
    """A stream whose elements are numbered one after the other, whatever their numbers were."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._count = 0

    def take(self, n: int) -> Block | None:
        block = self._stream.take(n)
        if block is None:
            return None
        first = self._count
        self._count += len(block)
        return Block(block.values, block.ids, range(first, self._count))

    def skip(self, n: int) -> int:
        skipped = self._stream.skip(n)
        self._count += skipped
        return skipped

    def position(self) -> Any:
        return [self._count, self._stream.position()]

    def seek(self, position: Any) -> None:
        self._count, inner = position
        self._stream.seek(inner)

    def close(self) -> None:
        self._stream.close()


class _Mapped:
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
                raise output.error
            outputs.append(output.example)
        return Examples(outputs)

    def name(self, i: int) -> str | None:
        return self._block.values.name(i)


def _checked_workers(kind: str, workers: Any, function: Any) -> int | Executor | None:
    if workers is None or isinstance(workers, bool):
        if workers is not None:
            raise TypeError(f"{kind}: workers must be a number of threads, or an executor, not {workers!r}")
        return None
    if isinstance(workers, (int, np.integer)):
        if operator.index(workers) < 0:
            raise ValueError(f"{kind}: workers must be at least 0, got {workers}")
        return operator.index(workers) or None
    executor = check_executor(f"{kind}: workers", workers)
    check = getattr(executor, "check", None)
    if check is not None:
        check(function)
    return executor
