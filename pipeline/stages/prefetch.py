"""prefetch: a thread takes elements ahead. Each comes with the state after it."""

from __future__ import annotations

import functools
import os
import queue
import threading
import time
from typing import Any

from pipeline.diagnostics.wording import named
from pipeline.errors import FailedPreconditionError, ResourceExhaustedError
from pipeline.stages.block import Block
from pipeline.stages.draws import this_thread
from pipeline.stages.index import Index
from pipeline.stages.node import Node, OneInput, indexed, opened
from pipeline.stages.run import Clock, Run
from pipeline.stages.stream import Stage, Stream

# Seconds between two looks whether the thread is still there.
_LOOK = 1.0


class Prefetched(OneInput):
    """Elements that a thread takes ahead.

    Args:
        source: The elements.
        n: How many may wait; 0 changes nothing.
    """

    kind = "prefetch"
    stage = "queue"

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

    @property
    def step(self) -> int:
        return self.source.step

    def index(self, run: Run) -> Index:
        return indexed(self.source, run)

    def stream(self, run: Run, state: Any = None) -> Stream:
        if not self.n:
            return opened(self.source, run, state)
        fetching = Fetching(opened(self.source, run, state), self.n, run)
        measured = run.measured.get(self.written)
        if measured is not None:
            measured.level, measured.room = fetching.level, self.n
        return fetching

    def state_at(self, place: int) -> Any:
        return place


def promptly(source: Node, run: Run, state: Any, n: int) -> Stream:
    """Return a stream that can be waited for with a timeout: in a thread that takes up to n elements ahead, unless the
    source has that already."""
    if source.waits:
        return opened(source, run, state)
    return Fetching(opened(source, run, state), n, run)


class Fetching(Stage):
    """Takes up to n elements ahead, in a thread that begins with the first `take`.

    Between the two threads are only queues written in C, which Ctrl-C leaves unlocked. The thread takes an element for
    each token in `_room`, and puts it into `_ready`.

    Args:
        source: The elements.
        n: How many to take ahead.
        run: Of the iterator.
    """

    def __init__(self, source: Stream, n: int, run: Run) -> None:
        super().__init__(source)
        self._n, self._clock, self._name = n, run.clock, f"{run.clock.name}/prefetch"
        self._ready: queue.SimpleQueue[Any] = queue.SimpleQueue()  # (block or error or None, the state after it)
        self._room: queue.SimpleQueue[bool] = queue.SimpleQueue()  # whether to take another element
        self._found: Any = None  # what `wait` has found
        self._state: Any = None
        self._thread: threading.Thread | None = None
        self._pid = os.getpid()

    def begin(self) -> None:
        if self._thread is not None:
            return
        self._state = self.source.state()
        for _ in range(self._n):
            self._room.put(True)
        work = _fetch, (self.source, self._room, self._ready, self._clock)
        thread = threading.Thread(target=work[0], args=work[1], name=self._name, daemon=True)
        try:
            thread.start()
        except RuntimeError as error:
            text = f"prefetch: no thread can start: {named(error)}: the system allows no more threads"
            raise ResourceExhaustedError(None, None, text) from error
        self._thread = thread
        self._clock.on_stop(functools.partial(_end, self._room, self._ready))

    def take(self, n: int) -> Block | None:
        while not self.wait(_LOOK):
            self._check()
        found, after = self._found
        if isinstance(found, BaseException):
            raise found
        if found is None:
            return None
        self._found, self._state = None, after
        self._room.put(True)
        return found  # type: ignore[no-any-return]

    def _check(self) -> None:
        """Raise if nobody fills the queue any more."""
        self._clock.check()
        if os.getpid() != self._pid:
            text = f"{self._clock.name}: its prefetch thread is not in this process, which was forked from another one"
            raise FailedPreconditionError(None, None, text)

    def wait(self, timeout: float) -> bool:
        self.begin()
        if self._found is None:
            deadline = time.monotonic() + timeout
            while self._found is None:
                try:
                    self._found = self._ready.get(timeout=max(0.0, deadline - time.monotonic()))
                except queue.Empty:
                    return False
                if self._found is _WOKEN:
                    self._found = None
                    self._clock.check()
        return True

    def level(self) -> int:
        """Return how many elements wait."""
        return self._ready.qsize()

    def state(self) -> Any:
        return self.source.state() if self._thread is None else self._state

    def close(self) -> None:
        if self._thread is None:
            self.source.close()
        else:
            _end(self._room, self._ready)  # the thread closes the source, in which it may be


_WOKEN: Any = object()


def _end(room: queue.SimpleQueue[bool], ready: queue.SimpleQueue[Any]) -> None:
    """Have the thread end, and wake who waits for it."""
    room.put(False)
    ready.put(_WOKEN)


def _fetch(source: Stream, room: queue.SimpleQueue[bool], ready: queue.SimpleQueue[Any], clock: Clock) -> None:
    """Take elements as long as there is room; end with the source, with an error, or when that is asked for."""
    this_thread.serving = clock
    try:
        while room.get() and not clock.stopped:
            block = source.take(1)
            ready.put((block, None if block is None else source.state()))
            if block is None:
                return
            del block  # it is the caller's
    except BaseException as error:
        ready.put((error, None))
    finally:
        source.close()
