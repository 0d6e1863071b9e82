"""Sequential sources: iterables, generator functions and iterators."""

from __future__ import annotations

import copy
import itertools
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from pipeline._calls import Kept, pump
from pipeline.errors import FailedPreconditionError, OutOfRangeError
from pipeline.nest import kept
from pipeline.resume.plain import not_plain
from pipeline.stages.block import Block
from pipeline.stages.node import Node
from pipeline.stages.run import Run
from pipeline.stages.steps import values_of
from pipeline.stages.stream import Stream, shorter, whole
from pipeline.tracebacks import from_handler


class Named(Node):
    """A source named after its input.

    Args:
        name: The name.
    """

    stage = "source"
    starts_runners = True

    def __init__(self, name: str) -> None:
        self.name = name
        self.note_place()

    def options(self) -> dict[str, Any]:
        return {"name": self.name}

    def call(self) -> str:
        return f"pipeline.{self.text()}"

    def text(self) -> str:
        return f"dataset({self.name})"

    def label(self) -> str:
        return self.name


class Passes:
    """Whether a pass over an iterable has given items: if a later one gives none, the iterable did not start anew."""

    gave = False


class OfIterable(Named):
    """An iterable's items, from the start in each epoch, or a generator function's results.

    Args:
        make: Returns an iterator from the start.
        name: Its name.
        length: Number of items; None if unknown.
    """

    kind = "iterable"

    def __init__(self, make: Callable[[], Iterator[Any]], name: str, length: int | None) -> None:
        super().__init__(name)
        self._make, self._length, self._passes = make, length, Passes()

    def length(self) -> int | None:
        return self._length

    def functions(self) -> tuple[Any, ...]:
        return (self._make,)

    def stream(self, run: Run, state: Any = None) -> Stream:
        run.start_runners()
        return Iterated(self._make, 0 if state is None else whole(state), self.name, self._passes)


class Iterated(Stream):
    """An iterator's items. The state is their count: a resumed run makes as many again and drops them.

    Args:
        make: Returns the iterator from the start.
        count: Number of items to drop.
        name: The name of the iterable.
        passes: Its passes.
    """

    def __init__(self, make: Callable[[], Iterator[Any]], count: int, name: str, passes: Passes) -> None:
        self._make, self._count, self._name, self._passes = make, count, name, passes
        self._iterator: Any = None
        self._ended = False
        self._error: Exception | None = None

    def take(self, n: int) -> Block | None:
        if self._error is not None:
            raise self._error
        if self._ended:
            return None
        if self._iterator is None:
            self._iterator = self._begun()
        found = Kept(n, kept, np.empty)
        try:
            self._ended = pump(self._iterator, n, found)
            if self._ended and not found.count:
                self._started_anew()
        except OutOfRangeError:
            self._ended = True
        except Exception as error:
            self._error = error
            if not found.count or from_handler(error):
                raise
        if not found.count:
            return None
        self._passes.gave = True
        first, self._count = self._count, self._count + found.count
        return Block(values_of(found), np.arange(first, self._count))

    def _started_anew(self) -> None:
        """Raise an error if this pass is empty and an earlier one was not."""
        if self._passes.gave and not self._count:
            text = (
                f"{self._name} gave examples in an earlier loop, and none in this one: an iterable must start anew "
                "once a loop has ended. Reset its position when it starts or ends"
            )
            raise FailedPreconditionError(None, None, text)

    def _begun(self) -> Any:
        """Return the iterator after dropping the items before the position."""
        iterator = self._make()
        if self._count and sum(1 for _ in itertools.islice(iterator, self._count)) < self._count:
            raise shorter()
        return iterator

    def state(self) -> Any:
        return self._count

    def close(self) -> None:
        close = getattr(self._iterator, "close", None)  # generators have it
        if close is not None:
            try:
                close()
            except ValueError as error:
                if str(error) != "generator already executing":  # in another thread, or below this call
                    raise


