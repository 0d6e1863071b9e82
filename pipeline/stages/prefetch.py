"""prefetch: a thread takes elements ahead. Each comes with the state after it."""

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
from pipeline.stages.index import Index
from pipeline.stages.node import Node, OneForOne, indexed, opened
from pipeline.stages.run import Clock, Run
from pipeline.stages.stream import Stage, Stream
from pipeline.sync.ending import EndingThread

# The tokens for which a thread takes blocks; False ends it.
Room: TypeAlias = "queue.SimpleQueue[int]"

# Seconds between two looks whether the thread is still there.
_LOOK = 1.0


class Prefetched(OneForOne):
    """Elements that a thread takes ahead.

    Args:
        source: The elements.
        n: How many may wait; 0 changes nothing.
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

    def index(self, run: Run) -> Index:
        return indexed(self.source, run)

    def stream(self, run: Run, state: Any = None) -> Stream:
        if not self.n:
            return opened(self.source, run, state)
        return Fetching(opened(self.source, run, state), self.n, run, prefetch_meter(self, run))

    def summed_after(self, batches: int) -> int:
        return batches

    def label(self) -> str:
        return f"prefetch({self.n})"


def prefetch_meter(node: Node, run: Run) -> PrefetchMeter:
    """Return what reports see of the elements that threads take ahead at a step."""
    measured = run.measured.get(node.written)
    if measured is None:
        return PrefetchMeter()
    measured.ahead = measured.ahead or PrefetchMeter()
    return measured.ahead


def promptly(source: Node, run: Run, state: Any, n: int, needed: Callable[[], bool] | None = None) -> Stream:
    """Return a stream that can be waited for with a timeout, unless the source can be already.

    A thread takes n elements ahead, or as many as are asked for at once.

    Args:
        source: The elements.
        run: Of the iterator.
        state: Where to begin.
        n: How many to take ahead at first.
        needed: Whether the thread is needed yet; None if it is from the beginning.
    """
    if source.waits:
        return opened(source, run, state)
    # A state within several batches in time is none.
    return Fetching(opened(source, run, state), n, run, PrefetchMeter(), together=not source.timed, needed=needed)


class Fetching(Stage):
    """Takes up to n elements ahead, in a thread that begins with the first `take`.

    Args:
        source: The elements.
        n: How many to take ahead.
        run: Of the iterator.
        meter: What reports see.
        together: Whether `take` gives all that are there, and more than n are taken ahead once more are asked for.
        needed: Whether to begin the thread; None if yes. Until then `take` takes from the source itself.
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
        self._found: deque[Any] = deque()  # what `wait` has found
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
        if n > self._n:
            self._threads.add_room(n - self._n)
            self._n = n
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
    """Threads that take elements of streams ahead, one thread for each stream.

    Between them and the thread that asks are only queues written in C, which Ctrl-C leaves unlocked. A thread takes as
    many blocks as the numbers in its queue `room` say, so that no stream waits for another one, and puts them into
    `_ready`.

    Args:
        sources: The streams.
        n: How many blocks to take ahead of each.
        most: How many examples to take at once.
        clock: Of the iterator.
        meter: What reports see.
    """

    def __init__(self, sources: Sequence[Stream], n: int, most: int, clock: Clock, meter: PrefetchMeter) -> None:
        self._n, self._most, self._clock, self._meter = n * len(sources), most, clock, meter
        self._name = f"{clock.name}/prefetch"
        self._ready: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._rooms: list[Room] = [queue.SimpleQueue() for _ in sources]
        self._unread: queue.SimpleQueue[tuple[Stream, Room]] = queue.SimpleQueue()  # that no thread takes from yet
        for source, room in zip(sources, self._rooms, strict=True):
            self._unread.put((source, room))
            room.put(n)
        self._begun = False
        self._pid = os.getpid()

    def begin(self) -> None:
        """Start the threads, if they were not started. After an interrupt there may be more of them than streams."""
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
            except BaseException:  # an interrupt: it may begin at any later time, or never
                thread.give_up()
                raise
        clock.on_stop(functools.partial(_end, self._rooms, self._ready))
        self._begun = True

    def add_room(self, n: int) -> None:
        """Take n more blocks of each stream ahead."""
        for room in self._rooms:
            room.put(n)

    def check(self) -> None:
        """Raise if nobody fills the queue any more."""
        self._clock.check()
        if os.getpid() != self._pid:
            text = f"{self._clock.name}: its prefetch thread is not in this process, which was forked from another one"
            raise FailedPreconditionError(None, None, text)

    def get(self, timeout: float, found: list[Any] | deque[Any]) -> bool:
        """Wait for what comes next from any thread, and append it; return whether there was something in time.

        It is (a block, the state after it, where to put True once there is room for another one). In the place of the
        block, None is the end of a stream, and an exception an error.
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
                # In one call, so that Ctrl-C comes before the block is taken or after it is kept.
                found.extend(itertools.starmap(self._ready.get, ((True, left),)))
            except queue.Empty:
                return False
            if found[-1] is not _WOKEN:
                return True
            found.pop()
            self._clock.check()

    def more(self, n: int, found: deque[Any]) -> None:
        """Append what is there already, n at most; see `get`."""
        there = itertools.repeat((), min(n, self._ready.qsize()))
        found.extend(filter(_NOT_WOKEN, itertools.starmap(self._ready.get_nowait, there)))

    def close(self) -> None:
        """End the threads, each of which closes its stream; close the streams that no thread takes from."""
        self._meter.end()
        _end(self._rooms, self._ready)
        with contextlib.suppress(queue.Empty):
            while True:
                source, _ = self._unread.get_nowait()
                source.close()


def kept_once(error: BaseException, found: list[Any] | deque[Any]) -> BaseException:
    """Return an error that is about to be raised. An interrupt is forgotten: it would keep the caller's frames alive.

    After it, the iterator does not take from the stream again.
    """
    if not isinstance(error, Exception):
        found[0] = None, None, None
    return error


_WOKEN: Any = object()
_NOT_WOKEN = functools.partial(operator.is_not, _WOKEN)


def _end(rooms: Sequence[Room], ready: queue.SimpleQueue[Any]) -> None:
    """Have threads end, and wake the one that waits for them."""
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
    """Take from a stream as long as there is room; end with the stream, with an error, or when that is asked for."""
    try:
        source, room = unread.get_nowait()
    except queue.Empty:
        return
    this_thread.serving = clock
    thread = meter.enter()
    last: Any = _WOKEN  # what comes after the blocks
    try:
        left = 0
        while left := _room(room, left, clock, thread):
            hooks.loop_of_thread.coord = clock.coord
            block = source.take(most)
            if block is None:
                last = None, None, room
                break
            ready.put((block, source.state(), room))
            meter.note_level(ready.qsize())
            left -= 1
            del block  # it is the caller's
    except BaseException as error:
        last = error, None, room
    try:
        source.close()
    except BaseException as error:
        last = error, None, room
    ready.put(last)


def _room(room: Room, left: int, clock: Clock, thread: PrefetchThread) -> int:
    """Wait until there is room for another block; return for how many, 0 to end.

    Args:
        room: Gives further room, 0 to end.
        left: For how many blocks there is room still.
        clock: Of the iterator.
        thread: Notes the time of a wait.
    """
    while not clock.stopped and not (left and room.empty()):
        idle, began = room.empty(), 0
        if idle:
            thread.wait()
            name = f"{clock.name}/prefetch"
            began = spans.begin("wait", f"wait: room in '{name}'", queue=name, side="enqueue")
        try:
            more = room.get(timeout=None if clock.stops_with is None else _LOOK)  # whose stop wakes nobody
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
