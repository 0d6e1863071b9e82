"""A report as one line, for a log or where there is no terminal."""

from __future__ import annotations

from pipeline.monitoring.notes import filling, progress, rate
from pipeline.monitoring.report import Report
from pipeline.pictures.words import amount, printable


def line(report: Report) -> str:
    """Return loops and inputs, and the verdicts; empty if there is nothing to say."""
    parts = []
    for stage in report.stages:
        name, note = printable(stage.name), filling(stage) or progress(stage)
        if stage.kind == "loop":
            queues = [each for each in report.before(stage) if each.tank is not None]
            held = [
                f", {each.tank.stats.size:,} of {amount(each.tank.stats.capacity)} held" for each in queues if each.tank
            ]
            speed = f"{rate(stage)}/s" if stage.state == "running" else stage.state
            parts.append(f"{name} {speed}{''.join(held)}")
        elif note and stage.state != "closed":
            parts.append(f"{name} {note}")
    return "; ".join([*parts, *(printable(verdict.text) for verdict in report.verdicts)])
