"""Steps: map, filter and flat_map applied to blocks, in any thread or process."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pipeline._block import mix_outputs, name_of_number
from pipeline._calls import Draw, Kept, call_each
from pipeline._meter import Meter
from pipeline.diagnostics.weight import objects_in
from pipeline.errors import CancelledError, DeadlineExceededError, OutOfRangeError, invalid
from pipeline.nest import kept
from pipeline.on_error import must_raise, name_item, set_on
from pipeline.stages.batch_rows import BatchRows, Empty
from pipeline.stages.block import Block, Columns, Examples, size_of
from pipeline.stages.draws import NoDraws, this_thread
from pipeline.stages.index import Index
from pipeline.stages.node import Recipe, seeds_of
from pipeline.stages.run import Limited, Measured
from pipeline.stages.stream import Maker, Skipped, Stream, Unit
from pipeline.sync.stop_flag import StopFlag
from pipeline.tracebacks import from_handler
from pipeline.workers.chunks import FailedItem, here
from pipeline.workers.generators import UNWATCHED, Watch

# An example on its way through the steps: its index in the input block, its number, its current value. A skipped error
# passes as (index, None, Failure).
Passing: TypeAlias = "tuple[int, int | None, Any]"

Named: TypeAlias = "Callable[[Block, int], str]"

_END: Any = object()


class Failure(Exception):
    """A step's error, raised to the stage that can name the example.

    Args:
        error: The cause.
        input: The example's index in its block.
        number: The example's number.
        step: The step.
    """

    def __init__(self, error: Exception, input: int, number: int, step: Step) -> None:
        self.error, self.input, self.number, self.step = error, input, number, step


class Step:
    """A function applied to examples: pure, so an output depends only on the example and its number.

    Args:
        function: The user's function.
        name: Its name in errors.
        skip: Skip examples for which the function fails.
        draw: The seed for `example_rng` within the function.
        watch: Checks its first call in the user's process.

    Attributes:
        one_to_one: True if each example has exactly one output.
        renews: True if each output counts as one example, whatever its input counted as.
        seconds: The time spent in the function.
        count: The number of outputs.
        bell: Set when the iterator is closed, to end the step between two calls; None in workers.
        begins: Seeds the process's own generators before each call; None in the user's process.
        measured: Takes the objects and bytes in the first result, once; None afterwards, and in workers.
    """

    one_to_one = renews = False
    bell: StopFlag | None = None
    begins: Callable[[int], object] | None = None
    measured: Measured | None = None

    def __init__(
        self,
        function: Callable[..., Any],
        name: str,
        skip: bool,
        draw: tuple[int, ...] | NoDraws,
        watch: Watch = UNWATCHED,
    ) -> None:
        self.function, self.name, self.skip, self.draw, self.watch = function, name, skip, draw, watch
        self.seconds, self.count = 0.0, 0

    def anew(self, draw: tuple[int, ...] | NoDraws) -> Step:
        """Return a copy with other seeds, and its counts at zero."""
        other = copy.copy(self)
        other.draw, other.seconds, other.count, other.measured = draw, 0.0, 0, None
        return other

    def weigh(self, output: Any) -> None:
        """Note how large the first result is."""
        if self.measured is not None:
            self.measured.objects, self.measured.bytes = objects_in(output), size_of(Examples([output]))
            self.measured = None

    def drawing(self) -> Draw | NoDraws:
        """Return the `example_rng` source for a thread running the step."""
        if isinstance(self.draw, NoDraws):
            return self.draw
        seed, seed2, epoch, which = self.draw
        return Draw(seed, seed2, epoch, which, self.begins)

    def over(self, examples: Iterable[Passing]) -> Iterator[Passing]:
        """Yield the outputs for some examples.

        Raises:
            Failure: The function failed for an example, and errors are not skipped.
        """
        draw, function, clock, thread = self.drawing(), self.function, time.perf_counter, this_thread
        bell = self.bell
        for i, number, example in examples:
            if number is None:
                yield i, None, example
                continue
            if bell is not None and bell.raised:
                raise _closed()
            looked = self.watch.begin(example) if self.watch.due else None
            began = clock()
            draw.number = number
            before, thread.draw = thread.draw, draw  # no call from here to the `try`
            try:
                outputs = self.outputs(function(example), i, number, example)
            except Exception as error:
                failure = Failure(error, i, number, self)
                if not self.skip:
                    raise error if from_handler(error) else failure from None
                outputs = ((i, None, failure),)
            finally:  # before anything is yielded, because then the consumer's code runs
                thread.draw = before
                self.seconds += clock() - began
            if looked is not None:
                self.watch.end(looked)
            yield from outputs

    def outputs(self, output: Any, i: int, number: int, example: Any) -> Iterable[Passing]:
        """Return the outputs for an example, given the function's result."""
        raise NotImplementedError

    def blamed(self, error: Exception, number: int, name: str) -> Exception:
        """Add a note with the function and the example to an error; return the error to raise.

        An exception that would look like the input's end becomes a RuntimeError.

        Args:
            error: The error.
            number: The example's number.
            name: The example's name.
        """
        if isinstance(error, (StopIteration, OutOfRangeError)):
            other = RuntimeError(f"{self.name} raised {type(error).__name__}")
            other.__cause__, error = error, other
        example = name_of_number(number)
        told = name if example in (name, "an example") else f"{example}, {name}"
        name_item(error, name, f"{self.name}: {told}")
        return error


