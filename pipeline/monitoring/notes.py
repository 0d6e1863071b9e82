"""What a view says of a stage in words: progress, how far a pool is filled, its rate."""

from __future__ import annotations

from pipeline.monitoring.model import RunModel, Stage
from pipeline.pictures.words import duration


def progress(stage: Stage) -> str:
    """How far an input has come, such as "40%, 3 s left"; empty if nobody knows."""
    known = stage.progress
    if known is None:
        return ""
    if known.total is None:
        return f"epoch {known.epoch:,}"
    if known.position >= known.total:
        return "all handed out"
    epochs = f", epoch {known.epoch:,} of {known.epochs:,}" if known.epochs and known.epochs > 1 else ""
    left = "" if known.eta_s is None else f", {duration(known.eta_s)} left"
    return f"{known.position / known.total:.0%}{epochs}{left}"


def filling(stage: Stage) -> str:
    """How far the pool of a shuffle queue is filled before its first element, such as "filling 40%, 12 s to go"."""
    tank = stage.tank
    if tank is None or stage.elements or stage.state == "closed" or tank.stats.size >= tank.min_after_dequeue:
        return ""
    text = f"filling {tank.stats.size / tank.min_after_dequeue:.0%}"
    if len(tank.levels) < 2:
        return text
    first, last = tank.levels[0], tank.levels[-1]
    rate = (last.size - first.size) / max(first.age_s - last.age_s, 1e-9)
    return f"{text}, {duration((tank.min_after_dequeue - tank.stats.size) / rate)} to go" if rate > 0 else text


def slow_stages(report: RunModel) -> set[int]:
    """The stages that hold a loop back, by their `id`."""
    return {verdict.stage for verdict in report.verdicts if verdict.stage is not None}


def rate(stage: Stage) -> str:
    """Elements per second, with digits as far as they matter."""
    return f"{stage.rate:,.0f}" if stage.rate >= 10 or not stage.rate else f"{stage.rate:.1f}"
