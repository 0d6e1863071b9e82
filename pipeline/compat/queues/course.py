"""Course: how far a queue was filled in order, where its input stood meanwhile, and what of it was delivered."""

from __future__ import annotations

import bisect
import collections
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.batches.ledger import other_examples
from pipeline.batches.pool import Pool
from pipeline.batches.replay import Replay
from pipeline.compat.graph.tensor import Operation
from pipeline.compat.queues.produced import Producer
from pipeline.compat.queues.sieve import Sieve
from pipeline.compat.queues.survey import Survey
from pipeline.compat.session.phased_plan import PhasedPlan
from pipeline.compat.session.session import BaseSession
from pipeline.errors import OutOfRangeError
from pipeline.resume.journal import EVERY, Journal

# To skip so few units takes as long as to take them.
_FEW = 4


class Lanes:
    """The operations that fill a queue: whose turn it is, and which have no more. A `pipeline.pulls.Positioned`.

    Attributes:
        turn: The number of the one whose turn it is.
        over: The error of each one that has ended.

    Args:
        count: How many there are.
    """

    name, columns = "lanes", ("turn", "over")

    def __init__(self, count: int) -> None:
        self.turn = 0
        self.over: list[Exception | None] = [None] * count

    def _facts(self) -> dict[str, Any]:
        return {"name": self.name, "kind": "lanes", "count": len(self.over)}

    def _position(self) -> list[int]:
        return [self.turn, sum(1 << lane for lane, error in enumerate(self.over) if error is not None)]

    def _go_to(self, position: Sequence[int]) -> None:
        self.turn, over = position
        self.over = [_ended() if over >> lane & 1 else None for lane in range(len(self.over))]

    def _no_state(self) -> str | None:
        return None


