"""Functions and loops with equal names, such as two objects of one class: a report numbers them."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence

from pipeline.reports.model import Stage


def numbered(stages: Sequence[Stage]) -> tuple[Stage, ...]:
    """Return the stages, with a number in the settings of functions in one loop, and of loops, with equal names."""
    kinds = ("loop",) if sum(each.kind == "loop" for each in stages) > 1 else ("function",)
    total = Counter((each.kind, each.name, each.settings.get("thread")) for each in stages if each.kind in kinds)
    seen: Counter[tuple[str, str, str | None]] = Counter()
    made = []
    for each in stages:
        key = each.kind, each.name, each.settings.get("thread")
        if total[key] > 1:
            seen[key] += 1
            each = dataclasses.replace(each, settings={**each.settings, "twin": seen[key]})
        made.append(each)
    return tuple(made)


def with_number(stage: Stage, name: str) -> str:
    """Return a name for a stage, such as "Augment (2)" for the second with that name."""
    return f"{name} ({stage.settings['twin']})" if "twin" in stage.settings else name
