"""Calls: what one call of a source of a deterministic loop gave, taken apart and ready to be stored when it is due."""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from pipeline._blocks import mixed_id, mixed_ids
from pipeline.batches.keep_input import KeepInput, kept_rows
from pipeline.batches.lanes import Lane
from pipeline.batches.layout import ToComponents
from pipeline.batches.skipping import row_of
from pipeline.batches.turns import Turns
from pipeline.errors import CancelledError, OutOfRangeError
from pipeline.explain.reads import name_record, name_taken, note_reads, noted_reads
from pipeline.explain.workers import current_worker
from pipeline.explain.workers import this_thread as this_worker
from pipeline.nest import length
from pipeline.on_error import Skips
from pipeline.pulls import Turn, this_thread

ENDS = (StopIteration, OutOfRangeError)


class Piece(NamedTuple):
    """Elements that are stored together.

    Attributes:
        held: A list with their values, which whoever stores them takes out: it may give large arrays away.
        rows: How many elements these are, if it is a block; 0 for a single element.
    """

    held: list[tuple[Any, ...]]
    rows: int


class Call:
    """What a call gave.

    Attributes:
        ticket: Of the call.
        place: How many calls have begun before it.
        boundary: See Turn.
        pieces: To be stored.
        error: Why there is nothing more: the end of the input, or what was raised.
        keys: Of the records that were read, to name them in an error.
    """

    __slots__ = ("boundary", "error", "keys", "pieces", "place", "ticket")

    def __init__(self, turn: Turn, pieces: list[Piece], error: BaseException | None = None) -> None:
        self.ticket = turn.ticket
        self.place = turn.place
        self.boundary = turn.boundary
        self.pieces = pieces
        self.error = error
        worker = current_worker()
        self.keys = None if worker is None else worker.keys

    @property
    def ended(self) -> bool:
        """Whether the source has no more."""
        return isinstance(self.error, ENDS)


class Caller:
    """Calls one source. Several threads may do so.

    Args:
        lane: The source.
        index: Its number.
        turns: Who may call.
        skips: What `on_error="skip"` leaves out.
        keep: What `keep_input` keeps.
        first: Called with the first example, returns how the examples of this source are taken apart.
    """

    def __init__(
        self, lane: Lane, index: int, turns: Turns, skips: Skips, keep: KeepInput, first: Callable[[Any], ToComponents]
    ) -> None:
        self.lane = lane
        self.index = index
        self._turns = turns
        self._skips = skips
        self._keep = keep
        self._first = first
        self._to_components: ToComponents | None = None
        self._careful = skips.active and not lane.iterator

    def call(self, wait: Callable[[int], None] | None = None) -> Call:
        """Call the source when it is its turn.

        Args:
            wait: See `Turns.begin`.

        Raises:
            CancelledError, OutOfRangeError: The loop was left.
        """
        turns, worker = self._turns, current_worker()
        outer, turn = this_thread.turn, turns.turn_of(self.index)  # a function may ask a loop of its own
        turns.begin(turn, wait)
        if worker is None:
            this_worker.items = None
        else:
            worker.keys = None
        try:
            return self._called(turn)
        finally:
            turns.finish(turn)
            this_thread.turn = outer

    def _called(self, turn: Turn) -> Call:
        if self._careful:
            note_reads()
        try:
            examples = self.lane.take()
            if self.lane.rows:
                self._turns.took(length(examples[0]))
            self._turns.returned(turn)
        except Exception as error:
            return self.failed(turn, error)
        else:
            return self._of_examples(examples, turn)
        finally:
            if self._careful:
                noted_reads()

    def _of_examples(self, examples: Sequence[Any], turn: Turn) -> Call:
        """What a call gives that returned these. One that does not fit is left out, also of an iterator: that has not
        failed."""
        try:
            return Call(turn, [piece for example in examples for piece in self._pieces(example, turn)])
        except CancelledError:
            raise
        except ENDS as error:
            return self.failed(turn, error)
        except Exception as error:
            return self._failed(error, turn, of_source=False)

    def failed(self, turn: Turn, error: Exception) -> Call:
        """What a call gives that raised this.

        Raises:
            CancelledError: The error, if the loop was left.
        """
        if isinstance(error, CancelledError):
            raise error
        if isinstance(error, ENDS):  # it is kept; frames would keep whoever asked for the batch, and so the loop
            return Call(turn, [], error.with_traceback(None))
        self._turns.returned(turn)
        return self._failed(error, turn)

    def _failed(self, error: Exception, turn: Turn, of_source: bool = True) -> Call:
        """What remains of a call that failed, or gave what does not fit: nothing, or the records of its block that do
        not fail alone."""
        if self._turns.broken is not None:
            return Call(turn, [], self._turns.broken)
        reads = noted_reads() if self._careful else []
        name_record(error, reads)
        if current_worker() is None:  # it calls for the first example; else the end of the thread names the item
            name_taken(error)
        if not self._skips.active or (self.lane.iterator and of_source):
            return Call(turn, [], error)
        pieces: list[Piece] = []
        try:
            if self.lane.many and any(len(values) > 1 for _, _, values in reads):
                turn.given = collections.deque()
                known = turn.ids if len(turn.ids) == len(reads) else [None] * len(reads)
                for (_, keys, values), ids in zip(reads, known, strict=True):
                    turn.given.extend((keys[i : i + 1], [value], _one_of(ids, i)) for i, value in enumerate(values))
                while turn.given:
                    pieces += self._alone(turn)
            else:
                name_taken(error)
                self._skips.note(error)
        except Exception as last:
            return Call(turn, pieces, last)
        return Call(turn, pieces)

    def _alone(self, turn: Turn) -> list[Piece]:
        """The pieces of one record that is given again."""
        note_reads()
        turn.ids.clear()
        left = len(turn.given)
        try:
            return [piece for example in self.lane.take() for piece in self._pieces(example, turn)]
        except (*ENDS, CancelledError):
            raise
        except Exception as error:
            name_record(error, noted_reads())
            self._skips.note(error)
            return []
        finally:
            if len(turn.given) == left:  # the function reads no more: it would be asked for ever
                turn.given.clear()

    def _pieces(self, example: Any, turn: Turn) -> Iterator[Piece]:
        """An example or a block taken apart, without what is not kept."""
        verdict = self._keep.verdict(example, self.lane.many)
        if verdict is False:
            return
        if not self.lane.many:
            yield Piece([(*self._apart(example), element_id(turn))], 0)
            return
        rows = length(example)
        if rows == 0:
            return
        try:
            values = [*self._apart(example), block_ids(turn, rows)]
            if verdict is not True:
                values, rows = kept_rows(values, verdict), int(np.count_nonzero(verdict))
        except Exception:
            if not self._skips.active or rows == 1 or (turn.ids and not self.lane.iterator):
                raise
            for i in range(rows):
                yield from self._row(row_of(example, i), turn, i)
            return
        if rows:
            yield Piece([tuple(values)], rows)

    def _apart(self, example: Any) -> Sequence[Any]:
        if self._to_components is None:
            self._to_components = self._first(example)
        return self._to_components(example)

    def _row(self, row: Any, turn: Turn, number: int) -> Iterator[Piece]:
        try:
            yield from self._pieces(row, turn)
        except Exception as error:
            name_taken(error, number)
            self._skips.note(error)


