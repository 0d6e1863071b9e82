"""map, filter and flat_map: a function that is called with each example."""

from __future__ import annotations

import operator
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any

import numpy as np

from pipeline.datasets.node import Node, Opening, nearest_seed
from pipeline.datasets.seed import Seed
from pipeline.dtypes import integer, truth
from pipeline.flow.counted import Counted
from pipeline.flow.mapped import Mapped
from pipeline.flow.parallel import Parallel
from pipeline.flow.run import Limited, name_of
from pipeline.flow.segment import Segment
from pipeline.flow.steps import (
    Draws,
    FilterStep,
    FlatMapStep,
    MapStep,
    Step,
    check_on_error,
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
        return None if index is None else Mapped(index, self.step(shared, epoch), shared.meter(self))


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
