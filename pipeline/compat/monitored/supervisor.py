"""Supervisor: prepares a session, runs the queue runners, and stops everything at the end."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from pipeline.compat.graph.graph_keys import GraphKeys
from pipeline.compat.graph.scopes import add_to_collection, get_collection, get_default_graph
from pipeline.compat.monitored.session_manager import SessionManager
from pipeline.compat.ops.control.flow import group
from pipeline.compat.ops.lookup.tables import tables_initializer
from pipeline.compat.ops.summaries.summary import merge_all
from pipeline.compat.ops.summaries.writer import FileWriter
from pipeline.compat.ops.variables.collections import global_step as step_in
from pipeline.compat.ops.variables.collections import (
    global_variables_initializer,
    local_variables_initializer,
    report_uninitialized_variables,
)
from pipeline.compat.platform import tf_logging
from pipeline.compat.session.session import Session
from pipeline.proto.summary import SessionLog, Summary
from pipeline.runners.coordinator import Coordinator
from pipeline.runners.looper import LooperThread

USE_DEFAULT = 0


class Supervisor:
    """Runs a program's session: initialises it, starts the queue runners and services, and stops them.

    There are no checkpoints: nothing is saved, and a `logdir` with a checkpoint is rejected.

    Args:
        graph: The graph; the default graph by default. It is finalised.
        ready_op, ready_for_local_init_op, init_op, local_init_op, summary_op, global_step: Operations; by default from
            the graph's collections, or new ones. None means no operation.
        is_chief: Initialise the session; if False, wait until something else has initialised it.
        init_feed_dict: Feeds for `init_op`.
        logdir: Directory for event files; None writes none.
        saver, save_model_secs, checkpoint_basename: Without effect.
        save_summaries_secs: Seconds between two summaries; 0 writes none.
        recovery_wait_secs: Seconds between checks for an initialised session.
        stop_grace_secs: Timeout for the threads to end, in seconds.
        session_manager: Session factory; a SessionManager by default.
        summary_writer: A FileWriter, or None to write no summaries; by default one for `logdir`.
        init_fn: Called with the session after `init_op`.
        local_init_run_options: RunOptions for `local_init_op`.

    Raises:
        ValueError: This is not the chief, and one of its variables has no device.
    """

    USE_DEFAULT = USE_DEFAULT

    def __init__(
        self,
        graph: Any = None,
        ready_op: Any = USE_DEFAULT,
        ready_for_local_init_op: Any = USE_DEFAULT,
        is_chief: bool = True,
        init_op: Any = USE_DEFAULT,
        init_feed_dict: Any = None,
        local_init_op: Any = USE_DEFAULT,
        logdir: str | None = None,
        summary_op: Any = USE_DEFAULT,
        saver: Any = USE_DEFAULT,
        global_step: Any = USE_DEFAULT,
        save_summaries_secs: float = 120,
        save_model_secs: float = 600,
        recovery_wait_secs: float = 30,
        stop_grace_secs: float = 120,
        checkpoint_basename: str = "model.ckpt",
        session_manager: Any = None,
        summary_writer: Any = USE_DEFAULT,
        init_fn: Callable[[Any], Any] | None = None,
        local_init_run_options: Any = None,
    ) -> None:
        self._graph = get_default_graph() if graph is None else graph
        self.coord, self.is_chief, self._grace, self._init_fn = Coordinator(), is_chief, stop_grace_secs, init_fn
        self.init_feed_dict, self.saver = init_feed_dict, None
        with self._graph.as_default():
            self._make_ops(ready_op, ready_for_local_init_op, init_op, local_init_op, summary_op, global_step)
        self._services(logdir if is_chief else None, summary_writer, save_summaries_secs, save_model_secs)
        self.save_path = os.path.join(logdir, checkpoint_basename) if is_chief and logdir else None
        self.session_manager = session_manager or SessionManager(
            self._local_init_op, self.ready_op, self.ready_for_local_init_op, self._graph, recovery_wait_secs,
            local_init_run_options,
        )  # fmt: skip
        if not is_chief:
            _check_devices(self._graph)
        self._graph.finalize()

    def _make_ops(self, ready: Any, ready_for_local: Any, init: Any, local_init: Any, summary: Any, step: Any) -> None:
        self.ready_op = _given_or(ready, GraphKeys.READY_OP, report_uninitialized_variables)
        self.ready_for_local_init_op = _given_or(ready_for_local, GraphKeys.READY_FOR_LOCAL_INIT_OP, lambda: None)
        self.init_op = _given_or(init, GraphKeys.INIT_OP, global_variables_initializer)
        self._local_init_op = _given_or(
            local_init, GraphKeys.LOCAL_INIT_OP, lambda: group(local_variables_initializer(), tables_initializer())
        )
        self.summary_op = _given_or(summary, GraphKeys.SUMMARY_OP, merge_all)
        self.global_step = _given_or(step, GraphKeys.GLOBAL_STEP, _step_tensor)

    def _services(self, logdir: str | None, writer: Any, summaries_secs: float, model_secs: float) -> None:
        self._logdir = logdir
        self.save_summaries_secs = summaries_secs if self.is_chief else None
        self.save_model_secs = model_secs if self.is_chief else None
        self.summary_writer: Any = None
        self._graph_written = False
        if self.is_chief and writer is not USE_DEFAULT:
            self.summary_writer = writer
        elif logdir:
            self.summary_writer = FileWriter(logdir)

    def start_standard_services(self, sess: Any) -> list[LooperThread] | None:
        """Start the threads that write summaries and steps per second; None without a `logdir`.

        Raises:
            RuntimeError: This is not the chief.
        """
        if not self.is_chief:
            raise RuntimeError(
                "Only chief supervisor can start standard services. Because only chief supervisors can write events."
            )
        if not self._logdir:
            tf_logging.warning("Standard services need a 'logdir' passed to the SessionManager")
            return None
        threads: list[LooperThread] = []
        if self.summary_writer and self.global_step is not None:
            step = step_in(sess, self.global_step)
            self.summary_writer.add_session_log(SessionLog(status=SessionLog.START), step)
        if self.summary_writer and self.save_summaries_secs:
            if self.summary_op is not None:
                threads.append(LooperThread(self.coord, self.save_summaries_secs, self._write_summary, (sess,)))
            if self.global_step is not None:
                threads.append(_StepCounter(self, sess))
        for each in threads:
            each.start()
        return threads

    def _write_summary(self, sess: Any) -> None:
        step = None
        if self.global_step is None:
            summary = sess.run(self.summary_op)
        else:
            summary, step = sess.run([self.summary_op, self.global_step])
        self.summary_writer.add_summary(summary, step)

    def prepare_or_wait_for_session(
        self,
        master: str = "",
        config: Any = None,
        wait_for_checkpoint: bool = False,
        max_wait_secs: float = 7200,
        start_standard_services: bool = True,
    ) -> Session:
        """Return a session ready to run, with the services and the queue runners started.

        Args:
            master: Must be empty, because sessions run in this process.
            config: A ConfigProto.
            wait_for_checkpoint: Without effect.
            max_wait_secs: Seconds to wait for a session initialised elsewhere.
            start_standard_services: Start the services and the queue runners.
        """
        self.coord.clear_stop()
        if self.summary_writer:
            self.summary_writer.reopen()
        manager = self.session_manager
        if not self.is_chief:
            sess = manager.wait_for_session(master, config=config, max_wait_secs=max_wait_secs)
        else:
            sess = manager.prepare_session(
                master,
                init_op=self.init_op,
                checkpoint_dir=self._logdir,
                config=config,
                init_feed_dict=self.init_feed_dict,
                init_fn=self._init_fn,
            )
            if self.summary_writer and not self._graph_written:
                self.summary_writer.add_graph(self._graph)
                self._graph_written = True
            if start_standard_services:
                tf_logging.info("Starting standard services.")
                self.start_standard_services(sess)
        if start_standard_services:
            tf_logging.info("Starting queue runners.")
            self.start_queue_runners(sess)
        return sess

    def start_queue_runners(self, sess: Any, queue_runners: Any = None) -> list[threading.Thread]:
        """Start the threads for runners, by default for all in the graph; return the threads."""
        if queue_runners is None:
            queue_runners = self._graph.get_collection(GraphKeys.QUEUE_RUNNERS)
        return [
            thread
            for runner in queue_runners
            for thread in runner.create_threads(sess, coord=self.coord, daemon=True, start=True)
        ]

    def loop(
        self, timer_interval_secs: float | None, target: Any, args: Any = None, kwargs: Any = None
    ) -> LooperThread:
        """Start a LooperThread that calls `target` at an interval until the stop; return it."""
        return LooperThread.loop(self.coord, timer_interval_secs, target, args, kwargs)

    def stop(self, threads: Any = None, close_summary_writer: bool = True, ignore_live_threads: bool = False) -> None:
        """Stop all threads and wait for them; raise any error they reported.

        Args:
            threads: More threads to wait for.
            close_summary_writer: Close the event file.
            ignore_live_threads: Do not raise RuntimeError for threads that do not end.
        """
        self.coord.request_stop()
        try:
            self.coord.join(threads, self._grace, ignore_live_threads)
        finally:
            if close_summary_writer and self.summary_writer:
                self.summary_writer.add_session_log(SessionLog(status=SessionLog.STOP))
                self.summary_writer.close()
                self._graph_written = False

    def request_stop(self, ex: Any = None) -> None:
        """Request all threads to stop, as `Coordinator.request_stop` does."""
        self.coord.request_stop(ex=ex)

    def should_stop(self) -> bool:
        """Return whether a stop was requested."""
        return self.coord.should_stop()

    def stop_on_exception(self) -> Any:
        """Return a context manager that passes an exception to `request_stop`."""
        return self.coord.stop_on_exception()

    def wait_for_stop(self) -> None:
        """Wait until a stop is requested."""
        self.coord.wait_for_stop()

    def summary_computed(self, sess: Any, summary: Any, global_step: Any = None) -> None:
        """Write a summary; RuntimeError without a summary writer."""
        if not self.summary_writer:
            raise RuntimeError("Writing a summary requires a summary writer.")
        if global_step is None and self.global_step is not None:
            global_step = step_in(sess, self.global_step)
        self.summary_writer.add_summary(summary, global_step)

    @contextlib.contextmanager
    def managed_session(
        self,
        master: str = "",
        config: Any = None,
        start_standard_services: bool = True,
        close_summary_writer: bool = True,
    ) -> Iterator[Session]:
        """Return a context manager with a session ready to run; at its end everything is stopped.

        An OutOfRangeError ends the context quietly; any other error from the body or a thread is raised at its end.
        """
        sess: Any = None
        try:
            sess = self.prepare_or_wait_for_session(master, config, start_standard_services=start_standard_services)
            yield sess
        except Exception as error:
            self.request_stop(error)
        finally:
            try:
                self.stop(close_summary_writer=close_summary_writer)
            finally:
                if sess is not None:
                    sess.close()

    # Names from older programs.
    PrepareSession = prepare_or_wait_for_session
    StartQueueRunners = start_queue_runners
    StartStandardServices = start_standard_services
    Stop, RequestStop, Loop, ShouldStop = stop, request_stop, loop, should_stop
    StopOnException, WaitForStop, SummaryComputed = stop_on_exception, wait_for_stop, summary_computed


class _StepCounter(LooperThread):
    """Writes the program's steps per second."""

    def __init__(self, supervisor: Supervisor, sess: Any) -> None:
        super().__init__(supervisor.coord, supervisor.save_summaries_secs)
        self._supervisor, self._sess = supervisor, sess
        self._tag = f"{supervisor.global_step.op.name}/sec"

    def start_loop(self) -> None:
        """Record the first step and time."""
        self._time, self._step = time.monotonic(), step_in(self._sess, self._supervisor.global_step)

    def run_loop(self) -> None:
        """Write the rate since the last call."""
        now, step = time.monotonic(), step_in(self._sess, self._supervisor.global_step)
        passed, made = now - self._time, step - self._step
        self._time, self._step = now, step
        rate = made / passed if passed > 0 else float("inf")
        value = Summary.Value(tag=self._tag, simple_value=rate)
        self._supervisor.summary_writer.add_summary(Summary(value=[value]), step)


def _given_or(given: Any, key: str, make: Callable[[], Any]) -> Any:
    """Return the given value or, by default, a collection's first member; make it if there is none."""
    if given is not USE_DEFAULT:
        return given
    found = get_collection(key)
    if found:
        return found[0]
    made = make()
    if made is not None:
        add_to_collection(key, made)
    return made


def _step_tensor() -> Any:
    try:
        step = get_default_graph().get_tensor_by_name("global_step:0")
    except KeyError:
        return None
    if step.dtype.base_dtype.name in ("int32", "int64"):
        return step
    tf_logging.warning("Found 'global_step' is not an int type: %s", step.dtype)
    return None


def _check_devices(graph: Any) -> None:
    for op in graph.get_operations():
        if op.type in ("Variable", "VariableV2") and not op.device:
            raise ValueError(f"When using replicas, all Variables must have their device set: {op}")
