"""Turns: in a deterministic loop, who may call the source next, and with which ticket.

A thread holds the baton while it pulls from the input, so that tickets follow the order of the input. What it does with
what it has pulled, it does without. The lanes of a join pass the baton round.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from pipeline.batches.ledger import Ledger
from pipeline.batches.source import CHECK_INTERVAL, loop_left
from pipeline.errors import FailedPreconditionError
from pipeline.pulls import Turn, this_thread


class Turns:
    """The baton and the tickets of a loop. Threads that call the source do so between `begin` and `finish`.

    Args:
        seeds: For `example_rng`.
        lanes: How many sources are read in turn.
        stopped: Whether to wait no more.
        ledger: Gives the tickets.

    Thread safety: as documented for each method; what only the holder of the baton writes needs no lock.

    Attributes:
        begun: How many calls have begun.
        broken: Why there is no order any more; such an error is never skipped.
    """

    def __init__(self, seeds: tuple[int, int], lanes: int, stopped: Callable[[], bool], ledger: Ledger) -> None:
        self.begun = 0
        self.broken: BaseException | None = None
        # How often a call pulls before the baton passes, of each lane: learnt from its first call, None until then.
        self._pulls: list[int | None] = [None] * lanes
        self._seeds = seeds
        self._stopped = stopped
        self._ledger = ledger
        self._alive = [True] * lanes
        self._lane = 0  # whose turn it is
        self._batons = [threading.Lock() for _ in range(lanes)]
        for baton in self._batons[1:]:
            baton.acquire()

    def begin(self, lane: int, wait: Callable[[int], None] | None = None) -> Turn:
        """Wait for the baton, and take the next ticket.

        Args:
            lane: Of which source.
            wait: Called, with the baton, with the number of calls that have begun before.

        Raises:
            OutOfRangeError: The loop was left, or has stopped.
        """
        self._take_baton(lane)
        try:
            if wait is not None:
                wait(self.begun)
            turn = Turn(self, 0, self.begun, lane)
            self._ledger.next_call(turn)
            self.begun += 1
        except BaseException:
            self._pass_on()
            raise
        this_thread.turn = turn
        this_thread.draw = (*self._seeds, turn.ticket)
        return turn

    def returned(self, turn: Turn) -> None:
        """The function has returned, or raised: the next one may be called now at the latest."""
        if turn.pulls != 1:
            self._ledger.regular = False
        if turn.held:
            if self._pulls[turn.lane] is None:
                self._pulls[turn.lane] = turn.pulls
            turn.held = False
            self._pass_on()

    def took(self, rows: int) -> None:
        """The holder of the baton has taken so many rows in one call."""
        self._ledger.took(rows)

    def finish(self, turn: Turn) -> None:
        """The call is over, however it ended, and so is the turn of this thread."""
        this_thread.turn = this_thread.draw = None
        self.returned(turn)

    @property
    def lane(self) -> int:
        """Whose turn it is."""
        return self._lane

    def drop_lane(self, lane: int) -> None:
        """As `end_lane`, while there is only one thread."""
        self._alive[lane] = False
        if self._lane == lane and any(self._alive):
            self._take_baton(lane)
            self._pass_on()

    def end_lane(self, lane: int) -> None:
        """A source is at its end: leave it out from now on. To be called by its thread, when its turn comes again."""
        if len(self._batons) > 1:
            self._take_baton(lane)
            self._alive[lane] = False
            self._pass_on()

    # Book, for pipeline.pulls

    def adopt(self, thing: Any, how: tuple[Any, ...]) -> None:
        try:
            self._ledger.adopt(self, thing)
            seeded = getattr(thing, "_seeded", None)  # workers make its examples
            if seeded is not None:
                seeded(*self._seeds)
        except BaseException as error:
            self.broken = error
            raise

    def check(self, turn: Turn) -> None:
        self.broken = FailedPreconditionError(
            None,
            None,
            f"call number {turn.ticket:,} of the function pulls more than {self._pulls[turn.lane]} times from readers, "
            "producers or queues, which is how often its first call did. The next call has begun to pull meanwhile, so "
            "the order would depend on the threads. Do all that may vary within `with pipeline.together():`",
        )
        raise self.broken

    def pulled(self, turn: Turn) -> None:
        self._ledger.pulled(turn)
        if turn.held and turn.pulls == self._pulls[turn.lane]:
            turn.held = False
            self._pass_on()

    def _take_baton(self, lane: int) -> None:
        baton = self._batons[lane]
        while not baton.acquire(timeout=CHECK_INTERVAL):
            if self._stopped():
                raise loop_left()

    def _pass_on(self) -> None:
        if len(self._batons) > 1:
            lanes = len(self._batons)
            for step in range(1, lanes + 1):
                lane = (self._lane + step) % lanes
                if self._alive[lane]:
                    self._lane = lane
                    break
        self._batons[self._lane].release()
