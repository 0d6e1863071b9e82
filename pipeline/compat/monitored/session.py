"""MonitoredSession: a session that initialises itself, starts the queue runners, and ends cleanly."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pipeline.compat.graph.graph_keys import GraphKeys
from pipeline.compat.graph.scopes import get_collection, get_default_graph
from pipeline.compat.monitored import layers
from pipeline.compat.monitored.scaffold import Scaffold
from pipeline.compat.monitored.session_manager import ChiefSessionCreator, SessionCreator, WorkerSessionCreator
from pipeline.compat.monitored.summary_hooks import StepCounterHook, SummarySaverHook
from pipeline.compat.platform import tf_logging
from pipeline.compat.queues.runner import start_queue_runners
from pipeline.errors import OutOfRangeError
from pipeline.runners.coordinator import Coordinator


class _Creator:
    """Makes the inner session, starts the queue runners and calls the hooks."""

    def __init__(self, session_creator: Any, hooks: list[Any], grace: float) -> None:
        self._session_creator, self._hooks, self._grace = session_creator, hooks, grace
        self.coord: Any = None
        self.tf_sess: Any = None

    def create_session(self) -> Any:
        self.tf_sess = self._session_creator.create_session()
        # An empty list means no exception counts as a clean stop, so `close` raises any thread's error.
        self.coord = Coordinator(clean_stop_exception_types=[])
        if get_collection(GraphKeys.QUEUE_RUNNERS):
            start_queue_runners(sess=self.tf_sess, coord=self.coord)
        for hook in self._hooks:
            hook.after_create_session(self.tf_sess, self.coord)
        return layers.Coordinated(layers.Hooked(self.tf_sess, self._hooks), self.coord, self._grace)


class _Monitored:
    StepContext = layers.StepContext

    def __init__(
        self, session_creator: Any, hooks: Sequence[Any] | None, should_recover: bool, stop_grace_period_secs: float
    ) -> None:
        self._graph_was_finalized = get_default_graph().finalized
        self._hooks = list(hooks or [])
        for hook in self._hooks:
            hook.begin()
        self._coordinated_creator = _Creator(
            session_creator or ChiefSessionCreator(), self._hooks, stop_grace_period_secs
        )
        create = self._coordinated_creator.create_session
        self._sess: Any = layers.Recoverable(create) if should_recover else create()

    @property
    def graph(self) -> Any:
        """The graph; None after `close`."""
        return None if self._coordinated_creator.tf_sess is None else self._coordinated_creator.tf_sess.graph

    def run(self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None) -> Any:
        """Run as `Session.run` does, with the hooks' fetches and feeds added.

        Raises:
            RuntimeError: A hook has requested a stop.
        """
        return self._sess.run(fetches, feed_dict=feed_dict, options=options, run_metadata=run_metadata)

    def run_step_fn(self, step_fn: Callable[[Any], Any]) -> Any:
        """Call `step_fn(step_context)` and return its result; the context can run with and without hooks.

        Raises:
            ValueError: The function takes other arguments.
            StopIteration: It called `step_context.request_stop()`.
        """
        names = _argument_names(step_fn)
        if names not in (("step_context",), ("self", "step_context")):
            raise ValueError(
                "`step_fn` may either have one `step_context` argument, or `self` and `step_context` arguments if it's "
                f"an instance method. Got {names} instead."
            )
        return self._sess.run_step_fn(step_fn, self._tf_sess(), None)

    def should_stop(self) -> bool:
        """Return whether to stop: a hook or a thread has requested it, or the session is closed."""
        return self._sess is None or self._sess.should_stop()

    def close(self) -> None:
        """Call the hooks, stop the threads and close the session; raise a thread's error."""
        self._close(None)

    def __enter__(self) -> Any:
        return self

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> bool:
        # The end of input is a normal end.
        if kind in (OutOfRangeError, StopIteration):
            kind = None
        self._close(kind)
        return kind is None

    def _close(self, kind: Any) -> None:
        try:
            if not kind:
                for hook in self._hooks:
                    hook.end(self._coordinated_creator.tf_sess)
        finally:
            try:
                if self._sess is None:
                    raise RuntimeError("Session is already closed.")
                self._sess.close()
            finally:
                self._sess = None
                self._coordinated_creator.tf_sess = self._coordinated_creator.coord = None
                if not self._graph_was_finalized:
                    get_default_graph()._unsafe_unfinalize()

    def _is_closed(self) -> bool:
        return self._coordinated_creator.tf_sess is None

    def _tf_sess(self) -> Any:
        return self._coordinated_creator.tf_sess


def _argument_names(function: Any) -> tuple[str, ...]:
    """Return a function's argument names, without `self` for a bound method."""
    if hasattr(function, "func") and hasattr(function, "keywords"):  # functools.partial
        names = _argument_names(function.func)[len(function.args) :]
        return tuple(name for name in names if name not in function.keywords)
    if not hasattr(function, "__code__") and not hasattr(function, "__func__"):
        function = function.__call__
    bound = getattr(function, "__self__", None) is not None
    code = getattr(function, "__func__", function).__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return tuple(names[1:] if bound else names)


