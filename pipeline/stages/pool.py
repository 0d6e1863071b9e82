"""shuffle(n): examples drawn from a buffer of n. Each draw is from a full buffer: the order depends on the seed alone.

The draws are those of TensorFlow's shuffle queue, filled one by one and emptied by a consumer that always waits.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from pipeline._calls import all_of
from pipeline._random import NumberPool, lockstep_end, lockstep_pool
from pipeline._rows import RowSlots
from pipeline.orders.seeds import Seed
from pipeline.stages.block import Block, Columns, Examples, Numbers, handed_out, is_plain, sizes_of
from pipeline.stages.index import Index
from pipeline.stages.journal import Journal, read_again
from pipeline.stages.node import Node, index_of, opened
from pipeline.stages.run import Pair, Run
from pipeline.stages.selection import Choice
from pipeline.stages.stream import Stage, Stream, fitting, whole

_NEVER = np.iinfo(np.int64).max

_TEXTS = frozenset({bytes, str})

_AT_ONCE = 1024  # examples that arrive together while the buffer is filled


class Shuffle(Choice):
    """Examples drawn from a buffer.

    Args:
        source: The examples.
        buffer_size: How many the buffer holds.
        seed: Of the draws; each pass has others.
        options: The arguments that the buffer's size follows from; None if it was given itself.
    """

    kind = "shuffle"
    stage = "step"
    counts = False

    def __init__(
        self, source: Node, buffer_size: int, seed: int | None, options: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(source)
        self.buffer_size = buffer_size
        self._options = {"buffer_size": buffer_size} if options is None else dict(options)
        self._seed = Seed(seed, self.kind)

    def indexed_over(self, source: Node) -> bool:
        return False

    def seed(self) -> Seed:
        return self._seed

    def options(self) -> dict[str, Any]:
        return self._options

    def stream(self, run: Run, state: Any = None) -> Stream:
        seed, seed2 = run.seeds.pair(self._seed)
        pair = seed, (seed2 + run.epoch) & (1 << 63) - 1
        source = self.source
        if not source.indexed:
            at = [0, None, 0, None] if state is None else state
            return Pooled(opened(source, run, at[3]), self.buffer_size, pair, at)
        draws = 0 if state is None else whole(state)
        if source.streams:
            return PooledPlaces(source, run, self.buffer_size, pair, draws)
        index = index_of(source, run)  # of which only places are drawn
        return Drawn(index, self.buffer_size, pair, draws)

    def label(self) -> str:
        return f"shuffle({self.buffer_size:,})"


class Drawn(Stream):
    """Examples of an index, drawn from a buffer of places. The state is the number of draws.

    Args:
        index: The examples.
        size: How many places the buffer holds.
        pair: The two seeds of the draws.
        draws: The state.
    """

    def __init__(self, index: Index, size: int, pair: Pair, draws: int) -> None:
        self._index, self._total = index, len(index)
        places = min(size - 1, self._total)
        self._pool = NumberPool(*pair, places, draws)
        if draws:
            self._pool.load(_held(pair, places, self._total, draws, places + draws > self._total))
        self._next = min(places + draws, self._total) if draws else 0  # the place that comes into the buffer next
        self._draws = draws  # examples that were taken
        self._drawn = np.empty(0, np.int64)  # places of which the examples were not taken
        self._error: Exception | None = None  # why the example at the first of these cannot be made

    def take(self, n: int) -> Block | None:
        if self._error is not None:
            raise self._error
        drawn = self._drawn if len(self._drawn) else self._draw(n)
        if not len(drawn):
            return None
        made = self._index.block(drawn if len(drawn) <= n else drawn[:n])
        count = len(made)
        self._drawn, self._draws = drawn[count:], self._draws + count
        if made.error is not None:
            self._error, made.error = made.error, None
            if not count:
                raise self._error
        return made

    def _draw(self, n: int) -> Numbers:
        """Return the next places, n at most; none at the end."""
        while self._next < self._total:
            first, self._next = self._next, min(self._next + n, self._total)
            drawn = self._pool.exchange(np.arange(first, self._next))
            if len(drawn):
                return drawn
        return self._pool.drain(n)

    def drop(self, n: int) -> int:
        if n and self._error is not None and not self._index.of_sources:
            raise self._error
        left = n
        while left:
            drawn = self._drawn if len(self._drawn) else self._draw(left)
            if not len(drawn):
                break
            count = min(left, len(drawn))
            self._drawn, self._draws, self._error = drawn[count:], self._draws + count, None
            left -= count
        return n - left

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
        self._at = state  # until the buffer is filled
        self._pair, self._places = pair, size - 1  # examples that are held when another one arrives
        self._draws, self._arrivals = whole(draws), whole(arrival, draws)
        self._total = None if total is None else whole(total)
        self._before = before
        self._pool: NumberPool | None = None
        self._slots, self._journal = Slots(), Journal(max(1024, size // 2))
        self._first: list[Numbers] = []  # the slots of the examples that came before the buffer was full

    def take(self, n: int) -> Block | None:
        pool = self._pool or self._begin()
        while True:
            ended = self._total is not None
            drawn = pool.drain(n) if ended else pool.exchange(self._arrive(n))
            if len(drawn):
                self._draws += len(drawn)
                return self._slots.take(drawn)
            if ended:
                return None

    def _arrive(self, n: int) -> Numbers:
        """Let examples arrive; return their slots."""
        if self._journal.due(self._arrivals):
            self._journal.note(self._arrivals, self.source.state(), min(self._slots.oldest(), self._arrivals))
        block = self.source.take(n)
        if block is None:
            self._total = self._arrivals
            return np.empty(0, np.int64)
        first, self._arrivals = self._arrivals, self._arrivals + len(block)
        return self._slots.put(block, np.arange(first, self._arrivals))

    def _fill(self) -> NumberPool:
        """Fill the buffer, or take all of an input that is smaller: then it has no more places than that."""
        while self._arrivals < self._places and self._total is None:
            self._first.append(self._arrive(min(self._places - self._arrivals, _AT_ONCE)))
        pool = NumberPool(*self._pair, self._arrivals)
        pool.load(np.concatenate([np.empty(0, np.int64), *self._first]))
        self._pool, self._first = pool, []
        return pool

    def _begin(self) -> NumberPool:
        """Make the buffer; after a resume by reading again what it held."""
        draws, total, arrival = self._draws, self._total, self._arrivals
        if not draws and total is None:
            return self._fill()
        places = self._places if total is None else min(self._places, total)
        ending = total is not None and places + draws > total
        end = places + draws if total is None else min(places + draws, total)
        with fitting():
            held = _held(self._pair, places, total, draws, ending)
        order = held.argsort()
        wanted, slots = held[order], np.empty(len(held), np.int64)
        self._journal.note(arrival, self._before, arrival)
        for found, block in read_again(self.source, arrival, wanted, end):
            slots[order[found]] = self._slots.put(block, wanted[found])
        self._arrivals = end
        if total is not None:
            self.source.take(1)  # to its end, where an object of the user's may begin its next pass
        pool = NumberPool(*self._pair, places, draws)
        pool.load(slots)
        self._pool = pool
        return pool

    def state(self) -> Any:
        if self._pool is None:
            return self._at
        return [self._draws, self._total, *(self._journal.first if self._arrivals else (0, self.source.state()))]


class PooledPlaces(Pooled):
    """Examples of an index that has to run as streams. The state is the number of draws, as for `Drawn`.

    Args:
        node: The recipe of the index.
        run: Of the iterator.
        size, pair: As for `Pooled`.
        draws: The state.
    """

    def __init__(self, node: Node, run: Run, size: int, pair: Pair, draws: int) -> None:
        at: list[Any] = [0, None, 0, None]
        if draws:
            end = size - 1 + draws
            length = _known_length(node, run, end)
            places = min(size - 1, length)
            ending = places + draws > length
            oldest = int(_held(pair, places, length, draws, ending).min(initial=draws))
            at = [draws, length if ending else None, oldest, oldest * node.step]
        super().__init__(opened(node, run, at[3]), size, pair, at)

    def state(self) -> int:
        return self._draws


def _known_length(node: Node, run: Run, end: int) -> int:
    """Return the length of an input; if that is not known, `end` or all that there are before it."""
    length = node.length()
    if length is not None:
        return length
    with contextlib.closing(opened(node, run)) as stream:
        return stream.drop(end)


class Slots:
    """Examples that are held, by slot: as columns as long as all are alike, else as one column of objects."""

    def __init__(self) -> None:
        self._rows: RowSlots | None = None  # numbers, arrivals, sizes, and the examples
        self._structure: Any = None
        self._listed = False

    def put(self, block: Block, arrivals: Numbers) -> Numbers:
        """Hold the examples of a block; return their slots."""
        values: Any = block.values
        alike = not self._listed and type(values) is Columns and all([_fits_columns(each) for each in values.arrays])
        facts = [np.ascontiguousarray(block.numbers), arrivals, sizes_of(block)]
        if self._rows is None:
            self._listed = not alike
            arrays = values.arrays if alike else [_listed(values)]
            self._rows, self._structure = RowSlots([*facts, *arrays]), values.structure if alike else None
        elif not self._listed and not (alike and values.structure == self._structure):
            self._list(self._rows)
        arrays = [_listed(values)] if self._listed else values.arrays
        slots = self._rows.put([*facts, *arrays])
        if slots is None:
            self._list(self._rows)
            slots = self._rows.put([*facts, _listed(values)])
            assert slots is not None
        return slots

    def _list(self, rows: RowSlots) -> None:
        """Hold examples as objects from now on, also those that are here."""
        facts, arrays, held = rows.columns[:3], rows.columns[3:], rows.held()
        objects = np.full(len(facts[0]), None, object)
        objects[held] = _listed(Columns([each[held] for each in arrays], len(held), self._structure))
        rows.change([*facts, objects])
        self._listed = True

    def take(self, slots: Numbers) -> Block:
        """Give away the examples of these slots."""
        assert self._rows is not None
        numbers, _, sizes, *arrays = self._rows.take(slots)
        if self._listed:
            return Block(Examples(arrays[0].tolist()), numbers, sizes=sizes)
        return Block(Columns(arrays, len(numbers), self._structure), numbers, sizes=sizes)

    def oldest(self) -> int:
        """Return the number of the oldest arrival that is held."""
        rows = self._rows
        return _NEVER if rows is None else int(rows.columns[1][rows.held()].min(initial=_NEVER))


def _fits_columns(column: Any) -> bool:
    """Whether examples may stay in a column: numbers, or texts, which keep nothing else alive."""
    return is_plain(column) or (type(column) is np.ndarray and column.ndim == 1 and all_of(column, _TEXTS))


def _listed(values: Columns | Examples) -> Any:
    """Return examples as a vector of objects: those whose memory is a block's are copied, as that would stay."""
    vector = np.empty(len(values), object)
    for i, example in enumerate(values.examples()):
        vector[i] = handed_out(example)
    return vector
