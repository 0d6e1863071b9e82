"""Parallel: examples that workers make of a stream, ahead of the consumer, in the order of the stream."""

from __future__ import annotations

import functools
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future
from typing import Any, NamedTuple

from pipeline._flow import Kept
from pipeline._next import Meter, working_for_others
from pipeline.diagnostics.wording import named
from pipeline.errors import AbortedError, DeadlineExceededError, ResourceExhaustedError
from pipeline.flow.block import Block, Columns, Examples, JoinedValues, flat, stays
from pipeline.flow.run import Limited, Run, serving
from pipeline.flow.segment import GRID, Marks, TimedSegment, output_ids, refuse_or_skip, select_numbers
from pipeline.flow.steps import Calls, Failure, Output, Step, only_map, run, run_alone
from pipeline.flow.stream import Stream, dropped, nowhere, shorter
from pipeline.flow.table import TableRows, join_later
from pipeline.nest import Nest, TupleParts, parts_of
from pipeline.runners.stop_flag import StopFlag
from pipeline.workers.chunks import FailedItem, Gathered, WorkerDied, finished, here
from pipeline.workers.chunks import ResultBlock as Made
from pipeline.workers.threads import AtOnce, Threads

# Bytes of results that may wait, beside one chunk for each worker and one in hand.
BUFFER_BYTES = 128 << 20

# Seconds that a chunk should take. What it costs besides its examples, in this process and in the worker, is 0.2 ms:
# two threads that decode JPEG files take 950 us of processor time for each, and 1,010 in chunks of 4 ms. Whoever takes
# the chunks does so for all workers, one at a time, so where there are more than so many workers chunks are longer, up
# to so many times. An executor whose calls cost this process more has its own `chunk_seconds`.
_CHUNK_SECONDS, _FEW_WORKERS, _LONGEST = 0.016, 16, 8
_CHUNK_MOST = 1024

# Inputs in a chunk that are too few to care how large they are.
_FEW = 64

# Seconds between two looks whether the iterator was closed.
_LOOK = 0.1

# Seconds to wait for inputs that others have yet to make: while a result can be delivered, and while workers make one.
_READY, _UNDER_WAY = 0.0001, 0.002


class Chunk(NamedTuple):
    """Inputs that a worker has.

    Attributes:
        block: The inputs.
        end: How many inputs were claimed with them.
        future: Gives a list of `Made` and `Failure`, the seconds that it took, and those of them on a processor.
    """

    block: Block
    end: int
    future: Future[Any]


class DueResult:
    """What is due: outputs, or a failure.

    Args:
        made: That.
        chunk: Where it comes from.
        begin: How many inputs were claimed before the chunk.
        end: How many are done with it; None if more of the chunk comes.
        last: Whether it holds an output of the last input of the chunk, which has one output at most.

    Attributes:
        at: How many of the outputs were delivered.
    """

    __slots__ = ("at", "begin", "chunk", "end", "last", "made")

    def __init__(self, made: Block | Failure, chunk: Chunk, begin: int, end: int | None, last: bool = True) -> None:
        self.made, self.chunk, self.begin, self.end, self.last, self.at = made, chunk, begin, end, last, 0


def make_chunk(steps: Sequence[Step], table: Any, block: Block) -> tuple[list[Any], float, float]:
    """Make all outputs of a chunk: what was stacked with indices and paths, and failures, in order.

    A worker calls it. Errors are failures of single examples.
    """
    working_for_others(True)
    try:
        return _made(steps, table, block)
    finally:
        working_for_others(False)


def _made(steps: Sequence[Step], table: Any, block: Block) -> tuple[list[Any], float, float]:
    began, began_cpu = time.perf_counter(), time.thread_time()
    if isinstance(block.values, Sent):
        block = Block(TableRows(table, block.values.numbers), block.ids, block.numbers)
    results: list[Any] = []
    for output in _outputs(steps, block, results):
        if isinstance(output, Failure):
            results.append((FailedItem(output.error), output.input, output.skip))
            continue
        last = results[-1] if results else None
        try:
            if not isinstance(last, Gathered) or not last.add(output.example, output.input, output.path):
                room = 1 if results else len(block)
                results.append(Gathered(output.example, output.input, output.path, room))
        except Exception as error:  # what was returned is no example
            results.append((FailedItem(error), output.input, any(step.skip for step in steps)))
    done = [each.done() if isinstance(each, Gathered) else each for each in results]
    return done, time.perf_counter() - began, time.thread_time() - began_cpu


