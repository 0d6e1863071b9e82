"""shuffle(n): examples drawn from a buffer of n. Each draw is from a full buffer: the order depends on the seed alone.

The draws are those of TensorFlow's shuffle queue, filled one by one and emptied by a consumer that always waits.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pipeline._flow import items_at
from pipeline._random import NumberPool, lockstep_end, lockstep_pool
from pipeline.datasets.seed import Seed
from pipeline.stages.block import Block, Columns, Examples, Numbers, flat, is_plain, packed
from pipeline.stages.index import Lookup
from pipeline.stages.journal import Journal, read_again
from pipeline.stages.node import Node, index_of, opened
from pipeline.stages.run import Pair, Run
from pipeline.stages.selection import Choice
from pipeline.stages.stream import Rest, Stage, Stream, whole

_NEVER = np.iinfo(np.int64).max


class Shuffle(Choice):
    """Examples drawn from a buffer.

    Args:
        source: The examples.
        buffer_size: How many the buffer holds.
        seed: Of the draws; each pass has others.
    """

    kind = "shuffle"
    stage = "step"
    counts = False

    def __init__(self, source: Node, buffer_size: int, seed: int | None) -> None:
        super().__init__(source)
        self.buffer_size = buffer_size
        self._seed = Seed(seed, self.kind)

    def indexed_over(self, source: Node) -> bool:
        return False

    def seed(self) -> Seed:
        return self._seed

    def options(self) -> dict[str, Any]:
        return {"buffer_size": self.buffer_size}

    def stream(self, run: Run, state: Any = None) -> Stream:
        seed, seed2 = run.seeds.pair(self._seed)
        pair = seed, (seed2 + run.epoch) & (1 << 63) - 1
        source = self.source
        if not source.indexed or source.works_ahead:
            at = [0, None, 0, None] if state is None else state
            return Pooled(opened(source, run, at[3]), self.buffer_size, pair, at)
        draws, given = (0, 0) if state is None else state
        index = index_of(source, run)  # of which only places are drawn
        return Rest(Lookup(DrawnPlaces(len(index), self.buffer_size, pair, whole(draws)), index), whole(given))

    def label(self) -> str:
        return f"shuffle({self.buffer_size:,})"


class DrawnPlaces(Stream):
    """The places of an index, drawn from a buffer of places. The state is the number of draws."""

    def __init__(self, length: int, size: int, pair: Pair, draws: int) -> None:
        self._total = length
        places = min(size - 1, length)
        held = _held(pair, places, length, draws, places + draws > length)
        self._pool, self._next, self._draws = NumberPool(*pair, places, draws), min(places + draws, length), draws
        if draws:
            self._pool.load(held)
        else:
            self._next = 0

    def take(self, n: int) -> Block | None:
        drawn = np.empty(0, np.int64)
        while not len(drawn):
            if self._next < self._total:
                end = min(self._next + n, self._total)
                drawn, self._next = self._pool.exchange(np.arange(self._next, end)), end
            else:
                drawn = self._pool.drain(n)
                if not len(drawn):
                    return None
        self._draws += len(drawn)
        return Block(Columns(drawn, len(drawn)), drawn)

    def state(self) -> int:
        return self._draws


def _held(pair: Pair, places: int, total: int | None, draws: int, ending: bool) -> Numbers:
    """Return which arrivals a buffer holds after so many draws, by slot."""
    if ending and total is not None:
        return lockstep_end(*pair, places, total, draws)
    return lockstep_pool(*pair, places, draws)


class Pooled(Stage):
    """Examples of a stream, drawn from a buffer.

    The state is [the number of draws, the number of examples of the input once that has ended, and a note of the
    journal: an arrival, and the state of the input before it].

    Args:
        source: The examples, at the state of the note.
        size: How many the buffer holds.
        pair: The two seeds of the draws.
        state: The state.
    """

    def __init__(self, source: Stream, size: int, pair: Pair, state: Any) -> None:
        super().__init__(source)
        draws, total, arrival, before = state
        self._pair, self._places = pair, size - 1  # examples that are held when another one arrives
        self._draws, self._arrivals = whole(draws), whole(arrival)
        self._total = None if total is None else whole(total)
        self._before = before
        self._pool: NumberPool | None = None
        self._slots, self._journal = Slots(), Journal(max(1024, size // 2))

    def take(self, n: int) -> Block | None:
        pool = self._pool or self._begin()
        while True:
            ended = self._total is not None
            drawn = pool.drain(n) if ended else self._arrive(pool, n)
            if len(drawn):
                self._draws += len(drawn)
                return self._slots.take(drawn)
            if ended:
                return None

    def _arrive(self, pool: NumberPool, n: int) -> Numbers:
        """Let examples arrive, and draw one for each that finds the buffer full."""
        if self._journal.due(self._arrivals):
            self._journal.note(self._arrivals, self.source.state(), min(self._slots.oldest(), self._arrivals))
        block = self.source.take(n)
        if block is None:
            self._total = self._arrivals
            return np.empty(0, np.int64)
        first, self._arrivals = self._arrivals, self._arrivals + len(block)
        return pool.exchange(self._slots.put(block, np.arange(first, self._arrivals)))

    def _begin(self) -> NumberPool:
        """Make the buffer; after a resume by reading again what it held."""
        draws, total, arrival = self._draws, self._total, self._arrivals
        if not draws and total is None:
            self._pool = NumberPool(*self._pair, self._places)
            return self._pool
        places = self._places if total is None else min(self._places, total)
        ending = total is not None and places + draws > total
        end = places + draws if total is None else min(places + draws, total)
        held = _held(self._pair, places, total, draws, ending)
        order = held.argsort()
        wanted, slots = held[order], np.empty(len(held), np.int64)
        self._journal.note(arrival, self._before, arrival)
        for found, block in read_again(self.source, arrival, wanted, end):
            slots[order[found]] = self._slots.put(block, wanted[found])
        self._arrivals = end
        pool = NumberPool(*self._pair, places, draws)
        pool.load(slots)
        self._pool = pool
        return pool

    def state(self) -> Any:
        if self._pool is None:
            return [self._draws, self._total, self._arrivals, self._before]
        return [self._draws, self._total, *(self._journal.first if self._arrivals else (0, self.source.state()))]


class Slots:
    """Examples that are held, by slot: in columns as long as all are rows of numbers of one kind, else in a list."""

    def __init__(self) -> None:
        self._numbers, self._arrivals = np.empty(0, np.int64), np.empty(0, np.int64)
        self._free = np.empty(0, np.int64)
        self._items: list[Any] | None = None
        self._like: Any = None  # a block of rows, in whose structure the columns are
        self._columns: list[Any] | None = None

    def put(self, block: Block, arrivals: Numbers) -> Numbers:
        """Hold the examples of a block; return their slots."""
        n = len(block)
        if len(self._free) < n:
            self._grow(max(n, len(self._numbers)))
        slots, self._free = self._free[-n:], self._free[:-n]
        self._numbers[slots], self._arrivals[slots] = block.numbers, arrivals
        if self._items is None and not self._put_rows(block, slots):
            self._list(slots)
        if self._items is not None:
            for slot, example in zip(slots.tolist(), block.values.examples(), strict=True):
                self._items[slot] = example.copy() if isinstance(example, np.ndarray) else example
        return slots

    def _put_rows(self, block: Block, slots: Numbers) -> bool:
        """Put the rows of a block into columns; return whether they fit."""
        if not isinstance(block.values, Columns):
            return False
        structure, columns = flat(block.values.block)
        if self._columns is None:
            if not all(map(is_plain, columns)):
                return False
            size = len(self._numbers)
            self._like = structure, block.values.block
            self._columns = [np.empty((size, *each.shape[1:]), each.dtype) for each in columns]
        elif self._like[0] != structure or not all(
            [is_plain(a) and a.dtype == b.dtype and a.shape[1:] == b.shape[1:] for a, b in zip(columns, self._columns)]
        ):
            return False
        for column, rows in zip(self._columns, columns, strict=True):
            column[slots] = rows
        return True

    def _list(self, new: Numbers) -> None:
        """Hold examples in a list from now on, also those in the columns: all but those of new slots."""
        self._items = [None] * len(self._numbers)
        if self._columns is not None:
            known = np.setdiff1d(np.flatnonzero(self._arrivals != _NEVER), new)
            rows = Columns(packed(self._like[1], [each[known] for each in self._columns]), len(known))
            for slot, example in zip(known.tolist(), rows.examples(), strict=True):
                self._items[slot] = example
            self._columns = None

    def take(self, slots: Numbers) -> Block:
        """Give away the examples of these slots."""
        numbers = self._numbers[slots]
        self._arrivals[slots] = _NEVER
        self._free = np.concatenate([self._free, slots])
        if self._items is not None:
            found = Examples(items_at(self._items, slots))
            for slot in slots.tolist():
                self._items[slot] = None
            return Block(found, numbers)
        assert self._columns is not None
        columns = [each.take(slots, axis=0) for each in self._columns]
        return Block(Columns(packed(self._like[1], columns), len(numbers)), numbers)

    def oldest(self) -> int:
        """Return the number of the oldest arrival that is held."""
        return int(self._arrivals.min(initial=_NEVER))

    def _grow(self, more: int) -> None:
        size = len(self._numbers)
        self._numbers = np.concatenate([self._numbers, np.zeros(more, np.int64)])
        self._arrivals = np.concatenate([self._arrivals, np.full(more, _NEVER)])
        self._free = np.concatenate([self._free, np.arange(size, size + more)])
        if self._items is not None:
            self._items.extend([None] * more)
        if self._columns is not None:
            columns = [np.empty((size + more, *each.shape[1:]), each.dtype) for each in self._columns]
            for column, before in zip(columns, self._columns, strict=True):
                column[:size] = before
            self._columns = columns


