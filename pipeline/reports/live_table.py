"""A report as a table for any terminal size, by rich."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

from pipeline.reports.model import UNBOUNDED, Stage
from pipeline.reports.report import Report
from pipeline.reports.table import BUSY, CPU, STEP, THROUGHPUT, Column, places
from pipeline.reports.words import WIDTH, cells, cut, held, level, mark, printable, progress

_BAR = 10  # columns
_NAME = 12, 30  # columns: the least, unless a quarter of the terminal is more, and the most
_EIGHTHS = " \u258f\u258e\u258d\u258c\u258b\u258a\u2589\u2588"


def _bar(stage: Stage) -> str:
    full = level(stage)
    if full is None:
        return ""
    whole, part = divmod(round(full * _BAR * 8), 8)
    return _marked(stage, _EIGHTHS[8] * whole + (_EIGHTHS[part] if part else ""), "\u00b7", "\u2502")


def _ascii_bar(stage: Stage) -> str:
    full = level(stage)
    return "" if full is None else _marked(stage, "#" * round(full * _BAR), ".", "|")


def _marked(stage: Stage, filled: str, empty: str, line: str) -> str:
    """Fill up a bar, with a line at `min_after_dequeue` until the level reaches it."""
    bar, at = filled.ljust(_BAR, empty), mark(stage)
    if at is None or stage.tank is None or stage.tank.stats.capacity == UNBOUNDED:
        return bar
    column = min(_BAR - 1, int(_BAR * at))
    return bar if column < len(filled) else bar[:column] + line + bar[column + 1 :]


def _note(stage: Stage) -> str:
    ended = stage.state if stage.state in ("ended", "closed", "not started") else ""
    skipped = f"{stage.errors:,} errors skipped" if stage.errors else ""
    return ", ".join(filter(None, (progress(stage) or ended, skipped)))


_LEVEL, _NOTE = Column("level", _bar, True, "cyan"), Column("", _note, True, "green")
_WHERE, _HOLDS = Column("runs in", lambda stage: "", True), Column("holds", held)
# The more important, the further in front; those at the end are left out first.
_COLUMNS = THROUGHPUT, _LEVEL, _NOTE, BUSY, _WHERE, _HOLDS, CPU
_ORDER = [column.head for column in (_WHERE, THROUGHPUT, BUSY, CPU, _LEVEL, _HOLDS, _NOTE)]


def console(stream: Any, **settings: Any) -> Any:
    """Return rich's console for a stream.

    Raises:
        ImportError: rich is not installed.
    """
    return importlib.import_module("rich.console").Console(file=stream, highlight=False, markup=False, **settings)


def lines(report: Report, console: Any) -> list[str]:
    """Return the verdicts, and the table below them, as lines for the console."""
    width, height = console.width - 1, max(2, console.height - 1)  # no terminal wraps then
    if not report.stages:
        return [cut("pipeline: nothing has begun yet", width)]
    columns = _fitting(report, width, console.encoding)
    style = importlib.import_module("rich.text").Text
    drawn = []
    for verdict in report.verdicts:
        drawn += _rendered(style(printable(verdict.text), style="bold"), console, min(width, WIDTH))
    if not any(column.text is _note for column in columns):  # progress, where no column has room for it
        for stage in report.stages:
            if note := progress(stage):
                drawn += _rendered(style(f"{printable(stage.name)}: {note}", style="green"), console, width)
    stages = _chosen(report, max(1, height - len(drawn) - 1))
    drawn += _rendered(_table(report, stages, columns, width), console, width)
    if left := len(report.stages) - len(stages):
        drawn.append(cut(f"  and {left:,} more stages", width))
    return drawn[:height]


def _fitting(report: Report, width: int, encoding: str) -> list[Column]:
    """Return the columns that fit next to the names."""
    kept, stages = [], report.stages
    runs_in = places(stages, report.edges)
    longest = max(cells(f"> {STEP.text(stage)}") for stage in stages)
    used = min(longest, _NAME[1], max(_NAME[0], width // 4)) + 2
    for column in _COLUMNS:
        if column is _LEVEL and not encoding.lower().startswith("utf"):
            column = column._replace(text=_ascii_bar)
        if column is _WHERE:
            column = column._replace(text=lambda stage: runs_in[stage.id])
        needed = column.width(stages)
        if not needed:
            continue
        if used + needed + 2 > width:
            break
        used += needed + 2
        kept.append(column)
    return sorted(kept, key=lambda column: _ORDER.index(column.head))


def _chosen(report: Report, room: int) -> list[Stage]:
    """Return the stages that fit, in order; a line for the number left out stays free."""
    if len(report.stages) <= room:
        return list(report.stages)
    slow = report.slow
    first = sorted(report.stages, key=lambda each: (each.id not in slow, each.kind != "loop", each.state == "closed"))
    chosen = {stage.id for stage in first[: max(1, room - 1)]}
    return [stage for stage in report.stages if stage.id in chosen]


def _table(report: Report, stages: Sequence[Stage], columns: Sequence[Column], width: int) -> Any:
    text = importlib.import_module("rich.text").Text
    table = importlib.import_module("rich.table").Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    most = max(_NAME[0], min(_NAME[1], width - 2 - sum(max(1, column.width(stages)) + 2 for column in columns)))
    table.add_column(STEP.head, no_wrap=True, max_width=most)
    for column in columns:
        table.add_column(column.head, justify="left" if column.left else "right", no_wrap=True, style=column.style)
    slow = report.slow
    for stage in stages:
        name = text(cut(f"{'> ' if stage.id in slow else '  '}{STEP.text(stage)}", most))
        name.stylize("bold yellow" if stage.id in slow else "dim" if stage.state in ("ended", "closed") else "")
        table.add_row(name, *(text(column.text(stage)) for column in columns))
    return table


def _rendered(thing: Any, console: Any, width: int) -> list[str]:
    with console.capture() as capture:
        console.print(thing, width=width)
    return [line.rstrip() for line in capture.get().splitlines()]
