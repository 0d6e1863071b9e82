"""map, filter and flat_map: functions that are called with one example at a time.

Neighbouring steps are one stage. A chunk of examples passes through them in turn: what is written before the first
`workers=` and behind the last one runs in the caller's thread.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pipeline._block import mix_outputs
from pipeline._calls import Draw, Kept, call_each
from pipeline._meter import Meter
from pipeline.datasets.seed import Seed
from pipeline.dtypes import at_least, one_of, truth
from pipeline.errors import CancelledError, DeadlineExceededError, OutOfRangeError, invalid
from pipeline.nest import kept
from pipeline.on_error import must_raise, name_item
from pipeline.stages.block import Block, Columns, Examples
from pipeline.stages.calls import check_function, name_of
from pipeline.stages.draws import NoDraws, this_thread
from pipeline.stages.index import Index
from pipeline.stages.node import Node, OneInput, functions_below, indexed, nearest_seed, opened
from pipeline.stages.run import Limited, Run
from pipeline.stages.stream import Maker, Rest, Skipped, Stream, Unit, whole
from pipeline.tracebacks import from_handler
from pipeline.workers.chunks import FailedItem, here
from pipeline.workers.judge import Chosen

# An example on its way through steps: which input of the block it comes from, its number, and what it is now. Without a
# number it is an error that is skipped: the input, None, and the Failure.
Passing: TypeAlias = "tuple[int, int | None, Any]"

Named: TypeAlias = "Callable[[Block, int], str]"

_END: Any = object()

_IN_TIME = "the batches of batch(max_wait=...) depend on time, and there is no state between two elements that"


class Failure(Exception):
    """What a step could not do, on its way to the stage that names the example.

    Args:
        error: Why.
        input: Which input of the block it was.
        number: The number of the example.
        step: The step.
    """

    def __init__(self, error: Exception, input: int, number: int, step: Step) -> None:
        self.error, self.input, self.number, self.step = error, input, number, step


class Step:
    """What a step does to examples: pure, so that an output depends on the example and its number alone.

    Args:
        function: The user's function.
        name: What the user calls it.
        skip: Whether examples are left out for which it fails.
        draw: What seeds `example_rng` in it.

    Attributes:
        one_to_one: Whether there is one output for each example.
        renews: Whether outputs are other examples, each of which counts as one, whatever the input was.
        seconds: How long the function took.
        count: How many outputs there were.
    """

    one_to_one = renews = False

    def __init__(self, function: Callable[..., Any], name: str, skip: bool, draw: tuple[int, ...] | NoDraws) -> None:
        self.function, self.name, self.skip, self.draw = function, name, skip, draw
        self.seconds, self.count = 0.0, 0

    def anew(self) -> Step:
        """Return the same step, with nothing counted."""
        other = copy.copy(self)
        other.seconds, other.count = 0.0, 0
        return other

    def drawing(self) -> Draw | NoDraws:
        """Return what `example_rng` draws from while a thread runs the step."""
        return self.draw if isinstance(self.draw, NoDraws) else Draw(*self.draw)

    def over(self, examples: Iterable[Passing]) -> Iterator[Passing]:
        """Yield what becomes of examples.

        Raises:
            Failure: The function failed, and the example is not to be skipped.
        """
        draw, function, clock, thread = self.drawing(), self.function, time.perf_counter, this_thread
        for i, number, example in examples:
            if number is None:
                yield i, None, example
                continue
            before, thread.draw, draw.number = thread.draw, draw, number
            began = clock()
            try:
                outputs = self.outputs(function(example), i, number, example)
            except Exception as error:
                failure = Failure(error, i, number, self)
                if not self.skip:
                    raise error if from_handler(error) else failure from None
                yield i, None, failure
                continue
            finally:
                self.seconds += clock() - began
                thread.draw = before
            yield from outputs

    def outputs(self, output: Any, i: int, number: int, example: Any) -> Iterable[Passing]:
        """Return what becomes of an example for which the function returned `output`."""
        raise NotImplementedError

    def blamed(self, error: Exception, number: int, name: str) -> Exception:
        """Note on an error which function and example it is about; return the error to raise.

        An exception that would look like the end of the input becomes a RuntimeError.

        Args:
            error: The error.
            number: The number of the example.
            name: What errors call the example.
        """
        if isinstance(error, (StopIteration, OutOfRangeError)):
            other = RuntimeError(f"{self.name} raised {type(error).__name__}")
            other.__cause__, error = error, other
        example = f"example {number}"
        name_item(error, name, f"{self.name}: {example}" + ("" if name == example else f", {name}"))
        return error


class MapStep(Step):
    """Applies a function."""

    one_to_one = True

    def outputs(self, output: Any, i: int, number: int, example: Any) -> Iterable[Passing]:
        if output is None:
            raise self.returned_none()
        self.count += 1
        return ((i, number, output),)

    def returned_none(self) -> ValueError:
        """Return the error of a function that returned None."""
        return ValueError(f"{self.name} returned None, which is not an example")


class FilterStep(Step):
    """Keeps the examples for which a function is true."""

    def outputs(self, output: Any, i: int, number: int, example: Any) -> Iterable[Passing]:
        if not output:
            return ()
        self.count += 1
        return ((i, number, example),)


class FlatMapStep(Step):
    """Replaces an example by those that a function makes of it."""

    renews = True

    def outputs(self, output: Any, i: int, number: int, example: Any) -> Iterable[Passing]:
        if isinstance(output, (str, bytes, dict)) or not hasattr(output, "__iter__"):
            raise TypeError(f"{self.name} returned {output!r:.80}: flat_map needs an iterable of examples")
        if isinstance(output, (list, tuple)):
            self.count += len(output)
            return zip([i] * len(output), mix_outputs(number, 0, len(output)).tolist(), output, strict=True)
        return self._one_by_one(iter(output), i, number)

    def _one_by_one(self, output: Iterator[Any], i: int, number: int) -> Iterator[Passing]:
        """Yield what a generator makes, which runs only now."""
        draw, thread, clock, k = self.drawing(), this_thread, time.perf_counter, 0
        draw.number = number
        while True:
            before, thread.draw = thread.draw, draw
            began = clock()
            try:
                each = next(output, _END)
            except Exception as error:
                failure = Failure(error, i, number, self)
                if not self.skip:
                    raise error if from_handler(error) else failure from None
                yield i, None, failure
                return
            finally:
                self.seconds += clock() - began
                thread.draw = before
            if each is _END:
                return
            self.count += 1
            yield i, int(mix_outputs(number, k, 1)[0]), each
            k += 1


class SkippedAt:
    """An error that is skipped, in its place among the outputs of steps.

    Args:
        error: The error; from another process a Reported.
        step: Which of the steps it comes from.
    """

    __slots__ = ("error", "step")

    def __init__(self, error: Any, step: int) -> None:
        self.error, self.step = error, step


class Reported(Exception):
    """What a worker reports of an error, for the caller to name the example.

    Args:
        item: The error.
        input: Which input of the chunk it was.
        step: Which of the chunk's steps it was.
    """

    def __init__(self, item: FailedItem, input: int, step: int) -> None:
        super().__init__(item, input, step)
        self.item, self.input, self.step = item, input, step


def outputs_of_steps(
    steps: Sequence[Step],
    block: Block,
    n: int,
    named: Named | None,
    before: Callable[[int], object] | None = None,
) -> Iterator[Block | SkippedAt]:
    """Yield what steps make of a block: blocks of up to n examples, and errors that are skipped in their place.

    An error that is not skipped is that of the last block, after the examples before it.

    Args:
        steps: The steps.
        block: The examples.
        n: How many outputs to make together.
        named: Returns what errors call an input. None if this is a worker, and the caller names examples: errors are
            `Reported`, and in the place of names blocks have the indexes of the inputs, unless these are all in order.
        before: Called with the index of each input before anything is done with it; None for nothing.
    """

    def told(failure: Failure) -> Exception:
        if named is None:
            return Reported(FailedItem(failure.error), failure.input, steps.index(failure.step))
        return failure.step.blamed(failure.error, failure.number, named(block, failure.input))

    if len(steps) == 1 and type(steps[0]) is MapStep and not steps[0].skip:
        made, failure = called_with_each(steps[0], block, before)
        made.error = block.error if failure is None else told(failure)
        made.names = None if named is None else block.names
        yield made
        return
    numbers, examples = block.numbers.tolist(), block.values.examples()
    passing: Iterable[Passing] = zip(range(len(numbers)), numbers, examples, strict=True)
    if before is not None:
        passing = _noted(passing, before)
    for step in steps:
        passing = step.over(passing)
    passing = iter(passing)
    ended = False
    while not ended:
        found, inputs, outputs = Kept(n, kept, here.empty), [], []
        error: Exception | None = None
        skipped: Failure | None = None
        try:
            for i, number, example in passing:
                if number is None:
                    skipped = example
                    break
                found.add(example)
                inputs.append(i)
                outputs.append(number)
                if len(outputs) == n:
                    break
            else:
                ended, error = True, block.error
        except Failure as failure:
            error, ended = told(failure), True
        if outputs or error is not None:
            names: Any = None
            if named is None or block.names is not None:
                names = np.array(inputs, np.int64)
                names = names if named is None else block.names.picked(names)  # type: ignore[union-attr]
            sizes = sizes_of_outputs(steps, block, inputs)
            yield Block(values_of(found), np.array(outputs, np.int64), error, names, sizes)
        if skipped is not None:
            yield SkippedAt(told(skipped), steps.index(skipped.step))


def sizes_of_outputs(steps: Sequence[Step], block: Block, inputs: Any) -> NDArray[np.int64] | int:
    """Return how many examples of the source the outputs of steps consist of.

    Args:
        steps: The steps.
        block: Their input.
        inputs: The index of the input of each output, or a slice.
    """
    if any(step.renews for step in steps):
        return 1
    return block.sizes if isinstance(block.sizes, int) else block.sizes[inputs]


def _noted(passing: Iterable[Passing], before: Callable[[int], object]) -> Iterator[Passing]:
    for each in passing:
        before(each[0])
        yield each


def called_with_each(
    step: Step, block: Block, before: Callable[[int], object] | None = None
) -> tuple[Block, Failure | None]:
    """Return what a function makes of each example, up to the first for which it fails, and that failure.

    A compiled loop makes the calls: 90 ns each, where a generator takes 400.
    """
    numbers, examples, draw = np.ascontiguousarray(block.numbers), list(block.values.examples()), step.drawing()
    found, thread = Kept(len(numbers), kept, here.empty), this_thread
    outer, thread.draw = thread.draw, draw
    error: Exception | None = None
    began = time.perf_counter()
    drawn = draw if isinstance(draw, Draw) else None
    try:
        _, nothing = call_each(step.function, examples, 0, numbers, drawn, before, None, len(numbers), found)
        if nothing:
            error = step.returned_none()  # type: ignore[attr-defined]
    except Exception as raised:
        if from_handler(raised):  # it is not about an example
            raise
        error = raised
    finally:
        thread.draw = outer
        step.seconds += time.perf_counter() - began
    count = found.count
    step.count += count
    failure = None if error is None else Failure(error, count, int(numbers[count]), step)
    sizes = block.sizes if isinstance(block.sizes, int) else block.sizes[:count]
    return Block(values_of(found), numbers if count == len(numbers) else numbers[:count], sizes=sizes), failure


def values_of(found: Kept) -> Columns | Examples:
    """Return examples that were kept."""
    columns, structure = found.values()
    if columns is None:
        return Examples(structure)
    if structure is None and type(columns[0]) is list:
        return Examples(columns[0])
    return Columns(columns, found.count, structure)


def leaves_out(step: Step, source: Stream, error: Exception) -> bool:
    """Whether a step skips an example that its source cannot make: then the source has left it out.

    Args:
        step: The first step behind the source.
        source: The source.
        error: What its `take` has raised.
    """
    if not step.skip or must_raise(error) or isinstance(error, (CancelledError, DeadlineExceededError)):
        return False
    try:
        return source.drop(1) == 1
    except Exception:
        return False  # the error is not that of a single example


class StepTimes:
    """Gives each step that runs in the thread that takes its own time: their stage is measured as its last step.

    Args:
        steps: The steps.
        meters: Those of the steps; None where nothing is measured.
        stage: That of the stage.
    """

    def __init__(self, steps: Sequence[Step], meters: Sequence[Meter | None], stage: Meter | None) -> None:
        self._seen = [
            (step, meter, 0.0, 0)
            for step, meter in zip(steps, meters, strict=True)
            if meter is not None and meter is not stage
        ]
        self._stage = stage

    def share(self) -> None:
        """Count what the steps have done since the last time."""
        if self._stage is None:
            return
        for i, (step, meter, seconds, count) in enumerate(self._seen):
            meter.take_over(self._stage, step.seconds - seconds, step.count - count)
            self._seen[i] = step, meter, step.seconds, step.count


class Applied(Maker):
    """What steps make of a stream in the thread that takes.

    Args:
        source: The inputs.
        steps: The steps.
        limits: Counts the errors that are skipped, by step.
        meters: Counts the time of each step; None where nothing is measured.
        named: Returns what errors call an input.
    """

    def __init__(
        self,
        source: Stream,
        steps: Sequence[Step],
        limits: Sequence[Limited],
        meters: Sequence[Meter | None],
        named: Named,
    ) -> None:
        super().__init__(source)
        self._steps, self._limits, self._named = steps, limits, named
        self._counted = not any(step.renews for step in steps)  # whether an input has one output at most
        self._times = StepTimes(steps, meters, meters[-1])

    def make(self, n: int) -> Unit | None:
        try:
            block = self.source.take(n)
        except Exception as error:
            if not leaves_out(self._steps[0], self.source, error):
                raise
            return Unit(iter((Skipped(error, self._limits[0].note),)))
        if block is None:
            return None
        return Unit(self._parts(block, n), len(block) if self._counted else None)

    def _parts(self, block: Block, n: int) -> Iterator[Block | Skipped]:
        """Yield blocks and skipped errors, each of these with what counts it."""
        for part in outputs_of_steps(self._steps, block, n, self._named):
            self._times.share()
            yield Skipped(part.error, self._limits[part.step].note) if isinstance(part, SkippedAt) else part


class Mapped(Index):
    """What a function makes of the examples of an index."""

    ahead = False

    def __init__(self, source: Index, step: Step, named: Named) -> None:
        self._source, self._step, self._named, self.step = source, step, named, source.step

    def __len__(self) -> int:
        return len(self._source)

    @property
    def stop(self) -> int:
        return self._source.stop

    def block(self, places: Any) -> Block:
        source = self._source.block(places)
        made, failure = called_with_each(self._step, source)
        made.names, made.error = source.names, source.error
        if failure is not None:
            made.error = self._step.blamed(failure.error, failure.number, self._named(source, failure.input))
        return made


class CallSettings(NamedTuple):
    """How a function is called: the options of `map`, `filter` and `flat_map`.

    Attributes:
        workers: What calls it: None for the thread that takes, a number of threads, an executor, or "auto".
        ordered: Whether results keep the order of the examples.
        on_error, max_errors: What happens to examples for which it fails.
        seed: What seeds `example_rng`; None for the nearest seed upstream.
    """

    workers: int | str | Executor | None = None
    ordered: bool = True
    on_error: str = "raise"
    max_errors: int | None = None
    seed: int | None = None


class Each(OneInput):
    """A function that is called with each example: the base of map, filter and flat_map.

    Args:
        source: The input.
        function: The function.
        calls: How it is called.

    Raises:
        TypeError: It is not callable, is async, or cannot be sent to the workers.
        ValueError: An option is wrong.

    Attributes:
        does: What is done with its results.
        chosen: The workers that `workers="auto"` has found best so far; later iterators begin with these.
    """

    stage = "function"
    does: type[Step]

    def __init__(self, source: Node, function: Callable[..., Any], calls: CallSettings) -> None:
        from pipeline.stages.crew import checked_workers  # executors take 3 ms to import

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

    def indexed_over(self, source: Node) -> bool:
        return self.one_to_one and source.indexed

    def check(self, function: Any) -> None:
        """Raise TypeError for what cannot be called with an example."""
        check_function(f"{self.kind}: the function", function)

    @property
    def one_to_one(self) -> bool:
        """Whether there is exactly one output for each input, in order."""
        return self.does.one_to_one and self.on_error == "raise" and self.ordered

    @property
    def step(self) -> int:
        return self.source.step

    @property
    def works_ahead(self) -> bool:
        return self.workers is not None or self.source.works_ahead

    def seed(self) -> Seed | None:
        return self._seed

    def functions(self) -> tuple[Any, ...]:
        return (self.function,)

    def length(self) -> int | None:
        return self.source.length() if self.does.one_to_one and self.on_error == "raise" else None

    def no_state(self) -> str | None:
        if not self.ordered and self.workers is not None:
            return "with ordered=False the order depends on time, and there is no state to return to"
        return super().no_state()

    def options(self) -> dict[str, Any]:
        return {"function": self.name} | ({} if self.on_error == "raise" else {"on_error": self.on_error})

    def step_of(self, run: Run) -> Step:
        """Return what is done to an example in a pass."""
        return self.does(self.function, self.name, self.on_error == "skip", self._draw(run))

    def _draw(self, run: Run) -> tuple[int, ...] | NoDraws:
        if self.source.timed:
            return NoDraws("the batches of batch(max_wait=...) depend on time: call it in a function before batch")
        if run.hosts and self._seed.drawn:
            return NoDraws(f"each host of shard would draw other numbers: pass seed= to {self.kind}({self.name})")
        which = int(mix_outputs(run.path, self._number, 1)[0])
        return (*run.seeds.pair(self._seed), run.epoch, which)

    def named(self, block: Block, i: int) -> str:
        """Return what errors call input i of a block."""
        name = None if block.names is None else block.names(i)
        return name or self.source.name_of(int(block.numbers[i])) or block.named(i)

    def index(self, run: Run) -> Index:
        return Mapped(indexed(self.source, run), self.step_of(run), self.named)

    def state_at(self, place: int) -> Any:
        return [place, 0]

    def stream(self, run: Run, state: Any = None) -> Stream:
        nodes, source = neighbours(self)
        before, given = (None, 0) if state is None else state
        once = None
        if source.timed and (several := [each for each in nodes if each.does.renews]):
            once = f"{_IN_TIME} {several[0].kind}({several[0].name}) makes of one"
        if all(each.workers is None for each in nodes):
            steps = [each.step_of(run) for each in nodes]
            limits = [Limited(run, each.on_error, each.max_errors) for each in nodes]
            meters = [None if (found := run.measured.get(each.written)) is None else found.meter for each in nodes]
            applied = Applied(opened(source, run, before), steps, limits, meters, nodes[0].named)
            return Rest(applied, whole(given), once)
        from pipeline.stages.crew import Crewed  # executors take 3 ms to import
        from pipeline.stages.prefetch import promptly

        inputs = promptly(source, run, before, 2) if source.live else opened(source, run, before)
        return Rest(Crewed(inputs, nodes, source.live or source.waits, run), whole(given), once)

    def call(self) -> str:
        return f".{self.kind}({self.name})"

    def label(self) -> str:
        return self.name


def neighbours(node: Each) -> tuple[list[Each], Node]:
    """Return the steps that run as one stage with a step, first to last, and their input."""
    found: list[Each] = [node]
    while isinstance(found[0].source, Each):
        found.insert(0, found[0].source)
    return found, found[0].source


class Map(Each):
    """One result for each example."""

    kind = "map"
    does = MapStep


class Filter(Each):
    """The examples for which a function is true."""

    kind = "filter"
    does = FilterStep


class FlatMap(Each):
    """Any number of examples for each."""

    kind = "flat_map"
    does = FlatMapStep

    def name_of(self, number: int) -> str | None:
        return None

    def check(self, function: Any) -> None:
        check_function("flat_map: the function", function, "examples", many=True)


def check_on_error(on_error: str, max_errors: int | None, what: str) -> None:
    """Raise InvalidArgumentError for a wrong `on_error` or `max_errors` of a transformation."""
    one_of(("raise", "skip"), on_error, f"{what}: on_error")
    if max_errors is not None and on_error == "raise":
        raise invalid(f"{what}: max_errors needs on_error='skip'")
    if max_errors is not None:
        at_least(0, max_errors, f"{what}: max_errors")
