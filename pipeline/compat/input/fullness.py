"""How full a queue is, as the scalar summaries of producers and batch functions say it."""

from __future__ import annotations

from typing import Any

from pipeline.compat.graph import dtypes
from pipeline.compat.ops.math.arithmetic import maximum
from pipeline.compat.ops.math.casting import cast
from pipeline.compat.ops.summaries.summary import scalar


def summarize_fraction(name: str, queue: Any, capacity: Any, minimum: Any = None) -> None:
    """Add a scalar summary of the elements above `minimum`, as a fraction of what fits above it."""
    size = queue.size()
    if minimum is None:
        room = capacity
    else:
        room = capacity - minimum
        size = maximum(0, size - minimum)
    scalar(name, cast(size, dtypes.float32) * (1.0 / room))
