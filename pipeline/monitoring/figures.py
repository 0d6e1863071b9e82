"""The figures of a stage that TensorBoard and Prometheus show, and the names by which they know the stage."""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.monitoring.model import Stage
from pipeline.monitoring.report import Report

_UNBOUNDED = 2**31 - 1


def named_stages(report: Report) -> Iterator[tuple[str, Stage]]:
    """The stages with names of their own: if several of a kind have one name, a number tells them apart.

    The oldest that is not at its end keeps its name, so that a queue that is made anew in each epoch is the same curve.
    """
    seen: dict[tuple[str, str], int] = {}
    for stage in sorted(report.stages, key=lambda each: (each.state in ("closed", "ended"), each.id)):
        count = seen[stage.kind, stage.name] = seen.get((stage.kind, stage.name), 0) + 1
        name = stage.name.encode(errors="backslashreplace").decode()  # of a file whose name is not UTF-8
        yield name if count == 1 else f"{name}_{count}", stage


def figures(stage: Stage) -> Iterator[tuple[str, float]]:
    """What there is to draw of a stage, by name."""
    yield "per_second", stage.rate
    for name, value in (("busy", stage.busy), ("waits_in", stage.waits_in), ("waits_out", stage.waits_out)):
        if value is not None:
            yield name, value
    if stage.cpu is not None:
        yield "processors", stage.cpu
    if stage.errors:
        yield "errors", stage.errors
    if stage.tank is not None:
        yield "size", stage.tank.stats.size
        if 0 < stage.tank.stats.capacity < _UNBOUNDED:
            yield "fraction_full", stage.tank.stats.size / stage.tank.stats.capacity
    if stage.progress is not None:
        yield "position", stage.progress.position
