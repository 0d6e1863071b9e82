"""Cancelling: cancels Ray tasks from the only thread where this is safe."""

from __future__ import annotations

import contextlib
from typing import Any

from pipeline.cluster.connect import bare


class Cancelling:
    """The way to `ray.cancel`, which ends the whole process if the task ends at the same moment.

    Ray's own thread takes a task that has ended from the list of those that run, and only then marks it as done. A
    cancel between the two marks it as cancelled, and Ray aborts: "Tried to complete task that was not pending". With
    Ray 2.60, tasks of 50 ms that were cancelled about when they ended did so at the 2nd and at the 185th try; none of
    1,961 that Ray's own thread cancelled. It is also the one that says when an object is there, so that is how to have
    it call something.

    Args:
        ray: The module; this process is in a cluster.

    Thread safety: `cancel` may be called from every thread.
    """

    def __init__(self, ray: Any) -> None:
        self._cancel = bare(ray.cancel)
        self._there = bare(ray.put)(b"")

    def cancel(self, waitable: Any, recursive: bool) -> None:
        """Have Ray give up a task or a stream soon."""

        def now(_: object) -> None:
            with contextlib.suppress(Exception):  # the process has left the cluster meanwhile
                self._cancel(waitable, recursive=recursive)

        self._there._on_completed(now)  # a callback of its future() is called here if that is done by then
