"""Gathering: rows in memory go to the queue of a deterministic loop in blocks, in the thread that asks for batches.

No function is called for them, so nothing is known of calls and pulls: only their numbers count.
"""

from __future__ import annotations

from collections.abc import Callable

from pipeline._delivery import History
from pipeline._trail import Trail
from pipeline.batches.arrivals import Arrivals
from pipeline.batches.calls import Call, Caller
from pipeline.batches.layout import ExampleLayout
from pipeline.batches.numbered import NumberedSource
from pipeline.batches.source import BLOCK_BYTES, BLOCK_ROWS
from pipeline.batches.turns import Turns
from pipeline.queues.base import QueueBase


class Gathering:
    """Moves the rows of a source, in the order of their numbers.

    Args:
        source: Gives the rows.
        queue: Where they go.
        trail: Puts them there, with their numbers beside.
        layout: Of the examples.
        arrivals: Counts them.
        firsts: The calls before, while these are not stored.
        delivered: What was delivered after each of the last batches.
        before: How many elements in the rounds before.
        stopped: Whether to move no more.

    Thread safety: one thread at a time.
    """

    def __init__(
        self,
        source: NumberedSource,
        queue: QueueBase,
        trail: Trail,
        layout: ExampleLayout,
        arrivals: Arrivals,
        firsts: list[Call],
        delivered: History,
        before: int,
        stopped: Callable[[], bool],
    ) -> None:
        self._source = source
        self._queue = queue
        self._trail = trail
        self._to_components = layout.to_components
        self._most = max(1, min(BLOCK_ROWS, BLOCK_BYTES // layout.example_bytes))
        self._arrivals = arrivals
        self._firsts = firsts
        self._delivered = delivered
        self._before = before
        self._stopped = stopped
        self._began = arrivals.count, delivered.newest.own

    def move(self, caller: Caller, turns: Turns) -> Call | None:
        """Move rows until the end, or until stopped; return the call that found the end, or failed, else None."""
        try:
            while not self._stopped():
                rows, numbers = self._source.rows(self._most)
                self._trail.put_many((*self._to_components(rows), numbers))
                self._arrivals.count += len(numbers)
        except Exception as error:
            turn = turns.turn_of(caller.index, True)
            turn.ticket = self._arrivals.count
            return caller.failed(turn, error)
        return None

    def put_right(self) -> bool:
        """Ctrl-C has struck in the middle of a move: go on after the last row that is in the queue; return True."""
        count, own = self._began
        stored, delivered = self._queue.stats().enqueued, self._delivered.newest
        left = stored - (delivered.own - own)
        self._firsts.clear()
        self._trail.trim()
        self._source.go_back(delivered.elements - self._before, left)
        self._arrivals.go_on(count + stored)
        return True
