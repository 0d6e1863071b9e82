"""map: what a function returns for each example."""

from __future__ import annotations

from pipeline.datasets.transforms.steps import FunctionNode
from pipeline.flow.steps import MapStep


class Map(FunctionNode):
    """One result for each example."""

    kind = "map"
    does = MapStep

    @property
    def one_to_one(self) -> bool:
        return self.ordered

    def length(self) -> int | None:
        return self.inputs[0].length() if self.on_error == "raise" else None