def _outputs(steps: Sequence[Step], block: Block, results: list[Any]) -> Iterator[Output | Failure]:
    """Return the outputs of a chunk, but for those that a compiled loop made of its first inputs: a result."""
    step = only_map(steps)
    if step is None:
        return run(steps, block, here.at)
    try:
        examples = list(block.made().examples())
    except Exception as error:
        return run_alone(steps, block, error, here.at)
    calls, found = Calls(step, block, examples, here.at), Kept(len(block), None, here.empty)
    rest = calls.make(len(block), found, None)
    if found.count:
        structure, columns = found.values()
        assert structure is not None  # it keeps nothing else
        results.append((Made(found.count, structure[0], list(map(finished, columns))), range(found.count), None))
    return iter(()) if rest is None else rest


def _serve(bell: StopFlag, call: Callable[[Block], Any], block: Block) -> Any:
    """Make a chunk in a thread of this process, for a run that has this bell."""
    before, serving.bell = serving.bell, bell
    try:
        return call(block)
    finally:
        serving.bell = before


class Sent:
    """The row numbers of a table that the workers have."""

    def __init__(self, numbers: Any) -> None:
        self.numbers = numbers

    def __len__(self) -> int:
        return len(self.numbers)


class _NotYet(Exception):
    """There are no inputs yet."""


