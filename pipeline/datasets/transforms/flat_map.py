"""flat_map: the examples that a function makes of each example."""

from __future__ import annotations

from typing import Any

from pipeline.datasets.transforms.steps import Steps
from pipeline.flow.functions import check_function
from pipeline.flow.steps import FlatMapStep


class FlatMap(Steps):
    """Any number of examples for each."""

    kind = "flat_map"
    does = FlatMapStep

    def check(self, function: Any) -> None:
        check_function("flat_map: the function", function, "examples", many=True)
