"""Coordinator: stop several threads together, and raise the first reported exception in `join`."""

from __future__ import annotations

import contextlib
import threading
import time
import weakref
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Any, NoReturn, TypeAlias, TypeVar

from pipeline.diagnostics.frames import is_running, whereabouts
from pipeline.diagnostics.wording import count, named
from pipeline.dtypes import items, seconds, truth
from pipeline.errors import OutOfRangeError
from pipeline.locks import Lock
from pipeline.logs import logger
from pipeline.on_error import set_on
from pipeline.queues.causes import StoppedByCoordinator, because
from pipeline.runners.copies import gil_enabled, twin
from pipeline.runners.enqueue_ops import Fillable
from pipeline.sync.ending import JOIN_INTERVAL, wait_for_end
from pipeline.sync.stop_flag import StopFlag
from pipeline.tracebacks import of_user

# A reported exception with its traceback and context.
Reported: TypeAlias = "tuple[BaseException, TracebackType | None, BaseException | None]"
ExcInfo: TypeAlias = "tuple[type[BaseException], BaseException, TracebackType | None]"

Q = TypeVar("Q", bound=Fillable)

# Seconds for threads to end after a stop.
_GRACE = 120

_log = logger("pipeline.runners")


class Coordinator:
    """Stop your threads together, and raise the first exception they reported.

        with Coordinator() as coord:
            start_queue_runners(coord=coord)
            train()

    Leaving the block, even by an exception, stops the threads and waits for
    them. `request_stop` and `join` do the same by hand.

    Thread safety: you may call every method from every thread.

    Args:
        clean_stop_exception_types: Mean "stop"; None for OutOfRangeError.

    Raises:
        TypeError: `clean_stop_exception_types` is not an iterable.

    Examples:
        >>> queue = pipeline.FIFOQueue(10, "int64", shapes=[()])
        >>> runner = pipeline.QueueRunner(queue, [lambda: queue.enqueue(7)])
        >>> with pipeline.Coordinator() as coord:
        ...     threads = runner.create_threads(coord=coord, start=True)
        ...     queue.dequeue_many(3)
        array([7, 7, 7])
    """

    def __init__(self, clean_stop_exception_types: Iterable[type[BaseException]] | None = None) -> None:
        if clean_stop_exception_types is None:
            clean_stop_exception_types = (OutOfRangeError,)
        if isinstance(clean_stop_exception_types, type):
            name = clean_stop_exception_types.__name__
            raise TypeError(f"clean_stop_exception_types must be a tuple of exception classes: ({name},) not {name}")
        what = "Coordinator: clean_stop_exception_types"
        self._clean_types = tuple(items(clean_stop_exception_types, what, "exception classes"))
        for each in self._clean_types:
            if not (isinstance(each, type) and issubclass(each, BaseException)):
                raise TypeError(f"{what} must be exception classes, and has {each!r:.80}")
        # Reentrant: the garbage collector may run anywhere, and stops an abandoned loop's coordinator.
        self._lock = Lock()
        self._stop = StopFlag()
        self._recorded: Reported | None = None
        self._told: int | None = None  # first thread in which the reported exception was raised
        self._stopped: StoppedByCoordinator | None = None
        self._joined = False
        self._registered: set[threading.Thread] = set()
        self._tied: set[weakref.ref[Fillable]] = set()  # used without the lock, by atomic operations

    def __repr__(self) -> str:
        recorded = self._recorded
        state = "stop requested" if self._stop.raised else "running"
        because = "" if recorded is None else f" because of {named(recorded[0])}"
        joined = ", joined" if self._joined else ""
        return f"<{type(self).__name__}: {state}{because}{joined}, {count(len(self._registered), 'registered thread')}>"

    @property
    def joined(self) -> bool:
        """True once `join` has returned or raised, until `clear_stop`."""
        return self._joined

    @property
    def stopped(self) -> StoppedByCoordinator | None:
        """Reason and place for a stop request, for error messages; None before a stop."""
        return self._stopped

    @property
    def _registered_threads(self) -> set[threading.Thread]:
        """The registered threads, under the name in TensorFlow's test helpers."""
        with self._lock:
            return set(self._registered)

    def request_stop(self, ex: BaseException | ExcInfo | None = None) -> None:
        """Ask all threads to stop; the first request decides what `join` raises.

        Wakes `wait_for_stop`, `join` and each QueueRunner's closing thread, which cancels blocked enqueues. Closes the
        queues of `close_on_stop`. `should_stop` is True from now on.

        Args:
            ex: An exception, or a tuple as returned by `sys.exc_info()`. An exception with a clean type counts as None.
                Anything else is reported as a ValueError, so a stop is never lost.

        Raises:
            BaseException: `ex` itself, if `join` has already returned and would not raise it any more.
        """
        error = _exception_of(ex)
        if error is not None and isinstance(error[0], self._clean_types):
            error = None
        with self._lock:
            if error is not None and self._joined:
                _raise_as_reported(error)
            first = not self._stop.is_set()
            if first:
                self._recorded = error
                self._stopped = StoppedByCoordinator(None if error is None else error[0])
                self._stop.set()
        self._close_tied()
        if first and error is not None:
            _log.info("Error reported to Coordinator: %s, %s", type(error[0]), error[0])

    def close_on_stop(self, queue: Q) -> Q:
        """Close a queue filled by your own threads when the Coordinator stops.

        Without it, your consumer would wait forever after such a thread failed. It gets the remaining elements, and
        then an OutOfRangeError with the reported exception as its `__cause__`.

        ```
        with Coordinator() as coord:
            queue = coord.close_on_stop(FIFOQueue(100))

            def fill():
                with coord.stop_on_exception():
                    while not coord.should_stop():
                        queue.enqueue(read())

            thread = threading.Thread(target=fill)
            coord.register_thread(thread)
            thread.start()
            for example in queue:
                train_step(example)
        ```

        A queue belongs to one stop: after `clear_stop`, pass it again. You may call it from any thread.

        Args:
            queue: A native queue, such as a FIFOQueue; the drop-in's queues do not work here.

        Returns:
            The queue. It is closed at once if a stop was already requested.

        Raises:
            TypeError: It is not such a queue.
        """
        if not hasattr(type(queue), "_watched_by"):
            raise TypeError(f"queue must be a queue of pipeline, such as pipeline.FIFOQueue, got {queue!r:.80}")
        for ref in list(self._tied):
            if ref() is None:
                self._tied.discard(ref)
        self._tied.add(weakref.ref(queue))
        if self._stop.raised:
            self._close_tied()
        return queue

    def _close_tied(self) -> None:
        """Close the queues of `close_on_stop`. A queue leaves the set only when it is closed: a signal handler may
        raise before that, and the next `request_stop` or `join` continues."""
        for ref in list(self._tied):
            try:
                queue = ref()
                if queue is not None:
                    with because(self._stopped):
                        queue.close(cancel_pending_enqueues=True)
                self._tied.discard(ref)
            except Exception as error:
                _log.warning("A queue could not be closed when its Coordinator stopped: %r", error)

    def clear_stop(self) -> None:
        """Reset the coordinator: no stop, no exception, not joined. Registered threads stay registered."""
        with self._lock:
            self._joined = False
            self._recorded = self._told = None
            self._stopped = None
            self._stop.clear()

    def should_stop(self) -> bool:
        """Return whether a stop was requested."""
        return self._stop.raised

    def wait_for_stop(self, timeout: float | None = None) -> bool:
        """Wait until a stop is requested.

        Args:
            timeout: Seconds to wait; None waits forever, 0 or less returns at once.

        Returns:
            True if a stop was requested, False if the timeout came first.
        """
        return self._stop.wait(timeout)

    @contextlib.contextmanager
    def stop_on_exception(self) -> Iterator[None]:
        """Return a context manager that passes your block's exception to `request_stop` and does not raise it."""
        try:
            yield
        except BaseException as error:
            self.request_stop((type(error), error, error.__traceback__))

    def register_thread(self, thread: threading.Thread) -> None:
        """Let `join` wait for `thread` too. It need not be started yet; registering it twice does no harm.

        Raises:
            TypeError: It is not a thread.
        """
        _check_thread(thread, "register_thread: thread")
        with self._lock:
            self._registered.add(thread)

    def raise_requested_exception(self) -> None:
        """Raise the reported exception, if any, at every call, before `join` and after.

        Without the GIL, the first thread to call this gets the exception itself, and the others get copies: CPython
        changes an exception's traceback when it raises it, and no lock guards that.
        """
        with self._lock:
            recorded = self._recorded
            if recorded is not None and self._told is None:
                self._told = threading.get_ident()
            told = self._told
        if recorded is not None:
            error, traceback, context = recorded
            if told != threading.get_ident() and not gil_enabled():
                error = twin(error)
            _raise_as_reported((error, traceback, context))

    def join(
        self,
        threads: Iterable[threading.Thread] | None = None,
        stop_grace_period_secs: float = _GRACE,
        ignore_live_threads: bool = False,
    ) -> None:
        """Wait until the registered threads and `threads` have ended, then raise the reported exception.

        Waits without limit until a stop is requested or all threads have ended; after a stop, for at most the grace
        period. Threads are never interrupted. Threads that were not started count as ended.

        Args:
            threads: More threads to wait for.
            stop_grace_period_secs: Seconds for the threads to end after a stop request.
            ignore_live_threads: Return normally even if threads are still running after the grace period.

        Raises:
            BaseException: The first reported exception.
            RuntimeError: Threads are still running after the grace period; the text describes what each is doing.
            TypeError, ValueError: The grace period is not a number, or an item is not a thread.
        """
        more = [] if threads is None else items(threads, "join: threads", "threads")
        for each in more:
            _check_thread(each, "join: threads: each")
        grace = seconds(stop_grace_period_secs, "join: stop_grace_period_secs")
        ignore = truth(ignore_live_threads, "join: ignore_live_threads")
        waiting = self._wait_for(more, grace)
        self.raise_requested_exception()
        _tell_running(waiting, ignore)

    def _wait_for(self, threads: Iterable[threading.Thread], grace: float) -> set[threading.Thread]:
        """Wait as `join` does; return the threads, some possibly still running."""
        with self._lock:
            waiting = self._registered.union(threads)
        while any(map(is_running, waiting)) and not self._stop.wait(JOIN_INTERVAL):
            pass
        if self._stop.raised:
            self._close_tied()
        deadline = time.monotonic() + grace
        for thread in waiting:
            if thread is not threading.current_thread():
                wait_for_end(thread, deadline)
        with self._lock:
            self._joined = True
            self._registered = set()
        return waiting

    def __enter__(self) -> Coordinator:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Stop the registered threads, wait for them as `join` does, and raise the reported exception.

        The block's exception counts as reported. If it was the first, it propagates unchanged. If it only follows from
        an error that a thread reported, such as a closed queue's OutOfRangeError, the thread's error replaces it. Does
        nothing after a `join` in the block.
        """
        if self._joined:
            return
        self.request_stop(error)
        waiting = self._wait_for((), _GRACE)
        recorded = None if self._recorded is None else self._recorded[0]
        if recorded is not None and recorded is not error:
            try:
                self.raise_requested_exception()
            except BaseException as raised:
                if error is not None and not _follows(error, recorded):
                    set_on(raised, "__context__", error)
                raise
        _tell_running(waiting, ignore=error is not None)


def _check_thread(given: Any, what: str) -> None:
    """Raise TypeError for objects that are neither threads nor thread-like, such as a process."""
    if not (hasattr(type(given), "is_alive") and hasattr(type(given), "join")):
        raise TypeError(f"{what} must be a threading.Thread, got {type(given).__name__} {given!r:.80}")


def _follows(error: BaseException, first: BaseException) -> bool:
    """Return whether an exception was raised because of another, or during its handling."""
    seen: set[int] = set()
    found: list[BaseException | None] = [error]
    while found:
        each = found.pop()
        if each is first:
            return True
        if each is not None and id(each) not in seen:
            seen.add(id(each))
            found += [each.__cause__, each.__context__]
    return False


def _tell_running(threads: Iterable[threading.Thread], ignore: bool) -> None:
    """Raise RuntimeError if any thread still runs; with `ignore` only log it."""
    running = sorted(filter(is_running, threads), key=lambda thread: thread.name)
    if running:
        names = " ".join(thread.name for thread in running)
        text = "\n".join([f"Coordinator stopped with threads still running: {names}", *map(whereabouts, running)])
        if not ignore:
            raise RuntimeError(text)
        _log.info("%s", text)


def _raise_as_reported(reported: Reported) -> NoReturn:
    """Raise an exception that other threads may raise too, and leave its traceback and context unchanged.

    Each raise would lengthen its traceback. If it were raised while handling an OutOfRangeError with it as the cause,
    its context would be that error, and code that walks the chain would never end.
    """
    error, traceback, context = reported
    try:
        raise error.with_traceback(traceback)
    finally:
        set_on(error, "__context__", context)


def _exception_of(ex: Any) -> Reported | None:
    """Return the reported exception with traceback and context; a ValueError for a malformed report."""
    if isinstance(ex, BaseException):
        return ex, of_user(ex.__traceback__), ex.__context__
    if not isinstance(ex, tuple):
        if not ex:
            return None
    elif len(ex) == 3 and isinstance(ex[1], BaseException):
        return ex[1], ex[2] if isinstance(ex[2], TracebackType) else ex[1].__traceback__, ex[1].__context__
    error = ValueError(f"ex must be an exception or a tuple as returned by sys.exc_info(), not {ex!r}")
    return error, None, None
