"""RayClient: an executor's calls on a Ray cluster, and the thread that submits them and takes results."""

from __future__ import annotations

import collections
import functools
import importlib
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import Any

from pipeline.cluster.cancelling import Cancelling
from pipeline.cluster.connect import LEFT, member
from pipeline.cluster.task import FunctionSpec, Note, Unfit, call
from pipeline.diagnostics.wording import named
from pipeline.errors import AbortedError, CancelledError
from pipeline.locks import Lock
from pipeline.workers.chunks import FailedItem, WorkerDied
from pipeline.workers.pool import BrokenWorkers

# Seconds between checks for whether this process is still in the cluster.
_CHECK = 1.0


class RayCall:
    """A submitted call.

    Attributes:
        future: For the result.
        reference: Ray's reference while Ray has the call; otherwise None.
        tries: Number of times it was submitted to Ray.
    """

    def __init__(
        self, future: Future[Any], order: FunctionSpec, args: list[Any], kwargs: dict[str, Any], held: list[Any]
    ) -> None:
        self.future = future
        self.parts = (order, args, kwargs, *held)
        self.reference: Any = None
        self.tries = 0


class Metrics:
    """Metrics for all of this program's executors, for Ray's dashboard and its scrapers."""

    def __init__(self, ray: Any) -> None:
        metrics = importlib.import_module("ray.util.metrics")
        self._calls = metrics.Counter("pipeline_cluster_calls", "Chunks and blocks that workers made.", ("node",))
        self._seconds = metrics.Counter("pipeline_cluster_busy_seconds", "Time that these took.", ("node",))
        self._retries = metrics.Counter("pipeline_cluster_retries", "Calls begun again.", ("node",))
        self._in_flight = metrics.Gauge("pipeline_cluster_in_flight", "Calls that Ray has.")

    def note(self, note: Note, running: int) -> None:
        """Count a finished call."""
        tags = {"node": note.node}
        self._calls.inc(1, tags)
        self._in_flight.set(running)
        if note.seconds > 0:
            self._seconds.inc(note.seconds, tags)
        if note.attempt:
            self._retries.inc(note.attempt, tags)


