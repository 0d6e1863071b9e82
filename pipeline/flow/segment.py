"""Segment: examples that steps make of a stream, in the thread that asks for them."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from pipeline._flow import Kept
from pipeline._next import Meter
from pipeline.flow.block import Block, Examples
from pipeline.flow.ids import Ids, PartHashes, as_parts, select, summed
from pipeline.flow.pump import values_of
from pipeline.flow.run import Limited, Run
from pipeline.flow.steps import Calls, Failure, Output, Step, only_map, run, run_alone
from pipeline.flow.stream import Element, Stream, alone, dropped, later, nowhere, place, seek_later, shorter, whole
from pipeline.nest import kept
from pipeline.on_error import name_item
from pipeline.workers.threads import AtOnce

# Inputs between two positions that are noted. A position in between is the last noted one and how many outputs to drop
# after it, so that it is the same however inputs were divided among workers. A resume makes at most so many examples
# again where steps leave examples out or multiply them.
GRID = 64

# Seconds between two looks at the clock of a thread, which cost 1.2 us.
_LOOK = 0.001


class Marks:
    """Where a segment stands: the position at the last multiple of GRID inputs, and how much came after it.

    Args:
        stream: What the inputs come from.
        one_to_one: Whether each input gives one output or fails, so that inputs can be skipped instead of made again.
        skips: Whether inputs that fail are left out. A position then is in a list, as what comes after it counts
            outputs, and it counts inputs.
        grid: Inputs between two positions that are noted. With 1, the inputs are others when they are made again, as
            batches that go out in time, and there is no position between two outputs of one.
    """

    def __init__(self, stream: Stream, one_to_one: bool, skips: bool, grid: int = GRID) -> None:
        self._stream, self._grid = stream, grid
        self._one_to_one, self._skips = one_to_one, skips
        self._noted: list[tuple[int, Any]] = []  # (number of inputs, position), of all claims not delivered yet
        self.claimed = 0  # inputs
        self.due = 0  # outputs after the position that is noted first

    def room(self) -> int:
        """Return how many inputs may be claimed at once: up to the next multiple of GRID."""
        return self._grid - self.claimed % self._grid

    def before_claim(self) -> None:
        """Note where the stream stands, if it is time; to be called before each claim."""
        noted = self._noted
        if not noted or (self.claimed % self._grid == 0 and noted[-1][0] < self.claimed):
            noted.append((self.claimed, self._stream.position()))

    def delivered(self, begin: int, end: int | None, outputs: int) -> None:
        """Count outputs of the claim that began after so many inputs.

        Args:
            begin: How many inputs came before the claim.
            end: How many inputs are done with them; None while the claim has more outputs.
            outputs: How many outputs.
        """
        if self._one_to_one:  # outputs count inputs, wherever claims begin
            self.due += outputs
            while len(self._noted) > 1 and self.due >= self._noted[1][0] - self._noted[0][0]:
                self.due -= self._noted[1][0] - self._noted[0][0]
                self._noted.pop(0)
            return
        self._pass(begin)
        self.due += outputs
        if end is not None:
            self._pass(end)

    def _pass(self, inputs: int) -> None:
        """Forget the positions before the last one that is at or before an input."""
        while len(self._noted) > 1 and self._noted[1][0] <= inputs:
            self._noted.pop(0)
            self.due = 0

    def position(self, complete: bool, more: int) -> Any:
        """Return the position after what was delivered and so many outputs more.

        Args:
            complete: Whether what was delivered is all that was claimed.
            more: How many outputs.
        """
        noted = self._noted
        if complete and (self.claimed % self._grid == 0 or not noted):
            # Noted already, if somebody has asked for more than there is: who did shall show in no state.
            here = noted[-1][1] if noted and noted[-1][0] == self.claimed else self._stream.position()
            return self._as_position(here, more)
        return self._as_position(noted[0][1], self.due + more)

    def _as_position(self, position: Any, outputs: int) -> Any:
        if outputs and self._grid == 1:
            text = (
                "the batches of batch(max_wait=...) depend on time, and there is no position between two elements that "
                "flat_map makes of one: take a state after the last of them, or use unbatch"
            )
            return nowhere(text)
        if not self._one_to_one:
            return place(position, outputs)
        return place(later(position, outputs)) if self._skips else later(position, outputs)

    def skipped(self) -> None:
        """Begin anew where the stream stands now."""
        self._noted, self.due, self.claimed = [], 0, 0

    def seek(self, position: Any) -> int:
        """Go to a position; return how many outputs have to be dropped."""
        self.skipped()
        if not self._one_to_one:
            position, outputs = position
            seek_later(self._stream, position)
            return whole(outputs)
        if self._skips:
            (position,) = position
        seek_later(self._stream, position)
        if isinstance(position, dict) and "later" in position:  # marks go on where they were
            self._noted = [(0, position["at"])]
            self.claimed = self.due = position["later"]
        return 0


class Segment:
    """Examples that steps make of a stream, in the thread that asks.

    Args:
        stream: The inputs.
        steps: What is done to each.
        shared: What the streams of the iterator share.
        skips: Counts the errors that are skipped, by step.
        grid: As for Marks.
    """

    def __init__(
        self, stream: Stream, steps: Sequence[Step], shared: Run, skips: Sequence[Limited], grid: int = GRID
    ) -> None:
        self._stream = stream
        self._steps = steps
        self._run = shared
        self._skips = skips
        self._one_to_one = all(step.one_to_one for step in steps)
        self._one_by_one = any(step.what == "flat_map" for step in steps)
        self._grid = grid
        self._marks = Marks(stream, self._one_to_one, any(step.skip for step in steps), grid)
        self._only = only_map(steps)
        self._claim: Block | None = None
        self._calls: Calls | None = None  # of the claim; else its outputs come from the next
        self._outputs: Iterator[Output | Failure] = iter(())
        self._id: tuple[int, int] = (0, 0)  # of the claim, where outputs come one by one
        self._drop = 0
        if self._one_by_one and grid > 1:
            self.element = self._element

    def _element(self) -> Element | None:
        """Return the next output, as `take(1)` would in three times the time; see `elements_of`."""
        if self._drop:
            return alone(self.take(1))
        while self._claim is not None or self._claim_next(1):
            claim, marks, checks = self._claim, self._marks, self._run
            assert claim is not None
            for output in self._outputs:
                if isinstance(output, Failure):
                    self._failed(claim, output)
                if checks.deadline is not None or checks.stopped:
                    try:
                        checks.check()
                    except BaseException:
                        if isinstance(output, Output):
                            self._put_back([output])
                        raise
                if isinstance(output, Output):
                    marks.delivered(marks.claimed - 1, None, 1)
                    value, size = self._id
                    return kept(output.example), value ^ output.path, size
            self._claim = None
            marks.delivered(marks.claimed - 1, marks.claimed, 0)
        return None

    def take(self, n: int) -> Block | None:
        while self._drop:  # after a seek
            if (block := self._take(self._drop)) is None:
                raise shorter()
            self._drop -= len(block)
        return self._take(n if self._grid > 1 else 1)  # where an element begins is its position

    def _take(self, n: int) -> Block | None:
        while self._claim is not None or self._claim_next(n):
            if (block := self._collect(n)) is not None:
                return block
        return None

    def _claim_next(self, n: int) -> bool:
        self._run.check()
        marks = self._marks
        marks.before_claim()
        claim = self._stream.take(1 if self._one_by_one else min(n, marks.room()))
        if claim is None:
            return False
        marks.claimed += len(claim)
        self._claim = claim
        if self._one_by_one:
            self._id = summed(claim.ids)
        if self._only is None:
            self._outputs = run(self._steps, claim)
            return True
        try:
            examples = list(claim.made().examples())
        except Exception as error:
            self._outputs = run_alone(self._steps, claim, error)
        else:
            self._calls = Calls(self._only, claim, examples)
        return True

    def _call(self, calls: Calls, n: int) -> Block | None:
        """Make up to n outputs by calls of the only function; None if they come one by one from here on."""
        claim, found = self._claim, Kept(n, kept, np.empty)
        assert claim is not None
        begin = calls.at
        rest = calls.make(n, found, self._run.bell)
        if self._run.stopped:
            self._run.check()
        if rest is not None:
            self._calls, self._outputs = None, rest
            if not found.count:
                return None
        end = begin + found.count
        base = self._marks.claimed - len(claim)
        whole = begin == 0 and end == len(claim)
        if end == len(claim):
            self._claim = self._calls = None
        self._marks.delivered(base, None if self._claim is not None else self._marks.claimed, found.count)
        part = claim if whole else claim[begin:end]
        return Block(values_of(found), part.ids, part.numbers)

    def _collect(self, n: int) -> Block | None:
        """Make up to n outputs of the claim; None if it gives no more."""
        claim, checks, calls = self._claim, self._run, self._calls
        assert claim is not None
        if calls is not None:
            if checks.deadline is None and (block := self._call(calls, n)) is not None:
                return block
            if self._calls is not None:  # somebody looks at the clock between two of them
                self._calls, self._outputs = None, calls.run()
        made: list[Any] = []
        indices: list[int] = []
        paths: list[int] = []
        ended = True
        try:
            for output in self._outputs:
                if isinstance(output, Failure):
                    if made:  # what came before it goes first: a position counts both
                        self._put_back([output])
                        ended = False
                        break
                    self._failed(claim, output)
                else:
                    made.append(kept(output.example))
                    indices.append(output.input)
                    paths.append(output.path)
                    if len(made) == n:
                        ended = self._grid == 1 and self._has_ended()
                        break
                if checks.deadline is not None or checks.stopped:
                    checks.check()
        except BaseException:
            self._put_back(list(map(Output, indices, paths, made)))
            raise
        base = self._marks.claimed - len(claim)
        if ended:
            self._claim = None
        end = self._marks.claimed if ended else None
        if not made:
            self._marks.delivered(base, end, 0)
            return None
        block = Block(Examples(made), output_ids(claim, indices, paths, self._steps), select_numbers(claim, indices))
        self._marks.delivered(base, end, len(made))
        if not ended and not self._one_by_one and indices[-1] + 1 == len(claim):  # nothing comes after it
            self._claim = None
            self._marks.delivered(base, self._marks.claimed, 0)
        return block

    def _has_ended(self) -> bool:
        """Look whether the claim has no further outputs, after which there is a position."""
        output = next(self._outputs, None)
        if output is not None:
            self._put_back([output])
        return output is None

    def _put_back(self, outputs: Sequence[Output | Failure]) -> None:
        """Have outputs of the claim come again, before the others."""
        if not isinstance(self._outputs, _PutBack):
            self._outputs = _PutBack(self._outputs)
        self._outputs.first.extendleft(reversed(outputs))

    def _failed(self, claim: Block, failure: Failure) -> None:
        if self._one_to_one:
            self._marks.delivered(self._marks.claimed - len(claim), None, 1)  # as if it were an output
        refuse_or_skip(claim, failure, self._steps, self._skips)

    def skip(self, n: int) -> int:
        if self._one_to_one and self._claim is None and not self._drop and not any(step.skip for step in self._steps):
            skipped = self._stream.skip(n)
            self._marks.skipped()
            return skipped
        return dropped(self, n)

    def position(self) -> Any:
        return self._marks.position(self._claim is None, self._drop)

    def seek(self, position: Any) -> None:
        self._forget()
        self._drop = self._marks.seek(position)

    def close(self) -> None:
        self._forget()
        self._stream.close()

    def _forget(self) -> None:
        self._claim, self._calls, self._outputs = None, None, iter(())


class TimedSegment(Segment):
    """A segment that tells how long its steps take, for whoever chooses workers for them; a part of a stream that has
    the marks.

    Args:
        marks: Those.
        auto: Its `note` hears how many inputs there were, the seconds of their steps, those on a processor, and 0.0, as
            nobody waited meanwhile. When it has workers, these take the next inputs.
        meter: Counts the time of the steps; None if nobody wants to know.
        others: As for Segment.

    Attributes:
        begun: Whether it has inputs that it is not done with: nobody else may take from the stream.
    """

    def __init__(self, marks: Marks, auto: Any, meter: Meter | None, *others: Any) -> None:
        super().__init__(*others)
        self._marks, self._auto, self._meter = marks, auto, meter
        self._next = 0.0  # look, by the clock
        self.begin()

    @property
    def begun(self) -> bool:
        return self._claim is not None

    def begin(self) -> None:
        """Count from here: others took from the stream meanwhile."""
        self._claimed, self._seconds = self._marks.claimed, 0.0  # since the last look

    def _claim_next(self, n: int) -> bool:
        return type(self._auto.executor) is AtOnce and Segment._claim_next(self, n)

    def _collect(self, n: int) -> Block | None:
        began = time.perf_counter()
        if began < self._next:
            try:
                return Segment._collect(self, n)
            finally:
                self._seconds += time.perf_counter() - began
        began_cpu = time.thread_time()
        try:
            return super()._collect(n)
        finally:
            now, cpu = time.perf_counter(), time.thread_time() - began_cpu
            seconds = self._seconds + now - began
            cpu *= seconds / max(now - began, 1e-9)  # all compute as much as this one
            inputs, self._next = self._marks.claimed - self._claimed, now + _LOOK
            self.begin()
            if self._meter is not None:
                self._meter.work(seconds)
            self._auto.note(inputs, seconds, cpu, 0.0)

    def forget(self) -> None:
        """Drop what is claimed: the stream goes elsewhere, or ends."""
        self._forget()


class _PutBack(Iterator["Output | Failure"]):
    """Outputs that can be put back. A generator around another would nest a level deeper each time `next` was late.

    Attributes:
        first: Those that come again.
    """

    def __init__(self, rest: Iterator[Output | Failure]) -> None:
        self.first: deque[Output | Failure] = deque()
        self._rest = rest

    def __next__(self) -> Output | Failure:
        return self.first.popleft() if self.first else next(self._rest)


def output_ids(claim: Block, indices: list[int], paths: list[int], steps: Sequence[Step]) -> Ids:
    """Return the ids of outputs: those of their inputs, and which output of it each is."""
    ids = claim.ids
    if len(indices) != len(claim) or indices[-1] + 1 != len(claim) or indices[0]:
        ids = select(ids, slice(indices[0], indices[-1] + 1) if _neighbours(indices) else np.array(indices))
    elif not _neighbours(indices):
        ids = select(ids, np.array(indices))
    if not any(paths):
        return ids
    parts = as_parts(ids)
    return PartHashes(parts.hashes ^ np.array(paths, np.uint64), parts.counts)


def select_numbers(claim: Block, indices: list[int]) -> Any:
    """Return the numbers of the inputs that outputs were made of."""
    if _neighbours(indices):
        return claim.numbers[indices[0] : indices[-1] + 1]
    return np.array([int(claim.numbers[i]) for i in indices], np.int64)


def _neighbours(indices: list[int]) -> bool:
    return indices[-1] - indices[0] + 1 == len(indices) and indices == list(range(indices[0], indices[-1] + 1))


def refuse_or_skip(claim: Block, failure: Failure, steps: Sequence[Step], skips: Sequence[Limited]) -> None:
    """Count an error that is skipped; raise any other, with a note that names function and example."""
    error = failure.error
    name_failure(claim, failure, steps)
    for step, skip in zip(steps, skips, strict=True):
        if failure.skip and step.skip:
            skip.note(error)
            return
    raise error


def name_failure(claim: Block, failure: Failure, steps: Sequence[Step]) -> None:
    """Name the example that an error is about, in a note."""
    number = int(claim.numbers[failure.input])
    name = claim.values.name(failure.input)
    functions = ", ".join(step.name for step in steps)
    where = f"{functions}: example {number}" + (f", {name}" if name else "")
    name_item(failure.error, name or f"example {number}", where)
