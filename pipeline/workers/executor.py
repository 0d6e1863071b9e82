"""Workers: an executor from concurrent.futures, with defaults for the extra methods used by datasets."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future
from typing import Any

# Target duration for a chunk in seconds. A chunk itself costs 0.2 ms in this process and the worker. One thread
# collects all workers' chunks, so above `_FEW` workers chunks are longer, up to `_LONGEST` times.
_CHUNK_SECONDS, _FEW, _LONGEST = 0.016, 16, 8


def seconds_of_chunk(count: int) -> float:
    """Return a chunk's target duration for `count` workers: longer for many, so the caller can keep up."""
    return _CHUNK_SECONDS * min(max(1.0, count / _FEW), _LONGEST)


class Workers(Executor):
    """Base class for executors that run a dataset's functions.

    Attributes:
        count: Number of workers; 0 if calls run in the submitting thread.
        in_process: True if the workers are threads in this process, so nothing has to be sent to them.
        made_by: The user's code for such workers.
        worker_seconds: Available time of all workers, if their number changes; else None.
        ready_at: When the last worker was ready, by `time.monotonic`; 0 for workers that need no time to start.
        dies: True if `submit` itself reports a worker's death, with its cause.
    """

    in_process = False
    made_by = "Executor"
    worker_seconds: float | None = None
    ready_at: float = 0.0
    dies = True

    @property
    def count(self) -> int:
        raise NotImplementedError

    @property
    def key(self) -> int:
        """The executor's identity, also in forks of this process."""
        return id(self)

    @property
    def chunk_seconds(self) -> float:
        """A chunk's target duration in seconds."""
        return seconds_of_chunk(self.count)

    def check(self, function: Callable[..., Any]) -> None:
        """Raise TypeError for a function that does not pickle."""

    def rest(self) -> None:
        """Let idle workers end. Any thread or finalizer may call it."""

    def numbers(self) -> Sequence[int]:
        """Return the native ids of the running threads or processes."""
        return ()

    def note(self, examples: int, seconds: float, cpu: float, waited: float) -> None:
        """Record results.

        Args:
            examples: Their number.
            seconds, cpu: Their duration, and their processor time.
            waited: The caller's waiting time.
        """

    def recovers(self, error: BaseException) -> bool:
        """Return whether calls can be submitted again after an error in the workers themselves."""
        return False

    def seen(self) -> dict[str, Any] | None:
        """Return facts about a cluster's machines for reports; None elsewhere."""
        return None


class Foreign(Workers):
    """A user's executor.

    Args:
        executor: Any executor from concurrent.futures.
    """

    dies = False

    def __init__(self, executor: Any) -> None:
        self._executor = executor
        # Compared by name, because its module cannot be imported once the main thread has ended.
        self.in_process = any(each.__name__ == "ThreadPoolExecutor" for each in type(executor).__mro__)
        self.made_by = type(executor).__name__

    @property
    def key(self) -> int:
        return id(self._executor)

    @property
    def count(self) -> int:
        known = getattr(self._executor, "_max_workers", None)  # an attribute in the standard library's executors
        return known if isinstance(known, int) and known > 0 else os.cpu_count() or 1

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Have the executor call a function."""
        future = self._executor.submit(fn, *args, **kwargs)
        if not hasattr(type(future), "add_done_callback"):
            raise TypeError(f"workers: submit of {self.made_by} must return a Future, and returned {future!r:.80}")
        return future  # type: ignore[no-any-return]
