"""SessionRunHook, the base of hooks that a monitored session calls around each run, and what is passed to them."""

from __future__ import annotations

from typing import Any, NamedTuple


class SessionRunHook:
    """Base of the hooks of a monitored session; all methods do nothing."""

    def begin(self) -> None:
        """Called once before the session is made; may add to the graph."""

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Called when a session has been made; the graph is finalized."""

    def before_run(self, run_context: Any) -> Any:
        """Called before each run; may return SessionRunArgs to add to it."""
        return None

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Called after each run with SessionRunValues, the results of what `before_run` requested."""

    def end(self, session: Any) -> None:
        """Called at the end of the session, unless it ends with an error."""


class SessionRunArgs(NamedTuple):
    """The fetches, feeds and options that a hook adds to a run."""

    fetches: Any
    feed_dict: Any = None
    options: Any = None


class SessionRunValues(NamedTuple):
    """The results of a hook's fetches."""

    results: Any
    options: Any
    run_metadata: Any


class SessionRunContext:
    """The run that a hook is called for.

    Args:
        original_args: The SessionRunArgs of the caller.
        session: The session without hooks.
    """

    def __init__(self, original_args: SessionRunArgs, session: Any) -> None:
        self._original_args, self._session = original_args, session
        self._stop_requested = False

    @property
    def original_args(self) -> SessionRunArgs:
        """The fetches and feeds of the caller."""
        return self._original_args

    @property
    def session(self) -> Any:
        """The session without hooks."""
        return self._session

    @property
    def stop_requested(self) -> bool:
        """Whether a hook has requested a stop."""
        return self._stop_requested

    def request_stop(self) -> None:
        """Stop the session after this run."""
        self._stop_requested = True
