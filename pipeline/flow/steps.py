"""Steps: what is done to examples one by one, wherever that is: map, filter, flat_map, enumerate.

They are pure: an output depends on the example and its number in the pass, not on other examples, threads or time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from pipeline._flow import Draw, Kept, call_each
from pipeline.dtypes import at_least, one_of
from pipeline.errors import FailedPreconditionError, OutOfRangeError, invalid
from pipeline.flow.block import Block
from pipeline.flow.ids import as_array
from pipeline.pulls import this_thread

# Factor that keeps the numbers of outputs apart that flat maps within flat maps make.
_NESTED = 0x9E3779B97F4A7C15
_WORD = (1 << 64) - 1


_END: Any = object()


def _next(iterator: Iterator[Any]) -> Any:
    return next(iterator, _END)


class Draws(NamedTuple):
    """What seeds `example_rng`, but for the number of the example: two seeds, and the pass."""

    seed: int
    seed2: int
    epoch: int


class NoDraws:
    """Why a function cannot draw: what `example_rng` raises in it."""

    def __init__(self, reason: str) -> None:
        self.reason = reason

    def __iter__(self) -> Iterator[int]:
        raise FailedPreconditionError(None, None, f"example_rng: {self.reason}")


class Step:
    """One thing that is done to examples.

    Attributes:
        name: What the user calls it.
        skip: Whether an example is left out if this fails.
        one_to_one: It gives one output for each input.
        draws: What seeds `example_rng` in its function; None if that is not to be used.
    """

    one_to_one = True
    what = "map"

    def __init__(
        self, function: Callable[..., Any], name: str, skip: bool = False, draws: Draws | NoDraws | None = None
    ) -> None:
        self.function, self.name, self.skip, self.draws = function, name, skip, draws

    def outputs(self, example: Any, number: int, path: int) -> Iterable[tuple[int, Any]]:
        """Return what becomes of one example: pairs of a path, which numbers the outputs of one input, and an output.

        Args:
            example: The example.
            number: Its number in the pass.
            path: Which output of that number it is; 0 before any `flat_map`.
        """
        raise NotImplementedError

    def call(self, example: Any, number: int, path: int) -> Any:
        """Call the function with an example; `example_rng` works there."""
        return self.within(self.function, example, number, path)

    def within(self, function: Callable[[Any], Any], given: Any, number: int, path: int) -> Any:
        """Call something of the user's; `example_rng` works there."""
        thread, draws = this_thread, self.draws
        if draws is None:
            return function(given)
        before = thread.draw
        if isinstance(draws, NoDraws):
            thread.draw = draws
        else:
            thread.draw = draws.seed, draws.seed2, number, path, draws.epoch
        try:
            return function(given)
        finally:
            thread.draw = before


class MapStep(Step):
    """Applies a function."""

    def outputs(self, example: Any, number: int, path: int) -> Iterable[tuple[int, Any]]:
        return ((path, self._checked(self.call(example, number, path))),)

    def _checked(self, output: Any) -> Any:
        if output is None:
            raise self.returned_none()
        return output

    def returned_none(self) -> ValueError:
        """Return the error of a function that returned None."""
        return ValueError(f"{self.name} returned None, which is not an example")


class FilterStep(Step):
    """Keeps the examples for which a function is true."""

    one_to_one = False
    what = "filter"

    def outputs(self, example: Any, number: int, path: int) -> Iterable[tuple[int, Any]]:
        return ((path, example),) if bool(self.call(example, number, path)) else ()


class FlatMapStep(Step):
    """Replaces an example by those that a function makes of it."""

    one_to_one = False
    what = "flat_map"

    def outputs(self, example: Any, number: int, path: int) -> Iterable[tuple[int, Any]]:
        made = self.call(example, number, path)
        if isinstance(made, (str, bytes, dict)) or not hasattr(made, "__iter__"):
            raise TypeError(f"{self.name} returned {made!r:.80}: flat_map needs an iterable of examples")
        return self._numbered(made, number, path)

    def _numbered(self, made: Iterable[Any], number: int, path: int) -> Iterator[tuple[int, Any]]:
        base, k = path * _NESTED, 0
        if self.draws is None or isinstance(made, (list, tuple)):
            for k, each in enumerate(made, 1):
                yield (base + k) & _WORD, each
            return
        following = self.within(iter, made, number, path)
        while (each := self.within(_next, following, number, path)) is not _END:  # a generator runs only now
            k += 1
            yield (base + k) & _WORD, each


class EnumerateStep(Step):
    """Puts its number before each example."""

    what = "enumerate"

    def __init__(self) -> None:
        super().__init__(_itself, "enumerate")

    def outputs(self, example: Any, number: int, path: int) -> Iterable[tuple[int, Any]]:
        return ((path, (number, example)),)


class Output(NamedTuple):
    """What steps made of an input.

    Attributes:
        input: Which input it was.
        path: Which of its outputs this is.
        example: The output.
    """

    input: int
    path: int
    example: Any


class Failure(NamedTuple):
    """What steps could not make.

    Attributes:
        input: Which input it was.
        error: Why.
        skip: Whether the example is to be left out.
    """

    input: int
    error: Exception
    skip: bool


