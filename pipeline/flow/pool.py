"""Pool: a stream shuffled by drawing from a pool of a fixed size, in lockstep: each draw is from a full pool.

The order depends on the seed and the input alone. A position is the number of draws, with a journal that says where the
input stood now and then: the pool at any draw is found by reading again what is in it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline._random import NumberPool, lockstep_end, lockstep_pool
from pipeline.errors import FailedPreconditionError
from pipeline.flow.block import Block
from pipeline.flow.run import Run
from pipeline.flow.store import RowStore, Store
from pipeline.flow.stream import Stream, dropped, is_by_row, lend_rows, seek_later, shorter, whole
from pipeline.flow.table import Index

# Arrivals between two entries of the journal.
EVERY = 1024
# Entries that are kept, the fewer the older they are. The span of the pool is read again anyway: with so many entries
# at most a tenth more is read.
MOST = 40


class Filling:
    """A NumberPool that has places for what came so far: a pool may be much larger than its input.

    Args:
        seeds: Of the draws.
        places: How many it has at last.
    """

    def __init__(self, seeds: tuple[int, int], places: int) -> None:
        self._seeds, self._places = seeds, places
        self._come: list[NDArray[np.int64]] = []
        self._count = 0
        self._full: NumberPool | None = None

    def exchange(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Put numbers in; each that finds all places filled draws one."""
        if self._full is None:
            if self._count + len(numbers) <= self._places:
                self._come.append(numbers)
                self._count += len(numbers)
                return np.empty(0, np.int64)
            self._full = self._filled(self._places)
        return self._full.exchange(numbers)

    def drain(self, limit: int) -> NDArray[np.int64]:
        """Draw what is left; the input has ended."""
        if self._full is None:
            self._full = self._filled(self._count)
        return self._full.drain(limit)

    def _filled(self, places: int) -> NumberPool:
        full = NumberPool(*self._seeds, places)
        full.load(np.concatenate([*self._come, np.empty(0, np.int64)]))
        self._come = []
        return full


class Journal:
    """Where an input stood: (number of the next arrival, position), thinned with age.

    Attributes:
        entries: The entries, in a tuple that is replaced as a whole.
    """

    def __init__(self) -> None:
        self.entries: tuple[Any, ...] = ()

    def note(self, arrival: int, position: Any) -> None:
        """Add an entry, if it is time for one."""
        if self.entries and arrival < self.entries[-1][0] + EVERY:
            return
        entries = [*self.entries, (arrival, light(position))]
        if len(entries) > MOST:
            newest = entries[-1][0]
            gaps = [
                (entries[i + 1][0] - entries[i - 1][0]) / (newest - entries[i][0] + 1)
                for i in range(1, len(entries) - 1)
            ]
            del entries[1 + gaps.index(min(gaps))]
        self.entries = tuple(entries)

    def before(self, arrival: int) -> tuple[int, Any]:
        """Return the last entry at or before an arrival."""
        found: tuple[int, Any] = next(entry for entry in reversed(self.entries) if entry[0] <= arrival)
        return found


def light(position: Any) -> Any:
    """Return a position without the journals in it: a pool further up finds its own."""
    if isinstance(position, dict):
        return {key: light(value) for key, value in position.items() if key not in ("journal", "up")}
    if isinstance(position, (list, tuple)):
        return [light(each) for each in position]
    return position


