"""A session's queue: a native queue tied to a graph; cancelling a run ends its waiting calls."""

from __future__ import annotations

import functools
import itertools
import warnings
from typing import TYPE_CHECKING, Any

from pipeline._queue import CALLS
from pipeline.compat.graph.dtypes import resource
from pipeline.compat.graph.graph_keys import GraphKeys
from pipeline.compat.queues.gil_turns import GilTurns, about_to_wait
from pipeline.compat.session.run import SessionRun, current
from pipeline.compat.values.placeholders import runtime_name
from pipeline.dtypes import STRING
from pipeline.errors import CancelledError, InvalidArgumentError
from pipeline.logs import logger
from pipeline.orders.seeds import entropy_if_zero
from pipeline.queues.components import Component, Shape, component, parse_capacity
from pipeline.queues.kinds import shuffle_limits
from pipeline.queues.typed import TypedQueue
from pipeline.queues.waits import CHECK_INTERVAL, Watchdog

if TYPE_CHECKING:
    from pipeline.compat.graph.dtypes import DType
    from pipeline.compat.graph.graph import Graph
    from pipeline.compat.graph.shapes import TensorShape

_log = logger("pipeline.compat")
_numbers = itertools.count()
_ORDERS = {"RandomShuffleQueue": "shuffle", "PriorityQueue": "priority"}
_CANCELLED = {
    CALLS["enqueue"]: "Enqueue operation was cancelled",
    CALLS["dequeue"]: "Dequeue operation was cancelled",
    CALLS["dequeue_many"]: "Dequeue operation was cancelled",
    CALLS["dequeue_up_to"]: "Dequeue operation was cancelled",
}
_DEQUEUES = frozenset(CALLS[each] for each in ("dequeue", "dequeue_many", "dequeue_up_to"))


class QueueSpec:
    """Options of a queue operation; a shared queue is compared with them.

    Args:
        kind: Such as "FIFOQueue".
        capacity, min_after_dequeue, seeds: As in the operation's attributes; seeds (0, 0) mean no seed.
        dtypes, shapes: Per component, including the priority; None for no shapes.
        graph: The operation's graph.
        shared_name: Sessions find a shared queue under this name in the graph's container; "" means not shared.

    Attributes:
        op_name: The operation's name, once it exists.
    """

    def __init__(
        self,
        kind: str,
        capacity: int,
        dtypes: list[DType],
        shapes: list[TensorShape] | None,
        graph: Graph,
        shared_name: str,
        min_after_dequeue: int = 0,
        seeds: tuple[int, int] = (0, 0),
    ) -> None:
        self.kind, self.capacity, self.min_after_dequeue, self.seeds = kind, capacity, min_after_dequeue, seeds
        self.dtypes, self.shapes = dtypes, shapes
        self.graph, self.container, self.shared_name, self.op_name = graph, graph._container, shared_name, ""

    def open(self, run: SessionRun) -> SessionQueue:
        """Return the queue in the run's session; make it if it does not exist yet.

        Raises:
            InvalidArgumentError: The shared queue differs from the operation, or no queue can have these options.
        """
        if not self.shared_name:
            return SessionQueue(self, f"_{next(_numbers)}_{self.op_name}", run)
        key = "queue", self.container, self.shared_name
        queue = run.state(key, lambda: SessionQueue(self, self.shared_name, run))
        if queue.spec is not self:
            self._verify(queue.spec)
        return queue

    def _verify(self, shared: QueueSpec) -> None:
        limit, wanted = parse_capacity(shared.capacity), parse_capacity(self.capacity)
        who = f"Shared queue '{self.shared_name}' has"
        if self.kind != shared.kind:
            problem = f"Expected {shared.kind}, found {self.kind}V2"
        elif wanted != limit:
            problem = f"{who} capacity {limit} but requested capacity was {wanted}"
        elif self.min_after_dequeue != shared.min_after_dequeue:
            problem = (
                f"{who} min_after_dequeue {shared.min_after_dequeue} but requested min_after_dequeue was "
                f"{self.min_after_dequeue}."
            )
        elif self.seeds not in ((0, 0), shared.seeds):
            problem = f"{who} random seeds {shared.seeds} but requested seeds are {self.seeds}."
        elif self.dtypes != shared.dtypes:
            problem = (
                f"{who} component types {_types(shared.dtypes)} but requested component types were "
                f"{_types(self.dtypes)}"
            )
        elif not self._same_shapes(shared):
            problem = (
                f"{who} component shapes {_shapes(shared.shapes)} but requested component shapes were "
                f"{_shapes(self.shapes)}"
            )
        else:
            return
        raise InvalidArgumentError(None, None, problem)

    def _same_shapes(self, shared: QueueSpec) -> bool:
        if self.shapes is None or shared.shapes is None:
            return self.shapes is shared.shapes
        if self.kind == "PaddingFIFOQueue":
            return all(a.is_compatible_with(b) for a, b in zip(self.shapes, shared.shapes, strict=True))
        return self.shapes == shared.shapes


