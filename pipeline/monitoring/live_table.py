"""A report as a table for a terminal of any width and height, by rich."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from pipeline.monitoring.model import Stage
from pipeline.monitoring.notes import filling, progress, rate, slow_stages
from pipeline.monitoring.report import Report
from pipeline.pictures.words import amount, cells, cut, printable

BAR = 10  # columns
NAME = 12, 30  # columns: the least, where a quarter of the terminal is no more, and the most
_EIGHTHS = " \u258f\u258e\u258d\u258c\u258b\u258a\u2589\u2588"


class TableColumn(NamedTuple):
    """A column of the table: its head, the side to which it is aligned, the text of a stage and its style."""

    head: str
    justify: str
    text: Callable[[Stage], str]
    style: str = ""


def _level(stage: Stage) -> float | None:
    tank = stage.tank
    if tank is None:
        return None
    bounded = tank.stats.capacity != 2**31 - 1
    return tank.stats.size / max(1, tank.stats.capacity if bounded else tank.stats.high_water)


def _bar(stage: Stage) -> str:
    level = _level(stage)
    if level is None:
        return ""
    whole, part = divmod(round(min(1.0, level) * BAR * 8), 8)
    return _marked(stage, _EIGHTHS[8] * whole + (_EIGHTHS[part] if part else ""), "\u00b7", "\u2502")


def _ascii_bar(stage: Stage) -> str:
    level = _level(stage)
    return "" if level is None else _marked(stage, "#" * round(min(1.0, level) * BAR), ".", "|")


def _marked(stage: Stage, filled: str, empty: str, mark: str) -> str:
    """Fill up a bar, with a mark at `min_after_dequeue` until the level reaches it."""
    tank, bar = stage.tank, filled.ljust(BAR, empty)
    if tank is None or not tank.min_after_dequeue or tank.stats.capacity == 2**31 - 1:
        return bar
    at = min(BAR - 1, BAR * tank.min_after_dequeue // max(1, tank.stats.capacity))
    return bar if at < len(filled) else bar[:at] + mark + bar[at + 1 :]


def _held(stage: Stage) -> str:
    return "" if stage.tank is None else f"{stage.tank.stats.size:,} of {amount(stage.tank.stats.capacity)}"


def _note(stage: Stage) -> str:
    ended = stage.state if stage.state in ("ended", "closed", "not started") else ""
    skipped = f"{stage.errors:,} errors skipped" if stage.errors else ""
    return ", ".join(filter(None, (filling(stage) or progress(stage) or ended, skipped)))


def _percent(share: float | None) -> str:
    return "" if share is None else f"{share:.0%}"


# The more important, the further in front; those at the end are left out first.
_COLUMNS = (
    TableColumn("rate/s", "right", rate),
    TableColumn("level", "left", _bar, "cyan"),
    TableColumn("holds", "right", _held),
    TableColumn("", "left", _note, "green"),
    TableColumn("busy", "right", lambda stage: _percent(stage.busy)),
    TableColumn("waits in", "right", lambda stage: _percent(stage.waits_in)),
    TableColumn("waits out", "right", lambda stage: _percent(stage.waits_out)),
    TableColumn("threads", "right", lambda stage: str(stage.threads or "")),
    TableColumn("cpu", "right", lambda stage: "" if stage.cpu is None else f"{stage.cpu:.1f}"),
)
_ORDER = "level", "holds", "rate/s", "threads", "cpu", "busy", "waits in", "waits out", ""  # from left to right


def console(stream: Any, **settings: Any) -> Any:
    """Return rich's console for a stream.

    Raises:
        ImportError: rich is not installed.
    """
    return importlib.import_module("rich.console").Console(file=stream, highlight=False, markup=False, **settings)


def lines(report: Report, console: Any) -> list[str]:
    """Return the table, and the verdicts below it, as lines that fit into the console; the verdicts come last."""
    width, height = console.width - 1, max(2, console.height - 1)  # no terminal wraps then
    if not report.stages:
        return [cut("pipeline: nothing has begun yet", width)]
    columns = _fitting(report.stages, width, console.encoding)
    below = [] if any(not each.head for each in columns) else _below(report)
    texts = [*below, *(verdict.text for verdict in report.verdicts)]
    taken = sum(-(-cells(text) // width) for text in texts)
    stages, left = _chosen(report, max(1, height - taken - 1))
    drawn = _rendered(_table(report, stages, columns, width), console, width)
    if left:
        drawn.append(cut(f"  and {left:,} more stages", width))
    style = importlib.import_module("rich.text").Text
    drawn += _rendered(style("\n".join(below), style="green"), console, width) if below else []
    for verdict in report.verdicts:
        drawn += _rendered(style(printable(verdict.text), style="bold"), console, width)
    return drawn[-height:]


def _fitting(stages: Iterable[Stage], width: int, encoding: str) -> list[TableColumn]:
    """The columns for which there is room beside the names."""
    stages, kept = list(stages), []
    longest = max(cells(printable(f"> {stage.kind} {stage.name}")) for stage in stages)
    used = min(longest, NAME[1], max(NAME[0], width // 4)) + 2
    for column in _COLUMNS:
        if column.text is _bar and not encoding.lower().startswith("utf"):
            column = column._replace(text=_ascii_bar)
        needed = max(len(column.head), *(cells(column.text(stage)) for stage in stages))
        if not needed:
            continue
        if used + needed + 2 > width:
            break
        used += needed + 2
        kept.append(column)
    return sorted(kept, key=lambda column: _ORDER.index(column.head))


def _below(report: Report) -> list[str]:
    """Progress, where no column has room for it."""
    notes = [(stage.name, filling(stage) or progress(stage)) for stage in report.stages]
    return [f"{printable(name)}: {note}" for name, note in notes if note]


def _chosen(report: Report, room: int) -> tuple[list[Stage], int]:
    """The stages for which there is room, in their order, and how many are left out."""
    stages = list(report.stages)
    if len(stages) <= room:
        return stages, 0
    slow = slow_stages(report)
    first = sorted(stages, key=lambda stage: (stage.id not in slow, stage.kind != "loop", stage.state == "closed"))
    chosen = {stage.id for stage in first[: max(1, room - 1)]}
    return [stage for stage in stages if stage.id in chosen], len(stages) - len(chosen)


def _table(report: Report, stages: Sequence[Stage], columns: Sequence[TableColumn], width: int) -> Any:
    text = importlib.import_module("rich.text").Text
    table = importlib.import_module("rich.table").Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    most = max(NAME[0], min(NAME[1], width - _width_of(stages, columns)))
    table.add_column("stage", no_wrap=True, max_width=most)
    for column in columns:
        table.add_column(column.head, justify=column.justify, no_wrap=True, style=column.style)
    slow = slow_stages(report)
    for stage in stages:
        mark = "> " if stage.id in slow else "  "
        name = text(cut(f"{mark}{stage.kind} {printable(stage.name)}", most))
        name.stylize("bold yellow" if stage.id in slow else "dim" if stage.state in ("ended", "closed") else "")
        table.add_row(name, *(text(column.text(stage)) for column in columns))
    return table


def _width_of(stages: Sequence[Stage], columns: Sequence[TableColumn]) -> int:
    return 2 + sum(max(len(each.head), *(cells(each.text(stage)) for stage in stages)) + 2 for each in columns)


def _rendered(thing: Any, console: Any, width: int) -> list[str]:
    with console.capture() as capture:
        console.print(thing, width=width)
    return [line.rstrip() for line in capture.get().splitlines()]
