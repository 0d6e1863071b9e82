"""A report as a picture, and as HTML for a notebook."""

from __future__ import annotations

from pipeline.monitoring.model import RunModel, Stage
from pipeline.monitoring.notes import filling, progress, rate, slow_stages
from pipeline.monitoring.table import to_text
from pipeline.pictures.tanks import Box, picture, tank
from pipeline.pictures.words import escaped


def to_svg(report: RunModel) -> str:
    """Return the stages of a report as a row of tanks, with the verdicts below."""
    slow = slow_stages(report)
    boxes = [_box(stage, stage.id in slow) for stage in report.stages]
    caption = " ".join(verdict.text for verdict in report.verdicts)
    return picture(boxes, report.edges, caption or ("" if boxes else "nothing is alive: no queue, no loop"))


def to_html(report: RunModel) -> str:
    """Return the picture, and the table behind a line that opens it."""
    table = f'<pre style="overflow-x:auto">{escaped(to_text(report))}</pre>'
    return f"<div>{to_svg(report)}<details><summary>figures</summary>{table}</details></div>"


def _box(stage: Stage, slow: bool) -> Box:
    speed = f"{rate(stage)}/s"
    if stage.tank is not None:
        box = tank(stage.id, stage.kind, stage.name, stage.tank.stats, stage.tank.min_after_dequeue)
        notes = [speed, filling(stage) or progress(stage) or ("closed" if stage.state == "closed" else "")]
        return box._replace(notes=notes, slow=slow)
    threads = f"{stage.threads} thread{'s' if stage.threads != 1 else ''}"
    ended = "" if stage.state == "running" else stage.state
    words = {"loop": ended, "reader": f"{stage.elements:,} records", "workers": f"{stage.threads} workers"}
    if not stage.threads:  # it runs in the thread that takes from it
        words[stage.kind] = words.get(stage.kind) or f"{stage.elements:,}"
    busy = "" if stage.busy is None else f"busy {stage.busy:.0%}"
    notes = [speed + (f", {busy}" if busy else ""), progress(stage) or ended]
    shown = words.get(stage.kind, threads) or f"{stage.elements:,}"
    return Box(stage.id, stage.kind, stage.name, shown, busy=stage.busy, notes=notes, slow=slow)
