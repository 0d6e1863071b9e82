"""Scalar summary of a queue's fill level, for producers and batch functions."""

from __future__ import annotations

from typing import Any

from pipeline.compat.graph import dtypes
from pipeline.compat.ops.math.arithmetic import maximum
from pipeline.compat.ops.math.casting import cast
from pipeline.compat.ops.summaries.summary import scalar


def summarize_fraction(name: str, queue: Any, capacity: Any, min_after_dequeue: Any = None) -> None:
    """Add a scalar summary: elements above `min_after_dequeue`, as a fraction of the capacity above it."""
    size = queue.size()
    if min_after_dequeue is None:
        room = capacity
    else:
        room = capacity - min_after_dequeue
        size = maximum(0, size - min_after_dequeue)
    scalar(name, cast(size, dtypes.float32) * (1.0 / room))
