"""Arrivals: the elements of a deterministic loop on their way into the queue, in order, and counted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pipeline.batches.calls import Call, Piece
from pipeline.batches.keep_input import kept_rows
from pipeline.batches.ledger import other_examples
from pipeline.batches.replay import Replay
from pipeline.errors import CancelledError, OutOfRangeError
from pipeline.explain.workers import current_worker
from pipeline.on_error import Skips
from pipeline.resume.journal import Journal
from pipeline.runners.copies import twin

Put = Callable[[Sequence[Any]], None]


class Into(NamedTuple):
    """Where the elements go.

    Attributes:
        put_one: Puts the values of an element in.
        put_many: Puts those of a block in.
        arrange: Moves what was put in to the places in the pool that it had when a state was saved.
        check: Raises what `put_one` (False) or `put_many` (True) would for values that do not fit.
    """

    put_one: Put
    put_many: Put
    arrange: Callable[[NDArray[np.int64]], None]
    check: Callable[[Sequence[Any], bool], None]


class Arrivals:
    """Stores what calls gave. Only one thread at a time does so, in the order of the calls.

    Args:
        into: Where the elements go.
        journal: Is told at which element a call began.
        one_to_one: Each call gives one element.
        skips: What `on_error="skip"` leaves out.
        replay: What was in the pool when a state was saved; only that is stored, and what comes after.

    Attributes:
        count: The number of the next element.
        total: How many there are, once the input has ended.
        disarranged: The pool of a saved run is not whole yet: draws from it would be wrong.
    """

    def __init__(
        self,
        into: Into,
        journal: Journal,
        one_to_one: bool,
        skips: Skips,
        replay: Replay | None,
    ) -> None:
        self._put_one, self._put_many, self._arrange, self._check_fits = into
        self._journal = journal
        self._one_to_one = one_to_one
        self._skips = skips
        self._replay = replay
        self._restored = 0  # elements of the pool that are in again
        self.count = 0 if replay is None else replay.first.element
        self.total: int | None = None
        self.disarranged = replay is not None and replay.places is not None

    @property
    def restoring(self) -> bool:
        """Whether elements of a saved run are still to be picked."""
        return self._replay is not None

    def go_on(self, count: int) -> None:
        """The next element has that number, and nothing of a saved run is still to be picked."""
        self._replay = None
        self.count = count

    def store(self, call: Call) -> None:
        """Store the elements of a call.

        Raises:
            OutOfRangeError: The source was at its end, or the loop was left.
            Exception: What the call raised.
        """
        if self._one_to_one:
            self.count = call.ticket
        else:
            self._numbered(call)
        for piece in call.pieces:
            self._store(piece)
        if call.error is not None:
            worker = current_worker()
            if worker is not None:
                worker.keys = call.keys
            raise used_up(call.error) if call.ended else call.error
        replay = self._replay
        if replay is not None and replay.ended and self._restored == len(replay.needed):
            self.count = replay.resume_at
            raise OutOfRangeError(None, None, "the input had ended when the state was saved")

    def store_block(self, ticket: int, held: list[tuple[Any, ...]], rows: int) -> None:
        """Store the values in a list, a block of so many elements, when nothing is restored or skipped."""
        self.block_begins(ticket)
        if rows:
            self._put_many(held.pop())
            self.count += rows

    def block_begins(self, ticket: int) -> None:
        """The call with this ticket gives the next block."""
        if self._one_to_one:
            self.count = ticket
        else:
            self._journal.complete(ticket, self.count)

    def _numbered(self, call: Call) -> None:
        """Note which number the first element of a call has; after a resume, check that it is what it was."""
        if call.boundary is not None:
            before, element = call.boundary
            if self.count != before:
                raise other_examples()
            self.count = element
        self._journal.complete(call.ticket, self.count)

    def _store(self, piece: Piece) -> None:
        replay = self._replay
        if replay is None:
            self._put(piece)
        elif self.count >= replay.resume_at and not replay.ended:
            self._restore()
            self._replay = None
            self._put(piece)
        elif piece.rows or self._skips.active:
            self._pick(piece, replay)
        elif replay.wants(self.count):
            self._put(piece)
            self._restored += 1
            self._restore()
        else:
            self.count += 1

    def _pick(self, piece: Piece, replay: Replay) -> None:
        """Store those elements of a piece that are wanted."""
        if self._skips.active:  # elements that do not fit have no number
            fits = self._fitting(piece, piece.rows or 1)
            if not fits.any():
                return
            piece = _rows_of(piece, fits)
        first, rows = self.count, piece.rows or 1
        wanted = replay.wanted(first, rows)
        of_pool = wanted & (np.arange(first, first + rows) < replay.resume_at)
        for mask in (of_pool, wanted & ~of_pool):
            if mask.any():
                if mask is not of_pool:
                    self._restore()
                self.count = first  # `_put` counts what it stores
                self._put(_rows_of(piece, mask))
                self._restored += int(np.count_nonzero(mask & of_pool))
        self.count = first + rows
        if self._restored == len(replay.needed):
            self._restore()

    def _fitting(self, piece: Piece, rows: int) -> NDArray[np.bool_]:
        """Which elements of a piece the queue would take."""
        fits = np.ones(rows, np.bool_)
        for i in range(rows):
            try:
                self._check(_rows_of(piece, np.arange(rows) == i))
            except (CancelledError, OutOfRangeError):
                raise
            except Exception as error:
                self._skips.note(error)
                fits[i] = False
        return fits

    def _check(self, piece: Piece) -> None:
        """Raise what the queue would raise for a piece that does not fit."""
        self._check_fits(piece.held[0], piece.rows > 0)

    def _restore(self) -> None:
        """Once all elements of the pool are in, put them in their places."""
        replay = self._replay
        if replay is None or replay.places is None or self._restored < len(replay.needed):
            return
        self._arrange(replay.places)
        replay.places = None
        self.disarranged = False

    def _put(self, piece: Piece) -> None:
        held, rows = piece
        # No name may refer to the values while they are given away.
        if not self._skips.active:
            (self._put_many if rows else self._put_one)(held.pop())
            self.count += rows or 1
            return
        values = held[0]
        try:
            (self._put_many if rows else self._put_one)(values)
            self.count += rows or 1
        except (OutOfRangeError, CancelledError):
            raise
        except Exception as error:
            if rows < 2:
                self._skips.note(error)
                return
            for i in range(rows):
                self._put(Piece([tuple(value[i : i + 1] for value in values)], 1))


def used_up(error: BaseException) -> OutOfRangeError:
    """The end of a source as a thread reports it. To each its own: what is raised refers to frames, which refer to the
    other one, and without the interpreter's lock several threads must not raise the same."""
    if isinstance(error, OutOfRangeError):
        return twin(error)
    return OutOfRangeError(None, None, "the source of the batches is used up")


def _rows_of(piece: Piece, mask: NDArray[np.bool_]) -> Piece:
    """Some of the elements of a piece."""
    if not piece.rows or mask.all():
        return piece
    return Piece([tuple(kept_rows(piece.held[0], mask))], int(np.count_nonzero(mask)))
