"""Crewed: chunks of examples computed by workers ahead of the consumer, in input order."""

from __future__ import annotations

import functools
import itertools
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor
from typing import Any

from pipeline.diagnostics.wording import named
from pipeline.errors import AbortedError, ResourceExhaustedError
from pipeline.on_error import set_on
from pipeline.stages.batch_rows import BatchRows, Empty
from pipeline.stages.block import Block, Examples, failed, joined, size_of
from pipeline.stages.chunk import Chunk, Pending, Task
from pipeline.stages.run import Run
from pipeline.stages.segment import InProcess, Segment
from pipeline.stages.steps import Named, Reported, SkippedAt, leaves_out, sizes_of_outputs
from pipeline.stages.stream import Maker, Skipped, Stream, Unit
from pipeline.sync.stop_flag import StopFlag
from pipeline.tracebacks import from_handler
from pipeline.workers.chunks import WorkerDied
from pipeline.workers.executor import Workers
from pipeline.workers.threads import AtOnce

_MOST = 1024  # inputs per chunk
_CANCELLED = 9  # limit for how often workers may cancel the same work
_CHUNK_BYTES = 4 << 20  # limit for a chunk's results
_BUFFER_BYTES = 128 << 20  # limit for waiting results

# Seconds for which inputs are collected before they are sent. This limits how long results wait.
_INPUT_SECONDS = 0.004

# Seconds between checks for `close`.
_LOOK = 0.1

# Seconds between checks for a late input while workers are busy.
_SOON = 0.002


