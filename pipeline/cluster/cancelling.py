"""Cancelling: cancels Ray tasks from the only thread where this is safe."""

from __future__ import annotations

import contextlib
from typing import Any

from pipeline.cluster.connect import bare


class Cancelling:
    """Calls `ray.cancel` safely, because it ends the whole process if the task ends at the same moment.

    Ray's own thread first removes an ended task from the running ones, and then marks it as done. A cancel between the
    two marks it as cancelled, and Ray aborts: "Tried to complete task that was not pending". With Ray 2.60, 50 ms tasks
    cancelled about when they ended aborted at the 2nd and the 185th try; no cancel from Ray's own thread did (1,961
    tries). Ray's thread also reports arrived objects, so a callback for an object runs in it.

    Args:
        ray: The module; this process is in a cluster.

    Thread safety: `cancel` may be called from any thread.
    """

    def __init__(self, ray: Any) -> None:
        self._cancel = bare(ray.cancel)
        self._there = bare(ray.put)(b"")

    def cancel(self, waitable: Any, recursive: bool) -> None:
        """Ask Ray to abandon a task or a stream soon."""

        def now(_: object) -> None:
            with contextlib.suppress(Exception):  # the process has left the cluster meanwhile
                self._cancel(waitable, recursive=recursive)

        self._there._on_completed(now)  # a callback on future() would run here if that is done by then
