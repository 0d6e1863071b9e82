"""SecondOrStepTimer, which decides when a hook acts, and the hooks' shared read of the global step."""

from __future__ import annotations

import time
from typing import Any

from pipeline.compat.graph.scopes import add_to_collection, get_collection, get_default_graph
from pipeline.compat.ops.control.cond import cond
from pipeline.compat.ops.variables.collections import get_global_step
from pipeline.compat.ops.variables.updates import is_variable_initialized
from pipeline.compat.ops.variables.variable import Variable

_READ = "global_step_read_op_cache"


class SecondOrStepTimer:
    """Triggers every n seconds or every n steps.

    Args:
        every_secs: Interval in seconds.
        every_steps: Interval in steps.

    Raises:
        ValueError: Both or neither are given.
    """

    def __init__(self, every_secs: float | None = None, every_steps: int | None = None) -> None:
        if every_secs is None and every_steps is None:
            raise ValueError("Either every_secs or every_steps should be provided.")
        if every_secs is not None and every_steps is not None:
            raise ValueError("Can not provide both every_secs and every_steps.")
        self._every_secs, self._every_steps = every_secs, every_steps
        self.reset()

    def reset(self) -> None:
        """Clear the last trigger."""
        self._last_triggered_step: Any = None
        self._last_triggered_time: float | None = None

    def should_trigger_for_step(self, step: Any) -> bool:
        """Return whether to trigger: the first time at once, then every n steps or seconds, at most once per step."""
        if self._last_triggered_step is None:
            return True
        if self._last_triggered_step == step:
            return False
        if self._every_secs is not None:
            assert self._last_triggered_time is not None
            return time.monotonic() >= self._last_triggered_time + self._every_secs
        return bool(step >= self._last_triggered_step + self._every_steps)

    def update_last_triggered_step(self, step: Any) -> tuple[float | None, Any]:
        """Record a trigger at this step; return the seconds and steps since the last one, None the first time."""
        now, before = time.monotonic(), self._last_triggered_time
        since: tuple[float | None, Any] = None, None
        if before is not None:
            since = now - before, step - self._last_triggered_step
        self._last_triggered_time, self._last_triggered_step = now, step
        return since

    def last_triggered_step(self) -> Any:
        """Return the last trigger's step; None before the first."""
        return self._last_triggered_step


class NeverTriggerTimer:
    """A timer that never triggers."""

    def reset(self) -> None:
        """Nothing to do."""

    def should_trigger_for_step(self, step: Any) -> bool:
        """Return False."""
        return False

    def update_last_triggered_step(self, step: Any) -> tuple[None, None]:
        """Return None, None."""
        return None, None

    def last_triggered_step(self) -> None:
        """Return None."""


def global_step_read(hook: str) -> Any:
    """Return the global step's value as one tensor shared by all hooks.

    Raises:
        RuntimeError: There is no global step; the message names `hook`.
    """
    found = get_collection(_READ)
    if found:
        return found[0]
    graph = get_default_graph()
    step = get_global_step(graph)
    if step is None:
        raise RuntimeError(f"Global step should be created to use {hook}.")
    with graph.as_default(), graph.name_scope(None), graph.name_scope(step.op.name + "/"):
        value = step
        if isinstance(step, Variable):
            value = cond(is_variable_initialized(step), step.read_value, lambda: step.initial_value)
        read = value + 0
        add_to_collection(_READ, read)
    return read
