"""Steps: what is done to examples one by one, wherever that is: map, filter, flat_map, enumerate.

They are pure: an output depends on the example and its number in the pass, not on other examples, threads or time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from pipeline.errors import OutOfRangeError, invalid
from pipeline.flow.block import Block
from pipeline.nest import is_dataclass
from pipeline.pulls import this_thread

# Factor that keeps the numbers of outputs apart that flat maps within flat maps make.
_NESTED = 0x9E3779B97F4A7C15
_WORD = (1 << 64) - 1


class Draws(NamedTuple):
    """What seeds `example_rng`, but for the number of the example: two seeds, and the pass."""

    seed: int
    seed2: int
    epoch: int


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

    def __init__(self, function: Callable[..., Any], name: str, skip: bool = False, draws: Draws | None = None) -> None:
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
        thread, draws = this_thread, self.draws
        if draws is None:
            return self.function(example)
        before, thread.draw = thread.draw, (draws.seed, draws.seed2, number, path, draws.epoch)
        try:
            return self.function(example)
        finally:
            thread.draw = before


class MapStep(Step):
    """Applies a function."""

    def outputs(self, example: Any, number: int, path: int) -> Iterable[tuple[int, Any]]:
        return ((path, self._checked(self.call(example, number, path))),)

    def _checked(self, output: Any) -> Any:
        if output is None:
            raise ValueError(f"{self.name} returned None, which is not an example")
        return output


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
        return self._numbered(made, path)

    def _numbered(self, made: Iterable[Any], path: int) -> Iterator[tuple[int, Any]]:
        base = path * _NESTED
        for k, each in enumerate(made, 1):
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
    skip = any(step.skip for step in steps)
    for index, example in _made(block):
        if at is not None:
            at(index)
        if isinstance(example, _Unmade):
            yield Failure(index, example.error, skip)
            continue
        yield from _through(steps, 0, example, index, int(block.numbers[index]), 0)


class _Unmade:
    """Stands for an example that could not be made."""

    def __init__(self, error: Exception) -> None:
        self.error = error


def _made(block: Block) -> Iterator[tuple[int, Any]]:
    """Yield the examples of a block with their index. If they cannot be made together, each is made alone."""
    try:
        made = block.made()
    except Exception as error:
        if len(block) == 1:
            yield 0, _Unmade(error)
            return
        for index in range(len(block)):
            try:
                example = next(iter(block[index : index + 1].made().examples()))
            except Exception as alone:
                yield index, _Unmade(alone)
            else:
                yield index, example
        return
    yield from enumerate(made.examples())


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
            yield from _through(steps, i + 1, example, index, number, path)
    yield Output(index, path, example)


def _as_failure(error: Exception, step: Step) -> Exception:
    """Return the error to raise: what would look like the end of the input is none."""
    if isinstance(error, (StopIteration, OutOfRangeError)):
        other = RuntimeError(f"{step.name} raised {type(error).__name__}")
        other.__cause__ = error
        return other
    return error


def kept(example: Any) -> Any:
    """Return an example that nobody changes later: functions may return one array again and again.

    Arrays are copied unless this is their only reference; lists and tuples are taken as they are.
    """
    if isinstance(example, np.ndarray):
        return example.copy()
    kind = type(example)
    if kind is dict:
        return {key: kept(value) for key, value in example.items()}
    if kind is tuple or kind is list:
        return kind([kept(value) if isinstance(value, (np.ndarray, dict, tuple, list)) else value for value in example])
    if isinstance(example, tuple) and hasattr(example, "_make"):
        return type(example)._make(map(kept, example))
    if isinstance(example, bytearray):
        return bytes(example)
    if hasattr(example, "__array__") and not isinstance(example, np.generic) and not is_dataclass(example):
        return np.array(example)
    return example


def _itself(example: Any) -> Any:
    return example


def check_on_error(on_error: str, max_errors: int | None, what: str) -> None:
    """Raise InvalidArgumentError for a wrong `on_error` or `max_errors` of a transformation."""
    if on_error not in ("raise", "skip"):
        raise invalid(f"{what}: on_error must be 'raise' or 'skip', got {on_error!r}")
    if max_errors is not None and on_error == "raise":
        raise invalid(f"{what}: max_errors needs on_error='skip'")
    if max_errors is not None and max_errors < 0:
        raise invalid(f"{what}: max_errors must be at least 0, got {max_errors}")
