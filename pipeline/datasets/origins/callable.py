"""OfCallable: the results of a function, one a call, until it says that its input has ended."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from pipeline import spans
from pipeline._flow import Results
from pipeline.datasets.node import Node, Opening
from pipeline.diagnostics.ends import raise_why
from pipeline.diagnostics.workers import name_record, this_thread
from pipeline.errors import CancelledError, OutOfRangeError
from pipeline.flow.block import Block
from pipeline.flow.functions import name_of
from pipeline.flow.pump import Pump
from pipeline.flow.recorder import Recorder, Unrecorded
from pipeline.flow.run import Limited, Run
from pipeline.flow.stream import Stream, dropped, place, whole
from pipeline.nest import kept


class OfCallable(Node):
    """The results of a function, one a call, until it raises OutOfRangeError or StopIteration."""

    kind = "callable"
    keeps_place = True
    stage = "source"
    live = True

    def __init__(
        self,
        function: Callable[[], Any],
        recorded: bool = True,
        on_error: str = "raise",
        max_errors: int | None = None,
    ) -> None:
        """Name a function.

        Args:
            function: Gives the examples.
            recorded: Whether to know where what it reads from stands, which is then nobody else's. If not, several
                threads may call it, and there are no states.
            on_error, max_errors: What happens to an example for which it fails.
        """
        self.function, self.name, self.recorded = function, name_of(function), recorded
        self._errors = on_error, max_errors
        self.note_place()

    @property
    def once(self) -> str | None:
        return f"{self.name} is called until its input ends"

    def options(self) -> dict[str, Any]:
        return {"function": self.name}

    def call(self) -> str:
        return f"pipeline.{self.text()}"

    def text(self) -> str:
        return f"dataset({self.name})"

    def label(self) -> str:
        return self.name

    def open(self, shared: Opening, epoch: int) -> Stream:
        shared.start_runners()
        function = spans.noted(self.function, self.name) if spans.on else self.function
        caller: Recorder | Unrecorded = Unrecorded(function, self.name)
        if self.recorded:
            caller = Recorder(function, self.name, shared.things, self)
        return shared.gauged(self, _Called(caller, Limited(shared, *self._errors), shared))


class _Called:
    def __init__(self, recorder: Recorder | Unrecorded, skips: Limited, run: Run) -> None:
        self._recorder, self._skips, self._run = recorder, skips, run
        self._ids: list[int | None] = []  # of the results that no `take` has returned yet, if they are recorded
        self._count = 0
        self._lends = False
        self._begin()

    def _begin(self) -> None:
        recorder = self._recorder
        call = recorder.call if isinstance(recorder, Unrecorded) else self._call
        self._pump = Pump(Results(call, self._failed), self._run)
        if self._lends:
            self._pump.lend(itertools.starmap(self._lent, itertools.repeat((call,))))

    def lend(self) -> bool:
        self._lends = True
        self._begin()
        return True

    def _lent(self, call: Callable[[], Any]) -> Any:
        """As `Results` calls the function, for what is not to be kept."""
        while True:
            this_thread.keys = None
            try:
                return call()
            except StopIteration:
                raise
            except Exception as error:
                if not self._failed(error):
                    raise

    def _call(self) -> Any:
        example = self._recorder.call()
        self._ids.append(self._recorder.element())
        return example

    def _failed(self, error: Exception) -> bool:
        """Say why the input has ended, or where the function failed; return whether to leave the example out."""
        if isinstance(error, CancelledError):
            return False
        if isinstance(error, OutOfRangeError):
            raise_why(error)
            return False
        name_record(error)
        if self._skips.active:
            self._skips.note(error)
        return self._skips.active

    def take(self, n: int) -> Block | None:
        if isinstance(self._pump.iterator, Results):  # it is not closed
            self._pump.iterator.of_thread(vars(this_thread))
        values = self._pump.take(n)
        if values is None:
            return None
        first, self._count = self._count, self._count + len(values)
        numbers = range(first, self._count)
        ids, self._ids = self._ids, []
        if ids.count(None) == len(ids):
            return Block(values, numbers, numbers)
        known = [number if each is None else each for number, each in zip(numbers, ids, strict=True)]
        return Block(values, np.array(known, np.int64), numbers)

    def one_by_one(self) -> Callable[[], Any] | None:
        """Return what returns the examples one by one to this thread, and ends by StopIteration; None if their ids
        count."""
        results = self._pump.iterator
        if self._lends or not isinstance(results, Results) or not isinstance(self._recorder, Unrecorded):
            return None
        results.of_thread(vars(this_thread))
        return functools.partial(results.one, kept)

    def skip(self, n: int) -> int:
        return dropped(self, n)

    def position(self) -> Any:
        return place(self._count, self._pump.ended, self._recorder.position())

    def seek(self, position: Any) -> None:
        count, ended, inner = position
        self._count = whole(count)
        self._begin()
        self._pump.ended = bool(ended)
        self._recorder.seek(inner)

    def close(self) -> None:
        self._recorder.close()
        self._pump = Pump(iter(()), self._run)  # the one before refers to this
