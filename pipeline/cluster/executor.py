"""RayWorkers: an executor with calls as Ray tasks, placed by Ray."""

from __future__ import annotations

import functools
import hashlib
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from types import TracebackType
from typing import Any

from pipeline.cluster.ray_client import RayCall, RayClient
from pipeline.cluster.task import FunctionSpec, Held, Pickled, versions
from pipeline.locks import Lock
from pipeline.workers.executor import Workers

# Pickled functions from this size on are sent through the object store, once per machine.
_LARGE = 1 << 16


class RayWorkers(Workers):
    """Ray tasks; see `workers`.

    Attributes:
        ray: The module.
        retries, options: For the tasks.
        client: The Ray client; it measures the cost of calls.

    Thread safety: every method may be called from any thread.
    """

    made_by = "pipeline.cluster.workers"
    chunk_seconds = 0.08  # a call takes 1.6 ms in this process

    def __init__(
        self, ray: Any, count: int, setup: Callable[[], Any] | None, retries: int, options: dict[str, Any]
    ) -> None:
        self._max_workers = count  # same name as in the standard library's executors
        self.ray = ray
        self._setup = None if setup is None else self._pickled(setup, "setup")
        self._known: weakref.WeakKeyDictionary[functools.partial[Any], Pickled] = weakref.WeakKeyDictionary()
        self.retries, self.options = retries, options
        self.client = RayClient(ray, count, retries, options)
        self._closed = self._started = False
        self._submitting = Lock()
        weakref.finalize(self, self.client.close).atexit = False

    @property
    def count(self) -> int:
        return self._max_workers

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Have a worker call a function.

        Args:
            fn: The function.
            args: Its arguments. A list may hold Ray references; the function gets their objects, and Ray prefers a
                machine with a copy.
            kwargs: More arguments.

        Returns:
            A Future. Its exception is the function's exception, with the worker's traceback as its `__cause__`; a
            WorkerDied, which is an AbortedError, if workers died at each try; or a BrokenWorkers if no worker is
            suitable. Its arrays are in the object store and read-only. Cancelling it also stops a running call, at the
            next step in its Python code.

        Raises:
            TypeError: The function cannot be pickled.
            RuntimeError: After `shutdown`.
        """
        self._stay_open()
        held: list[Any] = []
        call = RayCall(Future(), self.order(fn), [self._without_references(each, held) for each in args], kwargs, held)
        with self._submitting:  # not earlier, because pickling may take long
            self._stay_open()
            if not self._started:
                threading.Thread(target=self.client.work, name="pipeline-cluster", daemon=True).start()
                self._started = True  # not earlier, because Ctrl-C may interrupt `start`
            self.client.put(call)
        return call.future

    def order(self, function: Callable[..., Any]) -> FunctionSpec:
        """Return a worker's data for calling a function; raise TypeError if it cannot be pickled."""
        return FunctionSpec(self._function(function), self._setup, versions())

    def check(self, function: Callable[..., Any]) -> None:
        """Raise TypeError for a function that does not pickle."""
        self._pickled(function, "the function")

    def seen(self) -> dict[str, Any]:
        """Return facts about the machines for reports: running calls, retries, and each node's work."""
        return self.client.seen()

    def rest(self) -> None:
        """Do nothing: Ray ends idle workers."""

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more calls; see `concurrent.futures.Executor.shutdown`."""
        with self._submitting:
            self._closed = True
        self.client.finish(wait, cancel_futures)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.shutdown(error is None, cancel_futures=error is not None)

    def __repr__(self) -> str:
        state = "shut down" if self._closed else f"{self.client.running} running"
        return f"<pipeline.cluster.workers({self._max_workers}): {state}>"

    def _stay_open(self) -> None:
        if self._closed:
            raise RuntimeError("cannot schedule new futures after shutdown")

    def _function(self, function: Callable[..., Any]) -> Pickled:
        """Pickle a repeated function once."""
        if not isinstance(function, functools.partial):
            return self._pickled(function, "the function")
        known = self._known.get(function)
        if known is None:
            known = self._known[function] = self._pickled(function, "the function")
        return known

    def _pickled(self, function: Any, what: str) -> Pickled:
        named = next((part for part in (*getattr(function, "args", ()), function) if callable(part)), function)
        try:
            data = self.ray.cloudpickle.dumps(function)
        except Exception as error:
            raise TypeError(
                f"{named!r:.80} cannot be sent to a cluster, as it cannot be pickled ({error}): {what} must not hold "
                "open files, locks or the like; make these in setup="
            ) from error
        key = hashlib.blake2b(data, digest_size=16).digest()
        return Pickled(key, data if len(data) < _LARGE else [self.ray.put(data)])

    def _without_references(self, argument: Any, held: list[Any]) -> Any:
        """Replace references in an argument by Held, and append them to `held`."""
        reference = self.ray.ObjectRef
        if not isinstance(argument, list) or not any(isinstance(each, reference) for each in argument):
            return argument
        items = []
        for each in argument:
            if isinstance(each, reference):
                held.append(each)
                each = Held(len(held) - 1)
            items.append(each)
        return items