class Parallel:
    """Examples that the workers of an executor make of a stream.

    Claims are made by whoever takes: when it asks, chunks are submitted until enough is under way. Workers then go on
    while nobody asks.

    Args:
        stream: The inputs.
        steps: What is done to each.
        shared: What the streams of the iterator share.
        skips: Counts the errors that are skipped, by step.
        executor: Who makes them.
        ordered: Whether outputs come in the order of the inputs.
        owned: Whether the executor is this segment's, and ends with it.
        meter: Counts the time that workers take; None if nobody wants to know.
        grid: As for Marks.
        live: Whether others make the inputs meanwhile. Then results do not wait until there are more inputs.
    """

    def __init__(
        self,
        stream: Stream,
        steps: Sequence[Step],
        shared: Run,
        skips: Sequence[Limited],
        executor: Executor,
        ordered: bool,
        owned: bool,
        meter: Meter | None = None,
        live: bool = False,
        grid: int = GRID,
    ) -> None:
        self._stream, self._grid = stream, grid
        self._steps = steps
        self._run = shared
        self._skips = skips
        self._executor = executor
        self._ordered = ordered
        self._owned = owned
        self._meter = meter
        self._live = live
        self._one_to_one = all(step.one_to_one for step in steps)
        self._marks = Marks(stream, self._one_to_one, any(step.skip for step in steps), grid)
        self._note: Callable[..., object] | None = getattr(executor, "note", None)  # of one that changes its workers
        # While that has no workers, steps run here, without chunks: one costs 20 us or more, and its results wait for
        # each other.
        self._alone: TimedSegment | None = None
        if self._note is not None:
            self._alone = TimedSegment(self._marks, executor, meter, stream, steps, shared, skips, grid)
        self._table: Any = None  # that workers have, as they make its rows
        self._call = functools.partial(make_chunk, steps, None)
        # Whether a chunk may be of several claims: positions within it are known, and nobody waits for each.
        self._across = self._one_to_one and grid > 1 and not live
        self._one_at_most = all(step.what != "flat_map" for step in steps)
        self._bell = StopFlag()
        self._size, self._bytes = 1, 0  # inputs in a chunk, bytes of an output: judging by the last ones
        self._rest: Callable[[], object] | None = getattr(executor, "rest", None)  # lets workers end; takes no lock
        shared.on_stop(self._stop)
        self._reset()

    def _reset(self) -> None:
        self._chunks: deque[Chunk] = deque()
        self._under_way = 0  # inputs in them
        self._gathered: list[Block] = []  # inputs of the next chunk
        self._awaited: Future[Any] | None = None  # rings the bell when it is done
        self._parts: deque[DueResult] = deque()
        self._ending: DueResult | None = None  # whose outputs are delivered, and its inputs not yet done with
        if self._alone is not None:
            self._alone.forget()
        self._is_alone = False  # until it is known that nothing is left of workers
        self._ended = False
        self._slow = False  # whether the last inputs took long to come
        self._at_once = GRID  # inputs that come soon
        self._error: Exception | None = None  # of the stream: raised after what came before it
        self._rejected: AbortedError | None = None  # by the workers: raised after the results that are ready
        self._drop = 0

    def take(self, n: int) -> Block | None:
        while self._drop:  # after a seek
            if (block := self._take(self._drop)) is None:
                raise shorter()
            self._drop -= len(block)
        if self._is_alone and (block := self._alone.take(n)) is not None:  # type: ignore[union-attr]
            return block
        return self._take(n if self._grid > 1 else 1)

    def _take(self, n: int) -> Block | None:
        self._end_part()
        alone = self._alone
        while True:
            if alone is not None and (alone.begun or self._without()):
                if (block := alone.take(n)) is not None or self._executor.is_empty:  # type: ignore[attr-defined]
                    return block
                continue  # there are workers now
            self._is_alone = False
            self._claim(n)
            while self._parts:
                part = self._parts[0]
                if isinstance(part.made, Failure):
                    self._parts.popleft()
                    self._marks.delivered(part.begin, part.end, 1 if self._one_to_one else 0)
                    refuse_or_skip(part.chunk.block, part.made, self._steps, self._skips)
                    continue
                return self._deliver(part, part.made, n)
            if not self._chunks:
                self._raise_error()
                if self._ended:
                    return None
                continue  # all that was due was skipped before more inputs were claimed
            self._receive()

    def _without(self) -> bool:
        """Whether there are no workers, and nothing is left of those that there were."""
        assert self._alone is not None
        if not self._executor.is_empty:  # type: ignore[attr-defined]
            return False
        left = self._chunks or self._gathered or self._parts or self._error or self._rejected
        if left or self._ended:
            return False
        self._is_alone = True
        self._alone.begin()
        return True

    def _end_part(self) -> None:
        """Be done with the inputs whose outputs were delivered."""
        if self._ending is not None:
            self._marks.delivered(self._ending.begin, self._ending.end, 0)
            self._ending = None

    def _raise_error(self) -> None:
        """Raise the error of the stream if there was one: all that came before it was delivered."""
        if self._error is not None:
            error, self._error = self._error, None
            raise error

    def _deliver(self, part: DueResult, made: Block, n: int) -> Block:
        at, left = part.at, len(made) - part.at
        if left > n:
            part.at = at + n
            self._marks.delivered(part.begin, None, n)
            return made[at : at + n]
        self._parts.popleft()
        if part.end is not None and left == n and not part.last and self._grid > 1:
            self._marks.delivered(part.begin, None, n)
            self._ending = part  # without workers, nobody knows yet that nothing more comes of its inputs
        else:
            self._marks.delivered(part.begin, part.end, left)
        return made[at:] if at else made

    def _claim(self, n: int) -> None:
        """Submit chunks, until enough is under way or the inputs end."""
        wanted = max(2 * n, 2 * self._workers * self._size)
        if self._bytes:
            wanted = max((self._workers + 1) * self._size, min(wanted, BUFFER_BYTES // self._bytes))
        if not self._workers:  # nobody but the caller
            wanted = 0
        gathered = sum(map(len, self._gathered))
        while gathered or self._under_way < wanted:  # what was begun is a whole chunk
            if self._ended or self._error is not None or self._rejected is not None:
                break
            if self._slow and self._is_due():  # goes out before the next input is waited for
                break
            self._marks.before_claim()
            asked = max(1, min(self._chunk_size(gathered) - gathered, self._marks.room(), self._at_once))
            began = time.perf_counter()
            try:
                block = self._inputs(asked)
            except _NotYet:
                if self._is_due():
                    break
                continue
            except Exception as error:
                self._run.check()
                self._error = error
                break
            if block is None:
                self._ended = True
                break
            took = time.perf_counter() - began
            self._slow = took > _UNDER_WAY
            self._at_once = int(len(block) * _UNDER_WAY / (2 * took + 1e-9)) + 1
            self._marks.claimed += len(block)
            self._gathered.append(block)
            gathered += len(block)
            complete = gathered >= self._chunk_size(gathered) or self._slow or not self._across
            # A filter gives fewer than asked for: only workers that have nothing else get so few.
            if complete or (len(block) < asked and self._under_way < self._workers * self._size):
                self._submit_gathered()
                gathered = 0
        self._submit_gathered()
        if self._rejected is not None and not self._is_due():  # results that are ready come first
            raise self._rejected

    def _chunk_size(self, gathered: int) -> int:
        """Return how many inputs the next chunk shall have, of which so many are there. Long chunks end where positions
        are noted, as most batches do: then these are not of parts of two chunks."""
        if self._size < self._grid or not self._across:
            return self._size
        return self._size - self._size % self._grid - (self._marks.claimed - gathered) % self._grid

    def _submit_gathered(self) -> None:
        """Submit what was claimed for the next chunk."""
        if not self._gathered:
            return
        block, self._gathered = join_later(self._gathered), []
        try:
            self._submit(block, self._marks.claimed)
        except AbortedError as error:
            self._rejected = error

    def _inputs(self, n: int) -> Block | None:
        """Take inputs; raise _NotYet where there are none yet and results may be due before them."""
        if not self._live or not (self._chunks or self._parts):
            return self._stream.take(n)
        run, before = self._run, self._run.deadline
        until = time.monotonic() + (_READY if self._is_due() else _UNDER_WAY)
        run.deadline = until if before is None else min(before, until)
        try:
            return self._stream.take(n)
        except DeadlineExceededError as error:
            run.deadline = before
            if error is not run.overdue:  # an error of the input
                raise
            run.check()
            raise _NotYet from None
        finally:
            run.deadline = before

    @property
    def _workers(self) -> int:
        found: int | None = getattr(self._executor, "_max_workers", None)
        return 2 if found is None else found

    def _is_due(self) -> bool:
        return bool(self._parts) or (bool(self._chunks) and self._done() is not None)

    def _submit(self, block: Block, end: int, place: int | None = None) -> None:
        place = len(self._chunks) if place is None else place
        executor = getattr(self._executor, "executor", self._executor)
        inside = is_in_process(executor)
        try:
            sent = block if inside else self._portable(block)
        except Exception as error:
            if len(block) == 1:
                self._insert(place, Chunk(block, end, self._failure(error)))
            else:
                for i in range(len(block)):
                    self._submit(block[i : i + 1], end - len(block) + i + 1, place + i)
            return
        try:
            call = functools.partial(_serve, self._run.bell, self._call) if inside else self._call
            future = executor.submit(call, sent)
        except (ResourceExhaustedError, RuntimeError) as error:
            if self._goes_without(error):
                self._submit(block, end, place)
                return
            if isinstance(error, ResourceExhaustedError):
                raise
            raise AbortedError(None, None, f"the workers took no more work: {named(error)}") from error
        if self._run.stopped:  # meanwhile: this has woken workers again
            self._stop()
        if not self._ordered:
            future.add_done_callback(functools.partial(_ring, self._bell))
        self._insert(place, Chunk(block, end, future))

    def _goes_without(self, error: Exception) -> bool:
        """Whether it goes on without workers, as these cannot start, or are not of this process: with "auto"."""
        go_without: Callable[[Exception], object] | None = getattr(self._executor, "go_without", None)
        if go_without is None:
            return False
        go_without(error)
        return True

    def _insert(self, place: int, chunk: Chunk) -> None:
        self._chunks.insert(place, chunk)
        self._under_way += len(chunk.block)

    def _remove(self, chunk: Chunk) -> None:
        self._chunks.remove(chunk)
        self._under_way -= len(chunk.block)

    def _portable(self, block: Block) -> Block:
        """Return what to send to another process: numbers of rows that are made there, or examples."""
        values = block.values
        if isinstance(values, TableRows) and getattr(values.table, "portable", False):
            if self._table is not values.table:
                self._table = values.table
                self._call = functools.partial(make_chunk, self._steps, values.table)
            return Block(Sent(values.numbers), block.ids, block.numbers)  # type: ignore[arg-type]
        return Block(stays(values.made()), block.ids, block.numbers)

    def _failure(self, error: Exception) -> Future[Any]:
        """Return what a worker would give for one example that cannot be made."""
        failed: Future[Any] = Future()
        failed.set_result(([(FailedItem(error), 0, any(step.skip for step in self._steps))], 1.0, 0.0))
        return failed

    def _receive(self) -> None:
        """Wait for the chunk that is due, and keep what it gives."""
        began = time.perf_counter()
        while (chunk := self._done()) is None:
            self._bell.clear()
            self._run.check()
            self._await()
            if self._done() is None:
                self._bell.wait(self._run.left(_LOOK))
        waited = time.perf_counter() - began
        error = chunk.future.exception() if not chunk.future.cancelled() else None
        if chunk.future.cancelled():
            self._remove(chunk)
            self._submit(chunk.block, chunk.end, 0)
        elif error is not None:
            self._failed(chunk, error)
        else:
            self._remove(chunk)
            results, seconds, cpu = chunk.future.result()
            if self._meter is not None:
                self._meter.work(seconds)
            self._keep(chunk, results)
            self._fit(chunk, results, seconds)
            if self._note is not None:
                self._note(len(chunk.block), seconds, cpu, waited)

    def _await(self) -> None:
        """Have the chunk that is due ring the bell: others need not wake whoever waits for it."""
        future = self._chunks[0].future
        if self._ordered and future is not self._awaited:
            self._awaited = future
            future.add_done_callback(functools.partial(_ring, self._bell))

    def _done(self) -> Chunk | None:
        """Return the chunk to receive next if it is done."""
        if self._ordered:
            return self._chunks[0] if self._chunks[0].future.done() else None
        return next((chunk for chunk in self._chunks if chunk.future.done()), None)

    def _keep(self, chunk: Chunk, results: list[Any]) -> None:
        begin = chunk.end - len(chunk.block)
        for k, result in enumerate(results):
            end = chunk.end if k + 1 == len(results) else None
            if isinstance(result[0], FailedItem):
                failed, index, skip = result
                self._parts.append(DueResult(Failure(index, failed.error, skip), chunk, begin, end))
                continue
            made, indices, paths = result
            if paths is None:  # one output each
                part = chunk.block[indices.start : indices.stop]
                block = Block(values_of(made), part.ids, part.numbers)
                last = True
            else:
                ids = output_ids(chunk.block, indices, paths, self._steps)
                block = Block(values_of(made), ids, select_numbers(chunk.block, indices))
                last = self._one_at_most and indices[-1] + 1 == len(chunk.block)
            self._parts.append(DueResult(block, chunk, begin, end, last))
        if not results:
            self._marks.delivered(begin, chunk.end, 0)

    def _fit(self, chunk: Chunk, results: list[Any], seconds: float) -> None:
        """Choose the size of the next chunks."""
        sizes = [(made[0].bytes, made[0].size) for made in results if not isinstance(made[0], FailedItem)]
        outputs = sum(size for _, size in sizes)
        if outputs:
            self._bytes = max(1, sum(each for each, _ in sizes) // outputs)
        base = getattr(self._executor, "chunk_seconds", _CHUNK_SECONDS)
        fitting = int(chunk_seconds(base, self._workers) / max(seconds / len(chunk.block), 1e-7))
        most, each = _FEW, max(self._bytes, 1)
        if self._across and len(chunk.block) > _FEW // 2:
            most, each = max(_FEW, 2 * len(chunk.block)), max(each, _bytes_of(chunk.block))
        most = min(most, BUFFER_BYTES // (each * (self._workers + 1)))
        self._size = max(1, min(fitting, 2 * self._size, most, _CHUNK_MOST))

    def _failed(self, chunk: Chunk, error: BaseException) -> None:
        """A chunk failed as a whole: its worker died, or it could not be sent."""
        self._remove(chunk)
        if isinstance(error, BrokenExecutor):
            if self._goes_without(error):
                self._submit(chunk.block, chunk.end, 0)
                return
            hint = "" if hasattr(self._executor, "rest") else "\nA worker was killed, crashed, or could not start."
            raise AbortedError(None, None, f"the workers broke: {named(error)}{hint}") from error
        known = isinstance(error, WorkerDied) and error.index is not None
        block, begin = chunk.block, chunk.end - len(chunk.block)
        if len(block) > 1 and not known:  # each example alone, to find the one
            for i in range(len(block)):
                self._submit(block[i : i + 1], begin + i + 1, i)
            return
        index = min(error.index or 0, len(block) - 1) if isinstance(error, WorkerDied) else 0
        if isinstance(error, WorkerDied):
            error = AbortedError(None, None, f"a worker process {error.how}")
        elif not isinstance(error, Exception):  # SystemExit in a worker must not end this process
            other = RuntimeError(f"a worker abandoned the example because of {named(error)}")
            other.__cause__, error = error, other
        self._insert(0, Chunk(block[index : index + 1], begin + index + 1, self._failure(error)))
        if index:
            self._submit(block[:index], begin + index, 0)
        if index + 1 < len(block):
            self._submit(block[index + 1 :], chunk.end, 1 + bool(index))

    def skip(self, n: int) -> int:
        begun = self._alone is not None and self._alone.begun
        if not self._one_to_one or self._drop or begun or any(step.skip for step in self._steps):
            return dropped(self, n)
        self._end_part()
        self._submit_gathered()
        left = n
        while left and (self._parts or self._chunks):  # made already; without workers, nobody would see their errors
            if not self._parts:
                self._receive()
                continue
            part = self._parts[0]
            if isinstance(part.made, Block):
                left -= len(self._deliver(part, part.made, left))
            else:
                self._parts.popleft()
                self._marks.delivered(part.begin, part.end, 1)
                left -= 1
        if left:
            self._raise_error()
            if self._rejected is not None:
                raise self._rejected
            left -= self._stream.skip(left)
            self._marks.skipped()
            self._is_alone = False
        return n - left

    def position(self) -> Any:
        if not self._ordered:
            text = "with ordered=False the order depends on time, and there is no position to go back to"
            return nowhere(text)
        begun = self._alone is not None and self._alone.begun
        complete = not (self._chunks or self._gathered or self._parts or begun) and self._ending is None
        return self._marks.position(complete, self._drop)

    def seek(self, position: Any) -> None:
        self._cancel()
        self._reset()
        self._drop = self._marks.seek(position)

    def close(self) -> None:
        self._cancel()
        self._chunks.clear()
        self._gathered.clear()
        self._parts.clear()
        if self._alone is not None:
            self._alone.forget()
        if self._owned:
            self._executor.shutdown(wait=False, cancel_futures=True)
        elif self._rest is not None:
            self._rest()
        self._stream.close()

    def _stop(self) -> None:
        """Let workers end, and whoever waits for them. A garbage collection may call this anywhere."""
        self._bell.set()
        if self._rest is not None:
            self._rest()

    def _cancel(self) -> None:
        for chunk in self._chunks:
            chunk.future.cancel()


def chunk_seconds(base: float, workers: int) -> float:
    """Return how long a worker should take for a chunk where there are so many."""
    return base * min(max(1, workers / _FEW_WORKERS), _LONGEST)


def is_in_process(executor: Executor) -> bool:
    """Whether the workers of an executor are threads of this process, so that nothing is sent to them."""
    return isinstance(executor, (Threads, AtOnce)) or type(executor).__name__ == "ThreadPoolExecutor"


def _bytes_of(block: Block) -> int:
    """Return about how many bytes an input of a block takes that waits for its turn."""
    values = block.values
    if isinstance(values, JoinedValues):
        values = values.parts[-1]
    if isinstance(values, Columns):
        return sum(getattr(column, "nbytes", 0) for column in flat(values.block)[1]) // len(values)
    if not isinstance(values, Examples):
        return 0  # numbers of rows, or of items that are there anyway
    example = values.items[-1]
    return sum(getattr(part, "nbytes", 0) or sys.getsizeof(part) for part in parts_of(example) or (example,))


def _ring(bell: StopFlag, future: object) -> None:
    bell.set()


def values_of(made: Made) -> Columns | Examples:
    """Return the outputs that a worker has stacked."""
    container, components = made.container, list(made.components)
    if container is None:
        return Examples(components[0]) if isinstance(components[0], list) else Columns(components[0], made.size)
    if isinstance(container, Nest):
        return Columns(container.pack(components, True), made.size)
    if isinstance(container, tuple):
        return Columns(dict(zip(container, components, strict=True)), made.size)
    if hasattr(container, "_make"):
        return Columns(container._make(components), made.size)
    return Columns(TupleParts(components), made.size)