def run(steps: Sequence[Step], block: Block, at: Callable[[int], object] | None = None) -> Iterator[Output | Failure]:
    """Yield what steps make of a block, in order; each is made when it is asked for.

    Args:
        steps: The steps.
        block: The examples; they are made first.
        at: Called with the index of each input before anything is done with it.
    """
    try:
        examples = block.made().examples()
    except Exception as error:
        return run_alone(steps, block, error, at)
    return run_made(steps, block, examples, 0, at)


def run_made(
    steps: Sequence[Step],
    block: Block,
    examples: Iterable[Any],
    first: int = 0,
    at: Callable[[int], object] | None = None,
) -> Iterator[Output | Failure]:
    """As `run`, for examples of a block that are made, from number `first` on."""
    for index, example in enumerate(examples, first):
        if at is not None:
            at(index)
        yield from _through(steps, 0, example, index, int(block.numbers[index]), 0)


def run_alone(
    steps: Sequence[Step], block: Block, error: Exception, at: Callable[[int], object] | None = None
) -> Iterator[Output | Failure]:
    """As `run`, for examples that could not be made together because of an error: each is made alone."""
    skip = any(step.skip for step in steps)
    for index in range(len(block)):
        if at is not None:
            at(index)
        if len(block) == 1:
            yield Failure(index, error, skip)
            return
        try:
            example = next(iter(block[index : index + 1].made().examples()))
        except Exception as alone:
            yield Failure(index, alone, skip)
        else:
            yield from _through(steps, 0, example, index, int(block.numbers[index]), 0)


class Calls:
    """The calls of the only function of a segment, in a compiled loop: 90 ns each, where `run` takes 900.

    It leaves off before an error and after a result that is not kept, for `run_made` to go on with what is left.

    Args:
        step: The function.
        block: The examples.
        examples: The same, made.
        before: Called with the index of each before the function.
    """

    def __init__(
        self, step: MapStep, block: Block, examples: list[Any], before: Callable[[int], object] | None = None
    ) -> None:
        self._step, self._block, self._examples, self._before = step, block, examples, before
        self._numbers = as_array(block.numbers)
        draws = step.draws
        self._draw = Draw(*draws) if isinstance(draws, Draws) else None
        self._of_thread = draws if isinstance(draws, NoDraws) else self._draw
        self.at = 0

    def make(self, n: int, found: Kept, bell: Any) -> Iterator[Output | Failure] | None:
        """Make up to n results.

        Args:
            n: How many, with those that there are.
            found: Where they are kept.
            bell: Ends the loop when it is `raised`; or None.

        Returns:
            None, or what makes the rest of the block.
        """
        step, thread, begin, had = self._step, this_thread, self.at, found.count
        before, thread.draw = thread.draw, thread.draw if self._of_thread is None else self._of_thread
        error: Exception | None = None
        try:
            self.at, none = call_each(
                step.function, self._examples, begin, self._numbers, self._draw, self._before, bell, n, found
            )
            if none:
                error = step.returned_none()
        except Exception as raised:
            error = raised
        finally:
            thread.draw = before
        if error is not None:
            self.at = begin + found.count - had + 1
            first: Output | Failure = Failure(self.at - 1, _as_failure(error, step), step.skip)
        elif found.refused is not None:
            first = Output(self.at - 1, 0, found.refused[0])
        else:
            return None
        return self._rest(first)

    def _rest(self, first: Output | Failure) -> Iterator[Output | Failure]:
        yield first
        yield from self.run()

    def run(self) -> Iterator[Output | Failure]:
        """Yield the results that are left, each made when it is asked for."""
        return run_made([self._step], self._block, self._examples[self.at :], self.at, self._before)

    @property
    def ended(self) -> bool:
        """Whether the function was called with all examples."""
        return self.at == len(self._examples)


def only_map(steps: Sequence[Step]) -> MapStep | None:
    """Return the only step, if it calls a function and returns what that returns."""
    step = steps[0]
    return step if len(steps) == 1 and type(step) is MapStep else None


def _through(
    steps: Sequence[Step], first: int, example: Any, index: int, number: int, path: int
) -> Iterator[Output | Failure]:
    """Yield what the steps from `first` on make of one example."""
    for i in range(first, len(steps)):
        step = steps[i]
        try:
            outputs = step.outputs(example, number, path)
            if step.one_to_one:
                ((path, example),) = outputs
                continue
            following = iter(outputs)
        except Exception as error:
            yield Failure(index, _as_failure(error, step), step.skip)
            return
        while True:
            try:
                path, example = next(following)
            except StopIteration:
                return
            except Exception as error:
                yield Failure(index, _as_failure(error, step), step.skip)
                return
            if i + 1 == len(steps):
                yield Output(index, path, example)
            else:
                yield from _through(steps, i + 1, example, index, number, path)
    yield Output(index, path, example)


def _as_failure(error: Exception, step: Step) -> Exception:
    """Return the error to raise: what would look like the end of the input is none."""
    if isinstance(error, (StopIteration, OutOfRangeError)):
        other = RuntimeError(f"{step.name} raised {type(error).__name__}")
        other.__cause__ = error
        return other
    return error


def _itself(example: Any) -> Any:
    return example


def check_on_error(on_error: str, max_errors: int | None, what: str) -> None:
    """Raise InvalidArgumentError for a wrong `on_error` or `max_errors` of a transformation."""
    one_of(("raise", "skip"), on_error, f"{what}: on_error")
    if max_errors is not None and on_error == "raise":
        raise invalid(f"{what}: max_errors needs on_error='skip'")
    if max_errors is not None:
        at_least(0, max_errors, f"{what}: max_errors")
