"""Inline: a loop that fills its own queue, in the thread that asks for a batch. It is the Crew of `num_threads=0`."""

from __future__ import annotations

import contextlib
import functools
import time
from collections import deque

from pipeline.batches.crew import asked_meanwhile
from pipeline.batches.feed import Feed
from pipeline.batches.source import interrupted
from pipeline.errors import CancelledError, OutOfRangeError
from pipeline.explain.causes import InputUsedUp, because
from pipeline.explain.live import groups
from pipeline.explain.workers import Worker, WorkerGroup
from pipeline.explain.workers import this_thread as worker_of_thread
from pipeline.pulls import this_thread as turn_of_thread
from pipeline.runners.coordinator import Coordinator
from pipeline.runners.current_loop import loop_of_thread
from pipeline.runners.enqueue_ops import op_name


class InlineGroup(WorkerGroup):
    """What is known of a loop that fills its own queue: there are no threads."""

    _seconds = 0.0
    _since: float | None = None  # when it began to read, by `time.monotonic`

    def __init__(self, feed: Feed) -> None:
        super().__init__(feed.queue, 0, list(map(op_name, feed.ops)))
        self.of_loop = True

    def reads(self) -> None:
        """The loop reads its sources from now on."""
        self._since = time.monotonic()

    def has_read(self) -> None:
        """It does so no more."""
        if self._since is not None:
            self._seconds += time.monotonic() - self._since
            self._since = None

    def spent(self) -> float:
        since = self._since
        return self._seconds if since is None else self._seconds + time.monotonic() - since

    def member(self, number: int, own: bool) -> str:
        return "the loop that fills it" if own else f"the loop over '{self.name}'"

    def at_end(self) -> str:
        return "the loop that fills it reached the end of its"


class Inline:
    """Calls the enqueue ops of a feed until there is enough for a batch, whenever the outlet is asked for one.

    The ops take turns, one call each. An error of theirs ends the loop, as that of a thread would, and is raised at
    once: what waits in a pool does not come first.

    Args:
        feed: An open one.

    Thread safety: any thread may ask for a batch; the others wait meanwhile.

    Attributes:
        feed: The feed.
        group: What reports know of it.
    """

    def __init__(self, feed: Feed) -> None:
        self.feed = feed
        self._ops = deque(enumerate(feed.ops))
        self._ops.rotate(-feed.first_op)
        self._enough, self._size = feed.enough, feed.queue.size  # found once
        self._reading = False
        self.group = InlineGroup(feed)
        self.group.begin(feed.queue.name, [])
        groups.add(self.group)
        self._worker = Worker(self.group, 1)

    def begin(self) -> Feed:
        """Return what the loop takes its batches from. To ask it for one is a FailedPreconditionError in a source of
        the loop, and in a signal handler meanwhile."""
        asked = functools.partial(asked_meanwhile, self.feed.request.name, "makes one: by its own source, or")
        self.feed.outlet.filled_by(self._fill, self._size, self._enough, asked)
        return self.feed

    def after_fork(self) -> None:
        """In the child of a fork: the outlet has the lock, and the queue tells whoever comes now."""

    def settle(self, seconds: float) -> None:
        """The loop has ended: wait until no other thread takes a batch.

        Raises:
            RuntimeError: One did not come to an end in so many seconds.
        """
        self.group.ended = True
        outlet = self.feed.outlet
        if outlet.owned_here:
            self.feed.put_away()
            return
        if not outlet.lock.acquire(timeout=seconds):
            raise RuntimeError(
                f"{self.feed.request.name}: a thread in `next` did not end within {seconds} s: it reads the source"
            )
        outlet.filled_no_more()  # else what the loop read would wait for a garbage collection
        outlet.lock.release()
        self.feed.put_away()

    def _fill(self) -> None:
        """Call ops until there is enough for a batch, or no op is left.

        Raises:
            OutOfRangeError: A source raised something, which the Coordinator then knows.
        """
        feed, coord = self.feed, self.feed.coord
        if not self._ops:
            return
        if self._reading:
            if not feed.put_right():
                self._stop(coord, interrupted(feed.request.name, "it read its source"))
            self._ops = deque(enumerate(feed.ops))
        thread, turn = worker_of_thread, turn_of_thread.turn
        outer = thread.worker, thread.reads, loop_of_thread.coord
        self._reading = True
        self.group.reads()
        try:
            thread.worker = self._worker
            loop_of_thread.coord = coord
            self._call_ops(feed, coord)
            self._reading = False
        except Exception as error:
            self._reading = False
            self._worker.keys = self._worker.keys or feed.taken_by(self._ops[0][0])
            self._worker.fail(error)
            self._stop(coord, error)
        finally:
            turn_of_thread.turn = turn  # Ctrl-C may have ended a call before it gave back its turn
            thread.worker, thread.reads, loop_of_thread.coord = outer
            self.group.has_read()

    def _call_ops(self, feed: Feed, coord: Coordinator) -> None:
        ops, size, enough = self._ops, self._size, self._enough
        while ops and size() < enough:
            if coord.should_stop():
                with because(coord.stopped), contextlib.suppress(CancelledError):
                    feed.queue.close(cancel_pending_enqueues=True)
                ops.clear()
                return
            self._worker.keys = None
            try:
                ops[0][1]()
            except OutOfRangeError as error:
                self.group.reached_end(error)
                if len(ops) == 1:
                    # The source, or another thread, may have closed the loop.
                    with because(InputUsedUp(self.group)), contextlib.suppress(CancelledError):
                        feed.close_op()
                ops.popleft()
            else:
                ops.rotate(-1)

    def _stop(self, coord: Coordinator, error: Exception) -> None:
        """End the loop as the exception of a thread would: the loop then raises what its Coordinator knows."""
        coord.request_stop(error)
        with because(coord.stopped):
            self.feed.queue.close(cancel_pending_enqueues=True)
        self._ops.clear()  # last: without them nobody would end it if Ctrl-C struck before
        raise OutOfRangeError(None, None, "a source of the loop failed") from error
