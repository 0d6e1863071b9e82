"""SessionManager and the session creators: make initialised sessions, and check them."""

from __future__ import annotations

import abc
import os
import time
from typing import Any

import numpy as np

from pipeline.compat.graph.graph import Graph
from pipeline.compat.graph.scopes import get_default_graph
from pipeline.compat.monitored.scaffold import Scaffold
from pipeline.compat.platform import tf_logging
from pipeline.compat.session.session import Session
from pipeline.errors import DeadlineExceededError, FailedPreconditionError


class SessionManager:
    """Makes sessions for a graph and gets them ready to run.

    Args:
        local_init_op: Initialises local variables and tables.
        ready_op: Returns the names of uninitialised variables.
        ready_for_local_init_op: The same, checked before `local_init_op`.
        graph: The graph; the default graph by default.
        recovery_wait_secs: Seconds between attempts in `wait_for_session`.
        local_init_run_options: RunOptions for `local_init_op`.
        local_init_feed_dict: Feeds for `local_init_op`.

    Raises:
        ValueError: There is a `ready_for_local_init_op` but no `local_init_op`.
    """

    def __init__(
        self,
        local_init_op: Any = None,
        ready_op: Any = None,
        ready_for_local_init_op: Any = None,
        graph: Graph | None = None,
        recovery_wait_secs: float = 30,
        local_init_run_options: Any = None,
        local_init_feed_dict: Any = None,
    ) -> None:
        if ready_for_local_init_op is not None and local_init_op is None:
            raise ValueError(
                "If you pass a ready_for_local_init_op you must also pass a local_init_op , ready_for_local_init_op "
                f"[{ready_for_local_init_op}]"
            )
        self._local_init_op, self._ready_op = local_init_op, ready_op
        self._ready_for_local_init_op, self._wait = ready_for_local_init_op, recovery_wait_secs
        self._graph = get_default_graph() if graph is None else graph
        self._options, self._feeds = local_init_run_options, local_init_feed_dict

    def prepare_session(
        self,
        master: str,
        init_op: Any = None,
        saver: Any = None,
        checkpoint_dir: str | None = None,
        checkpoint_filename_with_path: str | None = None,
        wait_for_checkpoint: bool = False,
        max_wait_secs: float = 7200,
        config: Any = None,
        init_feed_dict: Any = None,
        init_fn: Any = None,
    ) -> Session:
        """Make a session and initialise it.

        Raises:
            RuntimeError: Nothing initialises it, or some variables are not initialised afterwards.
            NotImplementedError: There is a checkpoint.
        """
        _no_checkpoint(checkpoint_dir, checkpoint_filename_with_path)
        sess = Session(master, graph=self._graph, config=config)
        if init_op is None and init_fn is None and self._local_init_op is None:
            raise RuntimeError("Model is not initialized and no init_op or init_fn or local_init_op was given")
        if init_op is not None:
            sess.run(init_op, feed_dict=init_feed_dict)
        if init_fn is not None:
            init_fn(sess)
        problem = self._init_local(sess)
        if problem is not None:
            raise RuntimeError(
                f"Init operations did not make model ready for local_init.  Init op: {_names(init_op)}, init fn: "
                f"{init_fn}, error: {problem}"
            )
        problem = _not_ready(self._ready_op, sess)
        if problem is not None:
            raise RuntimeError(
                f"Init operations did not make model ready.  Init op: {_names(init_op)}, init fn: {init_fn}, "
                f"local_init_op: {_names(self._local_init_op)}, error: {problem}"
            )
        return sess

    def wait_for_session(self, master: str, config: Any = None, max_wait_secs: float | None = None) -> Session:
        """Make a session and wait until something else has initialised its variables.

        Raises:
            DeadlineExceededError: It is not ready in time.
        """
        end = None if max_wait_secs is None else time.monotonic() + max_wait_secs
        while True:
            sess = Session(master, graph=self._graph, config=config)
            problem = self._init_local(sess) or _not_ready(self._ready_op, sess)
            if problem is None:
                return sess
            sess.close()
            if end is not None and time.monotonic() + self._wait > end:
                raise DeadlineExceededError(
                    None, None, f"Session was not ready after waiting {max_wait_secs} secs. ({problem})"
                )
            tf_logging.info("Waiting for model to be ready: %s", problem)
            time.sleep(self._wait)

    def _init_local(self, sess: Session) -> str | None:
        if self._local_init_op is None:
            return None
        problem = _not_ready(self._ready_for_local_init_op, sess)
        if problem is None:
            tf_logging.info("Running local_init_op.")
            sess.run(self._local_init_op, feed_dict=self._feeds, options=self._options)
            tf_logging.info("Done running local_init_op.")
        return problem


