"""QueueRunner: threads to fill a queue, and one thread to close it when their Coordinator stops.

A failed thread reports its exception to the Coordinator. Its stop makes `_close_on_stop` close the queue, and the
exception becomes the cause of the queue's errors (`diagnostics.causes`).
"""

from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from pipeline.diagnostics.live import groups
from pipeline.diagnostics.wording import count
from pipeline.diagnostics.workers import WorkerGroup, WorkerRecord, current_worker
from pipeline.dtypes import truth
from pipeline.errors import OpError, OutOfRangeError
from pipeline.hooks import loop_of_thread
from pipeline.locks import Lock
from pipeline.logs import logger
from pipeline.queues.causes import InputUsedUp, because
from pipeline.runners.coordinator import Coordinator
from pipeline.runners.enqueue_ops import Fillable, make_callable, op_name
from pipeline.sync.ending import EndingThread

_log = logger("pipeline.runners")


class QueueRunner:
    """Run threads that fill a queue. Each calls one enqueue op until the input ends or the Coordinator stops.

    When the input ends, the queue is closed, and its elements stay. With a Coordinator, an exception in a thread stops
    all its threads and closes the queue, and `Coordinator.join` raises it. Otherwise it is logged and kept in
    `exceptions_raised`.

    Thread safety: you may call every method from every thread.

    Args:
        queue: The queue to close at the end.
        enqueue_ops: One callable without arguments per thread.
        close_op: Called when the input ends; None closes your queue.
        cancel_op: Called when the coordinator stops; None closes the queue and cancels waiting enqueues.
        queue_closed_exception_types: OpError subclasses for the end of the input; None for `(OutOfRangeError,)`.

    Raises:
        ValueError: There is no queue or no enqueue op.
        TypeError: An argument has a wrong type.

    Examples:
        >>> queue = pipeline.FIFOQueue(10, "int64", shapes=[()])
        >>> number = pipeline.limit_epochs(iter(range(3)), 3)
        >>> runner = pipeline.QueueRunner(queue, [lambda: queue.enqueue(number())])
        >>> with pipeline.Coordinator() as coord:
        ...     threads = runner.create_threads(coord=coord, start=True)
        ...     queue.dequeue_many(3).tolist()
        [0, 1, 2]
    """

    def __init__(
        self,
        queue: Fillable | None = None,
        enqueue_ops: Sequence[Any] | None = None,
        close_op: Any = None,
        cancel_op: Any = None,
        queue_closed_exception_types: tuple[type[OpError], ...] | None = None,
    ) -> None:
        if not queue or not enqueue_ops:
            raise ValueError("Must provide queue and enqueue_ops.")
        closes = close_op is None or cancel_op is None  # otherwise it may be a session's operation
        if not hasattr(queue, "name") or (closes and not hasattr(queue, "close")):
            raise TypeError(f"QueueRunner: queue must be a queue, got {type(queue).__name__} {queue!r:.80}")
        if not isinstance(enqueue_ops, Sequence) or isinstance(enqueue_ops, (str, bytes)):
            raise TypeError(
                "enqueue_ops must be a list of callables, one for each thread, as in QueueRunner(queue, [op] * 4), "
                f"not {enqueue_ops!r:.80}"
            )
        for op in enqueue_ops:
            _check_op(op, "An enqueue op")
        for what, op in (("close_op", close_op), ("cancel_op", cancel_op)):
            if op is not None:
                _check_op(op, f"QueueRunner: {what}")
        if queue_closed_exception_types is None:
            queue_closed_exception_types = (OutOfRangeError,)
        self._queue_closed_exception_types = _checked_types(queue_closed_exception_types)
        self._queue = queue
        self._enqueue_ops = enqueue_ops
        self._close_op = queue.close if close_op is None else close_op
        self._cancel_op = (
            functools.partial(queue.close, cancel_pending_enqueues=True) if cancel_op is None else cancel_op
        )
        self._lock = Lock()
        # Running threads by session; without a session the runner is the key. Sessions are temporary.
        self._runs_per_session: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._exceptions_raised: list[Exception] = []
        self._group = WorkerGroup(queue, len(enqueue_ops), list(map(op_name, enqueue_ops)))
        watchdog = getattr(queue, "_watched_by", None)
        if watchdog is not None:
            watchdog.filled_by(self._group)

    def __repr__(self) -> str:
        with self._lock:
            running = sum(self._runs_per_session.values())
        return (
            f"<{type(self).__name__} of '{self.name}': {running} of {count(len(self._enqueue_ops), 'thread')} running>"
        )

    @property
    def queue(self) -> Fillable:
        """The queue filled by the threads."""
        return self._queue

    @property
    def enqueue_ops(self) -> Sequence[Any]:
        """The enqueue ops, one per thread."""
        return self._enqueue_ops

    @property
    def close_op(self) -> Any:
        """The operation for the end of the input."""
        return self._close_op

    @property
    def cancel_op(self) -> Any:
        """The operation for a coordinator stop."""
        return self._cancel_op

    @property
    def queue_closed_exception_types(self) -> tuple[type[OpError], ...]:
        """The exception classes for the end of the input."""
        return self._queue_closed_exception_types

    @property
    def exceptions_raised(self) -> list[Exception]:
        """Exceptions in threads without a coordinator; emptied when threads are created again."""
        return self._exceptions_raised

    @property
    def _begun(self) -> bool:
        """True if threads were ever created."""
        return self._group.begun

    @property
    def name(self) -> str:
        """The queue's name."""
        return self._queue.name

    def create_threads(
        self, sess: Any = None, coord: Coordinator | None = None, daemon: bool = False, start: bool = False
    ) -> list[threading.Thread]:
        """Create one thread per enqueue op and, with `coord`, one more to close the queue when `coord` stops.

        Args:
            sess: The session for the ops; None calls them directly.
            coord: The Coordinator that stops the threads and receives their exceptions; the threads register with it.
            daemon: True if the interpreter may exit without waiting for the threads.
            start: Start the threads.

        Returns:
            The threads; an empty list if threads from an earlier call (with the same session) are still running.

        Raises:
            TypeError: An argument is something else.
        """
        if sess is not None and not hasattr(sess, "run"):
            raise TypeError(f"create_threads: sess must be a session of pipeline.compat or None, got {sess!r:.80}")
        if coord is not None and not isinstance(coord, Coordinator):
            raise TypeError(f"create_threads: coord must be a Coordinator or None, got {coord!r:.80}")
        daemon, start = truth(daemon, "create_threads: daemon"), truth(start, "create_threads: start")
        key = self if sess is None else sess
        with self._lock:
            if self._runs_per_session.get(key, 0) > 0:
                return []
            self._runs_per_session[key] = len(self._enqueue_ops)
            self._exceptions_raised = []
        threads: list[EndingThread] = []
        closing: list[EndingThread] = []
        started: list[EndingThread] = []
        try:
            group, loop = self._group_for(sess), loop_of_thread.coord
            for number, op in enumerate(self._enqueue_ops, 1):
                worker = WorkerRecord(group, number, counted=self._counts)
                threads.append(self._thread(self._thread_body, op_name(op), sess, coord, op, worker, loop))
            group.begin(self.name, [*threads])
            groups.add(group)
            if coord is not None:
                closing.append(self._thread(self._close_on_stop, "close_on_stop", sess, self._cancel_op, coord))
            for thread in threads + closing:
                if coord is not None:
                    coord.register_thread(thread)
                thread.daemon = daemon or thread.daemon
                if start:
                    thread.start()
                    started.append(thread)
        except BaseException:  # the system is out of threads, or a signal handler raised
            idle = [thread for thread in threads if thread not in started and thread.give_up()]
            with self._lock:
                # Including those not made because the system is out of memory.
                unmade = len(self._enqueue_ops) - len(threads)
                self._runs_per_session[key] -= len(idle) + unmade
            for thread in idle:
                group.leave(thread)
            if all(thread.give_up() for thread in closing) and coord is not None and len(idle) < len(threads):
                self._close_anyway(sess, coord, threads[0].daemon)
            raise
        return [*threads, *closing]

    def _close_anyway(self, sess: Any, coord: Coordinator, daemon: bool) -> None:
        """Have the queue closed for the running threads although another thread could not be started."""
        closing = self._thread(self._close_on_stop, "close_on_stop", sess, self._cancel_op, coord)
        closing.daemon = daemon
        coord.register_thread(closing)
        try:
            closing.start()
        except RuntimeError:  # the system is out of threads
            coord.request_stop()
            with because(coord.stopped):
                self._quietly(sess, self._cancel_op)

    def _callable(self, sess: Any, op: Any) -> Callable[[], object]:
        """Return the function to call repeatedly for an enqueue op."""
        return self._single(sess, op)

    def _single(self, sess: Any, op: Any) -> Callable[[], object]:
        """Return the function for running an op once."""
        return make_callable(sess, op)

    def _group_for(self, sess: Any) -> WorkerGroup:
        """Return a session's threads."""
        return self._group

    def _thread(self, target: Callable[..., None], what: str, *args: Any) -> EndingThread:
        own = "" if what == self.name else f"-{what}"
        return EndingThread(target, args, f"QueueRunnerThread-{self.name}{own}")

    # A filling thread runs `_thread_body`, the closing thread `_close_on_stop`. An exception such as MemoryError may
    # strike anywhere, even while a thread reports another or leaves. So both happen twice, in _run and in _thread_body;
    # the second time changes nothing.

    @property
    def _counts(self) -> bool:
        """True if `_run` is not overridden. An override must count in `_runs_per_session` itself."""
        return type(self)._run is QueueRunner._run

    def _thread_body(
        self, sess: Any, coord: Coordinator | None, op: Any, worker: WorkerRecord, loop: Coordinator | None
    ) -> None:
        try:
            if worker.group.gate is not None:
                worker.group.gate.wait()
            loop_of_thread.coord = loop
            with worker.as_current():
                self._run(sess, op, coord)
        except BaseException as error:
            self._note(error, worker, alone=coord is None)
            if coord is None:
                raise
            coord.request_stop(error)
        finally:
            self._leave(sess, worker)
            worker.failure = None  # its frames refer to the worker

    def _run(self, sess: Any, enqueue_op: Any, coord: Coordinator | None = None) -> None:
        """Run an enqueue op until the input ends or the Coordinator stops. Subclasses may override it.

        Args:
            sess: The session; None calls the op directly.
            enqueue_op: The thread's op.
            coord: The thread's Coordinator.
        """
        worker = current_worker()
        if worker is None:  # the program's own thread
            worker = WorkerRecord(self._group_for(sess), 1)
            worker.group.begin(self.name, [threading.current_thread()])
            with worker.as_current():
                self._fill(sess, enqueue_op, coord, worker)
        else:
            worker.counted = True  # even if a subclass wraps this
            self._fill(sess, enqueue_op, coord, worker)

    def _fill(self, sess: Any, op: Any, coord: Coordinator | None, worker: WorkerRecord) -> None:
        try:
            run = self._callable(sess, op)
            while coord is None or not coord.should_stop():
                worker.keys = None
                try:
                    run()
                except self._queue_closed_exception_types as error:
                    worker.group.reached_end(error)
                    if self._leave(sess, worker, at_end=True) == 0:
                        with because(InputUsedUp(worker.group)):
                            self._quietly(sess, self._close_op)
                    return
        except BaseException as error:
            self._note(error, worker, alone=coord is None)
            if coord is None:
                raise
            coord.request_stop(error)
        finally:
            self._leave(sess, worker)

    def _note(self, error: BaseException, worker: WorkerRecord, alone: bool = True) -> None:
        """Record the exception that ends a thread, in `exceptions_raised` too if there is no coordinator."""
        if worker.failure is not None and worker.failure.error is error:
            return
        failure = worker.fail(error)
        if alone:
            worker.group.failed(failure)
            if isinstance(error, Exception):
                with self._lock:
                    if any(each is error for each in self._exceptions_raised):  # already recorded by the user's `_run`
                        return
                    self._exceptions_raised.append(error)
                _log.error("Exception in QueueRunner: %s", error)

    def _leave(self, sess: Any, worker: WorkerRecord, at_end: bool = False) -> int:
        """Count a thread as ended; return how many are running. `at_end`: it may still have to close the queue."""
        key = self if sess is None else sess
        with self._lock:
            left = self._runs_per_session.get(key, 0)
            if worker.counted:
                left = max(left - 1, 0)
                self._runs_per_session[key], worker.counted = left, False  # together: otherwise it may count twice
        if not at_end:
            worker.group.leave()
        return left

    def _close_on_stop(self, sess: Any, cancel_op: Any, coord: Coordinator) -> None:
        try:
            self._wait_for_stop(coord)
        except BaseException as error:
            coord.request_stop(error)  # nothing else closes the queue if the others stop
        with because(coord.stopped):
            self._quietly(sess, cancel_op)

    def _wait_for_stop(self, coord: Coordinator) -> None:
        """Wait for a reason to close the queue."""
        coord.wait_for_stop()

    def _quietly(self, sess: Any, op: Any) -> None:
        """Run a closing op and ignore its errors, such as an already closed queue."""
        try:
            self._single(sess, op)()
        except Exception as error:
            _log.debug("Ignored exception from %s: %s", op_name(op), error)


def _check_op(op: Any, what: str) -> None:
    if not (callable(op) or isinstance(op, str) or hasattr(op, "name")):  # a session may run anything with a name
        raise TypeError(f"{what} must be a callable without arguments, not {op!r:.80}")


def _checked_types(types: Any) -> tuple[type[OpError], ...]:
    valid = isinstance(types, tuple) and types and all(isinstance(t, type) and issubclass(t, OpError) for t in types)
    if not valid:
        raise TypeError(f"queue_closed_exception_types must be a tuple of pipeline.errors types, not {types!r}")
    return types  # type: ignore[no-any-return]