class RayClient:
    """State shared by an executor and its thread. The thread holds this, not the executor, which may become garbage.

    Only the thread changes the state, except in `put`, `finish` and `close`. It receives work as calls without
    arguments, so nothing needs a lock.

    Args:
        ray: The module.
        count: Limit for concurrent calls in Ray.
        retries: Number of times to repeat a call after its worker died.
        options: For the tasks.

    Attributes:
        running: Calls submitted to Ray.
        retried: Number of repeated calls.
        calls: Finished calls, by node.
        seconds: Their duration, by node.
    """

    def __init__(self, ray: Any, count: int, retries: int, options: dict[str, Any]) -> None:
        self.running = 0
        self.retried = 0
        self.seconds: dict[str, float] = collections.defaultdict(float)
        self.calls: collections.Counter[str] = collections.Counter()
        self._counting = Lock()
        self._vacant = threading.Lock()
        self._began = time.monotonic()
        self._metrics = Metrics(ray)
        self._ray = ray
        self._member = member(ray)
        self._cancelling = Cancelling(ray)
        self._count = count
        self._retries = retries
        self._task = ray.remote(max_retries=retries, **options)(call)
        self._todo: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._waiting: collections.deque[RayCall] = collections.deque()
        self._unfinished: set[RayCall] = set()

    def seen(self) -> dict[str, Any]:
        """Return running calls, retried calls, and by node the finished calls and their seconds."""
        with self._counting:
            nodes = {node: {"calls": count, "busy_s": self.seconds[node]} for node, count in self.calls.items()}
        return {
            "in_flight": self.running,
            "retries": self.retried,
            "age_s": time.monotonic() - self._began,
            "nodes": nodes,
        }

    def here(self) -> bool:
        """Return whether this process is still in the cluster; False if it has left and joined again."""
        return member(self._ray) == self._member

    def stay(self) -> None:
        """Raise AbortedError if this process has left the cluster, because Ray would make another one."""
        if not self.here():
            raise AbortedError(None, None, LEFT)

    def cancel(self, waitable: Any, recursive: bool) -> None:
        """Ask Ray to abandon a task or a stream."""
        if self.here():
            self._cancelling.cancel(waitable, recursive)

    def put(self, call: RayCall) -> None:
        """Submit a call."""
        try:
            call.future.add_done_callback(lambda future: self._settled(call))
            self._unfinished.add(call)
            self._todo.put(functools.partial(self._take, call))
        except BaseException:  # Ctrl-C: nothing might take the call, and `finish` would wait
            call.future.cancel()
            raise

    def finish(self, waits: bool, cancel: bool) -> None:
        """Let the thread end once all calls are done or cancelled."""
        futures = [each.future for each in tuple(self._unfinished)]
        if cancel:
            for each in futures:
                each.cancel()
        if waits:
            wait(futures)
        self._todo.put(self._end_when_done)

    def close(self) -> None:
        """Make the thread end now."""
        self._todo.put(None)

    def work(self) -> None:
        """Run the thread's loop unless another thread does: after Ctrl-C in `start`, a thread may or may not run."""
        if not self._vacant.acquire(blocking=False):
            return
        self._ending = False
        while not (self._ending and not self._unfinished):
            try:
                todo = self._todo.get(timeout=_CHECK)
            except queue.Empty:
                if not self.here():
                    self._fail_all()
                continue
            if todo is None:
                break
            todo()
            del todo  # otherwise its objects would stay alive, including the executor
        for each in tuple(self._unfinished):
            each.future.cancel()
            self._withdraw(each)

    def _end_when_done(self) -> None:
        self._ending = True

    def _settled(self, call: RayCall) -> None:
        self._unfinished.discard(call)
        if call.future.cancelled():
            self._todo.put(functools.partial(self._withdraw, call))

    def _take(self, call: RayCall) -> None:
        self._waiting.append(call)
        self._hand_over()

    def _hand_over(self) -> None:
        """Submit calls to Ray, up to its limit."""
        while self._waiting and self.running < self._count:
            call = self._waiting.popleft()
            if call.future.cancelled():
                continue
            try:
                self.stay()
                call.reference = self._task.remote(*call.parts)
            except Exception as error:
                _fail(call, BrokenWorkers(f"Ray does not take the call: {named(error)}"))
                continue
            call.tries += 1
            self.running += 1
            done = call.reference.future()
            done.add_done_callback(lambda done, call=call: self._todo.put(functools.partial(self._receive, call, done)))

    def _receive(self, call: RayCall, done: Future[Any]) -> None:
        if call.reference is None:  # withdrawn
            return
        call.reference = None
        self.running -= 1
        error = done.exception()
        if error is None:
            result, note = done.result()
            self.count(note)
            if isinstance(result, FailedItem):
                _fail(call, result.error)
            elif call.future.set_running_or_notify_cancel():
                call.future.set_result(result)
        elif isinstance(error, self._ray.exceptions.ObjectLostError) and call.tries <= self._retries:
            self.retried += 1
            self._waiting.appendleft(call)  # done, but its result is lost, and Ray could not make it again
        else:
            _fail(call, self.translated(error))
        self._hand_over()

    def translated(self, error: BaseException) -> BaseException:
        """Return the error for a call abandoned by Ray."""
        kinds = self._ray.exceptions
        if isinstance(error, Unfit):
            return BrokenWorkers(str(getattr(error, "cause", error)))
        died = (kinds.WorkerCrashedError, kinds.OutOfMemoryError, kinds.NodeDiedError, kinds.ObjectLostError)
        if isinstance(error, died):
            self.retried += self._retries
            times = f"each time, {self._retries + 1} times " if self._retries else ""
            return WorkerDied(None, f"died {times}({type(error).__name__}),")
        if isinstance(error, kinds.TaskCancelledError):
            return CancelledError(None, None, "the task was cancelled in the cluster")
        if isinstance(error, kinds.RayTaskError):
            if "failed to import" in str(error) or "No module named 'pipeline" in str(error):
                return BrokenWorkers(f"workers of the cluster cannot import pipeline: {_first_line(error.cause)}")
            return RuntimeError(f"a worker could not return the result: {_first_line(error.cause)}")
        return BrokenWorkers(f"Ray cannot do the call: {named(error)}")

    def count(self, note: Note) -> None:
        """Record the cost of a call or a block, from any thread."""
        with self._counting:
            self.calls[note.node] += 1
            self.seconds[note.node] += note.seconds
            self.retried += note.attempt
        self._metrics.note(note, self.running)

    def _withdraw(self, call: RayCall) -> None:
        """Cancel a call with an unneeded result."""
        reference, call.reference = call.reference, None
        if reference is not None:
            self.running -= 1
            self.cancel(reference, recursive=False)
            self._hand_over()

    def _fail_all(self) -> None:
        for each in tuple(self._unfinished):
            each.reference = None
            _fail(each, BrokenWorkers(LEFT))
        self._waiting.clear()
        self.running = 0


def _fail(call: RayCall, error: BaseException) -> None:
    if call.future.set_running_or_notify_cancel():
        call.future.set_exception(error)


def _first_line(error: BaseException | None) -> str:
    return f"{type(error).__name__}: {error}".strip().partition("\n")[0]
