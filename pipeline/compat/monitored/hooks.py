"""Monitored session hooks that log, feed, wait or stop; checkpoint hooks raise an error."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn

import numpy as np

from pipeline.compat.graph.scopes import get_default_graph
from pipeline.compat.monitored.step_timer import NeverTriggerTimer, SecondOrStepTimer, global_step_read
from pipeline.compat.platform import tf_logging
from pipeline.errors import OutOfRangeError


class SessionRunHook:
    """Base class for monitored session hooks; all methods do nothing."""

    def begin(self) -> None:
        """Called once before the session is made; may add to the graph."""

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Called after a session has been made; the graph is finalised."""

    def before_run(self, run_context: Any) -> Any:
        """Called before each run; may return SessionRunArgs to add to it."""
        return None

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Called after each run with SessionRunValues, the results requested by `before_run`."""

    def end(self, session: Any) -> None:
        """Called when the session ends without an error."""


class SessionRunArgs(NamedTuple):
    """Fetches, feeds and options a hook adds to a run."""

    fetches: Any
    feed_dict: Any = None
    options: Any = None


class SessionRunValues(NamedTuple):
    """The results for a hook's fetches."""

    results: Any
    options: Any
    run_metadata: Any


class SessionRunContext:
    """The run a hook is called for.

    Args:
        original_args: The caller's SessionRunArgs.
        session: The session without hooks.
    """

    def __init__(self, original_args: SessionRunArgs, session: Any) -> None:
        self._original_args, self._session = original_args, session
        self._stop_requested = False

    @property
    def original_args(self) -> SessionRunArgs:
        """The caller's fetches and feeds."""
        return self._original_args

    @property
    def session(self) -> Any:
        """The session without hooks."""
        return self._session

    @property
    def stop_requested(self) -> bool:
        """True if a hook has requested a stop."""
        return self._stop_requested

    def request_stop(self) -> None:
        """Stop the session after this run."""
        self._stop_requested = True


class LoggingTensorHook(SessionRunHook):
    """Logs tensor values.

    Args:
        tensors: A list of tensors or their names, or a dict from labels to them.
        every_n_iter: Log every n runs.
        every_n_secs: Log every n seconds.
        at_end: Also log at the end.
        formatter: Makes the text from a dict of values.

    Raises:
        ValueError: Not exactly one of `every_n_iter` and `every_n_secs` is given; with `at_end` both may be missing.
    """

    def __init__(
        self,
        tensors: Any,
        every_n_iter: int | None = None,
        every_n_secs: float | None = None,
        at_end: bool = False,
        formatter: Callable[[Any], str] | None = None,
    ) -> None:
        only_at_end = at_end and every_n_iter is None and every_n_secs is None
        if not only_at_end and (every_n_iter is None) == (every_n_secs is None):
            raise ValueError("either at_end and/or exactly one of every_n_iter and every_n_secs must be provided.")
        if every_n_iter is not None and every_n_iter <= 0:
            raise ValueError(f"invalid every_n_iter={every_n_iter}.")
        self._order = sorted(tensors) if isinstance(tensors, dict) else list(tensors)
        self._tensors = tensors if isinstance(tensors, dict) else {each: each for each in tensors}
        self._formatter, self._log_at_end = formatter, at_end
        self._timer: Any = NeverTriggerTimer() if only_at_end else SecondOrStepTimer(every_n_secs, every_n_iter)

    def begin(self) -> None:
        """Look up the tensors."""
        self._timer.reset()
        self._iter_count = 0
        self._current_tensors = {tag: _element(tensor) for tag, tensor in self._tensors.items()}

    def before_run(self, run_context: Any) -> Any:
        """Request the tensors if it is time to log."""
        self._should_trigger = self._timer.should_trigger_for_step(self._iter_count)
        return SessionRunArgs(self._current_tensors) if self._should_trigger else None

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Log the values if they were requested."""
        if self._should_trigger:
            self._log(run_values.results)
        self._iter_count += 1

    def end(self, session: Any) -> None:
        """Log the values if `at_end` was given."""
        if self._log_at_end:
            self._log(session.run(self._current_tensors))

    def _log(self, values: Any) -> None:
        seconds, _ = self._timer.update_last_triggered_step(self._iter_count)
        with np.printoptions(suppress=True):
            if self._formatter:
                tf_logging.info(self._formatter(values))
                return
            text = ", ".join(f"{tag} = {values[tag]}" for tag in self._order)
            if seconds is None:
                tf_logging.info("%s", text)
            else:
                tf_logging.info("%s (%.3f sec)", text, seconds)


def _element(given: Any) -> Any:
    """Return the tensor for a tensor, its name, or the name of an operation with one output."""
    graph = get_default_graph()
    if not isinstance(given, str):
        if getattr(given, "graph", None) is not graph:
            raise ValueError(f"Passed {given} should have graph attribute that is equal to current graph {graph}.")
        return given
    if ":" in given:
        return graph.as_graph_element(given)
    element = graph.as_graph_element(given + ":0")
    if len(element.op.outputs) > 1:
        raise ValueError(f"Name {given} is ambiguous, as this `Operation` has multiple outputs (at least 2).")
    return element


class StopAtStepHook(SessionRunHook):
    """Stops the session at a step.

    Args:
        num_steps: Stop after this many steps.
        last_step: Stop when the global step reaches this value.

    Raises:
        ValueError: Both or neither are given.
    """

    def __init__(self, num_steps: int | None = None, last_step: int | None = None) -> None:
        if num_steps is None and last_step is None:
            raise ValueError("One of num_steps or last_step must be specified.")
        if num_steps is not None and last_step is not None:
            raise ValueError("Only one of num_steps or last_step can be specified.")
        self._num_steps, self._last_step = num_steps, last_step

    def begin(self) -> None:
        """Look up the global step; RuntimeError if there is none."""
        self._global_step_tensor = global_step_read("StopAtStepHook")

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Compute the last step."""
        if self._last_step is None:
            self._last_step = session.run(self._global_step_tensor) + self._num_steps

    def before_run(self, run_context: Any) -> Any:
        """Request the global step."""
        return SessionRunArgs(self._global_step_tensor)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Request a stop at the last step."""
        assert self._last_step is not None
        # The value may be from before or after the run's own increment, so read it again if it may be the last one.
        may_be_last = run_values.results + 1 >= self._last_step
        if may_be_last and run_context.session.run(self._global_step_tensor) >= self._last_step:
            run_context.request_stop()


class NanLossDuringTrainingError(RuntimeError):
    """The loss is NaN."""

    def __str__(self) -> str:
        return "NaN loss during training."


class NanTensorHook(SessionRunHook):
    """Stops the session when a tensor is NaN.

    Args:
        loss_tensor: The tensor.
        fail_on_nan_loss: Raise NanLossDuringTrainingError instead of stopping.
    """

    def __init__(self, loss_tensor: Any, fail_on_nan_loss: bool = True) -> None:
        self._loss_tensor, self._fail_on_nan_loss = loss_tensor, fail_on_nan_loss

    def before_run(self, run_context: Any) -> Any:
        """Request the tensor."""
        return SessionRunArgs(self._loss_tensor)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Check the value."""
        if np.isnan(run_values.results):
            message = "Model diverged with loss = NaN."
            if self._fail_on_nan_loss:
                tf_logging.error(message)
                raise NanLossDuringTrainingError
            tf_logging.warning(message)
            run_context.request_stop()