class OneReader:
    """The stream currently reading an iterator: several would take items from each other."""

    def __init__(self) -> None:
        self._reading: Callable[[], Any] = _nobody

    def begin(self, stream: Stream, name: str) -> None:
        """Give a stream the iterator.

        Raises:
            FailedPreconditionError: Another stream has not ended.
        """
        if self._reading() is not None:
            text = f"{name} is an iterator, and another iterator is reading it: close that first, or pass a list"
            raise FailedPreconditionError(None, None, text)
        self._reading = weakref.ref(stream)

    def end(self) -> None:
        """Release the iterator for another stream."""
        self._reading = _nobody

    def __reduce__(self) -> Any:
        return OneReader, ()


def _nobody() -> None:
    return None


class OfIterator(Named):
    """An iterator's items. It can be read once, by one stream at a time.

    Args:
        given: The iterator.
        name: Its name.
    """

    kind = "iterable"
    live = exclusive = True

    def __init__(self, given: Iterator[Any], name: str) -> None:
        super().__init__(name)
        self._given = given
        self._reader = OneReader()

    def once(self) -> str | None:
        return f"{self.name} is an iterator"

    def no_state(self) -> str | None:
        return (
            f"{self.name} is an iterator: pass a sequence, a generator function, or an iterator with state_dict and "
            "load_state_dict"
        )

    def stream(self, run: Run, state: Any = None) -> Stream:
        run.start_runners()
        return Once(self._given, self._reader, self.name)


class Once(Iterated):
    """An iterator's remaining items."""

    def __init__(self, given: Iterator[Any], reader: OneReader, name: str) -> None:
        # Call `iter`, as a `for` loop does: some iterators start over or become ready only then.
        super().__init__(lambda: iter(given), 0, name, Passes())
        self._reader = reader
        reader.begin(self, name)

    def _begun(self) -> Any:
        return self._make()

    def close(self) -> None:
        self._reader.end()


class OfStateful(Named):
    """Items from an iterator or iterable with `state_dict` and `load_state_dict`.

    Args:
        given: The object.
        name: Its name.
    """

    kind = "stateful"
    live = exclusive = True

    def __init__(self, given: Any, name: str) -> None:
        super().__init__(name)
        self._given = given
        self._reader, self._passes = OneReader(), Passes()

    def once(self) -> str | None:
        return f"{self.name} is an iterator" if hasattr(type(self._given), "__next__") else None

    def stream(self, run: Run, state: Any = None) -> Stream:
        run.start_runners()
        passes = self._passes if self.once() is None else Passes()
        return Stateful(self._given, self._reader, self.name, self.once() is not None, state, passes)


class Stateful(Iterated):
    """Items from an object with its own state. The state is [item count, the object's state].

    The object's `state_dict` is called once per block, and its result is copied.
    """

    def __init__(self, given: Any, reader: OneReader, name: str, alone: bool, state: Any, passes: Passes) -> None:
        count, inner = (0, None) if state is None else state
        super().__init__(lambda: iter(given), whole(count), name, passes)
        self._given, self._reader, self._alone = given, reader, alone
        if alone:
            reader.begin(self, name)
        if state is not None:
            self._load(copy.deepcopy(inner))
        self._state = self._asked()

    def _load(self, state: Any) -> None:
        if hasattr(self._given, "load_state_dict"):
            self._given.load_state_dict(state)
        else:
            self._iterator = iter(self._given)
            self._iterator.load_state_dict(state)

    def _begun(self) -> Any:
        return self._make()

    def _asked(self) -> Any:
        """Return the object's state; or an error explaining why it has none."""
        whose = self._iterator if hasattr(self._iterator, "state_dict") else self._given
        try:
            state = copy.deepcopy(whose.state_dict())
            odd = not_plain(state, "", True)
            if odd is None:
                return state
            text = f"{self._name}.state_dict must return plain data that JSON keeps unchanged, but {odd}"
            return FailedPreconditionError(None, None, text)
        except FailedPreconditionError as error:
            return FailedPreconditionError(None, None, error.message)  # without frames, which would keep it alive

    def take(self, n: int) -> Block | None:
        block = super().take(n)
        self._state = self._asked()
        return block

    def state(self) -> Any:
        return [self._count, self._state]

    def close(self) -> None:
        if self._alone:
            self._reader.end()
