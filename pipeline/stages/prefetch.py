"""prefetch: a thread reads elements ahead, together with the state after each."""

from __future__ import annotations

import contextlib
import functools
import itertools
import operator
import os
import queue
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from pipeline import hooks
from pipeline.diagnostics.frames import is_running
from pipeline.diagnostics.live import PrefetchMeter, PrefetchThread
from pipeline.diagnostics.wording import named
from pipeline.errors import FailedPreconditionError, ResourceExhaustedError
from pipeline.reports import spans
from pipeline.stages.block import Block, joined
from pipeline.stages.draws import this_thread
from pipeline.stages.node import Node, PassThrough, opened
from pipeline.stages.run import Clock, Run
from pipeline.stages.stream import Stage, Stream
from pipeline.sync.ending import EndingThread

# Tokens for a thread to take blocks; False ends it.
Room: TypeAlias = "queue.SimpleQueue[int]"

# Seconds between checks that the thread is alive.
_LOOK = 1.0


class Prefetched(PassThrough):
    """Elements read ahead by a thread.

    Args:
        source: The elements.
        n: The most elements that may wait; 0 changes nothing.
    """

    kind = "prefetch"

    def __init__(self, source: Node, n: int) -> None:
        self.n = n
        super().__init__(source)

    def options(self) -> dict[str, Any]:
        return {"n": self.n}

    @property
    def works_ahead(self) -> bool:
        return self.n > 0 or self.source.works_ahead

    @property
    def waits(self) -> bool:
        return self.n > 0 or self.source.waits

    def stream(self, run: Run, state: Any = None) -> Stream:
        if not self.n:
            return opened(self.source, run, state)
        return Fetching(opened(self.source, run, state), self.n, run, prefetch_meter(self, run))

    def summed_after(self, batches: int) -> int:
        return batches

    def label(self) -> str:
        return f"prefetch({self.n})"


def prefetch_meter(node: Node, run: Run) -> PrefetchMeter:
    """Return the meter for elements read ahead at a step."""
    measured = run.measured.get(node.written)
    if measured is None:
        return PrefetchMeter()
    measured.ahead = measured.ahead or PrefetchMeter()
    return measured.ahead


def promptly(source: Node, run: Run, state: Any, n: int, needed: Callable[[], bool] | None = None) -> Stream:
    """Return a stream with timeouts.

    Unless the source supports timeouts, a thread reads n elements ahead, or more if more are requested at once.

    Args:
        source: The elements.
        run: The iterator's run.
        state: Start position.
        n: The number of elements to read ahead at first.
        needed: Returns whether the thread is needed yet; None if it is needed from the beginning.
    """
    if source.waits:
        return opened(source, run, state)
    # Timed batches taken together have no states between them.
    return Fetching(opened(source, run, state), n, run, PrefetchMeter(), together=not source.timed, needed=needed)