class GlobalStepWaiterHook(SessionRunHook):
    """Delays the first run until the global step, incremented elsewhere, reaches a value.

    Args:
        wait_until_step: The value.
    """

    def __init__(self, wait_until_step: int) -> None:
        self._wait_until_step = wait_until_step

    def begin(self) -> None:
        """Look up the global step; RuntimeError if there is none."""
        self._worker_is_started = False
        self._global_step_tensor = global_step_read("_GlobalStepWaiterHook")

    def before_run(self, run_context: Any) -> None:
        """Wait, before the first run only."""
        if not self._worker_is_started and self._wait_until_step > 0:
            tf_logging.info("Waiting for global step %d before starting training.", self._wait_until_step)
            while run_context.session.run(self._global_step_tensor) < self._wait_until_step:
                time.sleep(0.5)
        self._worker_is_started = True


class FinalOpsHook(SessionRunHook):
    """Runs operations when the session ends.

    Args:
        final_ops: The fetches.
        final_ops_feed_dict: The feeds.
    """

    def __init__(self, final_ops: Any, final_ops_feed_dict: Any = None) -> None:
        self._final_ops, self._final_ops_feed_dict = final_ops, final_ops_feed_dict
        self._final_ops_values: Any = None

    @property
    def final_ops_values(self) -> Any:
        """The results, after the end."""
        return self._final_ops_values

    def end(self, session: Any) -> None:
        """Run the operations."""
        if self._final_ops is None:
            return
        try:
            self._final_ops_values = session.run(self._final_ops, feed_dict=self._final_ops_feed_dict)
        except (OutOfRangeError, StopIteration):
            tf_logging.warning("The operations of FinalOpsHook depend on an input that is used up.")
            raise


class FeedFnHook(SessionRunHook):
    """Feeds each run with a function's result.

    Args:
        feed_fn: Returns a feed_dict.
    """

    def __init__(self, feed_fn: Callable[[], Any]) -> None:
        self.feed_fn = feed_fn

    def before_run(self, run_context: Any) -> Any:
        """Call the function."""
        return SessionRunArgs(fetches=None, feed_dict=self.feed_fn())


class CheckpointSaverListener:
    """Listener for checkpoints; never called, because none are saved."""

    def begin(self) -> None:
        """Nothing to do."""

    def before_save(self, session: Any, global_step_value: Any) -> None:
        """Nothing to do."""

    def after_save(self, session: Any, global_step_value: Any) -> None:
        """Nothing to do."""

    def end(self, session: Any, global_step_value: Any) -> None:
        """Nothing to do."""


class CheckpointSaverHook(SessionRunHook):
    """Rejects checkpoints.

    Raises:
        NotImplementedError: Always.
    """

    def __init__(self, checkpoint_dir: Any, *_: Any, **__: Any) -> NoReturn:
        raise NotImplementedError(
            f"Checkpoints cannot be saved to {checkpoint_dir}: pipeline.compat.v1 runs input pipelines, not models. "
            "To save and resume the position in the input, use the native API; see docs/migrate.md."
        )
