"""The report of a run: its model, with what people and programs read of it."""

from __future__ import annotations

import dataclasses
from typing import Any

from pipeline.monitoring.boxes import to_html
from pipeline.monitoring.model import RunModel
from pipeline.monitoring.table import to_dict, to_text


@dataclasses.dataclass(frozen=True)
class Report(RunModel):
    """The model of a run. `str` gives it as a table with the verdict, `to_dict` as JSON values."""

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON values: dicts, lists, texts, numbers, booleans and None."""
        return to_dict(self)

    def __str__(self) -> str:
        return to_text(self)

    def _repr_html_(self) -> str:
        return to_html(self)