def first_calls(
    callers: Sequence[Caller], turns: Turns, found: Callable[[], bool], stopped: Callable[[], bool]
) -> tuple[list[Call], dict[int, BaseException]]:
    """Call the sources until there is an example. Return the calls, and the ends of the sources that have none.

    Args:
        callers: One for each source.
        turns: Whose turn it is.
        found: Whether there is an example.
        stopped: Whether to call no more.

    Raises:
        OutOfRangeError: There is none.
        Exception: What a call raised.
    """
    calls: list[Call] = []
    alive = turns.rotation.alive
    ends: dict[int, BaseException] = {lane: StopIteration() for lane in range(len(alive)) if not alive[lane]}
    while not found():
        if len(ends) == len(callers) or stopped():
            raise OutOfRangeError(None, None, "the source of the batches gave no example")
        lane = turns.rotation.lane
        call = callers[lane].call()
        if call.error is not None:
            if not call.ended:
                raise call.error
            ends[lane], call.error = call.error, None
            turns.drop_lane(lane)
        calls.append(call)
    return calls, ends


def element_id(turn: Turn) -> Any:
    """The number of the element that a call gives, as the fingerprint knows it; see `Batches.fingerprint`."""
    ids = turn.ids
    if len(ids) == 1 and ids[0] is not None:
        known = ids[0]
        return known[0] if type(known) is tuple else int(known[0])
    return _signed(_mixed(turn))


def block_ids(turn: Turn, rows: int) -> Any:
    """The numbers of the elements of a block."""
    if len(turn.ids) == 1 and turn.ids[0] is not None:
        known = turn.ids[0]
        if type(known) is not tuple and len(known) == rows:
            return np.asarray(known).astype(np.int64, copy=False)
        if type(known) is tuple and known[1] == rows:
            return np.arange(known[0], known[0] + rows, dtype=np.int64)
    return mixed_ids(_mixed(turn), rows)


def _mixed(turn: Turn) -> int:
    """One number from all pulls of a call; its ticket if it pulled from nothing that has numbers."""
    numbers = [_first(ids) for ids in turn.ids if ids is not None]
    if not numbers:
        return turn.ticket
    mixed = numbers[0]
    for number in numbers[1:]:
        mixed = mixed_id(mixed, number)
    return mixed


def _signed(number: int) -> int:
    """64 bits as the queue holds them."""
    return number - (1 << 64) if number >> 63 else number


def _one_of(ids: Any, index: int) -> Any:
    """The number of one of the records that a pull gave."""
    if ids is None:
        return None
    return (ids[0] + index if type(ids) is tuple else int(ids[index])), 1


def _first(ids: Any) -> int:
    return int(ids[0]) if type(ids) is tuple or len(ids) else 0


def taken_out(calls: list[Call]) -> Iterator[Call]:
    """Take calls out of a list, the first one first, until there are none; several threads may share them."""
    while True:
        try:
            call = calls.pop(0)
        except IndexError:  # to look first would not do: another thread may take the last one after that
            return
        yield call