class Course:
    """How far the threads of a runner have filled their queue in a session.

    Elements are counted in the order in which they enter the queue. Threads take them in units: single elements if each
    run of the operation stores one, else runs.

    Args:
        sess: The session.
        queue: The operation of the queue.
        ops: What the threads run, of each kind once.

    Attributes:
        name: The name of the queue.
        queue: The queue in the session.
        into: What elements are put into: the queue, or what stands for it.
        held_back: How many elements stay in its pool; None where none is drawn from.
        pool: What is in the pool.
        things: What the threads take from.
        survey: What else decides the elements; None if the threads cannot run.
        reasons: Why there is no way back to a place in the input; empty if there is one.
        one_to_one: Each unit is one element.
        lanes: Whose turn it is.
        journal: Where the things stood.
        begun: Threads were made for it.
        delivered: How many elements were delivered by runs that ended well, before a load too.
        total: How many elements there are, once the input has ended.
        loaded: The state that it goes on from, if there is one.

    Thread safety: `next_units`, `took` and `failed` are for the thread whose turn it is, `store` for the one that
    stores; the others are for any.
    """

    def __init__(self, sess: BaseSession, queue: Operation, ops: Sequence[Any]) -> None:
        self.name = queue.name
        self.queue = self.into = queue.kernel(sess._plain_run)  # type: ignore[misc]
        spec = self.queue.spec
        self.held_back = spec.min_after_dequeue if spec.kind == "RandomShuffleQueue" else None
        self.pool = Pool(spec.seeds, self.held_back)
        self.lanes = Lanes(len(ops))
        self.things: list[Any] = [self.lanes] if len(ops) > 1 else []
        self.survey: Survey | None = None
        self.reasons: list[str] = []
        self.journal = Journal()
        self.begun = False
        self.delivered = self._before = 0
        self.total: int | None = None
        self.loaded: dict[str, Any] | None = None
        self._units = 0  # taken
        self._note_at = 0  # how many of them at the next entry
        self._open: collections.deque[int] = collections.deque()  # entries whose element is not known yet
        self._replay: Replay | None = None
        self._sieve: Sieve | None = None
        self._look_at(sess, queue, ops)

    def _look_at(self, sess: BaseSession, queue: Operation, ops: Sequence[Any]) -> None:
        try:
            self.survey = survey = Survey(sess, queue, [PhasedPlan(sess, op) for op in ops])
        except Exception as error:  # the threads meet it too, and report it
            self.reasons.append(f"what its threads run fails: {error}")
        else:
            self.things += survey.things
            self.reasons += survey.reasons
        self.one_to_one = self.survey is not None and self.survey.one_to_one

    @property
    def drawn_from_rest(self) -> bool:
        """Whether the last elements that were delivered were drawn from what the pool had left when nothing more came,
        though the input had not ended."""
        if self.total is not None or self.held_back is None or self.delivered == self._before:
            return False
        stats = self.queue.stats()
        return bool(self._before + stats.dequeued + stats.size < self.delivered + self.held_back)

    def begin(self) -> None:
        """Note that threads are made."""
        if self.begun and self.total is None:
            self.reasons.append("its threads were started a second time")
        if self.begun:
            self.lanes._go_to([0, 0])
        self.begun = True

    def commit(self) -> None:
        """Count what was dequeued as delivered."""
        self.delivered = max(self.delivered, self._before + self.queue.stats().dequeued)

    def go_on(self, replay: Replay | None, saved: dict[str, Any]) -> None:
        """Go on from a state; nothing was taken yet.

        Args:
            replay: The way there; None if nothing had been taken then either.
            saved: The state.
        """
        self.loaded = saved
        self.delivered = self._before = saved["delivered"]
        if replay is None:
            return
        for thing, position in zip(self.things, replay.first.positions, strict=True):
            thing._go_to(position)
        for entry in replay.entries:
            self.journal.note(entry.ticket, entry.positions, entry.element)
        if self.held_back is not None:
            self.queue._skip_draws(self.delivered)
        self._units = replay.first.ticket
        self._note_at = (replay.entries[-1].ticket // EVERY + 1) * EVERY
        self._replay = replay
        self.into = self._sieve = Sieve(self.queue, replay)

    # For the thread whose turn it is.

    def next_units(self) -> int:
        """Be ready to take; returns how many units at the most."""
        if self.reasons:
            return EVERY
        if self._replay is not None:
            assert self._sieve is not None
            for thing in self.things:
                if isinstance(thing, Producer):
                    thing.catch_up()
            if self._sieve.full:
                raise _ended()
            if self._sieve.done:
                self._replay = None
            else:
                self._leave_out(self._replay)
        if self._units >= self._note_at:
            self._note()
        return self._note_at - self._units

    def _leave_out(self, replay: Replay) -> None:
        """Leave out the units before the next one that is wanted, or before the next entry, if that saves time."""
        assert self.survey is not None
        index = bisect.bisect_left(replay.needed, self._units)
        following = replay.needed[index] if index < len(replay.needed) else replay.resume_at
        count = min(following, self._note_at) - self._units
        if count >= _FEW and self.survey.skip is not None:
            self.survey.skip(count)
            self._units += count

    def took(self, work: Any, taken: Any, whole: bool) -> tuple[int, Any, NDArray[np.int64] | None]:
        """Count what was taken.

        Args:
            work: What took it.
            taken: What that gave.
            whole: Leave nothing out.

        Returns:
            The number of the first unit, what is wanted of it (None if nothing is), and the numbers of these elements
            if some may be left out.
        """
        first = self._units
        if not self.one_to_one:
            self._units += 1
            return first, taken, None
        count = work.count(taken)
        self._units += count
        if self._replay is None:
            return first, taken, None
        numbers = np.arange(first, first + count)
        if not whole:
            wanted = self._replay.wanted(first, count)
            taken, numbers = work.pick(taken, wanted), numbers[wanted]
        return first, taken, numbers

    def failed(self) -> None:
        """Count a unit that gave nothing."""
        if not self.one_to_one:
            self._units += 1

    def _note(self) -> None:
        positions = [thing._position() for thing in self.things]
        if self.one_to_one:
            self.journal.note(self._units, positions, self._units)
        else:
            self.journal.note(self._units, positions)
            self._open.append(self._units)
        self._note_at = (self._units // EVERY + 1) * EVERY
        if self._replay is None or not self._replay.ended:
            self.journal.forget(self.pool.look(self.delivered, self.delivered))

    # For the thread that stores.

    def store(self, work: Any, made: Any, unit: int, numbers: NDArray[np.int64] | None) -> None:
        """Store what was made of some units, the first of which has this number."""
        if not self.one_to_one and not self.reasons:
            self._number(unit)
        if self._sieve is not None:
            self._sieve.expect(numbers)
        work.store(made)

    @property
    def _count(self) -> int:
        """The number of the next element, unless each unit is one."""
        return self.queue.stats().enqueued if self._sieve is None else self._sieve.count

    def _number(self, unit: int) -> None:
        """Say which element comes first from a unit on; after a load, check that it is the one that did before."""
        if self._open and self._open[0] <= unit:
            while self._open and self._open[0] <= unit:
                self._open.popleft()
            self.journal.complete(unit, self._count)
        replay = self._replay
        if replay is not None and any(each.ticket == unit and each.element != self._count for each in replay.entries):
            raise other_examples()

    def end(self) -> None:
        """Note that all threads are at the end of what they take from: of the input, unless a stop has cut it off."""
        if any(isinstance(thing, Producer) and thing.queue.watchdog.cut_off() for thing in self.things):
            return
        total = self._units if self.one_to_one else self._count
        if self._sieve is not None:
            self._sieve.end(total)
            if self._sieve.full:
                assert self.loaded is not None
                total = self.loaded["ended"]
        self.total = total


def _ended() -> OutOfRangeError:
    return OutOfRangeError(None, None, "the input had ended when the state was saved")
