"""filter: the examples for which a function is true."""

from __future__ import annotations

from pipeline.datasets.transforms.steps import FunctionNode
from pipeline.flow.steps import FilterStep


class Filter(FunctionNode):
    """Some of the examples."""

    kind = "filter"
    does = FilterStep
