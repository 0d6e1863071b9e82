"""Functions as sources: each call gives an example."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pipeline._calls import Draw, Kept, Results, pump
from pipeline.diagnostics.ends import raise_why
from pipeline.diagnostics.workers import name_record
from pipeline.diagnostics.workers import this_thread as reads
from pipeline.errors import CancelledError, OutOfRangeError
from pipeline.nest import kept
from pipeline.orders.seeds import LateSeed, Seed
from pipeline.sources.iterables import Named
from pipeline.stages.block import Block, Columns, Examples
from pipeline.stages.calls import name_of
from pipeline.stages.draws import this_thread
from pipeline.stages.run import Limited, Run
from pipeline.stages.steps import values_of
from pipeline.stages.stream import Stream


class OfCallable(Named):
    """A function's results, one per call, until it raises OutOfRangeError or StopIteration.

    Args:
        function: The function.
        on_error, max_errors: Policy for failing calls.
    """

    kind = "callable"
    live = True

    def __init__(self, function: Callable[[], Any], on_error: str = "raise", max_errors: int | None = None) -> None:
        super().__init__(name_of(function))
        self.function, self._errors = function, (on_error, max_errors)
        self._seed = LateSeed(self.kind)

    def options(self) -> dict[str, Any]:
        return {"function": self.name}

    def functions(self) -> tuple[Any, ...]:
        return (self.function,)

    def once(self) -> str | None:
        return f"{self.name} is called until its input ends"

    def no_state(self) -> str | None:
        return (
            f"{self.name} is a function, and what it reads is not known. Read the files as a dataset, and call your "
            "function for each example: pipeline.text(files).map(f)"
        )

    def stream(self, run: Run, state: Any = None) -> Stream:
        run.start_runners()
        return Called(self.function, Limited(run, *self._errors), run, self._seed)


class Called(Stream):
    """A function's results."""

    def __init__(self, function: Callable[[], Any], limit: Limited, run: Run, seed: Seed) -> None:
        self._limit, self._count, self._ended = limit, 0, False
        self._error: Exception | None = None
        self._draw: Draw | None = None
        self._run, self._seed = run, seed
        self._results, self._name = Results(function, self._failed), name_of(function)

    def _failed(self, error: Exception) -> bool:
        """Add the reason or the failed call to the error; return True to skip the example."""
        if isinstance(error, CancelledError):
            return False
        if isinstance(error, OutOfRangeError):
            raise_why(error)
            return False
        name_record(error)
        if self._limit.active:
            self._limit.note(error)
        return self._limit.active

    def take(self, n: int) -> Block | None:
        if self._error is not None:
            raise self._error
        if self._ended:
            return None
        thread, before = this_thread, this_thread.draw
        if self._draw is None:
            self._draw = Draw(*self._run.seeds.pair(self._seed), self._run.epoch, self._run.path)
        self._draw.number = self._count
        self._results.of_thread(vars(reads))
        thread.draw = self._draw
        try:
            if n == 1:  # threads take single examples, 2 us faster than in a block
                values: Columns | Examples = Examples([self._results.one(kept)])
            else:
                values = self._several(self._draw, n)
        except (StopIteration, OutOfRangeError):
            self._ended = True
            return None
        except Exception as error:
            self._error = error
            raise
        finally:
            thread.draw = before
        first, self._count = self._count, self._count + len(values)
        if not first:
            self._refuse_iterator(values)
        return Block(values, np.arange(first, self._count))

    def _refuse_iterator(self, values: Columns | Examples) -> None:
        """Reject a function returning a new iterator per call: such examples would have no end."""
        example = values.first()
        if hasattr(type(example), "__next__"):
            self._error = TypeError(
                f"dataset: {self._name} is called for each example, and returned an iterator, {example!r:.80}: pass a "
                "generator function, or functools.partial(f, ...) of one"
            )
            raise self._error

    def _several(self, draw: Draw, n: int) -> Columns | Examples:
        """Return up to n results: fewer before the end or an error."""
        found, first = Kept(n, kept, np.empty), self._count
        try:
            while not self._ended and found.count < n:
                draw.number = first + found.count
                self._ended = pump(self._results, found.count + 1, found)
        except Exception as error:
            if not found.count:
                raise
            self._ended = isinstance(error, OutOfRangeError)
            self._error = None if self._ended else error
        if not found.count:
            raise StopIteration
        return values_of(found)

    def state(self) -> Any:
        return self._count

    def close(self) -> None:
        """Do nothing: the function's resources belong to the user."""