class MonitoredSession(_Monitored):
    """A session that initialises itself, starts the queue runners, calls hooks, and ends cleanly.

    The context manager swallows OutOfRangeError and StopIteration. After AbortedError or UnavailableError the session
    continues in a new inner session.

    Args:
        session_creator: Makes the inner session; ChiefSessionCreator() by default.
        hooks: SessionRunHooks.
        stop_grace_period_secs: Seconds `close` waits for threads.
    """

    def __init__(
        self,
        session_creator: SessionCreator | None = None,
        hooks: Sequence[Any] | None = None,
        stop_grace_period_secs: float = 120,
    ) -> None:
        super().__init__(session_creator, hooks, True, stop_grace_period_secs)


class SingularMonitoredSession(_Monitored):
    """A MonitoredSession without recovery, but with access to the inner session.

    Args:
        hooks: SessionRunHooks.
        scaffold: Scaffold that initialises the session.
        master: Must be empty, because sessions run in this process.
        config: A ConfigProto.
        checkpoint_dir: Must not contain a checkpoint.
        stop_grace_period_secs: Seconds `close` waits for threads.
        checkpoint_filename_with_path: Must be None.
    """

    def __init__(
        self,
        hooks: Sequence[Any] | None = None,
        scaffold: Scaffold | None = None,
        master: str = "",
        config: Any = None,
        checkpoint_dir: Any = None,
        stop_grace_period_secs: float = 120,
        checkpoint_filename_with_path: Any = None,
    ) -> None:
        creator = ChiefSessionCreator(scaffold, master, config, checkpoint_dir, checkpoint_filename_with_path)
        super().__init__(creator, hooks, False, stop_grace_period_secs)

    def raw_session(self) -> Any:
        """Return the inner session."""
        return self._coordinated_creator.tf_sess


_DEFAULT = object()


def MonitoredTrainingSession(
    master: str = "",
    is_chief: bool = True,
    checkpoint_dir: Any = None,
    scaffold: Scaffold | None = None,
    hooks: Sequence[Any] | None = None,
    chief_only_hooks: Sequence[Any] | None = None,
    save_checkpoint_secs: Any = _DEFAULT,
    save_summaries_steps: Any = _DEFAULT,
    save_summaries_secs: Any = _DEFAULT,
    config: Any = None,
    stop_grace_period_secs: float = 120,
    log_step_count_steps: int | None = 100,
    max_wait_secs: float = 7200,
    save_checkpoint_steps: Any = _DEFAULT,
    summary_dir: Any = None,
    save_graph_def: bool = True,
) -> MonitoredSession:
    """Return a MonitoredSession with a training program's usual hooks.

    Args:
        master: Must be empty, because sessions run in this process.
        is_chief: If False, wait for variables instead of initialising them, and write nothing.
        checkpoint_dir: Directory for summaries if there is no `summary_dir`. No checkpoints are written.
        scaffold: Scaffold that initialises the session.
        hooks: SessionRunHooks.
        chief_only_hooks: SessionRunHooks called by the chief only.
        save_checkpoint_secs, save_checkpoint_steps, save_graph_def: Without effect.
        save_summaries_steps: Write summaries every n steps, 100 by default.
        save_summaries_secs: Write summaries every n seconds.
        config: A ConfigProto.
        stop_grace_period_secs: Seconds `close` waits for threads.
        log_step_count_steps: Log the speed every n steps.
        max_wait_secs: Seconds a session waits for variables if it is not the chief.
        summary_dir: Directory for summaries.
    """
    scaffold = scaffold or Scaffold()
    if not is_chief:
        worker = WorkerSessionCreator(scaffold, master, config, max_wait_secs)
        return MonitoredSession(worker, hooks or [], stop_grace_period_secs)
    steps, secs = save_summaries_steps, save_summaries_secs
    if steps is _DEFAULT and secs is _DEFAULT:
        steps, secs = 100, None
    steps, secs = (None if each is _DEFAULT else each for each in (steps, secs))
    found = list(chief_only_hooks or [])
    directory = summary_dir or checkpoint_dir
    if directory:
        if log_step_count_steps and log_step_count_steps > 0:
            found.append(StepCounterHook(output_dir=directory, every_n_steps=log_step_count_steps))
        if (steps and steps > 0) or (secs and secs > 0):
            found.append(SummarySaverHook(scaffold=scaffold, save_steps=steps, save_secs=secs, output_dir=directory))
    if checkpoint_dir:
        tf_logging.warning("No checkpoints are written to %s: pipeline.compat.v1 runs input pipelines.", checkpoint_dir)
    creator = ChiefSessionCreator(scaffold, master, config, checkpoint_dir)
    return MonitoredSession(creator, found + list(hooks or []), stop_grace_period_secs)