class SessionQueue(TypedQueue):
    """A queue in a session. Cancelling a run ends its waiting calls with CancelledError."""

    def __init__(self, spec: QueueSpec, name: str, run: SessionRun) -> None:
        self.spec = spec
        self._kind_name = spec.kind
        capacity = parse_capacity(spec.capacity)
        if spec.kind == "RandomShuffleQueue":
            shuffle_limits(spec.capacity, spec.min_after_dequeue)
        order = _ORDERS.get(spec.kind, "fifo")
        seeds = entropy_if_zero(spec.seeds)
        self._setup(order, capacity, name, self._parts(), None, min_after_dequeue=spec.min_after_dequeue, seeds=seeds)
        self._watchdog = _SessionWatchdog(spec)
        self._turns = run.state("turns at the GIL", GilTurns)
        run.resources.wakes(self)

    def _parts(self) -> list[Component]:
        shapes: list[Shape] = [None] * len(self.spec.dtypes)
        if self.spec.shapes is not None:
            shapes = [each.sizes for each in self.spec.shapes]
        if self.spec.kind == "PriorityQueue":
            shapes[0] = ()
        return [
            component(STRING if dtype.name == "string" else dtype.np, shape)
            for dtype, shape in zip(self.spec.dtypes, shapes, strict=True)
        ]

    @functools.cached_property
    def hands_on(self) -> bool:
        """True if a one-element batch may be a view with one more axis: elements are large and have equal shapes."""
        known = self.spec.shapes is not None and all(each.is_fully_defined() for each in self.spec.shapes)
        return known and self._holds_large and self._kind_name in ("FIFOQueue", "RandomShuffleQueue")

    @property
    def stackable(self) -> bool:
        """True if one block equals as many single dequeues: elements leave in order and have equal shapes."""
        known = self.spec.shapes is not None and all(each.is_fully_defined() for each in self.spec.shapes)
        return known and self._kind_name in ("FIFOQueue", "PaddingFIFOQueue")

    def _convert(self, vals: Any, many: bool) -> tuple[Any, ...]:
        if len(vals) < len(self.spec.dtypes):
            have, want = (_types([resource, *each]) for each in (self.spec.dtypes[: len(vals)], self.spec.dtypes))
            raise InvalidArgumentError(None, None, f"Signature mismatch, have: {have}-> expected: {want}->")
        return super()._convert(vals, many)

    def _unique(self, name: str | None) -> str:
        return str(name)

    def _about_to_wait(self, call: int) -> float | None:
        about_to_wait()
        self._check_run(call)
        if call in _DEQUEUES:
            self._turns.watch()
        return super()._about_to_wait(call)

    def _still_waiting(self, call: int, waited_s: float) -> float | None:
        self._check_run(call)
        return super()._still_waiting(call, waited_s)

    def _check_run(self, call: int) -> None:
        run = current.run
        if run is not None and run.cancelled and call in _CANCELLED:
            raise CancelledError(None, None, _CANCELLED[call])


class _SessionWatchdog(Watchdog):
    """Warns about runners never started where a native queue raises, because another thread may still start them."""

    def __init__(self, spec: QueueSpec) -> None:
        super().__init__(spec.min_after_dequeue)
        self._spec = spec
        self._warned = False

    def about_to_wait(self, queue: Any, call: str) -> float | None:
        """Return seconds until the next check of this wait; None for never."""
        super().about_to_wait(queue, call)
        return None if self._warned and self._reported else CHECK_INTERVAL

    def still_waiting(self, queue: Any, call: str) -> float | None:
        """Warn once about a wait nothing will end; return seconds until the next check."""
        super().still_waiting(queue, call)
        if not self._warned and all(group.idle() for group in self._groups):
            self._never_started(queue, call)
        return None if self._warned and self._reported else CHECK_INTERVAL

    def _never_started(self, queue: Any, call: str) -> None:
        if self._warned or queue.stats().enqueued:
            return
        runners = [
            each
            for each in self._spec.graph.get_collection(GraphKeys.QUEUE_RUNNERS)
            if getattr(each.queue, "name", None) == self._spec.op_name
        ]
        if runners:
            self._warned = True
            text = (
                f"{call} of {queue._kind_name} '{self._spec.op_name}' has waited for {CHECK_INTERVAL:.0f} s: "
                "the threads of its QueueRunner were never started. "
                "Call tf.train.start_queue_runners(sess=sess, coord=coord) after the variables are initialised."
            )
            # The program seems to hang, so warn even if logging is not configured: TensorFlow prints its log.
            warnings.warn(text, RuntimeWarning, stacklevel=2)
            _log.warning("%s", text)

    def _name_of(self, queue: Any) -> str:
        return self._spec.op_name


def _types(dtypes: list[DType]) -> str:
    return ", ".join(map(runtime_name, dtypes))


def _shapes(shapes: list[TensorShape] | None) -> str:
    each = ["?" if s.sizes is None else _sizes(s.sizes) for s in shapes or ()]
    return f"[{', '.join(each)}]"


def _sizes(sizes: tuple[int | None, ...]) -> str:
    return f"[{','.join('?' if size is None else str(size) for size in sizes)}]"
