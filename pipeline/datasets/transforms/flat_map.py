"""flat_map: the examples that a function makes of each example."""

from __future__ import annotations

from typing import Any

from pipeline.datasets.node import Opening
from pipeline.datasets.transforms.steps import FunctionNode
from pipeline.flow.counted import Counted
from pipeline.flow.functions import check_function
from pipeline.flow.steps import FlatMapStep
from pipeline.flow.stream import Stream


class FlatMap(FunctionNode):
    """Any number of examples for each."""

    kind = "flat_map"
    does = FlatMapStep

    def over(self, stream: Stream, shared: Opening, epoch: int) -> Stream:
        """Return the stream, numbered anew: what is made of one example has its number, and would draw the same."""
        return Counted(super().over(stream, shared, epoch))

    def check(self, function: Any) -> None:
        check_function("flat_map: the function", function, "examples", many=True)