def _not_ready(op: Any, sess: Session) -> str | None:
    """Return a text listing uninitialised variables; None if all are initialised."""
    if op is None:
        return None
    try:
        missing = sess.run(op)
    except FailedPreconditionError as error:
        if error.uninitialized is None:
            raise
        return str(error)
    if missing is None or getattr(missing, "dtype", None) == np.int32 or not np.size(missing):
        return None
    return "Variables not initialized: " + ", ".join(each.decode() for each in missing)


def _names(op: Any) -> Any:
    if isinstance(op, (list, tuple)):
        return ", ".join(each.name for each in op)
    return getattr(op, "name", op)


def _no_checkpoint(directory: Any, path: Any) -> None:
    """Raise NotImplementedError if a session would have to restore a checkpoint."""
    if path or (directory and os.path.exists(os.path.join(directory, "checkpoint"))):
        raise NotImplementedError(
            f"{path or directory} has a checkpoint: pipeline.compat.v1 runs input pipelines, and restores nothing."
        )


class SessionCreator(abc.ABC):
    """Makes the inner session for a monitored session."""

    @abc.abstractmethod
    def create_session(self) -> Any:
        """Return a new session."""


class ChiefSessionCreator(SessionCreator):
    """Makes a session and initialises it.

    Args:
        scaffold: Scaffold that initialises it; Scaffold() by default.
        master: Must be empty, because sessions run in this process.
        config: A ConfigProto.
        checkpoint_dir: Must not contain a checkpoint.
        checkpoint_filename_with_path: Must be None.
    """

    def __init__(
        self,
        scaffold: Scaffold | None = None,
        master: str = "",
        config: Any = None,
        checkpoint_dir: Any = None,
        checkpoint_filename_with_path: Any = None,
    ) -> None:
        self._scaffold = scaffold or Scaffold()
        self._master, self._config = master, config
        self._checkpoint_dir, self._checkpoint = checkpoint_dir, checkpoint_filename_with_path

    def create_session(self) -> Session:
        """Return a new, initialised session; RuntimeError if a variable is not initialised."""
        scaffold = self._scaffold.finalize()
        return _manager(scaffold).prepare_session(
            self._master,
            init_op=scaffold.init_op,
            checkpoint_dir=self._checkpoint_dir,
            checkpoint_filename_with_path=self._checkpoint,
            config=self._config,
            init_feed_dict=scaffold.init_feed_dict,
            init_fn=scaffold.init_fn,
        )


class WorkerSessionCreator(SessionCreator):
    """Makes a session and waits until something else has initialised its variables.

    Args:
        scaffold: Scaffold that checks this; Scaffold() by default.
        master: Must be empty, because sessions run in this process.
        config: A ConfigProto.
        max_wait_secs: Seconds to wait.
    """

    def __init__(
        self, scaffold: Scaffold | None = None, master: str = "", config: Any = None, max_wait_secs: float = 1800
    ) -> None:
        self._scaffold = scaffold or Scaffold()
        self._master, self._config, self._most = master, config, max_wait_secs

    def create_session(self) -> Session:
        """Return a new session; DeadlineExceededError if it is not ready in time."""
        return _manager(self._scaffold.finalize()).wait_for_session(self._master, self._config, self._most)


def _manager(scaffold: Scaffold) -> SessionManager:
    return SessionManager(
        local_init_op=scaffold.local_init_op,
        local_init_feed_dict=scaffold.local_init_feed_dict,
        ready_op=scaffold.ready_op,
        ready_for_local_init_op=scaffold.ready_for_local_init_op,
    )
