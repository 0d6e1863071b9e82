"""Iterables as sources of a deterministic loop: their items one by one, with the place of the next one."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from pipeline.batches.iterables import is_generator_function, items, length, starts_over, while_open
from pipeline.errors import FailedPreconditionError, OutOfRangeError
from pipeline.pulls import Book, current_turn
from pipeline.resume.stateful import is_stateful, iterator_at
from pipeline.sources.arrays import is_stored, stored_digest

_SAMPLE = 1024  # rows of an array that its digest looks at


def positioned_items(source: Any) -> SequenceItems | StatefulItems | OnceItems:
    """The items of what `check_iterable` lets pass, as something with a place if that is possible."""
    if is_stateful(source):
        return StatefulItems(source)
    if is_sequence(source):
        return SequenceItems(source)
    return OnceItems(source)


def is_sequence(source: Any) -> bool:
    """Whether item number i can be asked for, and there is a last one."""
    kind = type(source)
    return hasattr(kind, "__getitem__") and hasattr(kind, "__len__") and not is_generator_function(source)


class _Items:
    """What the three kinds share: a pull of one item."""

    owner: Book | None = None
    of_loop = True
    columns: Sequence[str] = ("item",)
    source: Any

    def __init__(self) -> None:
        self.name = self.kind = type(self.source).__name__
        self.last_ids: Any = None
        self._taken = 0

    def take(self) -> Any:
        """The next item; StopIteration at the end."""
        turn = current_turn()
        assert turn is not None
        with turn.pulling(self):
            item = self._next()
            self.last_ids = self._taken, 1
            self._taken += 1
        return item

    def following(self) -> Iterator[Any]:
        """The items from here on; `took` says how many of them were taken."""
        raise NotImplementedError

    def took(self, count: int) -> None:
        """So many items of `following` were taken."""
        self._taken += count

    def _next(self) -> Any:
        raise NotImplementedError

    def _facts(self) -> dict[str, Any]:
        return {"name": self.name, "kind": self.kind}

    def _skip(self, count: int, *how: Any) -> None:
        for _ in range(count):
            try:
                self._next()
            except StopIteration:
                raise OutOfRangeError(None, None, f"{self.name}: fewer items than when the state was saved") from None
            self._taken += 1


class SequenceItems(_Items):
    """The items of a sequence, by number."""

    kind = "sequence"

    def __init__(self, source: Any) -> None:
        self.source = source
        super().__init__()
        self.kind = "sequence"

    def _next(self) -> Any:
        if self._taken >= length(self.source):
            raise StopIteration
        return self.source[self._taken]

    def following(self) -> Iterator[Any]:
        numbers = range(self._taken, length(self.source))
        return while_open(self.source, map(self.source.__getitem__, numbers))

    def _facts(self) -> dict[str, Any]:
        return {**super()._facts(), "rows": len(self.source), **digest_of(self.source)}

    def _position(self) -> list[Any]:
        return [self._taken]

    def _go_to(self, position: Sequence[Any]) -> None:
        (self._taken,) = position

    def _skip(self, count: int, *how: Any) -> None:
        if self._taken + count > len(self.source):
            raise OutOfRangeError(None, None, f"{self.name}: fewer items than when the state was saved")
        self._taken += count

    def _no_state(self) -> str | None:
        return None


class _OfIterator(_Items):
    """Items that come one after the other."""

    def __init__(self, source: Any) -> None:
        self.source = source
        super().__init__()
        self._iterator: Iterator[Any] | None = None

    def following(self) -> Iterator[Any]:
        if self._iterator is None:
            self._iterator = items(self.source)
        return self._iterator

    def _next(self) -> Any:
        return next(self.following())


class StatefulItems(_OfIterator):
    """The items of an iterable that has `state_dict` and `load_state_dict`."""

    columns = ("state",)

    def next_item(self) -> Any:
        """The next item, outside of turns; StopIteration at the end."""
        item = self._next()
        self._taken += 1
        return item

    def _earlier(self, position: Sequence[Any], count: int) -> Sequence[Any]:
        """Where it was so many items before a position after them: nobody knows that of more than none."""
        assert count == 0
        return position

    def _position(self) -> list[Any]:
        return [{"items": self._taken, "state": copy.deepcopy(self.source.state_dict())}]

    def _go_to(self, position: Sequence[Any]) -> None:
        (saved,) = position
        self._taken = saved["items"]
        self._iterator = iterator_at(self.source, saved["state"], items)

    def _no_state(self) -> str | None:
        return None


class OnceItems(_OfIterator):
    """The items of what can only be read once, from the start.

    One that Ctrl-C struck counts as taken: nobody knows what the source had done, and a generator is at its end then.
    """

    _struck = 0

    def _next(self) -> Any:
        self._struck = 0 if starts_over(self.source) else 1
        try:
            item = super()._next()
        except Exception:
            self._struck = 0
            raise
        self._struck = 0
        return item

    def _position(self) -> list[Any]:
        return [self._taken + self._struck]

    def _go_to(self, position: Sequence[Any]) -> None:
        raise FailedPreconditionError(None, None, f"{self._no_state()}, so it cannot go to item {position[0]}")

    def _no_state(self) -> str | None:
        what = "a generator" if is_generator_function(self.source) else f"a {self.name}, which is read once"
        return f"the source is {what}"


def digest_of(source: Any) -> dict[str, str]:
    """What tells the values of an array, in memory or of a store, from others; nothing for other sequences."""
    if isinstance(source, np.ndarray):
        return {"digest": array_digest(source)}
    return {"digest": stored_digest(source)} if is_stored(source) else {}


def array_digest(array: np.ndarray[Any, Any]) -> str:
    """Sixteen hex digits that depend on dtype, shape and 1,024 evenly spaced rows of an array."""
    import hashlib  # 3 ms, as it loads OpenSSL, which a program that saves no state need not wait for

    sample = array[:: max(1, -(-len(array) // _SAMPLE))]
    data = repr(sample.tolist()).encode() if array.dtype.hasobject else np.ascontiguousarray(sample).tobytes()
    return hashlib.blake2b(f"{array.dtype.str} {array.shape} ".encode() + data, digest_size=8).hexdigest()
