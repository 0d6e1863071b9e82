"""Monitored session hooks that write summaries: SummarySaverHook and StepCounterHook."""

from __future__ import annotations

from typing import Any

from pipeline.compat.monitored.hooks import SessionRunArgs, SessionRunHook
from pipeline.compat.monitored.step_timer import SecondOrStepTimer, global_step_read
from pipeline.compat.ops.summaries.writer import FileWriterCache
from pipeline.compat.ops.variables.collections import get_global_step
from pipeline.compat.platform import tf_logging
from pipeline.proto.summary import SessionLog, Summary


def _writer(writer: Any, directory: Any) -> Any:
    """Return the given FileWriter, or the directory's; None if there is neither."""
    return FileWriterCache.get(directory) if writer is None and directory else writer


class SummarySaverHook(SessionRunHook):
    """Writes summaries.

    Args:
        save_steps: Write every n steps.
        save_secs: Write every n seconds.
        output_dir: Directory to write to.
        summary_writer: FileWriter to use instead of `output_dir`.
        scaffold: A Scaffold; its `summary_op` is written.
        summary_op: One or more summaries, instead of `scaffold`.

    Raises:
        ValueError: Not exactly one of `scaffold` and `summary_op`, or of `save_steps` and `save_secs`, is given.
    """

    def __init__(
        self,
        save_steps: int | None = None,
        save_secs: float | None = None,
        output_dir: Any = None,
        summary_writer: Any = None,
        scaffold: Any = None,
        summary_op: Any = None,
    ) -> None:
        if (scaffold is None) == (summary_op is None):
            raise ValueError("Exactly one of scaffold or summary_op must be provided.")
        self._summary_op, self._summary_writer = summary_op, summary_writer
        self._output_dir, self._scaffold = output_dir, scaffold
        self._timer = SecondOrStepTimer(every_secs=save_secs, every_steps=save_steps)

    def begin(self) -> None:
        """Open the file and look up the global step; RuntimeError if there is none."""
        self._summary_writer = _writer(self._summary_writer, self._output_dir)
        self._next_step: Any = None
        self._global_step_tensor = global_step_read("SummarySaverHook")

    def before_run(self, run_context: Any) -> Any:
        """Request the summaries if it is time to write."""
        self._request_summary = self._next_step is None or self._timer.should_trigger_for_step(self._next_step)
        wanted = self._wanted() if self._request_summary else None
        return SessionRunArgs({} if wanted is None else {"summary": wanted})

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Write the summaries if they were requested."""
        if not self._summary_writer:
            return
        # The run itself reads the step before or after incrementing it.
        step = run_context.session.run(self._global_step_tensor)
        if self._next_step is None:
            self._summary_writer.add_session_log(SessionLog(status=SessionLog.START), step)
        if self._request_summary:
            self._timer.update_last_triggered_step(step)
            for each in run_values.results.get("summary", ()):
                self._summary_writer.add_summary(each, step)
        self._next_step = step + 1

    def end(self, session: Any = None) -> None:
        """Flush the file."""
        if self._summary_writer:
            self._summary_writer.flush()

    def _wanted(self) -> list[Any] | None:
        op = self._summary_op if self._summary_op is not None else self._scaffold.summary_op
        if op is None:
            return None
        return op if isinstance(op, list) else [op]


class StepCounterHook(SessionRunHook):
    """Logs steps per second, and writes them as a summary.

    Args:
        every_n_steps: Log every n steps.
        every_n_secs: Log every n seconds.
        output_dir: Directory to write to.
        summary_writer: FileWriter to use instead of `output_dir`.

    Raises:
        ValueError: Not exactly one of `every_n_steps` and `every_n_secs` is given.
    """

    def __init__(
        self,
        every_n_steps: int | None = 100,
        every_n_secs: float | None = None,
        output_dir: Any = None,
        summary_writer: Any = None,
    ) -> None:
        if (every_n_steps is None) == (every_n_secs is None):
            raise ValueError("exactly one of every_n_steps and every_n_secs should be provided.")
        self._timer = SecondOrStepTimer(every_steps=every_n_steps, every_secs=every_n_secs)
        self._summary_writer, self._output_dir = summary_writer, output_dir
        self._last_global_step: Any = None
        self._steps_per_run = 1

    def begin(self) -> None:
        """Open the file and look up the global step; RuntimeError if there is none."""
        self._summary_writer = _writer(self._summary_writer, self._output_dir)
        self._global_step_tensor = global_step_read("StepCounterHook")
        self._summary_tag = get_global_step().op.name + "/sec"

    def before_run(self, run_context: Any) -> Any:
        """Request the global step."""
        return SessionRunArgs(self._global_step_tensor)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Log and write the rate if it is time."""
        stale = run_values.results
        if self._timer.should_trigger_for_step(stale + self._steps_per_run):
            step = run_context.session.run(self._global_step_tensor)
            if self._timer.should_trigger_for_step(step):
                seconds, steps = self._timer.update_last_triggered_step(step)
                if seconds is not None:
                    self._log_and_record(steps, seconds, step)
        if stale == self._last_global_step:
            tf_logging.log_first_n(
                tf_logging.WARN,
                "It seems that global step (tf.train.get_global_step) has not been increased. Current value (could be "
                "stable): %s vs previous value: %s.",
                5,
                stale,
                self._last_global_step,
            )
        self._last_global_step = stale

    def _log_and_record(self, elapsed_steps: Any, elapsed_time: float, global_step: Any) -> None:
        rate = float(elapsed_steps) / elapsed_time if elapsed_time else float("inf")
        if self._summary_writer is not None:
            summary = Summary(value=[Summary.Value(tag=self._summary_tag, simple_value=rate)])
            self._summary_writer.add_summary(summary, global_step)
        tf_logging.info("%s: %g", self._summary_tag, rate)