class MapStep(Step):
    """Applies a function."""

    one_to_one = True

    def outputs(self, output: Any, i: int, number: int, example: Any) -> Iterable[Passing]:
        if output is None:
            raise self.returned_none()
        if self.measured is not None:
            self.weigh(output)
        self.count += 1
        return ((i, number, output),)

    def returned_none(self) -> ValueError:
        """Return the error for a function that returned None."""
        return ValueError(f"{self.name} returned None, which is not an example")


class FilterStep(Step):
    """Keeps the examples for which a function returns true."""

    def outputs(self, output: Any, i: int, number: int, example: Any) -> Iterable[Passing]:
        if not output:
            return ()
        self.count += 1
        return ((i, number, example),)


class FlatMapStep(Step):
    """Replaces each example by zero or more outputs."""

    renews = True

    def outputs(self, output: Any, i: int, number: int, example: Any) -> Iterable[Passing]:
        if isinstance(output, (str, bytes, dict)) or not hasattr(output, "__iter__"):
            raise TypeError(f"{self.name} returned {output!r:.80}: flat_map needs an iterable of examples")
        _refuse_recipe(output, self.name)
        if isinstance(output, (list, tuple)):
            if any([each is None for each in output]):
                raise self._has_none()
            self.count += len(output)
            return zip([i] * len(output), mix_outputs(number, 0, len(output)).tolist(), output, strict=True)
        return self._one_by_one(iter(output), i, number)

    def _has_none(self) -> ValueError:
        return ValueError(f"{self.name} returned an iterable with None, which is not an example")

    def _one_by_one(self, output: Iterator[Any], i: int, number: int) -> Iterator[Passing]:
        """Yield a generator's outputs, running it one output at a time."""
        draw, thread, clock, k = self.drawing(), this_thread, time.perf_counter, 0
        draw.number = number
        while True:
            began = clock()
            if k:
                draw.resume(k)
            before, thread.draw = thread.draw, draw  # no call from here to the `try`
            try:
                each = next(output, _END)
            except Exception as error:
                failure = Failure(error, i, number, self)
                if not self.skip:
                    raise error if from_handler(error) else failure from None
                each = failure
            finally:  # as in `over`
                thread.draw = before
                self.seconds += clock() - began
            if type(each) is Failure:
                yield i, None, each
                return
            if each is _END:
                return
            if each is None:
                raise Failure(self._has_none(), i, number, self)
            self.count += 1
            yield i, int(mix_outputs(number, k, 1)[0]), each
            k += 1


def _refuse_recipe(output: Any, name: str) -> None:
    """Refuse a dataset with seeds left to chance: a resume could not repeat its elements."""
    if isinstance(output, Recipe) and any(seed.drawn for seed in seeds_of(output._node)):
        raise invalid(
            f"{name} returned a dataset without a seed, {output!r:.200}: pass seed= in it, or write "
            "pipeline.interleave(data.map(f), cycle_length=1), which seeds each of them by its number"
        )


