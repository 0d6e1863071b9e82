"""Turns: in a deterministic loop, who may call the source next, and with which ticket.

A thread holds the baton while it pulls from the input, so that tickets follow the order of the input. What it does with
what it has pulled, it does without. The lanes of a join pass the baton round.
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from pipeline._queue import watch_pulls
from pipeline._turns import Baton
from pipeline.batches.ledger import Ledger
from pipeline.batches.source import CHECK_INTERVAL, loop_left
from pipeline.errors import FailedPreconditionError
from pipeline.pulls import Book, Turn, this_thread


class Rotation:
    """Whose turn it is among the sources of a join, and which of them have ended: a `Positioned`.

    Args:
        lanes: How many there are.

    Attributes:
        lane: Whose turn it is.
        alive: Which have not ended.
    """

    name = "join"
    owner: Book | None = None
    of_loop = True
    columns: Sequence[str] = ("lane", "ended")

    def __init__(self, lanes: int) -> None:
        self.lane = 0
        self.alive = [True] * lanes

    def turn(self) -> None:
        """Go to the next source that has not ended."""
        lanes = len(self.alive)
        following = ((self.lane + step) % lanes for step in range(1, lanes + 1))
        self.lane = next((lane for lane in following if self.alive[lane]), self.lane)

    def _facts(self) -> dict[str, Any]:
        return {"name": self.name, "kind": self.name, "sources": len(self.alive)}

    def _position(self) -> list[int]:
        return [self.lane, sum(1 << lane for lane, alive in enumerate(self.alive) if not alive)]

    def _go_to(self, position: Sequence[int]) -> None:
        self.lane, ended = position
        self.alive = [not ended >> lane & 1 for lane in range(len(self.alive))]

    def _no_state(self) -> str | None:
        return None


class Turns:
    """The baton and the tickets of a loop. Threads that call the source do so between `begin` and `finish`.

    Args:
        seeds: For `example_rng`.
        lanes: How many sources are read in turn.
        stopped: Whether to wait no more.
        ledger: Gives the tickets.

    Thread safety: as documented for each method; what only the holder of the baton writes needs no lock.

    Attributes:
        rotation: Whose turn it is.
        broken: Why there is no order any more; such an error is never skipped.
    """

    def __init__(self, seeds: tuple[int, int], lanes: int, stopped: Callable[[], bool], ledger: Ledger) -> None:
        self.seeds = seeds
        self.broken: BaseException | None = None
        # How often a call pulls before the baton passes, of each lane: learnt from its first call, -1 until then.
        self._pulls = [-1] * lanes
        self._stopped = stopped
        self._ledger = ledger
        self.rotation = Rotation(lanes)
        if lanes > 1:
            ledger.adopt(self, self.rotation)
        self._batons = [ledger.baton, *(Baton() for _ in range(lanes - 1))]
        for lane, baton in enumerate(self._batons):
            if lane != self.rotation.lane:
                baton.take()

    @property
    def baton(self) -> Baton:
        """That of a single source."""
        return self._ledger.baton

    def turn_of(self, lane: int, alone: bool = False) -> Turn:
        """A turn for a thread that calls this source; `begin` begins each call. `alone`: there is no other thread."""
        turn = Turn(self, 0, 0, lane)
        turn.alone = alone
        turn.held = False  # until it begins
        turn.baton = self._ledger.baton if len(self._batons) == 1 else None
        return turn

    def begin(self, turn: Turn, wait: Callable[[int], None] | None = None) -> None:
        """Wait for the baton, and take the next ticket.

        Args:
            turn: Of this thread.
            wait: Called, with the baton, with the number of calls that have begun before.

        Raises:
            OutOfRangeError: The loop was left, or has stopped.
        """
        ledger, baton = self._ledger, self._ledger.baton
        if turn.alone:
            turn.begin(ledger.next_ticket(), 0)
            return
        self._take_baton(turn.lane)
        try:
            if wait is not None:
                wait(baton.begun)
            turn.begin(0, baton.begun)
            ledger.next_call(turn)
            baton.begun += 1
        except BaseException:
            self._pass_on()
            raise
        self.ready(turn)
        this_thread.turn = turn

    def ready(self, turn: Turn) -> None:
        """Tell a turn that has begun how calls pull."""
        turn.passes_at = self._pulls[turn.lane]
        turn.usual = self._ledger.usual

    def returned(self, turn: Turn) -> None:
        """The function has returned, or raised: the next one may be called now at the latest."""
        if turn.pulls != 1 and self._ledger.regular:
            self._ledger.vary()
        if turn.held:
            if self._pulls[turn.lane] < 0:
                self._pulls[turn.lane] = turn.pulls
            turn.held = False
            if not turn.alone:
                self._pass_on()

    def finish(self, turn: Turn) -> None:
        """The call is over, however it ended, and so is the turn of this thread."""
        this_thread.turn = None
        if turn.held:
            self.returned(turn)

    def took(self, rows: int) -> None:
        """The holder of the baton has taken so many rows in one call."""
        self._ledger.took(rows)

    def drop_lane(self, lane: int) -> None:
        """As `end_lane`, while there is only one thread."""
        self.rotation.alive[lane] = False
        if self.rotation.lane == lane and any(self.rotation.alive):
            self._take_baton(lane)
            self._pass_on()

    def end_lane(self, lane: int) -> None:
        """A source is at its end: leave it out from now on. To be called by its thread, when its turn comes again."""
        if len(self._batons) > 1:
            self._take_baton(lane)
            self.rotation.alive[lane] = False
            self._pass_on()

    # Book, for pipeline.pulls

    def adopt(self, thing: Any, how: tuple[Any, ...]) -> None:
        if self._stopped():  # what it read has been told that the loop is over
            raise loop_left()
        try:
            turn = this_thread.turn
            self._ledger.adopt(self, thing, 0 if turn is None else turn.lane)
            seeded = getattr(thing, "_seeded", None)  # workers make its examples
            if seeded is not None:
                seeded(*self.seeds)
        except BaseException as error:
            self.broken = error
            raise

    def check(self, turn: Turn) -> None:
        pulls = self._pulls[turn.lane]
        self.broken = FailedPreconditionError(
            None,
            None,
            f"call number {turn.ticket:,} of the function reads more often from readers, producers or queues than its "
            f"first call, which read {'once' if pulls == 1 else f'{pulls} times'}. The next call has begun to read "
            "meanwhile, so the order would depend on the threads. Put all that a call reads into one block: "
            "`with pipeline.together():`",
        )
        raise self.broken

    def pulled(self, turn: Turn) -> None:
        self._ledger.pulled(turn)

    def passes(self, turn: Turn) -> None:
        turn.held = False
        self._pass_on()

    def _take_baton(self, lane: int) -> None:
        baton = self._batons[lane]
        if not baton.take():
            while not baton.wait(CHECK_INTERVAL):
                if self._stopped():
                    raise loop_left()

    def _pass_on(self) -> None:
        if len(self._batons) > 1:
            self.rotation.turn()
        self._batons[self.rotation.lane].pass_on()


@contextlib.contextmanager
def turn_put_back() -> Iterator[None]:
    """Leave this thread with the turn it has, even if Ctrl-C strikes as a call within is about to put it back."""
    turn = this_thread.turn
    try:
        yield
    finally:
        this_thread.turn = turn


def watch_dequeues(owner: object) -> Callable[[], object]:
    """From now on a dequeue of any queue counts as a pull. Call the result to end that; it ends with the owner too."""
    watch_pulls(1)
    finalize = weakref.finalize(owner, watch_pulls, -1)
    finalize.atexit = False
    return finalize