class Crewed(Maker):
    """Steps applied to a stream, some of them by workers.

    Args:
        source: The inputs.
        segments: The steps, first to last.
        run: The iterator's run.
        ordered: True if results keep the order of their inputs.
        patience: Seconds to wait for an input from other threads while workers are busy; None to wait as long as it
            takes.
        timed: True if the inputs depend on time.
        read_ahead: Makes a thread read n inputs ahead; None if there is no such thread.
        named: Returns the name for a block's input in errors.
    """

    def __init__(
        self,
        source: Stream,
        segments: list[Segment],
        run: Run,
        *,
        ordered: bool,
        patience: float | None,
        timed: bool,
        read_ahead: Callable[[int], None] | None,
        named: Named,
    ) -> None:
        super().__init__(source)
        steps = [step for each in segments for step in each.steps]
        self._all, segments = segments, segments.copy()
        self._first = segments.pop(0) if segments[0].workers is None else None  # run by the caller before the workers
        self._last = segments.pop() if segments[-1].workers is None else None  # run by the caller after the workers
        self._segments, self._steps = segments, len(steps)
        self._behind = self._first or segments[0]  # the segment directly behind the input
        self._ordered = ordered
        self._counted = ordered and not any(each.renews for each in steps)  # at most one output per input
        self._patience, self._clock, self._named = patience, run.clock, named
        self._read_ahead = read_ahead
        self._together = patience is not None and not timed  # timed batches taken together have no states between them
        self._in_turn = ordered and len(segments) == 1  # the workers have all chunks, so only the first one matters
        self._waited = 0.0  # since the last results for which the caller has waited
        self._bell = StopFlag()
        self._units: deque[Pending] = deque()
        self._making: Iterator[Any] | None = None  # the first segment's outputs for the last unit
        self._under_way = 0  # inputs in undelivered chunks
        self._size, self._bytes = 1, 0.0  # inputs per chunk; bytes per input and its results in the last chunk
        self._inputs = self._outputs = 0.0  # decaying counts for the steps before the workers
        self._slow, self._at_once = False, 1  # whether inputs arrive slowly, and how many to take at once
        self._ended: Any = None  # [state before the input's end], once it was reached
        self._failed: tuple[Any, Exception] | None = None  # the input's error
        self._rows: BatchRows | None = None  # memory of the reader's batches, if each input gives a row
        run.clock.on_stop(functools.partial(_stop, self._bell, [each.workers for each in segments]))

    # For the consuming thread

    def make(self, n: int) -> Unit | None:
        self._stay()
        if not self._units and self._making is None and self._failed is None and not self._workers():
            return self._made_here(n)
        self._fill(n)
        while self._units and self._units[0].complete and not self._units[0].chunks:
            self._units.popleft()
            self._fill(n)
        if not self._units:
            if self._failed is not None:
                raise self._failed[1]
            return None
        return Unit(_Delivered(self, n), self._units[0].count)

    def into(self, rows: BatchRows) -> None:
        each_a_row = all([step.one_to_one and not step.skip for step in self._behind.steps])
        if len(self._all) == 1 and self._ordered and each_a_row and not self._units:
            self._rows = rows

    def _workers(self) -> int:
        """Return the number of workers."""
        return sum([each.workers.count for each in self._segments if each.workers is not None])

    def _stay(self) -> None:
        """Stop submitting to executors that wait for this iterator; run its functions in the consuming thread."""
        for i, segment in enumerate(self._segments if self._clock.within else ()):
            if segment.workers is None or segment.workers.key not in self._clock.within:
                continue
            segment.workers = AtOnce()
            chunks = [chunk for unit in self._units for chunk in unit.chunks if chunk.segment == i + 1]
            for part in [part for chunk in chunks for part in chunk.parts if isinstance(part, Task)]:
                part.future.cancel()  # if it has not started; its block is then requeued

    def _made_here(self, n: int) -> Unit | None:
        """Compute a unit with n inputs in the consuming thread, as without workers."""
        try:
            block = self.source.take(n)
        except Exception as error:
            if not leaves_out(self._behind.steps[0], self.source, error):
                raise
            return Unit(iter((self._behind.skipped(SkippedAt(error, 0)),)))
        if block is None:
            return None
        if self._rows is not None:
            self._rows.next(len(block))
        parts: Iterator[Block | Skipped] = iter((block,))
        for segment in self._all:
            parts = segment.over(parts, n, self._named)
        return Unit(parts, len(block) if self._counted else None)

    def state(self) -> Any:
        while self._units and self._units[0].complete and not self._units[0].chunks:
            self._units.popleft()
        if self._units:
            before = self._units[0].before
        elif self._ended is not None:  # the input may have skipped other hosts' elements there
            (before,) = self._ended
        else:
            before = self.source.state() if self._failed is None else self._failed[0]
        return [before, self._steps]

    def close(self) -> None:
        for chunk in [chunk for unit in list(self._units) for chunk in list(unit.chunks)]:
            for part in chunk.parts:
                if isinstance(part, Task):
                    part.future.cancel()
        for segment in self._segments:
            if segment.workers is not None and segment.owned:
                segment.workers.shutdown(wait=False, cancel_futures=True)
            elif segment.workers is not None:
                segment.workers.rest()
        self.source.close()

    def next_chunk(self, n: int) -> Chunk | None:
        """Return the first unit's next chunk when workers are done with it; None at the unit's end."""
        self._fill(n)
        while True:
            unit = self._units[0]
            if not unit.chunks:
                if unit.complete:
                    return None
                self._fill(n)
                if not (self._units and self._units[0] is unit):  # the rest of the unit has no outputs
                    return None
                continue
            if self._in_turn:
                if self._advance(unit.chunks[0], wait=True):
                    return self._delivered(unit, unit.chunks[0])
                continue
            # All of them, so that the workers of each segment have several at a time.
            chunks = [(each, chunk) for each in self._units for chunk in each.chunks]
            found = [(each, chunk) for each, chunk in chunks if self._advance(chunk, wait=False)]
            if found and (found[0][1] is unit.chunks[0] or not self._ordered):
                return self._delivered(*found[0])
            self._wait([chunk for _, chunk in chunks])

    def _delivered(self, unit: Pending, chunk: Chunk) -> Chunk:
        unit.chunks.remove(chunk)
        self._under_way -= chunk.inputs
        self._adapt(chunk)
        if not unit.chunks and not unit.complete:
            self._go_on()  # to get the state after this chunk
        return chunk

    def outputs(self, chunk: Chunk, n: int) -> Iterator[Block | Skipped]:
        """Yield a chunk's outputs: its parts, after the steps behind the last workers."""
        for part in chunk.parts:
            if isinstance(part, Skipped) or self._last is None:
                yield part
                continue
            for made in self._last.run(part, n, self._named):
                yield self._last.skipped(made) if isinstance(made, SkippedAt) else made

    # Sent to workers

    def _fill(self, n: int) -> bool:
        """Keep enough work running for n more examples; return whether a chunk or unit was added."""
        added, wanted = False, self._wanted(n)
        if self._read_ahead is not None:  # the thread reading inputs continues while the caller is busy
            self._read_ahead(wanted // 2)
        while self._under_way < wanted and (self._making is not None or self._may_take()):
            if self._making is None and not self._take():
                break
            added = self._go_on() or added
            if self._units[-1].complete and not self._units[-1].chunks:
                self._units.pop()
        return added

    def _go_on(self) -> bool:
        """Give the workers the last unit's next part; return whether there was one."""
        part, unit = next(self._making, None), self._units[-1]  # type: ignore[arg-type]
        if part is not None:
            self._begin(unit, part)
        if part is None or self._first is None:
            self._making, unit.complete = None, True
        return part is not None

    def _may_take(self) -> bool:
        """Return whether there is an input to take."""
        if self._ended is not None or self._failed is not None:
            return False
        if self._slow and self._is_due():  # deliver results before waiting for a slow input
            return False
        return self._patience is None or not self._under_way or self.source.wait(self._patience)

    def _is_due(self) -> bool:
        """Return whether workers are done with the next delivery."""
        units = itertools.islice(self._units, 1 if self._ordered else None)
        return any(chunk.due() for unit in units for chunk in itertools.islice(unit.chunks, 1))

    def _wanted(self, n: int) -> int:
        """Return how many inputs should be in progress."""
        count = self._workers()
        if not count:  # inline executors work during submit
            return 1
        wanted = max(2 * n, 2 * count * self._size)
        if self._bytes:
            wanted = max((count + 1) * self._size, min(wanted, int(_BUFFER_BYTES / self._bytes)))
        return wanted

    def _take(self) -> bool:
        """Begin a unit; return whether there was an input for it."""
        before, began, n = self.source.state(), time.perf_counter(), min(self._inputs_wanted(), self._at_once)
        n = n if self._rows is None else self._rows.fitting(n)
        try:
            block = self.source.take(n)
        except Exception as error:
            if from_handler(error):
                raise
            if not leaves_out(self._behind.steps[0], self.source, error):
                self._failed = before, error
                return False
            self._units.append(Pending(before, None))
            self._making = iter((SkippedAt(error, 0),))
            return True
        if block is None:
            self._ended = [before]
            return False
        if self._together:
            block = self._with_more(block, n)
        took = time.perf_counter() - began
        self._slow, self._at_once = took > 2 * _INPUT_SECONDS, int(len(block) * _INPUT_SECONDS / (took + 1e-9)) + 1
        self._inputs, self._outputs = self._inputs / 2 + len(block), self._outputs / 2
        self._units.append(Pending(before, len(block) if self._counted else None))
        self._making = iter((block,)) if self._first is None else self._first.run(block, self._size, self._named)
        return True

    def _with_more(self, block: Block, n: int) -> Block:
        """Extend a block with available inputs, up to n in all."""
        blocks, count = [block], len(block)
        while count < n and self.source.wait(0.0):
            before = self.source.state()
            try:
                more = self.source.take(n - count)
            except Exception as error:
                if from_handler(error):
                    raise
                self._failed = before, error
                break
            if more is None:
                self._ended = [before]
                break
            blocks.append(more)
            count += len(more)
        return joined(blocks)

    def _inputs_wanted(self) -> int:
        """Return how many inputs to take so the steps before the workers make one chunk."""
        if self._first is None:
            return self._size
        return max(1, min(_MOST, int(self._size * self._inputs / max(self._outputs, 1.0))))

    def _begin(self, unit: Pending, part: Block | SkippedAt) -> None:
        """Add a chunk, and give it to the workers."""
        if isinstance(part, SkippedAt):
            unit.chunks.append(Chunk([self._behind.skipped(part)], len(self._segments), 0))
            return
        chunk = Chunk([part], 0, len(part))
        self._outputs += len(part)
        self._submit(chunk, None if self._rows is None else self._rows.next(len(part)))
        unit.chunks.append(chunk)
        self._under_way += chunk.inputs

    def _submit(self, chunk: Chunk, empty: Empty | None = None) -> None:
        """Give a chunk to its next segment: submit its blocks, or run the caller's segment."""
        segment = self._segments[chunk.segment]
        parts: list[Any] = []
        for part in chunk.parts:
            if not isinstance(part, Block):
                parts.append(part)
            elif segment.workers is None:
                made = segment.run(part, max(1, len(part)), self._named)
                parts += [segment.skipped(each) if isinstance(each, SkippedAt) else each for each in made]
            elif len(part):
                parts += self._tasks(segment, part, empty=empty)
            else:
                parts.append(part)
        chunk.parts, chunk.segment = parts, chunk.segment + 1

    def _tasks(self, segment: Segment, block: Block, cancelled: int = 0, empty: Empty | None = None) -> list[Any]:
        """Submit a block; return its tasks, and the error that follows them."""
        workers = segment.workers
        assert workers is not None
        error, sent = block.error, Block(block.values, block.numbers)
        call: Any = InProcess(segment.call, self._clock, empty) if workers.in_process else segment.call
        try:
            future = workers.submit(call, segment.draws, sent)
        except (ResourceExhaustedError, RuntimeError) as refused:
            if workers.recovers(refused):
                return self._tasks(segment, block)
            if isinstance(refused, ResourceExhaustedError):
                raise
            refusal = AbortedError(None, None, f"the workers accepted no more calls: {named(refused)}")
            refusal.__cause__ = refused
            return [failed(refusal)]
        task = Task(block, future, cancelled)
        if not self._in_turn:
            task.watch(self._bell)
        return [task] + ([] if error is None else [failed(error)])

    # Received from workers

    def _advance(self, chunk: Chunk, wait: bool) -> bool:
        """Advance a chunk through its segments; return whether all are done with it.

        Without `wait` it returns as soon as workers are busy with the chunk.
        """
        while True:
            if not chunk.due():
                if not wait:
                    return False
                self._wait([chunk])
            if chunk.has_tasks():
                self._receive(chunk)
                continue
            if chunk.segment == len(self._segments):
                return True
            self._submit(chunk)

    def _wait(self, chunks: Sequence[Chunk]) -> None:
        """Wait for a limited time until workers are done with a chunk; a live input may have more for them."""
        self._bell.clear()
        self._clock.check()
        self._stay()
        began = time.perf_counter()
        if self._in_turn:
            tasks = [each for each in chunks[0].parts if isinstance(each, Task)]
            waiting = next((each for each in tasks if not each.future.done()), tasks[0])
            waiting.watch(self._bell)
            ready = waiting.future.done()
        else:
            ready = any(chunk.due() for chunk in chunks if chunk.has_tasks())
        if not ready:
            self._bell.wait(_SOON if self._patience is not None and self._ended is None else _LOOK)
        self._waited += time.perf_counter() - began
        self._clock.check()
        if self._patience is not None:
            self._fill(1)

    def _receive(self, chunk: Chunk) -> None:
        """Replace tasks with their workers' results."""
        segment = self._segments[chunk.segment - 1]
        first = not self._ordered or chunk is self._units[0].chunks[0]  # else the caller has waited for another one
        parts: list[Any] = []
        for part in chunk.parts:
            if isinstance(part, Task) and part.future.done():
                waited, self._waited = (self._waited, 0.0) if first else (0.0, self._waited)
                parts += self._made(chunk, segment, part, waited)
            else:
                parts.append(part)
            if isinstance(parts[-1] if parts else None, Block) and parts[-1].error is not None:
                break  # an error is the last output
        chunk.parts = parts

    def _made(self, chunk: Chunk, segment: Segment, task: Task, waited: float) -> list[Any]:
        """Return a task's results, or other tasks if its workers failed."""
        future, block = task.future, task.block
        if future.cancelled():  # another stage has shut down its part of the executor
            if task.cancelled < _CANCELLED:
                return self._tasks(segment, _alone(block), task.cancelled + 1)
            text = f"the workers cancelled the same call {_CANCELLED + 1} times"
            return [failed(AbortedError(None, None, text))]
        error = future.exception()
        if error is not None:
            return self._broken(segment, block, error)
        results, times = future.result()
        segment.note(times, waited)
        seconds, cpu = sum(each[0] for each in times), sum(each[1] for each in times)
        made = [each.values for each in results if isinstance(each, Block)]
        sent, received = size_of(block.values), sum([size_of(each) for each in made])
        workers = segment.workers
        assert workers is not None
        chunk.load += (seconds + 1e-7) / workers.chunk_seconds
        chunk.bytes += sent + received
        if self._rows is not None and made:
            self._rows.learn(made[0] if workers.in_process else Examples([]))
        segment.note_moved(sent, received)
        workers.note(len(block), seconds, cpu, waited)
        parts: list[Any] = []
        for part in results:
            if isinstance(part, SkippedAt):
                part.error = self._blamed(segment, block, part.error)
                parts.append(segment.skipped(part))
                continue
            inputs = slice(len(part)) if part.names is None else part.names
            part.sizes = sizes_of_outputs(segment.steps, block, inputs)
            if block.names is None or part.names is None:
                part.names = block.names
            else:
                part.names = block.names.picked(part.names)
            part.error = None if part.error is None else self._blamed(segment, block, part.error)
            parts.append(part)
        return parts

    def _broken(self, segment: Segment, block: Block, error: BaseException) -> list[Any]:
        """Return a block's outcome after its workers failed: further work, and an error."""
        workers, alone = segment.workers, _alone(block)
        assert workers is not None
        if isinstance(error, BrokenExecutor):
            if workers.recovers(error):
                return self._tasks(segment, alone)
            if workers.dies:  # with our own message
                broken = AbortedError(None, None, str(error))
                broken.__cause__ = error.__cause__
            else:
                hint = "A worker was killed, crashed, or could not start."
                broken = AbortedError(None, None, f"the workers broke: {named(error)}\n{hint}")
                broken.__cause__ = error
            return [failed(broken)]
        index = error.index if isinstance(error, WorkerDied) else None
        if len(block) > 1 and index is None:  # retry each example alone to find the failing one
            return [each for i in range(len(block)) for each in self._tasks(segment, alone.part(i, i + 1))]
        at = min(index or 0, len(block) - 1)
        if isinstance(error, WorkerDied):
            error = AbortedError(None, None, f"a worker process {error.how}")
        elif not isinstance(error, Exception):  # SystemExit in a worker must not end this process
            other = RuntimeError(f"a worker abandoned the example because of {named(error)}")
            other.__cause__, error = error, other
        blamed = segment.steps[0].blamed(error, int(block.numbers[at]), self._named(block, at))
        found: list[Any] = self._tasks(segment, alone.part(0, at)) if at else []
        skipping = next((i for i, each in enumerate(segment.steps) if each.skip), None)
        if skipping is None:
            return [*found, failed(blamed)]
        found.append(segment.skipped(SkippedAt(blamed, skipping)))
        if at + 1 < len(block):
            found += self._tasks(segment, alone.part(at + 1, len(block)))
        return found

    def _blamed(self, segment: Segment, block: Block, error: Exception) -> Exception:
        """Return a worker's error with a note about function and example."""
        if not isinstance(error, Reported):
            return error
        number = int(block.numbers[error.input])
        set_on(error.item.error, "__traceback__", error.item.traceback)
        return segment.steps[error.step].blamed(error.item.error, number, self._named(block, error.input))

    def _adapt(self, chunk: Chunk) -> None:
        """Choose the size of the next chunks by one that all workers are done with."""
        if chunk.load:
            self._bytes = chunk.bytes / chunk.inputs
            best = int(chunk.inputs / chunk.load) + 1
            self._size = max(1, min(_MOST, best, 2 * self._size, int(_CHUNK_BYTES / (self._bytes + 1))))


class _Delivered(Iterator["Block | Skipped"]):
    """Parts of a stage's first unit, in order as workers finish them. An interrupt during a wait loses none."""

    def __init__(self, stage: Crewed, n: int) -> None:
        self._stage, self._n = stage, n
        self._parts: Iterator[Block | Skipped] | None = None

    def __next__(self) -> Block | Skipped:
        while True:
            if self._parts is None:
                chunk = self._stage.next_chunk(self._n)
                if chunk is None:
                    raise StopIteration
                self._parts = self._stage.outputs(chunk, self._n)
            part = next(self._parts, None)
            if part is not None:
                return part
            self._parts = None


def _alone(block: Block) -> Block:
    """Return a block without its trailing error."""
    return Block(block.values, block.numbers, None, block.names, block.sizes)


def _stop(bell: StopFlag, workers: Sequence[Workers | None]) -> None:
    """Wake the waiting thread, and let idle workers end."""
    bell.set()
    for each in workers:
        if each is not None:
            each.rest()
