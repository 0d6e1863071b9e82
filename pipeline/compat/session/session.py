"""Session and InteractiveSession: run parts of a graph, and hold its queues, variables and readers."""

from __future__ import annotations

import contextlib
import threading
import warnings
from collections.abc import Callable
from typing import Any

from numpy import ndarray

from pipeline.compat.graph.default_session import entered_session, session_stack
from pipeline.compat.graph.graph import Graph
from pipeline.compat.graph.scopes import get_default_graph
from pipeline.compat.graph.tensor import Operation, Tensor
from pipeline.compat.session.feeding import as_array, fed
from pipeline.compat.session.fetches import Assemble, fetching, structure_key
from pipeline.compat.session.plan import Plan
from pipeline.compat.session.run import Resources, SessionRun
from pipeline.errors import CancelledError, NotFoundError
from pipeline.locks import Lock


class BaseSession:
    """Base class of both kinds of sessions; see Session.

    Thread safety: all methods may be called from any thread; runs in several threads run at the same time.
    """

    def __init__(self, target: str = "", graph: Graph | None = None, config: Any = None) -> None:
        if graph is not None and not isinstance(graph, Graph):
            raise TypeError(f'Argument `graph` must be a tf.Graph, but got "{type(graph).__name__}"')
        if not isinstance(target, (str, bytes)) and target is not None:
            raise TypeError(f'Argument `target` must be a string, but got "{type(target).__name__}"')
        if target:
            raise NotFoundError(
                None, None, f"No session factory registered for the target {target!r}: sessions run in this process."
            )
        if config is not None:
            from pipeline.compat.session.settings import ConfigProto  # already imported by its user

            if not isinstance(config, ConfigProto):
                raise TypeError(f'Argument `config` must be a tf.ConfigProto, but got "{type(config).__name__}"')
        self._graph = get_default_graph() if graph is None else graph
        self._config = config
        milliseconds = config.operation_timeout_in_ms if config is not None else 0
        self._timeout = milliseconds / 1000 if milliseconds > 0 else None
        self._resources = Resources()
        self._plans: dict[Any, tuple[Plan, Assemble | None]] = {}
        self._folded: dict[Operation, Any] = {}
        self._plain_run = SessionRun(self._resources)
        self._entered = threading.local()

    @property
    def graph(self) -> Graph:
        """The graph."""
        return self._graph

    @property
    def graph_def(self) -> Any:
        """The graph's definition, a GraphDef."""
        return self._graph.as_graph_def()

    @property
    def sess_str(self) -> str:
        """The target; always empty."""
        return ""

    def list_devices(self) -> list[Any]:
        """Return the only device, the CPU."""
        return [_Device()]

    def run(self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None) -> Any:
        """Run the operations needed by the fetches, each once, and return the values of the fetches.

        Args:
            fetches: A tensor, operation, variable, SparseTensor or name, or lists, tuples and dicts of these.
            feed_dict: Values to use for tensors instead of computing them.
            options: RunOptions; `timeout_in_ms` limits the run.
            run_metadata: Ignored.

        Returns:
            The values in the same structure as `fetches`: NumPy arrays, scalars, bytes; None for operations.

        Raises:
            RuntimeError: The session is closed, or the graph is empty.
            TypeError, ValueError: Something cannot be fetched or fed.
            OpError: An operation failed, or the deadline passed (DeadlineExceededError).
        """
        if not feed_dict:
            kind = fetches.__class__
            key = fetches if kind is Tensor or kind is Operation else structure_key(fetches)
            entry = self._plans.get(key)
            if entry is None:
                entry = self._planned(key, fetches, ())
            plan, assemble = entry
            run = self._begin(options)
            values = plan.run(run)
            plan.done(run)
            if assemble is None:  # a single element
                return _handed_over(values[0])
            return assemble([_handed_over(each) for each in values])
        self._check()
        given = fed(self._graph, feed_dict)
        key = structure_key(fetches)
        if key is not None:
            key = (key, frozenset(given))
        entry = self._plans.get(key) if key is not None else None
        if entry is None:
            entry = self._planned(key, fetches, tuple(given))
        plan, assemble = entry
        run = self._begin(options)
        values = plan.run(run, [given[each] for each in plan.fed])
        plan.done(run)
        values = [_handed_over(each) for each in values]
        for place, tensor in plan.fed_fetches:
            values[place] = as_array(tensor, values[place])
        return values[0] if assemble is None else assemble(values)

    def make_callable(self, fetches: Any, feed_list: Any = None, accept_options: bool = False) -> Callable[..., Any]:
        """Return a function that runs these fetches as `run` does, but is faster to call.

        Args:
            fetches: As in `run`.
            feed_list: Tensors fed by the function's arguments.
            accept_options: True if the function takes `options` and `run_metadata`.
        """
        if feed_list is not None:
            if not isinstance(feed_list, (list, tuple)):
                raise TypeError(f"Argument `feed_list` must be a list or tuple. Received: feed_list={feed_list}")

            def feeding(*args: Any, **options: Any) -> Any:
                return self.run(fetches, dict(zip(feed_list, args, strict=False)), **options)

            return feeding
        plan, assemble = self._planned(None, fetches, ())
        return self._calling(plan, assemble, accept_options)

    def runner_callable(self, op: Any) -> Callable[..., Any]:
        """Return a callable as `make_callable` does, for a queue runner's thread: its elements belong to no batch."""
        plan, assemble = self._planned(None, op, ())
        return self._calling(plan, assemble, False)

    def _calling(self, plan: Plan, assemble: Assemble | None, accept_options: bool) -> Callable[..., Any]:
        follow = plan.run
        begin = self._begin

        def call(options: Any = None, run_metadata: Any = None) -> Any:
            self._check_open()
            run = begin(options)
            values = [_handed_over(each) for each in follow(run)]
            plan.done(run)
            return values[0] if assemble is None else assemble(values)

        if accept_options:
            return call
        if assemble is not None:
            return lambda: call()

        def call_simply() -> Any:
            self._check_open()
            run = begin(None)
            values = follow(run)
            plan.done(run)
            return _handed_over(values[0])

        return call_simply

    def close(self) -> None:
        """Release all resources. Waiting runs end with CancelledError."""
        if self._resources.closed:
            return
        self._resources.closed = True
        self._plans = {}  # after `closed`, so that no run finds a plan
        self._resources.poke()

    def as_default(self) -> contextlib.AbstractContextManager[BaseSession]:
        """Return a context manager that makes this thread's `eval` and `run` use this session."""
        return entered_session(self)

    def _begin(self, options: Any) -> SessionRun:
        if options is None and self._timeout is None:
            return self._plain_run
        timeout = self._timeout
        if options is not None and options.timeout_in_ms > 0:
            timeout = options.timeout_in_ms / 1000
        return self._plain_run if timeout is None else SessionRun(self._resources, timeout)

    def _check_open(self) -> None:
        """Raise CancelledError if the session is closed, for callables and runners begun before."""
        if self._resources.closed:
            raise CancelledError(None, None, "Session has been closed.")

    def _check(self) -> None:
        if self._resources.closed:
            raise RuntimeError("Attempted to use a closed Session.")
        if self._graph.version == 0:
            raise RuntimeError("The Session graph is empty. Add operations to the graph before calling run().")

    def _planned(self, key: Any, fetches: Any, tensors: Any) -> tuple[Plan, Assemble | None]:
        self._check()
        leaves, assemble = fetching(self._graph, fetches)
        single = len(leaves) == 1 and isinstance(fetches, (Tensor, Operation, str))
        entry = Plan(leaves, tensors, self._folded), None if single else assemble
        if key is not None:
            self._plans[key] = entry
        return entry