class Fetching(Stage):
    """Reads up to n elements ahead in a thread, which starts with the first `take`.

    Args:
        source: The elements.
        n: The number of elements to read ahead.
        run: The iterator's run.
        meter: The meter for reports.
        together: True if `take` returns all available elements, and the thread reads more than n ahead once a caller
            requests more.
        needed: Returns whether to start the thread; None to start it. Until then `take` reads the source itself.
    """

    def __init__(
        self,
        source: Stream,
        n: int,
        run: Run,
        meter: PrefetchMeter,
        *,
        together: bool = False,
        needed: Callable[[], bool] | None = None,
    ) -> None:
        super().__init__(source)
        self._threads = Threads([source], n, 1, run.clock, meter)
        self._n, self._together, self._needed = n, together, needed
        self._found: deque[Any] = deque()  # items found by `wait`
        self._state: Any = None
        self._begun = False

    def begin(self) -> None:
        if self._is_idle():
            self.source.begin()
            return
        if not self._begun:
            self._state = self.source.state()
            self._begun = True
        self._threads.begin()

    def _is_idle(self) -> bool:
        return not self._begun and self._needed is not None and not self._needed()

    def take(self, n: int) -> Block | None:
        if self._is_idle():
            return self.source.take(n)
        n = n if self._together else 1
        self.read_ahead(n)
        while not self.wait(_LOOK):
            self._threads.check()
        if n > len(self._found):
            self._threads.more(n - len(self._found), self._found)
        blocks = list(itertools.islice(itertools.takewhile(_is_block, self._found), n))
        if not blocks:
            end, _, _ = self._found[0]
            if end is None:
                return None
            raise kept_once(end, self._found)
        _, after, room = blocks[-1]
        block = joined([each for each, _, _ in blocks])
        room.put(len(blocks))
        self._found, self._state = deque(itertools.islice(self._found, len(blocks), None)), after
        return block

    def read_ahead(self, n: int) -> None:
        """Make the thread read n elements ahead from now on, if this is allowed and more than before."""
        if self._together and n > self._n:
            self._threads.add_room(n - self._n)
            self._n = n

    def wait(self, timeout: float) -> bool:
        self.begin()
        return bool(self._found) or self._threads.get(timeout, self._found)

    def state(self) -> Any:
        return self._state if self._begun else self.source.state()

    def close(self) -> None:
        self._threads.close()


def _is_block(found: tuple[Any, Any, Any]) -> bool:
    return isinstance(found[0], Block)


class Threads:
    """Threads that read streams ahead, one for each stream.

    They share only C queues with the consumer, because Ctrl-C leaves these unlocked. Each thread takes as many blocks
    as the numbers in its own queue `room` allow, so no stream waits for another, and puts them into `_ready`.

    Args:
        sources: The streams.
        n: The number of blocks to read ahead from each.
        most: The number of examples to take at once.
        clock: The iterator's clock.
        meter: The meter for reports.
    """

    def __init__(self, sources: Sequence[Stream], n: int, most: int, clock: Clock, meter: PrefetchMeter) -> None:
        self._n, self._most, self._clock, self._meter = n * len(sources), most, clock, meter
        self._name = f"{clock.name}/prefetch"
        self._ready: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._rooms: list[Room] = [queue.SimpleQueue() for _ in sources]
        self._unread: queue.SimpleQueue[tuple[Stream, Room]] = queue.SimpleQueue()  # streams without a thread yet
        for source, room in zip(sources, self._rooms, strict=True):
            self._unread.put((source, room))
            room.put(n)
        self._begun = False
        self._pid = os.getpid()

    def begin(self) -> None:
        """Start the threads unless they were started. After an interrupt there may be more of them than streams."""
        if self._begun:
            return
        clock = self._clock
        self._meter.begin(self._n, self._ready)
        for _ in range(self._unread.qsize()):
            arguments = self._unread, self._most, self._ready, clock, self._meter
            thread = EndingThread(_fetch, arguments, self._name)
            thread.daemon = True
            clock.threads = [*filter(is_running, clock.threads), thread]
            if clock.stops_with is not None:
                clock.stops_with.register_thread(thread)
            try:
                thread.start()
            except RuntimeError as error:
                text = f"prefetch: no thread can start: {named(error)}: the system allows no more threads"
                raise ResourceExhaustedError(None, None, text) from error
            except BaseException:  # an interrupt: the thread may start at any later time, or never
                thread.give_up()
                raise
        clock.on_stop(functools.partial(_end, self._rooms, self._ready))
        self._begun = True

    def add_room(self, n: int) -> None:
        """Read n more blocks ahead from each stream."""
        for room in self._rooms:
            room.put(n)

    def check(self) -> None:
        """Raise if no thread is left to fill the queue."""
        self._clock.check()
        if os.getpid() != self._pid:
            text = f"{self._clock.name}: its prefetch thread does not exist in this process, which was forked"
            raise FailedPreconditionError(None, None, text)

    def get(self, timeout: float, found: list[Any] | deque[Any]) -> bool:
        """Wait for the next item from any thread and append it; return whether one came in time.

        An item is (block, state after it, queue that gets True once there is room for another). Instead of a block,
        None marks a stream's end, and an exception its error.
        """
        if spans.on and self._ready.empty():
            began = spans.begin("wait", f"wait: next of '{self._name}'", queue=self._name, side="dequeue")
            try:
                return self._get(timeout, found)
            finally:
                spans.end(began)
        return self._get(timeout, found)

    def _get(self, timeout: float, found: list[Any] | deque[Any]) -> bool:
        deadline = time.monotonic() + timeout
        while True:
            left = max(0.0, deadline - time.monotonic())
            try:
                # One call, so Ctrl-C arrives before the block is taken or after it is kept.
                found.extend(itertools.starmap(self._ready.get, ((True, left),)))
            except queue.Empty:
                return False
            if found[-1] is not _WOKEN:
                return True
            found.pop()
            self._clock.check()

    def more(self, n: int, found: deque[Any]) -> None:
        """Append up to n items already there; see `get`."""
        there = itertools.repeat((), min(n, self._ready.qsize()))
        found.extend(filter(_NOT_WOKEN, itertools.starmap(self._ready.get_nowait, there)))

    def close(self) -> None:
        """End the threads (each closes its stream), and close the streams without a thread."""
        self._meter.end()
        _end(self._rooms, self._ready)
        with contextlib.suppress(queue.Empty):
            while True:
                source, _ = self._unread.get_nowait()
                source.close()


