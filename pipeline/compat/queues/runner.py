"""QueueRunner for a graph, and the collection with all runners to start."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from pipeline.compat.graph.default_session import get_default_session
from pipeline.compat.graph.graph_keys import GraphKeys
from pipeline.compat.graph.scopes import get_default_graph
from pipeline.compat.graph.tensor import Operation, Tensor
from pipeline.compat.queues.gil_turns import FeederThreads, GilTurns, TakingTurns, done, gil_enabled
from pipeline.compat.queues.in_hand import FUNCTIONS, in_hand
from pipeline.compat.queues.move_blocks import in_blocks
from pipeline.compat.session.session import BaseSession
from pipeline.diagnostics.workers import WorkerGroup
from pipeline.errors import OpError, OutOfRangeError
from pipeline.logs import logger
from pipeline.runners import runner as native
from pipeline.runners.coordinator import Coordinator
from pipeline.sync.stop_flag import StopFlag

if TYPE_CHECKING:
    from pipeline.compat.queues.runner_def import QueueRunnerDef

_log = logger("pipeline.compat")

# Seconds, about the time TensorFlow takes to run one small operation.
_PAUSE = 50e-6


class QueueRunner(native.QueueRunner):
    """Threads that fill a queue: in each session, one per enqueue operation.

    Args:
        queue: The queue to close at the end of input.
        enqueue_ops: One operation per thread; you may list the same one several times.
        close_op: Operation to run at the end of input; None closes the queue.
        cancel_op: Operation to run when the coordinator stops; None closes the queue and cancels its waiting enqueues.
        queue_closed_exception_types: Error classes that mean end of input; None means OutOfRangeError.
        queue_runner_def: QueueRunnerDef to make the runner from, instead of all other arguments.
        import_scope: Scope for the names in `queue_runner_def`.

    Raises:
        ValueError: The queue or the operations are missing, or a definition is given as well.
        TypeError: `queue_closed_exception_types` is not a non-empty tuple of error classes.
    """

    more = ""  # see WorkerGroup

    def __init__(
        self,
        queue: Any = None,
        enqueue_ops: Any = None,
        close_op: Any = None,
        cancel_op: Any = None,
        queue_closed_exception_types: tuple[type[OpError], ...] | None = None,
        queue_runner_def: Any = None,
        import_scope: str | None = None,
    ) -> None:
        if queue_runner_def is not None:
            if queue or enqueue_ops:
                raise ValueError("queue_runner_def and queue are mutually exclusive.")
            from pipeline.compat.queues.runner_def import QueueRunnerDef, elements  # needs protobuf

            if not isinstance(queue_runner_def, QueueRunnerDef):
                raise AssertionError(f"queue_runner_def must be a QueueRunnerDef, not {queue_runner_def!r:.80}")
            queue, enqueue_ops, close_op, cancel_op, queue_closed_exception_types = elements(
                queue_runner_def, import_scope
            )
        if not queue or not enqueue_ops:
            raise ValueError("Must provide queue and enqueue_ops.")
        types = (OutOfRangeError,) if queue_closed_exception_types is None else queue_closed_exception_types
        if not isinstance(types, tuple) or not types or not all(_is_error(each) for each in types):
            raise TypeError(
                f"queue_closed_exception_types, when provided, must be a tuple of tf.error types, but saw: {types}"
            )
        close = queue.close() if close_op is None else close_op
        cancel = queue.close(cancel_pending_enqueues=True) if cancel_op is None else cancel_op
        super().__init__(queue, enqueue_ops, close, cancel, types)

    def create_threads(  # type: ignore[override]  # a graph's operations run in a session only
        self, sess: Any, coord: Coordinator | None = None, daemon: bool = False, start: bool = False
    ) -> list[threading.Thread]:
        """Make one thread per enqueue operation and, with `coord`, one more that closes the queue when it stops.

        Args:
            sess: The session.
            coord: Coordinator that stops the threads and receives their errors.
            daemon: Let the program exit without waiting for the threads.
            start: Also start the threads.

        Returns:
            The threads; empty while threads from an earlier call with this session still run.
        """
        if sess is None:
            raise TypeError("create_threads needs a session, got None")
        return super().create_threads(sess, coord, daemon, start)

    def _callable(self, sess: Any, op: Any) -> Callable[[], object]:
        single = self._single(sess, op)
        run = in_blocks(sess, op, single, len(self.enqueue_ops) > 1) or single
        return run if all(map(_enqueues, self.enqueue_ops)) else _taking_turns(run)

    def _single(self, sess: Any, op: Any) -> Callable[[], object]:
        if not isinstance(sess, BaseSession):
            return super()._single(sess, op)
        single = sess.runner_callable(op)
        if not isinstance(op, Operation) or op.type != "QueueEnqueueV2" or not gil_enabled():
            return single
        turns = sess._resources.get("turns at the GIL", GilTurns)
        feeders = sess._resources.get(("feeders", op), FeederThreads)
        threads = sum(each is op for each in self.enqueue_ops)
        return TakingTurns(single, turns, feeders, in_hand(sess, op, single, threads))

    def _fill(self, *args: Any) -> None:
        try:
            super()._fill(*args)
        finally:
            done()  # release this thread's turn

    def _group_for(self, sess: Any) -> WorkerGroup:
        queue: Any = self.queue
        try:
            # A runner made from its definition has the operation as its queue.
            queue = sess.run(queue.queue_ref if hasattr(queue, "queue_ref") else queue.outputs[0])
        except Exception as error:  # the threads raise and report it too
            _log.debug("no queue in the session for '%s': %s", self.name, error)
        names = _functions(self.enqueue_ops) or [self.name.rpartition("/")[0] or self.name]
        group = WorkerGroup(queue, len(self.enqueue_ops), names, self.more)
        group.gate = _starting.gate
        watchdog = getattr(queue, "_watched_by", None)
        if watchdog is not None:
            watchdog.filled_by(group)
        return group

    def to_proto(self, export_scope: str | None = None) -> QueueRunnerDef | None:
        """Return this runner's definition; None if its queue is not in `export_scope`."""
        from pipeline.compat.queues.runner_def import definition  # needs protobuf

        return definition(self, export_scope)

    @staticmethod
    def from_proto(queue_runner_def: Any, import_scope: str | None = None) -> QueueRunner:
        """Make a runner from a definition with names from the default graph."""
        return QueueRunner(queue_runner_def=queue_runner_def, import_scope=import_scope)