class Pool:
    """Elements of a stream, drawn from a pool.

    Of rows of a table only numbers are drawn, and to read them again costs nothing: a position needs no journal.

    Args:
        stream: The elements.
        size: How many the pool holds.
        seeds: Of the draws.
        shared: What the streams of the iterator share.
        placed: Whether a position is the number of draws alone, as that of an IndexPool; it is read from the start.
    """

    def __init__(self, stream: Stream, size: int, seeds: tuple[int, int], shared: Run, placed: bool = False) -> None:
        self._stream, self._run, self._placed = stream, shared, placed
        self.chooses = self.by_row = is_by_row(stream)
        self._held_back = size - 1
        self._lent = not self.by_row and lend_rows(stream)
        self._seeds = seeds
        self._journal = Journal()
        self._start = stream.position()
        self._begin()

    def _begin(self) -> None:
        self._numbers: Filling | NumberPool = Filling(self._seeds, self._held_back)
        self._store = self._empty()
        self._draws = self._arrivals = 0
        self._total: int | None = None
        self._sought: dict[str, Any] | None = None  # where the next call begins
        self._error: Exception | None = None  # that comes with the next call

    def _empty(self) -> Store | RowStore:
        return RowStore() if self.by_row else Store(self._held_back, self._lent)

    def take(self, n: int) -> Block | None:
        if self._sought is not None:
            with self._run.unhurried():
                self._settle()
        slots = self._drawn(n)
        if not len(slots):
            return None
        values, ids = self._store.take(slots)
        first = self._draws
        self._draws += len(slots)
        return Block(values, ids, range(first, self._draws))

    def _drawn(self, n: int) -> NDArray[np.int64]:
        """Draw the next n elements and return their slots; fewer before an error, which comes next, and at the end.

        Those of several arrivals leave together: batches are made of one block, without a copy that joins two.
        """
        if self._error is not None:
            error, self._error = self._error, None
            raise error
        found = [np.empty(0, np.int64)]
        while n:
            ended = self._total is not None
            try:
                slots = self._numbers.drain(n) if ended else self._arrive(n)
            except Exception as error:
                if len(found) == 1:
                    raise
                if error is not self._run.overdue:  # which comes again, if time is still up
                    self._error = error
                break
            if len(slots):
                found.append(slots)
                n -= len(slots)
            elif ended:
                break
        return found[1] if len(found) == 2 else np.concatenate(found)

    def _arrive(self, n: int) -> NDArray[np.int64]:
        """Let elements arrive, and draw as many when the pool is full."""
        entries = self._journal.entries
        if not (entries and (self.by_row or self._arrivals < entries[-1][0] + EVERY)):
            self._journal.note(self._arrivals, self._stream.position())
        block = self._stream.take(n)
        if block is None:
            self._total = self._arrivals
            return np.empty(0, np.int64)
        self._arrivals += len(block)
        return self._numbers.exchange(self._store.put(block))

    def skip(self, n: int) -> int:
        with self._run.unhurried():
            return dropped(self, n)

    def position(self) -> Any:
        if self._placed:
            return self._draws if self._sought is None else self._sought["draws"]
        if self._sought is not None:
            return self._sought
        if isinstance(self._start, FailedPreconditionError):
            return self._start
        if self.by_row:
            return {"draws": self._draws, "total": None, "journal": [[0, self._start]], "up": None}
        up = self._stream.position()
        return {"draws": self._draws, "total": self._total, "journal": self._journal.entries, "up": up}

    def seek(self, position: Any) -> None:
        if self._placed:
            self._sought = {"draws": whole(position)}
            return
        total = None if position["total"] is None else whole(position["total"])
        self._sought = {"draws": whole(position["draws"], total), "total": total}
        if "journal" not in position:  # within a journal: this pool has its own
            return
        entries = [(whole(arrival), at) for arrival, at in position["journal"]]
        if entries and (entries[0][0] or entries != sorted(entries, key=lambda entry: entry[0])):
            raise ValueError("the entries of a journal are in order, the first one at 0")
        self._sought |= {"journal": entries, "up": position["up"]}

    def _settle(self) -> None:
        """Find the pool again at the position that was sought."""
        if self._sought is None:
            return
        sought = self._sought
        self._begin()
        if "journal" in sought:
            self._journal.entries = tuple(sought["journal"])
            if sought.get("up") is not None:
                seek_later(self._stream, sought["up"])  # so that pools further up have their journals
        if not self._journal.entries:
            self._journal.note(0, self._start)
        self._total = sought.get("total")
        if sought["draws"] or self._total is not None:
            self._fill(int(sought["draws"]))
        else:  # nothing was drawn: the pool fills from the start
            seek_later(self._stream, self._journal.entries[0][1])
            self._sought = None

    def _fill(self, draws: int) -> None:
        """Read again what the pool held after so many draws."""
        held_back, end = self._held_back, self._held_back + draws
        if self._total is not None:  # a pool that was never full is as one of the size of the input
            held_back, end = min(held_back, self._total), min(end, self._total)
        held = held_at(self._seeds, held_back, draws, self._total)
        slots = np.empty(len(held), np.int64)
        reached = self._read(held, slots, end)
        if reached < end:
            if self._total is not None or reached < draws:
                raise shorter()
            self._total = reached  # the input has ended between the last entry and the draw
            self._store = self._empty()
            self._fill(draws)
            return
        self._numbers = NumberPool(*self._seeds, held_back, draws)
        self._numbers.load(slots)
        if end == self._total:
            self._stream.take(1)  # reads its end again: an object of the user's, say, begins its next pass there
        self._draws, self._arrivals, self._sought = draws, end, None

    def _read(self, held: NDArray[np.int64], slots: NDArray[np.int64], end: int) -> int:
        """Read the arrivals that are held into the store, and go to arrival `end`; return how far the input goes."""
        wanted, places = np.sort(held), np.argsort(held, kind="stable")
        arrival, at = self._journal.before(int(wanted[0]) if len(wanted) else end)
        seek_later(self._stream, at)
        k = 0
        while arrival < end:
            following = int(wanted[k]) if k < len(wanted) else end
            if following > arrival:
                skipped = self._stream.skip(following - arrival)
                arrival += skipped
                if arrival < following:
                    return arrival
                continue
            run = 1
            while k + run < len(wanted) and wanted[k + run] == wanted[k] + run and run < EVERY:
                run += 1
            block = self._stream.take(run)
            if block is None:
                return arrival
            slots[places[k : k + len(block)]] = self._store.put(block)
            k += len(block)
            arrival += len(block)
        return arrival

    def close(self) -> None:
        self._stream.close()


