"""A report as a table: its columns, and its text for people who read it after the run."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from pipeline.reports.model import Stage, Tank
from pipeline.reports.words import amount, cells, notes, printable, rate, share


class Column(NamedTuple):
    """A column of a table.

    Attributes:
        head: Its head.
        text: Returns its text for a stage.
        left: Whether it is aligned to the left.
        style: The style of its texts, for rich.
    """

    head: str
    text: Callable[[Stage], str]
    left: bool = False
    style: str = ""

    def width(self, stages: Iterable[Stage]) -> int:
        """Return how wide it is; 0 if no stage has a text in it."""
        widest = max((cells(self.text(stage)) for stage in stages), default=0)
        return max(cells(self.head), widest) if widest else 0


def _of_tank(text: Callable[[Tank], str]) -> Callable[[Stage], str]:
    return lambda stage: "" if stage.tank is None else text(stage.tank)


THREADS = Column("threads", lambda stage: str(stage.threads or ""))
RATE = Column("rate/s", rate)
BUSY = Column("busy", lambda stage: share(stage.busy))
WAITS_IN = Column("waits in", lambda stage: share(stage.waits_in))
WAITS_OUT = Column("waits out", lambda stage: share(stage.waits_out))
CPU = Column("cpu", lambda stage: "" if stage.cpu is None else f"{stage.cpu:.1f}")

_COLUMNS = (
    Column("stage", lambda stage: printable(f"{stage.kind} {stage.name}"), left=True),
    THREADS,
    RATE,
    Column("capacity", _of_tank(lambda tank: amount(tank.stats.capacity))),
    Column("mean size", _of_tank(lambda tank: f"{tank.mean_size:,.0f}")),
    Column("most", _of_tank(lambda tank: f"{tank.stats.high_water:,}")),
    Column("full", _of_tank(lambda tank: share(tank.full))),
    Column("empty", _of_tank(lambda tank: share(tank.empty))),
    BUSY,
    WAITS_IN,
    WAITS_OUT,
)


def to_text(stages: Iterable[Stage]) -> list[str]:
    """Return a table as lines: a row per stage, with its notes below."""
    stages = list(stages)
    columns = [(column, column.width(stages)) for column in _COLUMNS]

    def line(texts: Callable[[Column], str]) -> str:
        row = [
            text + room if column.left else room + text
            for column, width in columns
            if width
            for text in [texts(column)]
            for room in [" " * (width - cells(text))]
        ]
        return "  ".join(row).rstrip()

    lines = [line(lambda column: column.head)]
    for stage in stages:
        lines.append(line(lambda column, stage=stage: column.text(stage)))  # type: ignore[misc]
        lines += [f"  {note}" for note in notes(stage)]
    return lines
