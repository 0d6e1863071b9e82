"""flat_map: the examples that a function makes of each example."""

from __future__ import annotations

from typing import Any

from pipeline.datasets.transforms.steps import Steps
from pipeline.flow.steps import FlatMapStep


class FlatMap(Steps):
    """Any number of examples for each."""

    kind = "flat_map"
    does = FlatMapStep

    def check(self, function: Any) -> None:
        if not callable(function):  # a generator function is welcome
            raise TypeError(f"flat_map: the function must be callable, not {function!r:.80}")
