"""Numbers first: where a source can be asked for its item number i, only the numbers are shuffled and shared out.

The batches are those that a pool of examples would give, bit for bit. But the pool holds 8 bytes for each example, the
first batch waits for its own examples only, and a resume reads nothing again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pipeline._random import NumberPool, lockstep_end, lockstep_pool
from pipeline.batches.items import digest_of, is_sequence
from pipeline.batches.lanes import Lane
from pipeline.batches.replay import Replay
from pipeline.batches.request import Request
from pipeline.batches.source import BLOCK_ROWS, is_iterable, sized
from pipeline.errors import FailedPreconditionError, OutOfRangeError
from pipeline.nest import length
from pipeline.producers.slices import SliceSource
from pipeline.pulls import Book, Turn, current_turn, in_use, this_thread
from pipeline.queues.rows import Rows
from pipeline.resume.journal import Entry
from pipeline.runners.enqueue_ops import op_name
from pipeline.sources.source import TableCursor
from pipeline.workers.ahead import MapAhead

_CHUNK = 4096  # numbers that are drawn at once

Numbers = NDArray[np.int64]


class Items(Protocol):
    """A source that can be asked by number.

    Attributes:
        source: The source.
        name: Its name.
        total: How many elements it has in all; None if it does not end.
        many: It gives blocks.
    """

    source: Any
    name: str
    total: int | None
    many: bool

    def numbers(self, first: int, count: int) -> Numbers:
        """The item numbers of `count` elements from number `first` on."""

    def take(self, numbers: Callable[[int], Numbers], n: int) -> tuple[Any, Numbers]:
        """The items with the next n numbers, and these: fewer at the end, where `numbers` raises."""

    def facts(self) -> dict[str, Any]:
        """As `Positioned._facts`."""

    def restart(self) -> None:
        """Forget what was prepared: the next numbers are others."""


class _Slices:
    many = True

    def __init__(self, source: SliceSource | TableCursor) -> None:
        self.source = source
        self.name = source.name
        self.total = source._total()

    def numbers(self, first: int, count: int) -> Numbers:
        return self.source._numbers(first, count)

    def take(self, numbers: Callable[[int], Numbers], n: int) -> tuple[Any, Numbers]:
        chosen = numbers(min(n, self.source._most))
        return self.source._rows_of(chosen), chosen

    def facts(self) -> dict[str, Any]:
        return self.source._facts()

    def restart(self) -> None:
        pass


class _Sequence:
    """A sequence; the rows of an array come in blocks."""

    def __init__(self, source: Any) -> None:
        self.source = source
        self.name = type(source).__name__
        self.total: int | None = len(source)
        self.many = isinstance(source, np.ndarray)

    def numbers(self, first: int, count: int) -> Numbers:
        return np.arange(first, min(first + count, len(self.source)))

    def take(self, numbers: Callable[[int], Numbers], n: int) -> tuple[Any, Numbers]:
        chosen = numbers(n if self.many else 1)
        if not self.many:
            turn, number = current_turn(), int(chosen[0])
            if turn is not None:
                turn.number = number
            return self.source[number], chosen
        plain = not self.source.dtype.hasobject
        return Rows(self.source, chosen) if plain else self.source.take(chosen, axis=0), chosen

    def facts(self) -> dict[str, Any]:
        return {"name": self.name, "kind": "sequence", "rows": self.total, **digest_of(self.source)}

    def restart(self) -> None:
        pass


class _Mapped:
    """What the workers of an executor make of a sequence."""

    many = True

    def __init__(self, source: MapAhead, stopped: Callable[[], bool]) -> None:
        self.source = source
        self.name = source.name
        self.total: int | None = source._total()
        self._stopped = stopped
        self._sent: list[int] = []  # numbers whose results have not come yet
        self._over: MapAhead | None = None

    def numbers(self, first: int, count: int) -> Numbers:
        return np.arange(first, min(first + count, self.total or 0))

    def take(self, numbers: Callable[[int], Numbers], n: int) -> tuple[Any, Numbers]:
        if self._over is None:
            self._over = self.source._over(self._following(numbers))
        turn, this_thread.turn = this_thread.turn, None  # it is not pulled from by itself
        try:
            block = self._over.take(n, self._stopped)
        finally:
            this_thread.turn = turn
        rows = length(block)
        chosen, self._sent = self._sent[:rows], self._sent[rows:]
        return block, np.asarray(chosen)

    def _following(self, numbers: Callable[[int], Numbers]) -> Iterator[int]:
        while True:
            try:
                chosen = numbers(256).tolist()
            except OutOfRangeError:
                return
            for number in chosen:
                self._sent.append(number)
                yield number

    def facts(self) -> dict[str, Any]:
        return dict(self.source._facts())

    def restart(self) -> None:
        self._over, self._sent = None, []


def by_number(source: Any, stopped: Callable[[], bool]) -> Items | None:
    """A source as one that can be asked by number, if it can.

    Args:
        source: What `check_source` lets pass.
        stopped: Whether waiting for the next item is in vain.
    """
    if isinstance(source, (SliceSource, TableCursor)):
        return _Slices(source) if source._by_number else None
    if isinstance(source, MapAhead):
        return _Mapped(source, stopped) if source._total() is not None else None
    return _Sequence(source) if is_iterable(source) and is_sequence(source) else None


def in_order(request: Request, replay: Replay | None, stopped: Callable[[], bool]) -> Items | None:
    """The rows in memory of the only source by number, where none are drawn. Their numbers are those of the elements,
    from 0 on; if they were not when a state was saved, or some were taken before, the rows are read as any others."""
    source = request.sources[0]
    at_start = source._position() == [0] and (replay is None or replay.first.positions == [[replay.first.element]])
    return by_number(source, stopped) if at_start and not request.enqueue_many else None


class NumberedSource:
    """Gives the items of a source in the order in which a lockstep pool would give them, or this host's share.

    Its place is the number of draws made, or of elements where nothing is drawn.

    Args:
        items: The source.
        seeds: Of the draws.
        held_back: Elements that stay in the pool; None for no pool.
        shard: The index of this host, how many there are, and the batch size of each; None for a single host.
        smaller: Whether the last batch may be smaller.
    """

    columns: Sequence[str] = ("draw",)
    owner: Book | None = None
    of_loop = True
    journaled = False  # its place follows from what was delivered

    def __init__(
        self,
        items: Items,
        seeds: tuple[int, int],
        held_back: int | None,
        shard: tuple[int, int, int] | None,
        smaller: bool,
    ) -> None:
        self._items = items
        self._seeds = seeds
        self._held_back = held_back
        self._shard = shard
        self._smaller = smaller
        self._part = self._ready = np.empty(0, np.int64)  # drawn: numbers of no whole batch yet, numbers of this host
        self._pool: NumberPool | None = None
        self._arrived = 0  # how many numbers have entered the pool
        self._ended = False
        self.name = items.name
        if held_back is None and shard is None:  # a state is that of a loop that reads its source in order
            self.columns = items.source.columns
        self.last_ids: Any = None
        self._go_to([0])

    def lane(self) -> Lane:
        """The source as a lane."""
        take = sized(self._pull, BLOCK_ROWS) if self._items.many else lambda: self._pull(1)
        many = self._items.many
        return Lane(lambda: [take()], many, many, False, False, op_name(self._items.source), take)

    @property
    def at_hand(self) -> bool:
        """Whether its items are rows of arrays, which nobody has to make."""
        return isinstance(self._items.source, SliceSource)

    def rows(self, n: int) -> tuple[Any, Numbers]:
        """Up to n items that are at hand, and their numbers: as a pull, but not of a call."""
        return self._items.take(self._next, n)

    def of_all_hosts(self, own: int, request: Request, draws: int) -> int:
        """How many examples all hosts took when this one took so many, after so many draws."""
        assert request.shard is not None
        whole = request.batch_size * request.shard[1]
        if own == request.batch_size or self._items.total is None:
            return whole
        return min(whole, self._items.total - draws)

    @property
    def unshared(self) -> int:
        """How many numbers were drawn that no host gets: at the end, those that fill no batch of all hosts."""
        return 0 if self._smaller else len(self._part)

    def entry(self, element: int, every: int) -> Entry:
        """Of a journal, where the run goes on at an element: where a loop that pulls would have noted one, if it reads
        in order."""
        at = element if self.columns == ("draw",) else max(0, element - 1) // every * every
        return Entry(at, at, [[at]])

    def go_back(self, draws: int, left: int) -> None:
        """Go on after so many of this host's items that come after so many draws."""
        self._go_to([draws])
        self._skip(left)

    def _pull(self, n: int) -> Any:
        turn = current_turn()
        assert turn is not None
        with turn.pulling(self):
            self._claim(turn)
            rows, self.last_ids = self._items.take(self._next, n)
        return rows

    def _claim(self, turn: Turn) -> None:
        source = self._items.source
        if hasattr(source, "owner") and source.owner is not turn.book:
            if source.owner is not None:
                raise in_use(source)
            if any(source._position()):
                text = f"'{self.name}' has given examples before this loop: make a new one for it"
                raise FailedPreconditionError(None, None, text)
            source.owner = turn.book
            if isinstance(source, MapAhead):
                source._seeded(*self._seeds)

    def _next(self, n: int) -> Numbers:
        """The next item numbers of this host: at least 1, at most n. OutOfRangeError at the end."""
        while not len(self._ready):
            if self._ended:
                raise OutOfRangeError(None, None, f"the items of '{self.name}' are used up")
            self._ready = self._own(self._draw())
        chosen, self._ready = self._ready[:n], self._ready[n:]
        return chosen

    def _draw(self) -> Numbers:
        """The next numbers of all hosts."""
        incoming = self._items.numbers(self._arrived, _CHUNK)
        self._arrived += len(incoming)
        drawn = incoming if self._pool is None else self._pool.exchange(incoming)
        if self._items.total is not None and self._arrived >= self._items.total:
            self._ended = True
            if self._pool is not None:
                drawn = np.concatenate([drawn, self._pool.drain()])
        return drawn

    def _own(self, drawn: Numbers) -> Numbers:
        """Which of the drawn numbers are of this host; numbers that fill no batch of all hosts wait for more."""
        if self._shard is None:
            return drawn
        index, count, size = self._shard
        drawn = np.concatenate([self._part, drawn])
        whole = len(drawn) // (count * size) * (count * size)
        own = drawn[:whole].reshape(-1, count, size)[:, index].reshape(-1)
        self._part = drawn[whole:]
        if self._ended and self._smaller:
            left = len(self._part)
            own = np.concatenate([own, self._part[index * left // count : (index + 1) * left // count]])
        return own

    def _release(self) -> None:
        """Let others pull from the source again: nothing was taken from it, as only numbers were drawn."""
        if hasattr(self._items.source, "owner"):
            self._items.source.owner = None

    # Positioned

    def _facts(self) -> dict[str, Any]:
        return self._items.facts()

    def _go_to(self, position: Sequence[Any]) -> None:
        (draws,) = position
        total, held_back = self._items.total, self._held_back
        self._items.restart()
        self._part = self._ready = np.empty(0, np.int64)
        self._pool = None
        self._arrived = draws
        if held_back is not None:
            ended = total is not None and held_back + draws > total
            self._arrived = total if ended and total is not None else held_back + draws
            self._pool = NumberPool(*self._seeds, held_back, draws)
            if draws:
                held = self._held(draws, ended)
                self._pool.load(held)
            else:
                self._arrived = 0
        self._ended = False

    def _held(self, draws: int, ended: bool) -> Numbers:
        """The item numbers that the pool holds after so many draws."""
        total, held_back = self._items.total, self._held_back
        assert held_back is not None
        if ended:
            assert total is not None
            elements = lockstep_end(*self._seeds, held_back, total, draws)
        else:
            elements = lockstep_pool(*self._seeds, held_back, draws)
        if not len(elements):
            return elements
        first = int(elements.min())
        return self._items.numbers(first, int(elements.max()) + 1 - first)[elements - first]

    def _reseed(self, seeds: Sequence[int]) -> bool:
        reseed = getattr(self._items.source, "_reseed", None)
        return reseed is not None and bool(reseed(seeds))

    def _skip(self, count: int, *how: Any) -> None:
        while count:
            count -= len(self._next(count))

    def _no_state(self) -> str | None:
        return None
