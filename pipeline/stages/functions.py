"""map, filter and flat_map: functions called with one example at a time.

Neighbouring steps form one stage. A chunk of examples passes through them in turn. Steps before the first `workers=`
and after the last one run in the caller's thread.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from pipeline._block import mix_outputs
from pipeline.dtypes import at_least, one_of, truth
from pipeline.errors import invalid
from pipeline.orders.seeds import Seed
from pipeline.stages.calls import check_function, name_of
from pipeline.stages.draws import NoDraws
from pipeline.stages.index import Index
from pipeline.stages.node import Moves, Node, OneForOne, PassThrough, functions_below, indexed, nearest_seed, opened
from pipeline.stages.run import Limited, Measured, Run
from pipeline.stages.steps import Applied, FilterStep, FlatMapStep, Mapped, MapStep, Step
from pipeline.stages.stream import Rest, Stream, whole
from pipeline.workers.generators import Watch
from pipeline.workers.judge import Chosen

if TYPE_CHECKING:
    from pipeline.stages.segment import Segment

_IN_TIME = "the batches of batch(max_wait=...) depend on time, and there is no state between two elements that"

# Seconds to wait for an example when `prefetch` has no room yet, to keep workers busy.
_PATIENCE = 0.001


class CallSettings(NamedTuple):
    """How a function is called: the options of `map`, `filter` and `flat_map`.

    Attributes:
        workers: None for the consuming thread, a number of threads, an executor, or "auto".
        ordered: True if results keep the order of the examples.
        on_error, max_errors: Policy for failing examples.
        seed: Seed for `example_rng`; None for the nearest seed upstream.
    """

    workers: int | str | Executor | None = None
    ordered: bool = True
    on_error: str = "raise"
    max_errors: int | None = None
    seed: int | None = None


class Each(OneForOne):
    """A function called with each example: base class for map, filter and flat_map.

    Args:
        source: The input.
        function: The function.
        calls: The call settings.

    Raises:
        TypeError: It is not callable, is async, or cannot be sent to the workers.
        ValueError: An option is wrong.

    Attributes:
        does: The operation on its results.
        alone: True if it is one stage even next to others, with its input's state in its place.
        chosen: The best workers found so far by `workers="auto"`; later iterators begin with these.
        watch: Warns about the function's random draws.
    """

    stage = "function"
    does: type[Step]
    alone: ClassVar[bool] = False

    def __init__(self, source: Node, function: Callable[..., Any], calls: CallSettings) -> None:
        from pipeline.workers.given import checked_workers  # imported lazily: executors cost 3 ms

        kind = self.kind
        self.check(function)
        check_on_error(calls.on_error, calls.max_errors, kind)
        self.function, self.name = function, name_of(function)
        self.workers = None if calls.workers is None else checked_workers(kind, calls.workers, function)
        self.ordered = truth(calls.ordered, f"{kind}: ordered")
        self.on_error, self.max_errors = calls.on_error, calls.max_errors
        self._own_seed = None if calls.seed is None else Seed(calls.seed, kind)
        self._seed = self._own_seed or nearest_seed(source) or Seed(None, kind)
        self._number = functions_below(source)
        self.chosen = Chosen()
        super().__init__(source)
        self.watch = Watch(kind, self.name, function, source.lends(), self.made_at)

    def indexed_over(self, source: Node) -> bool:
        return self.one_to_one and source.indexed

    def check(self, function: Any) -> None:
        """Raise TypeError unless a function can be called with an example."""
        check_function(f"{self.kind}: the function", function)

    @property
    def one_to_one(self) -> bool:
        """True if there is exactly one output for each input, in order."""
        return self.does.one_to_one and self.on_error == "raise" and self.ordered

    @property
    def carries_on(self) -> bool:
        return self.one_to_one

    @property
    def choices_below(self) -> bool:
        return self.does.one_to_one and self.ordered

    @property
    def skips(self) -> bool:
        return self.on_error == "skip"

    @property
    def works_ahead(self) -> bool:
        return self.workers is not None or self.source.works_ahead

    def seed(self) -> Seed | None:
        return self._seed

    def order_seed(self) -> Seed | None:
        return None

    def functions(self) -> tuple[Any, ...]:
        return (self.function,)

    def length(self) -> int | None:
        return self.source.length() if self.does.one_to_one and self.on_error == "raise" else None

    def no_state(self) -> str | None:
        if not self.ordered and self.workers is not None:
            return "with ordered=False the order depends on timing, so no state can bring it back"
        return super().no_state()

    def options(self) -> dict[str, Any]:
        return {"function": self.name} | ({} if self.on_error == "raise" else {"on_error": self.on_error})

    def step_of(self, run: Run) -> Step:
        """Return the step for one pass."""
        return self.does(self.function, self.name, self.on_error == "skip", self._draw(run), self.watch)

    def own_step_of(self, run: Run) -> Step:
        """Return the step for the consuming thread. It stops when the iterator is closed."""
        step = self.step_of(run)
        step.bell, step.measured = run.clock.bell, run.measured.get(self.written)
        return step

    def _draw(self, run: Run) -> tuple[int, ...] | NoDraws:
        if self.source.timed:
            return NoDraws("the batches of batch(max_wait=...) depend on time: call it in a function before batch")
        if run.hosts and self._seed.drawn:
            return NoDraws(f"each host of shard would draw different numbers: pass seed= to {self.kind}({self.name})")
        which = int(mix_outputs(run.path, self._number, 1)[0])
        return (*run.seeds.pair(self._seed), run.epoch, which)

    def index(self, run: Run) -> Index:
        return Mapped(indexed(self.source, run), self.own_step_of(run), self.named)

    def state_at(self, place: int) -> Any:
        return [[place, len(neighbours(self)[0])], 0]

    def input_state(self, state: Any) -> tuple[Node, Any] | None:
        (before, count), given = state
        return None if given else (neighbours(self, count)[1], before)

    def moved(self, state: Any, more: int, moves: Moves) -> Any:
        if self.alone:
            return moves.moved(self.source, state, more)
        (before, count), given = state
        _, source = neighbours(self, whole(count))
        given = whole(given) + more
        if not moves.differs_below(source):
            return [[before, count], given]
        return [[moves.moved(source, before, given), count], 0]

    def stream(self, run: Run, state: Any = None) -> Stream:
        (before, count), given = ((None, None), 0) if state is None else state
        nodes, source = neighbours(self, None if count is None else whole(count))
        once = None
        if source.timed and (several := [each for each in nodes if each.does.renews]):
            once = f"{_IN_TIME} {several[0].kind}({several[0].name}) makes of one"
        if all(each.workers is None for each in nodes):
            steps, limits, measured = _parts(nodes, run, True)
            meters = [None if each is None else each.meter for each in measured]
            applied = Applied(opened(source, run, before), steps, limits, meters, nodes[0].named)
            return Rest(applied, whole(given), once)
        from pipeline.stages.crew import Crewed  # imported lazily: executors cost 3 ms
        from pipeline.stages.prefetch import Fetching, promptly  # as above

        segments = _segments(nodes, run)
        needed = functools.partial(_any_workers, segments)
        inputs = promptly(source, run, before, 2, needed) if source.live else opened(source, run, before)
        read_ahead = inputs.read_ahead if isinstance(inputs, Fetching) else None
        crewed = Crewed(
            inputs,
            segments,
            run,
            ordered=all(each.ordered for each in nodes),
            patience=0.0 if source.live else _PATIENCE if source.waits else None,
            timed=source.timed,
            read_ahead=read_ahead,
            named=nodes[0].named,
        )
        return Rest(crewed, whole(given), once)

    def call(self) -> str:
        return f".{self.kind}({self.name})"

    def label(self) -> str:
        return self.name


def neighbours(node: Each, count: int | None = None) -> tuple[list[Each], Node]:
    """Return the steps that form one stage with this step, first to last, and their input.

    Args:
        node: The last step.
        count: Number of steps in the stage when a state was saved; None at a beginning. A prefetch may have been added
            or removed among them. It then has no thread.

    Raises:
        InvalidArgumentError: There are fewer steps.
    """
    found, source = [node], node.source
    while count is None or len(found) < count:
        if count is not None and isinstance(source, PassThrough):
            source = source.source
            continue
        if not isinstance(source, Each) or source.alone:
            break
        found.insert(0, source)
        source = source.source
    if count is not None and len(found) != count:
        raise invalid(f"load_state_dict: the state is damaged: it has {count} functions, but there are {len(found)}")
    return found, source


def _parts(nodes: Sequence[Each], run: Run, own: bool) -> tuple[list[Step], list[Limited], list[Measured | None]]:
    """Return each step's function, its counter for skipped errors, and its meter.

    Args:
        nodes: The steps.
        run: The iterator's run.
        own: True if the consuming thread runs them.
    """
    return (
        [each.own_step_of(run) if own else each.step_of(run) for each in nodes],
        [Limited(run, each.on_error, each.max_errors) for each in nodes],
        [run.measured.get(each.written) for each in nodes],
    )


def _any_workers(segments: Sequence[Segment]) -> bool:
    """Return whether there are workers now: `"auto"` begins without."""
    return any([each.workers is not None and each.workers.count > 0 for each in segments])


def _segments(nodes: Sequence[Each], run: Run) -> list[Segment]:
    """Group a stage's steps by workers: neighbours with the same workers form one segment."""
    from pipeline.stages.segment import Segment  # imported lazily: executors cost 3 ms
    from pipeline.workers.given import workers_of  # as above

    last = run.measured.get(nodes[-1].written)
    stage = None if last is None else last.meter
    found: list[tuple[Any, list[Each]]] = []
    for node in nodes:
        same = found and found[-1][0] is node.workers and not isinstance(node.workers, (int, str))
        if same:
            found[-1][1].append(node)
        else:
            found.append((node.workers, [node]))
    segments = []
    for workers, group in found:
        first = group[0]
        runs, owned = (
            (None, False) if workers is None else workers_of(workers, first.function, first.name, first.chosen)
        )
        if runs is not None and not isinstance(workers, str) and not runs.in_process:  # "auto" begins in this process
            for each in group:
                each.watch.leave()
        steps, limits, measured = _parts(group, run, workers is None)
        own = steps if workers is None else [each.own_step_of(run) for each in group]
        segments.append(Segment(steps, own, limits, measured, stage, runs, owned, run.clock.within))
    return segments


class Map(Each):
    """One result for each example."""

    kind = "map"
    keeps_batches = True
    does = MapStep


class Filter(Each):
    """The examples for which a function is true."""

    kind = "filter"
    does = FilterStep


class FlatMap(Each):
    """Any number of examples for each."""

    kind = "flat_map"
    does = FlatMapStep
    batched = False

    def name_of(self, number: int) -> str | None:
        return None

    def check(self, function: Any) -> None:
        check_function("flat_map: the function", function, "examples", many=True)


def check_on_error(on_error: str, max_errors: int | None, what: str) -> None:
    """Raise InvalidArgumentError for a transformation's wrong `on_error` or `max_errors`."""
    one_of(("raise", "skip"), on_error, f"{what}: on_error")
    if max_errors is not None and on_error == "raise":
        raise invalid(f"{what}: max_errors needs on_error='skip'")
    if max_errors is not None:
        at_least(0, max_errors, f"{what}: max_errors")