def held_at(seeds: tuple[int, int], min_after_dequeue: int, draws: int, total: int | None) -> NDArray[np.int64]:
    """Return which arrivals a pool holds after so many draws, by place."""
    if total is not None and min_after_dequeue + draws > total:
        return lockstep_end(*seeds, min_after_dequeue, total, draws)
    return lockstep_pool(*seeds, min_after_dequeue, draws)


class IndexPool:
    """As Pool, for elements that can be had by number: only numbers are drawn, and nothing is read again.

    Args:
        index: The elements.
        size: How many the pool holds.
        seeds: Of the draws.
        keep: Whether elements keep their numbers.
    """

    chooses = True

    def __init__(self, index: Index, size: int, seeds: tuple[int, int], keep: bool) -> None:
        self._index, self._seeds, self._keep = index, seeds, keep
        self._length = len(index)
        self._held_back = min(size - 1, self._length)  # a larger pool is never full, and gives the same
        self.seek(0)

    def seek(self, position: Any) -> None:
        draws = self._draws = whole(position, self._length)
        total = self._length if self._held_back + draws > self._length else None
        self._numbers = NumberPool(*self._seeds, self._held_back, draws)
        if draws or total is not None:
            self._numbers.load(held_at(self._seeds, self._held_back, draws, total))
        else:
            self._numbers.load(np.arange(self._held_back))
        self._arrivals = min(self._length, self._held_back + draws)

    def take(self, n: int) -> Block | None:
        arriving = min(n, self._length - self._arrivals)
        if arriving:
            drawn = self._numbers.exchange(np.arange(self._arrivals, self._arrivals + arriving))
            self._arrivals += arriving
        else:
            drawn = self._numbers.drain(n)
        if not len(drawn):
            return None
        first = self._draws
        self._draws += len(drawn)
        block = self._index.block(drawn)
        return block if self._keep else Block(block.values, block.ids, range(first, self._draws))

    def skip(self, n: int) -> int:
        n = min(n, self._length - self._draws)
        self.seek(self._draws + n)
        return n

    def position(self) -> Any:
        return self._draws

    def close(self) -> None:
        pass