def _enqueues(op: Any) -> bool:
    return str(getattr(op, "type", "")).startswith("QueueEnqueue")


def _functions(ops: Sequence[Any]) -> list[str]:
    """Return the names of the Python functions that operations call."""
    found: dict[str, None] = {}
    seen: set[Operation] = set()
    waiting = [each.op if isinstance(each, Tensor) else each for each in ops]
    while waiting:
        op = waiting.pop()
        if not isinstance(op, Operation) or op in seen:
            continue
        seen.add(op)
        if op.type in FUNCTIONS and op.kernel is not None:
            found[op.kernel.__name__] = None
        waiting += [each.op for each in op.inputs]
    return list(found)


def _taking_turns(run: Callable[[], object]) -> Callable[[], object]:
    """Return `run` with a pause after each call.

    A thread keeping the GIL would store the same counter value again and again, while the runner's counting thread
    waits for the GIL.
    """

    def run_and_pause() -> None:
        run()
        time.sleep(_PAUSE)

    return run_and_pause


def _is_error(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, OpError)


def add_queue_runner(qr: Any, collection: Any = GraphKeys.QUEUE_RUNNERS) -> None:
    """Add a runner to a collection in the default graph."""
    get_default_graph().add_to_collection(collection, qr)


def start_queue_runners(
    sess: Any = None,
    coord: Coordinator | None = None,
    daemon: bool = True,
    start: bool = True,
    collection: Any = GraphKeys.QUEUE_RUNNERS,
) -> list[threading.Thread]:
    """Make and start the threads for all runners in a collection in the session's graph.

    Args:
        sess: The session; None means the default session.
        coord: Coordinator for the threads.
        daemon: Let the program exit without waiting for the threads.
        start: Start the threads; False only makes them.
        collection: The collection's name.

    Returns:
        All new threads; a runner that is already running adds none.

    Raises:
        ValueError: There is no session.
        TypeError: `sess` is not a session.
    """
    if sess is None:
        sess = get_default_session()
        if sess is None:
            raise ValueError(
                "Cannot start queue runners: No default session is registered. Use `with sess.as_default()` or pass an "
                "explicit session to tf.start_queue_runners(sess=sess)"
            )
    if not isinstance(sess, BaseSession):
        # Monitored sessions start their runners themselves.
        if sess.__class__.__name__ in ("MonitoredSession", "SingularMonitoredSession"):
            return []
        raise TypeError(f"sess must be a `tf.Session` object. Given class: {sess.__class__}")
    runners = get_default_graph().get_collection(collection)
    if not runners:
        _log.warning(
            "`tf.train.start_queue_runners()` was called when no queue runners were defined. You can safely remove the "
            "call to this deprecated function."
        )
    # All threads begin together when the last one has started, so a thread that fails at once fails after this returns.
    gate = StopFlag()
    outer, _starting.gate = _starting.gate, gate if start else None
    try:
        with sess.graph.as_default():
            return [
                thread
                for qr in sess.graph.get_collection(collection)
                for thread in qr.create_threads(sess, coord=coord, daemon=daemon, start=start)
            ]
    finally:
        _starting.gate = outer
        gate.set()


class _Starting(threading.local):
    """Gate for the runners this thread is starting."""

    gate: StopFlag | None = None


_starting = _Starting()