def _handed_over(value: Any) -> Any:
    """Return a value the caller may keep and change: a copy if constants or variables share its memory."""
    if value.__class__ is not ndarray:
        return value
    if value.ndim == 0:
        return value[()]
    return value if value.flags.writeable else value.copy()


class _Device:
    name, device_type, memory_limit_bytes, memory_limit = "/job:localhost/replica:0/task:0/device:CPU:0", "CPU", 0, 0


class Session(BaseSession):
    """Runs parts of a graph.

    Args:
        target: Must be empty; sessions run in this process.
        graph: The graph; None means the default graph.
        config: A ConfigProto; only `operation_timeout_in_ms` has an effect.

    As a context manager it makes itself the default session and its graph the default graph, and closes itself at the
    end.

    Raises:
        TypeError: An argument has the wrong type.
        NotFoundError: `target` is not empty.
    """

    def __enter__(self) -> Session:
        stacks = self._entered.__dict__.setdefault("stacks", [])
        if stacks:
            text = (
                "Session context managers are not re-entrant. Use `Session.as_default()` if you want to enter a session"
            )
            raise RuntimeError(f"{text} multiple times.")
        stack = contextlib.ExitStack()
        stack.enter_context(self._graph.as_default())
        stack.enter_context(self.as_default())
        stacks.append(stack)
        return self

    def __exit__(self, *exc: Any) -> None:
        try:
            self._entered.stacks.pop().__exit__(*exc)
        finally:
            self.close()

    @staticmethod
    def reset(target: str, containers: Any = None, config: Any = None) -> None:
        """Do nothing, because no session is remote."""


class InteractiveSession(BaseSession):
    """The default session from its construction until `close`; see Session for the arguments."""

    _active = 0
    _lock = Lock()

    def __init__(self, target: str = "", graph: Graph | None = None, config: Any = None) -> None:
        super().__init__(target, graph, config)
        with InteractiveSession._lock:
            if InteractiveSession._active > 0:
                warnings.warn(
                    "An interactive session is already active. This can cause out-of-memory errors in some cases. You "
                    "must explicitly call `InteractiveSession.close()` to release resources held by the other "
                    "session(s).",
                    stacklevel=2,
                )
            InteractiveSession._active += 1
        self._explicit = graph
        session_stack.entered.append(self)
        if graph is not None:
            self._graph_context = graph.as_default()
            self._graph_context.__enter__()

    def close(self) -> None:
        """Release all resources, and stop being the default session."""
        if self._resources.closed:
            return
        super().close()
        with InteractiveSession._lock:
            InteractiveSession._active -= 1
        if self in session_stack.entered:
            session_stack.entered.remove(self)
        if self._explicit is not None:
            with contextlib.suppress(Exception):
                self._graph_context.__exit__(None, None, None)