def kept_once(error: BaseException, found: list[Any] | deque[Any]) -> BaseException:
    """Return an error about to be raised. An interrupt is not kept, because it would keep the caller's frames alive.

    After an interrupt the iterator does not read the stream again.
    """
    if not isinstance(error, Exception):
        found[0] = None, None, None
    return error


_WOKEN: Any = object()
_NOT_WOKEN = functools.partial(operator.is_not, _WOKEN)


def _end(rooms: Sequence[Room], ready: queue.SimpleQueue[Any]) -> None:
    """Make threads end, and wake the consumer waiting for them."""
    for room in rooms:
        room.put(False)
    ready.put(_WOKEN)


def _fetch(
    unread: queue.SimpleQueue[tuple[Stream, Room]],
    most: int,
    ready: queue.SimpleQueue[Any],
    clock: Clock,
    meter: PrefetchMeter,
) -> None:
    """Take from a stream while there is room, until it ends, fails or is stopped."""
    try:
        source, room = unread.get_nowait()
    except queue.Empty:
        return
    this_thread.serving = clock
    thread = meter.enter()
    last: Any = _WOKEN  # the item after the blocks
    try:
        left = 0
        while left := _room(room, left, clock, thread):
            hooks.loop_of_thread.coord, this_thread.within = clock.coord, clock.within
            block = source.take(most)
            if block is None:
                last = None, None, room
                break
            ready.put((block, source.state(), room))
            meter.note_level(ready.qsize())
            left -= 1
            del block  # it belongs to the caller
    except BaseException as error:
        last = error, None, room
    try:
        source.close()
    except BaseException as error:
        last = error, None, room
    thread.clocks.end()
    ready.put(last)


def _room(room: Room, left: int, clock: Clock, thread: PrefetchThread) -> int:
    """Wait for room for another block; return the number of blocks there is room for, 0 to end.

    Args:
        room: Gives further room; 0 to end.
        left: The number of blocks there is still room for.
        clock: The iterator's clock.
        thread: Notes the time of a wait.
    """
    while not clock.stopped and not (left and room.empty()):
        idle, began = room.empty(), 0
        if idle:
            thread.wait()
            name = f"{clock.name}/prefetch"
            began = spans.begin("wait", f"wait: room in '{name}'", queue=name, side="enqueue")
        try:
            more = room.get(timeout=None if clock.stops_with is None else _LOOK)  # a Coordinator's stop wakes nobody
        except queue.Empty:
            continue
        finally:
            if idle:
                thread.resume()
                spans.end(began)
        if not more:
            return 0
        left += more
    return 0 if clock.stopped else left
