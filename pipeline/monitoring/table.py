"""The report of a run as a table for people, and as a dict for programs."""

from __future__ import annotations

from typing import Any

from pipeline.monitoring.model import RunModel, Stage
from pipeline.pictures.words import printable

STARVED = 0.3  # of the time that threads could run: from there on waiting for a processor is reported
_HEAD = (
    f"{'stage':<28}{'threads':>8}{'rate/s':>11}{'capacity':>10}{'mean size':>11}{'most':>9}{'full':>7}{'empty':>7}"
    f"{'busy':>7}{'waits in':>10}{'waits out':>11}"
)


def to_text(report: RunModel) -> str:
    """Return the report as several lines: a row for each stage, then the verdicts."""
    if not report.stages:
        return "nothing is alive: no queue, no loop"
    notes = [f"over {report.seconds:.1f} s"]
    if report.lock is not None:
        notes.append(f"the GIL was held {report.lock:.0%} of the time")
    had, wanted = (sum(getattr(stage, each) or 0.0 for stage in report.stages) for each in ("cpu", "wanted"))
    if wanted - had > STARVED * wanted:
        notes.append(
            f"threads could use {wanted:.1f} processors and had {had:.1f} of {report.processors}: other programs, or "
            "your own processes, have the rest"
        )
    if not report.watched:
        notes.append("from counters alone: `with pipeline.monitor():` sees processors and the GIL too")
    rows = [_HEAD, *(line for stage in report.stages for line in _rows(stage))]
    texts = [printable(verdict.text) for verdict in report.verdicts]
    return "\n".join([*rows, "", "; ".join(notes), *texts])


def _rows(stage: Stage) -> list[str]:
    tank, name = stage.tank, printable(f"{stage.kind} {stage.name}")
    sizes = (
        f"{'':>10}{'':>11}{'':>9}{'':>7}{'':>7}"
        if tank is None
        else f"{_amount(tank.stats.capacity):>10}{tank.mean_size:>11,.0f}{tank.stats.high_water:>9,}"
        f"{tank.full:>7.0%}{tank.empty:>7.0%}"
    )
    shares = f"{_share(stage.busy):>7}{_share(stage.waits_in):>10}{_share(stage.waits_out):>11}"
    row = f"{name:<28}{stage.threads or '':>8}{stage.rate:>11,.0f}{sizes}{shares}"
    return [row, *(f"  {note}" for note in _notes(stage))]


def _notes(stage: Stage) -> list[str]:
    """What does not fit in the columns."""
    notes = []
    progress = stage.progress
    if progress is not None:
        total = "" if progress.total is None else f" of {progress.total:,}"
        eta = "" if progress.eta_s is None else f", {progress.eta_s:,.0f} s left"
        epochs = "" if progress.epochs is None else f" of {progress.epochs:,}"
        notes.append(f"at {progress.position:,}{total}, epoch {progress.epoch:,}{epochs}{eta}")
    remote = stage.settings.get("remote")
    if remote is not None:
        age = max(remote["age_s"], 1e-9)
        nodes = [f", {printable(name)}: {seen['calls'] / age:,.1f}/s" for name, seen in sorted(remote["nodes"].items())]
        notes.append(f"{remote['in_flight']:,} chunks in flight, {remote['retries']:,} begun again{''.join(nodes)}")
    tank = stage.tank
    if tank is not None and not stage.elements and 0 < tank.stats.size < tank.min_after_dequeue:
        notes.append(f"filling: {tank.stats.size:,} of min_after_dequeue {tank.min_after_dequeue:,}")
    if stage.bytes is not None:
        notes.append(f"{stage.bytes:,} bytes read")
    if stage.errors:
        notes.append(f"{stage.errors:,} errors skipped")
    if stage.dropped:
        notes.append(f"{stage.dropped:,} examples filled no batch")
    return notes


def _share(share: float | None) -> str:
    return "" if share is None else f"{share:.0%}"


def _amount(capacity: int) -> str:
    return "unbounded" if capacity == 2**31 - 1 else f"{capacity:,}"


def to_dict(report: RunModel) -> dict[str, Any]:
    """Return the report as JSON values."""
    return {
        "seconds": report.seconds,
        "watched": report.watched,
        "processors": report.processors,
        "lock": report.lock,
        "stages": [_stage_dict(stage) for stage in report.stages],
        "edges": [edge._asdict() for edge in report.edges],
        "verdicts": [vars(verdict) for verdict in report.verdicts],
    }


def _stage_dict(stage: Stage) -> dict[str, Any]:
    progress, tank = stage.progress, stage.tank
    return {
        **vars(stage),
        "doing": dict(stage.doing),
        "settings": dict(stage.settings),
        "progress": None if progress is None else vars(progress),
        "tank": None
        if tank is None
        else {
            **vars(tank),
            "stats": tank.stats._asdict(),
            "levels": [list(level) for level in tank.levels],
        },
    }
