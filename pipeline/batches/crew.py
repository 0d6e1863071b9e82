"""Crew: the threads of a loop over batches, which end when the loop has become garbage."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from pipeline.batches.feed import Feed
from pipeline.errors import FailedPreconditionError
from pipeline.runners.coordinator import Coordinator
from pipeline.runners.current_loop import loop_of_thread
from pipeline.runners.ending import EndingThread
from pipeline.runners.runner import QueueRunner

if TYPE_CHECKING:
    from pipeline.batches.loop import Batches

# Seconds between two looks at whether a loop has become garbage; its finalizer stops the threads at once.
LOOK_INTERVAL = 1.0


class Crew(QueueRunner):
    """The threads of a loop. The one that waits for a stop also looks whether the loop has become garbage: a signal
    handler that raises in the finalizer of a loop keeps it from stopping the threads. The last one that reads closes
    what the sources hold open, as the loop may not wait for it: one with a Coordinator of yours, or an abandoned one.

    Args:
        feed: What the threads do.
        ops: Its enqueue ops.
        loop: The loop.
        owner: Whether the Coordinator is the loop's own.
    """

    def __init__(
        self, feed: Feed, ops: Sequence[Callable[[], None]], loop: weakref.ref[Batches[Any]], owner: bool
    ) -> None:
        super().__init__(feed.queue, ops, close_op=feed.close_op)
        self._feed = feed
        self._loop = loop
        self._owner = owner
        self._beginning = threading.RLock()  # reentrant: a finalizer may close the loop
        self._begun = False
        self.group.of_loop = True
        self._failed: list[BaseException] = []  # why they could not begin
        self._read = [feed]  # whoever takes it out puts it away

    def begin(self) -> Feed:
        """Start the threads, unless they have begun; return what the loop takes its batches from.

        In the main thread a signal handler may raise, also between two of them. There another thread starts them, and
        after Ctrl-C this is to be called again.
        """
        if threading.current_thread() is threading.main_thread():
            starter = EndingThread(self._begin, (), f"{self.name}-begins")
            starter.daemon = True
            try:
                starter.start()
                while not starter.wait(LOOK_INTERVAL):
                    pass
            finally:
                starter.give_up()
        else:
            self._begin()
        if self._failed:
            raise self._failed.pop()  # once: its traceback has the loop
        return self._feed

    def _begin(self) -> None:
        loop_of_thread.coord = coord = self._feed.coord  # as in the thread that asks, which this may be
        with self._beginning:
            if self._begun:
                return
            self._begun, self.group.starter = True, threading.current_thread()
            try:
                self.create_threads(coord=coord, daemon=True, start=True)
            except BaseException as error:
                self._failed.append(error)
            finally:
                self.group.starter = None

    def after_fork(self) -> None:
        """In the child of a fork: a thread that had the lock is not there."""
        self._beginning = threading.RLock()

    def settle(self, _: float) -> None:
        """The loop has ended: no threads begin any more."""
        with self._beginning:
            self._begun = True
        self._put_away()

    def _thread_body(self, *args: Any) -> None:
        try:
            super()._thread_body(*args)
        finally:
            try:
                self._put_away()
            except BaseException as error:
                self._feed.coord.request_stop(error)

    def _put_away(self) -> None:
        """Put the feed away, once, if no thread reads."""
        with self._lock:
            if self._runs_per_session.get(self) or not self._read:
                return
            feed = self._read.pop()
        feed.put_away()

    def _wait_for_stop(self, coord: Coordinator) -> None:
        while not coord.wait_for_stop(LOOK_INTERVAL):
            if self._loop() is None:
                if self._owner or not self._feed.queue.stats().closed:
                    abandon(self._feed, coord if self._owner else None)
                return


class Opening:
    """One opening of the feed of a loop, by this thread. It calls the source, so `close` of another thread does not
    wait for it for ever, and the source may ask for no batch.

    Attributes:
        under_way: A lock that is held meanwhile; nobody needs it afterwards. (A lock is released whatever a signal
            handler raises in between; the methods of a context manager in Python may not even begin.)
    """

    def __init__(self) -> None:
        self._thread, self._ident, self._pid = threading.current_thread().name, threading.get_ident(), os.getpid()
        self.under_way = threading.Lock()

    def check_over(self, name: str) -> None:
        """Raise if the feed of the loop with this name, whose lock this thread holds, is being opened.

        Raises:
            FailedPreconditionError: By this thread.
            RuntimeError: In the process that this one was forked from.
        """
        if not self.under_way.locked():
            return
        if self._pid != os.getpid():
            text = (
                f"made before os.fork(), as thread '{self._thread}' made its first batch, and used in the forked child"
            )
            raise RuntimeError(f"{name}: {text}. Make the loop in the child")
        if self._ident == threading.get_ident():
            raise asked_meanwhile(name, "makes the first one: by its own source, or")

    def wait(self, name: str, seconds: float) -> None:
        """Wait until another thread has opened the feed of the loop with this name, or has failed to.

        Raises:
            RuntimeError: It did not come to an end in so many seconds.
        """
        if self._ident == threading.get_ident() or self._pid != os.getpid():
            return
        if not self.under_way.acquire(timeout=seconds):
            raise RuntimeError(
                f"{name}: thread '{self._thread}' is in `next` and did not end within {seconds} s: the source does not "
                "return the first example"
            )
        self.under_way.release()


def asked_meanwhile(name: str, does: str) -> FailedPreconditionError:
    """The error for a call of `next` within another one of the same thread, which could only wait for itself."""
    return FailedPreconditionError(
        None, None, f"{name}: the loop was asked for a batch while it {does} in a signal handler"
    )


def abandon(feed: Feed, coord: Coordinator | None) -> None:
    """Stop what a loop has started that nobody can ask for batches any more."""
    feed.leave()  # first: its threads then end as at the end of the input, and not by an error that would be kept
    if coord is not None:
        coord.request_stop()
    if feed.request.inline or not feed.opened:  # no thread reads
        feed.put_away()
    if feed.opened:
        feed.outlet.filled_no_more()  # else what it read would wait for a garbage collection
