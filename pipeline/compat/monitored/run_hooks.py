"""SessionRunHook: what a program may do around each run of a monitored session."""

from __future__ import annotations

from typing import Any, NamedTuple


class SessionRunHook:
    """Called by a monitored session; methods do nothing unless a subclass says what."""

    def begin(self) -> None:
        """Called once before the session is made; may add to the graph."""

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Called when a session was made; the graph is complete."""

    def before_run(self, run_context: Any) -> Any:
        """Called before each run; may return SessionRunArgs to add to it."""
        return None

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Called after each run, with the SessionRunValues of what `before_run` asked for."""

    def end(self, session: Any) -> None:
        """Called at the end of the session, unless it ends with an error."""


class SessionRunArgs(NamedTuple):
    """What a hook adds to a run: fetches, feeds and options."""

    fetches: Any
    feed_dict: Any = None
    options: Any = None


class SessionRunValues(NamedTuple):
    """What a run gave for the fetches of a hook."""

    results: Any
    options: Any
    run_metadata: Any


class SessionRunContext:
    """The run that a hook is called for.

    Args:
        original_args: SessionRunArgs of the program's own run.
        session: The session.
    """

    def __init__(self, original_args: SessionRunArgs, session: Any) -> None:
        self._original_args, self._session = original_args, session
        self._stop_requested = False

    @property
    def original_args(self) -> SessionRunArgs:
        """What the program asked for."""
        return self._original_args

    @property
    def session(self) -> Any:
        """The session without hooks."""
        return self._session

    @property
    def stop_requested(self) -> bool:
        """Whether a hook asked for an end."""
        return self._stop_requested

    def request_stop(self) -> None:
        """Let this be the last run."""
        self._stop_requested = True
