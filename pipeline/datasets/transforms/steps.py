"""FunctionNode: a function that is called with each example: the ground of map, filter and flat_map."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any, NamedTuple

import numpy as np

from pipeline.datasets.node import Node, Opening, nearest_seed
from pipeline.datasets.seed import Seed
from pipeline.dtypes import MOST_WORKERS, integer, truth
from pipeline.flow.counted import Counted
from pipeline.flow.functions import check_function, name_of
from pipeline.flow.mapped import Mapped
from pipeline.flow.parallel import Parallel
from pipeline.flow.run import Limited
from pipeline.flow.segment import GRID, Segment
from pipeline.flow.steps import Draws, NoDraws, Step, check_on_error
from pipeline.flow.stream import Stream
from pipeline.flow.table import Index
from pipeline.workers.judge import Chosen
from pipeline.workers.threads import Threads


class CallSettings(NamedTuple):
    """How a function is called: the options of `map`, `filter` and `flat_map`.

    Attributes:
        workers: Who calls it: None for the thread that asks, a number of threads, an executor, or "auto".
        ordered: Whether results come in the order of the examples.
        on_error, max_errors: What happens to examples for which it fails.
        seed: What seeds `example_rng`; None for the nearest one upstream.
    """

    workers: int | str | Executor | None = None
    ordered: bool = True
    on_error: str = "raise"
    max_errors: int | None = None
    seed: int | None = None


class FunctionNode(Node):
    """A function that is called with each example.

    Args:
        source: What it is made from.
        function: The function.
        calls: How it is called.

    Raises:
        TypeError: It is not callable, is async, or cannot be sent to the workers.
        ValueError: An option is wrong.

    Attributes:
        does: What is done with its results.
    """

    stage = "function"
    does: type[Step]

    def __init__(self, source: Node, function: Callable[..., Any], calls: CallSettings) -> None:
        kind = self.kind
        self.check(function)
        check_on_error(calls.on_error, calls.max_errors, kind)
        self.inputs = (source,)
        self.function = function
        self.workers = _checked_workers(kind, calls.workers, function)
        self._chosen = Chosen()
        self.ordered = truth(calls.ordered, f"{kind}: ordered")
        self.on_error, self.max_errors = calls.on_error, calls.max_errors
        self.name = name_of(function)
        self._own_seed = None if calls.seed is None else Seed(calls.seed, kind)
        self._seed = self._own_seed or nearest_seed(source) or Seed(None, kind)
        self.note_place()

    def check(self, function: Any) -> None:
        """Raise TypeError for what cannot be called with an example."""
        check_function(f"{self.kind}: the function", function)

    def seed(self) -> Seed | None:
        return self._seed

    @property
    def fixed(self) -> bool:
        return self.one_to_one and self.on_error == "raise"

    @property
    def alone(self) -> bool:
        return self.workers is None and self.inputs[0].alone

    @property
    def indexed(self) -> bool:
        return self.fixed and self.inputs[0].indexed

    @property
    def orderable(self) -> bool:
        return self.one_to_one and self.inputs[0].orderable

    def parted(self) -> tuple[Node, Node]:
        return self, self.inputs[0]

    def options(self) -> dict[str, Any]:
        return {"function": self.name} | ({} if self.on_error == "raise" else {"on_error": self.on_error})

    def step(self, shared: Opening, epoch: int) -> Step:
        """Return what is done to an example."""
        skip = self.on_error == "skip"
        return self.does(self.function, self.name, skip, self._draws(shared, epoch))

    def _draws(self, shared: Opening, epoch: int) -> Draws | NoDraws:
        if self.timed:
            return NoDraws("the batches of batch(max_wait=...) depend on time: call it in a function before batch")
        if shared.hosts and self._seed.drawn:
            return NoDraws(f"each host of shard would draw other numbers: pass seed= to {self.kind}({self.name})")
        return Draws(*shared.pair(self._seed), epoch)

    def open(self, shared: Opening, epoch: int) -> Stream:
        source = self.inputs[0]
        stream = source.open(shared, epoch)
        return self.over(Counted(stream) if source.renumbers else stream, shared, epoch)

    def over(self, stream: Stream, shared: Opening, epoch: int) -> Stream:
        steps = [self.step(shared, epoch)]
        skips = [Limited(shared, self.on_error, self.max_errors)]
        # Batches that go out in time are others when they are made again: none are counted after a position.
        grid = 1 if self.timed else GRID
        if self.workers is None:
            return shared.gauged(self, Segment(stream, steps, shared, skips, grid))
        owned = isinstance(self.workers, (int, str))
        executor = self._executor(self.workers)
        part = shared.part(self)
        if part is not None:
            part.executor = executor
        meter = shared.meter(self)
        source = self.inputs[0]
        live = self.once is not None or (source.live and source.prompt)
        stream = Parallel(stream, steps, shared, skips, executor, self.ordered, owned, meter, live, grid)
        return shared.gauged(self, stream)

    def _executor(self, workers: int | str | Executor) -> Executor:
        if isinstance(workers, int):
            return Threads(workers, abandons=True)
        if not isinstance(workers, str):
            return workers
        from pipeline.workers.auto import Auto  # 10 ms with multiprocessing, for those who want it

        return Auto(self.name, self.function, self._chosen)

    def call(self) -> str:
        return f".{self.kind}({self.name})"

    def label(self) -> str:
        return self.name

    def index(self, shared: Opening, epoch: int) -> Index | None:
        index = self.inputs[0].index(shared, epoch) if self.indexed else None
        return None if index is None else self.mapped(index, shared, epoch)

    def mapped(self, index: Index, shared: Opening, epoch: int) -> Index:
        return Mapped(index, self.step(shared, epoch), shared.meter(self))


def _checked_workers(kind: str, workers: Any, function: Any) -> int | str | Executor | None:
    what = f"{kind}: workers"
    if isinstance(workers, str) and workers == "auto":
        return workers
    if workers is None or (isinstance(workers, (int, np.integer)) and not isinstance(workers, bool)):
        count = None if workers is None else integer(workers, what)
        if count is not None and not 1 <= count <= MOST_WORKERS:
            hint = "; without workers= the thread that iterates runs it" if count < 1 else ""
            raise ValueError(f"{what} must be at least 1 and at most {MOST_WORKERS:,}, got {count:,}{hint}")
        return count
    if not callable(getattr(workers, "submit", None)):
        raise TypeError(
            f"{what} must be a number of threads, 'auto' or an executor such as pipeline.processes(4), not "
            f"{workers!r:.80}"
        )
    executor: Executor = workers
    check = getattr(executor, "check", None)
    if check is not None:
        try:
            check(function)
        except TypeError as error:
            raise TypeError(f"{what}: {error}") from error
    return executor
