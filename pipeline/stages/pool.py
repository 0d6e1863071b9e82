"""shuffle(n): draw examples from a full buffer of n, so the order depends only on the seed.

The order equals TensorFlow's shuffle queue, filled per example, with a consumer that always waits.
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

_AT_ONCE = 1024  # examples arriving together while the buffer fills


class Shuffle(Choice):
    """Examples drawn from a buffer.

    Args:
        source: The examples.
        buffer_size: The buffer's size, in examples.
        seed: Seed for the draws, which differ in each pass.
        options: The arguments that gave the buffer's size; None if it was given directly.
    """

    kind = "shuffle"
    stage = "step"
    counts = False
    shuffles = reorders = by_number = True

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
        index = index_of(source, run)  # only places are drawn from it
        return Drawn(index, self.buffer_size, pair, draws)

    def label(self) -> str:
        if "min_after_dequeue" in self._options:
            return f"shuffle(min_after_dequeue={self._options['min_after_dequeue']:,})"
        return f"shuffle({self.buffer_size:,})"


class Drawn(Stream):
    """An index's examples, drawn from a buffer of places. The state is the number of draws.

    Args:
        index: The examples.
        size: The buffer's size, in places.
        pair: The two seeds for the draws.
        draws: The state.
    """

    def __init__(self, index: Index, size: int, pair: Pair, draws: int) -> None:
        self._index, self._total = index, len(index)
        places = min(size - 1, self._total)
        self._pool = NumberPool(*pair, places, draws)
        if draws:
            self._pool.load(_held(pair, places, self._total, draws, places + draws > self._total))
        self._next = min(places + draws, self._total) if draws else 0  # the place to enter the buffer next
        self._draws = draws  # examples taken
        self._drawn = np.empty(0, np.int64)  # places drawn whose examples were not taken
        self._error: Exception | None = None  # the first one's error

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
        """Return up to n places; none at the end."""
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
    """Return the arrivals in a buffer after some number of draws, by slot."""
    if ending and total is not None:
        return lockstep_end(*pair, places, total, draws)
    return lockstep_pool(*pair, places, draws)


class Pooled(Stage):
    """A stream's examples, drawn from a buffer.

    The state is [number of draws, the input's length once it has ended, a journal note: an arrival and the input's
    state before it].

    Args:
        source: The examples, at the note's state.
        size: The buffer's size, in examples.
        pair: The two seeds for the draws.
        state: The state.
    """

    def __init__(self, source: Stream, size: int, pair: Pair, state: Any) -> None:
        super().__init__(source)
        draws, total, arrival, before = state
        self._at = state  # until the buffer is filled
        self._pair, self._places = pair, size - 1  # examples held while another arrives
        self._draws, self._arrivals = whole(draws), whole(arrival, draws)
        self._total = None if total is None else whole(total)
        self._before = before
        self._pool: NumberPool | None = None
        self._slots, self._journal = Slots(), Journal(max(1024, size // 2))
        self._first: list[Numbers] = []  # slots of the examples that filled the buffer

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
        """Add arriving examples; return their slots."""
        if self._journal.due(self._arrivals):
            self._journal.note(self._arrivals, self.source.state(), min(self._slots.oldest(), self._arrivals))
        block = self.source.take(n)
        if block is None:
            self._total = self._arrivals
            return np.empty(0, np.int64)
        first, self._arrivals = self._arrivals, self._arrivals + len(block)
        return self._slots.put(block, np.arange(first, self._arrivals))

    def _fill(self) -> NumberPool:
        """Fill the buffer. A smaller input is taken whole, and the buffer shrinks to its size."""
        while self._arrivals < self._places and self._total is None:
            self._first.append(self._arrive(min(self._places - self._arrivals, _AT_ONCE)))
        pool = NumberPool(*self._pair, self._arrivals)
        pool.load(np.concatenate([np.empty(0, np.int64), *self._first]))
        self._pool, self._first = pool, []
        return pool

    def _begin(self) -> NumberPool:
        """Make the buffer; after a resume, read its examples again."""
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
            self.source.take(1)  # reaches the end, where a user's object may begin its next pass
        pool = NumberPool(*self._pair, places, draws)
        pool.load(slots)
        self._pool = pool
        return pool

    def state(self) -> Any:
        if self._pool is None:
            return self._at
        return [self._draws, self._total, *(self._journal.first if self._arrivals else (0, self.source.state()))]


class PooledPlaces(Pooled):
    """An index's examples run as streams. The state is the number of draws, as for `Drawn`.

    Args:
        node: The index's recipe.
        run: The iterator's run.
        size, pair: See `Pooled`.
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
    """Return an input's length; if unknown, count its examples, up to `end`."""
    length = node.length()
    if length is not None:
        return length
    with contextlib.closing(opened(node, run)) as stream:
        return stream.drop(end)


class Slots:
    """Held examples by slot: in columns while all are alike, else in one object column."""

    def __init__(self) -> None:
        self._rows: RowSlots | None = None  # numbers, arrivals, sizes, then the examples
        self._structure: Any = None
        self._listed = False

    def put(self, block: Block, arrivals: Numbers) -> Numbers:
        """Add a block's examples; return their slots."""
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
        """Hold all examples as objects from now on."""
        facts, arrays, held = rows.columns[:3], rows.columns[3:], rows.held()
        objects = np.full(len(facts[0]), None, object)
        objects[held] = _listed(Columns([each[held] for each in arrays], len(held), self._structure))
        rows.change([*facts, objects])
        self._listed = True

    def take(self, slots: Numbers) -> Block:
        """Remove and return the examples in some slots."""
        assert self._rows is not None
        numbers, _, sizes, *arrays = self._rows.take(slots)
        if self._listed:
            return Block(Examples(arrays[0].tolist()), numbers, sizes=sizes)
        return Block(Columns(arrays, len(numbers), self._structure), numbers, sizes=sizes)

    def oldest(self) -> int:
        """Return the oldest held arrival's number."""
        rows = self._rows
        return _NEVER if rows is None else int(rows.columns[1][rows.held()].min(initial=_NEVER))


def _fits_columns(column: Any) -> bool:
    """Return whether examples may stay in a column: numbers and texts keep nothing else alive."""
    return is_plain(column) or (type(column) is np.ndarray and column.ndim == 1 and all_of(column, _TEXTS))


def _listed(values: Columns | Examples) -> Any:
    """Return examples as an object vector. Views into a block are copied, or they would keep the block alive."""
    vector = np.empty(len(values), object)
    for i, example in enumerate(values.examples()):
        vector[i] = handed_out(example)
    return vector