class SkippedAt:
    """A skipped error at its position among the outputs of steps.

    Args:
        error: The error; a Reported if it is from another process.
        step: The failed step's index.
    """

    __slots__ = ("error", "step")

    def __init__(self, error: Any, step: int) -> None:
        self.error, self.step = error, step


class Reported(Exception):
    """A worker's error, for the caller to name the example.

    Args:
        item: The error.
        input: The example's index in the chunk.
        step: The failed step's index.
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
    empty: Empty | None = None,
) -> Iterator[Block | SkippedAt]:
    """Yield the outputs of steps for a block: blocks with up to n examples, and skipped errors at their positions.

    An error that is not skipped ends the last block, after the examples before it.

    Args:
        steps: The steps.
        block: The examples.
        n: The number of outputs to make together.
        named: Returns an input's name for errors. None in a worker, because the caller names examples: errors are
            `Reported`, and blocks carry input indexes instead of names, unless these are in order.
        before: Called with each input's index before any work on it, or None.
        empty: Makes the arrays of outputs; None for the process's own way.
    """

    def told(failure: Failure) -> Exception:
        if named is None:
            reported = Reported(FailedItem(failure.error), failure.input, steps.index(failure.step))
            if failure.step.skip:
                set_on(failure.error, "__traceback__", None)  # would grow if one object is raised again and again
            return reported
        return failure.step.blamed(failure.error, failure.number, named(block, failure.input))

    if len(steps) == 1 and type(steps[0]) is MapStep and not steps[0].skip:
        made, failure = called_with_each(steps[0], block, before, empty)
        made.error = block.error if failure is None else told(failure)
        made.names = None if named is None else block.names
        yield made
        return
    numbers, examples = block.numbers.tolist(), block.values.examples()
    passing: Iterable[Passing] = zip(range(len(numbers)), numbers, examples, strict=True)
    passing = passing if before is None else _noted(passing, before)
    for step in steps:
        passing = step.over(passing)
    passing = iter(passing)
    ended = False
    while not ended:
        found, inputs, outputs = Kept(n, kept, empty or here.empty), [], []
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
            names: Any = np.array(inputs, np.int64) if named is None else _names_at(block, inputs)
            sizes = sizes_of_outputs(steps, block, inputs)
            yield Block(values_of(found), np.array(outputs, np.int64), error, names, sizes)
        if skipped is not None:
            yield SkippedAt(told(skipped), steps.index(skipped.step))


def _names_at(block: Block, inputs: list[int]) -> Any:
    return None if block.names is None else block.names.picked(np.array(inputs, np.int64))


def sizes_of_outputs(steps: Sequence[Step], block: Block, inputs: Any) -> NDArray[np.int64] | int:
    """Return the number of source examples in each output.

    Args:
        steps: The steps.
        block: Their input.
        inputs: Each output's input index, or a slice.
    """
    if any(step.renews for step in steps):
        return 1
    return block.sizes if isinstance(block.sizes, int) else block.sizes[inputs]


def _noted(passing: Iterable[Passing], before: Callable[[int], object]) -> Iterator[Passing]:
    for each in passing:
        before(each[0])
        yield each


def called_with_each(
    step: Step, block: Block, before: Callable[[int], object] | None = None, empty: Empty | None = None
) -> tuple[Block, Failure | None]:
    """Return a function's results for each example up to its first failure, and the failure.

    The calls are made in a compiled loop: 90 ns each, compared with 400 ns in a generator.
    """
    numbers, examples, draw = np.ascontiguousarray(block.numbers), list(block.values.examples()), step.drawing()
    found, thread = Kept(len(numbers), kept, empty or here.empty), this_thread
    error: Exception | None = None
    drawn = draw if isinstance(draw, Draw) else None
    looked = step.watch.begin(examples[0]) if examples and step.watch.due else None
    began = time.perf_counter()
    outer, thread.draw = thread.draw, draw  # no call from here to the `try`
    try:
        _, nothing = call_each(step.function, examples, 0, numbers, drawn, before, step.bell, len(numbers), found)
        if nothing:
            error = step.returned_none()  # type: ignore[attr-defined]
    except Exception as raised:
        if from_handler(raised):  # raised by a signal handler, so no example is to blame
            raise
        error = raised
    finally:
        thread.draw = outer
        step.seconds += time.perf_counter() - began
    if looked is not None:
        step.watch.end(looked)
    count = found.count
    step.count += count
    if error is None and count < len(numbers):
        raise _closed()
    failure = None if error is None else Failure(error, count, int(numbers[count]), step)
    sizes = block.sizes if isinstance(block.sizes, int) else block.sizes[:count]
    values = values_of(found)
    if step.measured is not None and count:
        step.weigh(values.first())
    return Block(values, numbers if count == len(numbers) else numbers[:count], sizes=sizes), failure


def _closed() -> CancelledError:
    return CancelledError(None, None, "the iterator was closed")


def values_of(found: Kept) -> Columns | Examples:
    """Return kept examples as a block's values."""
    columns, structure = found.values()
    if columns is None:
        return Examples(structure)
    if structure is None and type(columns[0]) is list:
        return Examples(columns[0])
    return Columns(columns, found.count, structure)


def leaves_out(step: Step, source: Stream, error: Exception) -> bool:
    """Return whether a step skips an example that its source failed to make; the source is then past it.

    Args:
        step: The first step behind the source.
        source: The source.
        error: The error raised by its `take`.
    """
    if not step.skip or must_raise(error) or isinstance(error, (CancelledError, DeadlineExceededError)):
        return False
    try:
        return source.drop(1) == 1
    except Exception:
        return False  # the error concerns more than one example


class StepTimes:
    """Assigns steps their own time, because their stage's meter, the last step's, counts all of it.

    Args:
        steps: The steps, all run by the consuming thread.
        meters: The steps' meters; None for a step without one.
        stage: The stage's meter.
    """

    def __init__(self, steps: Sequence[Step], meters: Sequence[Meter | None], stage: Meter | None) -> None:
        self._seen = [
            (step, meter, 0.0, 0)
            for step, meter in zip(steps, meters, strict=True)
            if meter is not None and meter is not stage
        ]
        self._stage = stage

    def share(self) -> None:
        """Move the time and the counts since the last call to the steps' meters."""
        if self._stage is None:
            return
        for i, (step, meter, seconds, count) in enumerate(self._seen):
            meter.take_over(self._stage, step.seconds - seconds, step.count - count)
            self._seen[i] = step, meter, step.seconds, step.count


class Applied(Maker):
    """Steps applied to a stream by the consuming thread. The state is [input state, number of steps].

    Args:
        source: The inputs.
        steps: The steps.
        limits: Counts each step's skipped errors.
        meters: Each step's meter; None for a step without one.
        named: Returns an input's name for errors.
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
        self._counted = not any(step.renews for step in steps)  # whether each input has at most one output
        self._times = StepTimes(steps, meters, meters[-1])
        self._empty: Empty | None = None

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

    def into(self, rows: BatchRows) -> None:
        if all([step.one_to_one and not step.skip for step in self._steps]):
            self._empty = rows.empty

    def state(self) -> Any:
        return [self.source.state(), len(self._steps)]

    def _parts(self, block: Block, n: int) -> Iterator[Block | Skipped]:
        """Yield blocks and skipped errors, each error with its counter."""
        part: Block | SkippedAt | None = None
        for part in outputs_of_steps(self._steps, block, n, self._named, empty=self._empty):
            self._times.share()
            yield Skipped(part.error, self._limits[part.step].note) if isinstance(part, SkippedAt) else part
        if part is None:  # a filter kept none
            self._times.share()


class Mapped(Index):
    """A function applied to an index's examples."""

    ahead = False

    def __init__(self, source: Index, step: Step, named: Named) -> None:
        self._source, self._step, self._named, self.step = source, step, named, source.step
        self._empty: Empty | None = None

    def __len__(self) -> int:
        return len(self._source)

    @property
    def stop(self) -> int:
        return self._source.stop

    def into(self, empty: Empty) -> None:
        self._empty = empty

    def block(self, places: Any) -> Block:
        source = self._source.block(places)
        made, failure = called_with_each(self._step, source, empty=self._empty)
        made.names, made.error = source.names, source.error
        if failure is not None:
            made.error = self._step.blamed(failure.error, failure.number, self._named(source, failure.input))
        return made
