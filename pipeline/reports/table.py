"""A report as tables: a short one with a row per step, and two with all figures."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from pipeline.diagnostics.wording import count
from pipeline.reports.model import Edge, Stage, Tank
from pipeline.reports.twins import with_number
from pipeline.reports.words import WIDTH, amount, cells, cut, notes, printable, rate, share, unit, wrapped

_LEAST = 16  # columns for a step's name
_GAP = 2  # columns between two columns
_OFTEN = 0.2  # a smaller part of the other share is not shown


class Column(NamedTuple):
    """A table column.

    Attributes:
        head: Its head.
        text: Returns its text for a stage.
        left: True if it is left-aligned.
        style: The text style for rich.
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


def _step(stage: Stage, width: int = sys.maxsize) -> str:
    """Return the user's name for a stage in at most `width` columns; their own loop is "your loop"."""
    name = f"{stage.kind} {stage.name}" if stage.kind in ("producer", "queue", "reader") else stage.name
    if stage.kind == "loop":
        name = str(stage.settings.get("called", "your loop"))
    return with_number(stage, cut(printable(name), width - len(with_number(stage, ""))))


def _throughput(stage: Stage) -> str:
    """Return a stage's throughput; "" if it counts nothing, such as a checksum."""
    return "" if stage.busy and not stage.elements else f"{rate(stage)} {unit(stage)}/s"


def _held(tank: Tank) -> str:
    """Return how often a queue was empty and full, such as "empty 90%"; its level if it never was either."""
    known = {"empty": tank.empty, "full": tank.full}
    often = [f"{word} {part:.0%}" for word, part in known.items() if part >= _OFTEN * max(known.values()) > 0]
    return ", ".join(often) or f"{amount(tank.stats.size)} of {amount(tank.stats.capacity)}"


STEP = Column("step", _step, left=True)
THROUGHPUT = Column("throughput", _throughput)
QUEUE = Column("queue behind it", _of_tank(_held), left=True)

# Names for workers, singular and plural, by their factory.
_WORKERS = {
    "pipeline.threads": ("thread", "threads"),
    "pipeline.processes": ("process", "processes"),
    "pipeline.cluster.workers": ("Ray worker", "Ray workers"),
}


def places(stages: Iterable[Stage], edges: Iterable[Edge]) -> dict[int, str]:
    """Return where each stage runs: in workers, in its own thread, or in the consuming thread."""
    known = {stage.id: stage for stage in stages}
    behind = {edge.source: edge.target for edge in edges}
    return {number: _place(stage, known, behind) for number, stage in known.items()}


def _place(stage: Stage, known: Mapping[int, Stage], behind: Mapping[int, int]) -> str:
    if stage.threads and stage.settings.get("in_workers"):
        one, several = _WORKERS.get(str(stage.settings["made_by"]), ("worker", "workers"))
        return f"{stage.threads:,} {one if stage.threads == 1 else several}"
    if stage.threads and stage.kind == "function":  # a queue runner's
        return count(stage.threads, "thread")
    at: Stage | None = stage
    while at is not None and at.kind not in ("loop", "queue") and at.tank is None:
        at = known.get(behind.get(at.id, 0))
    if at is None or at.kind == "queue":
        return ""
    if at.kind == "loop":
        return printable(str(at.settings.get("thread", "your thread")))
    whose = "its own" if at is stage else f"{printable(at.name.partition('(')[0])}'s"
    return f"{whose} {'thread' if at.threads < 2 else count(at.threads, 'thread')}"


_FIGURES = (THREADS, RATE, BUSY, CPU, WAITS_IN, WAITS_OUT)
_LEVELS = (
    Column("capacity", _of_tank(lambda tank: amount(tank.stats.capacity))),
    Column("mean size", _of_tank(lambda tank: f"{tank.mean_size:,.1f}" if tank.levels else "")),
    Column("most", _of_tank(lambda tank: f"{tank.stats.high_water:,}")),
    Column("full", _of_tank(lambda tank: share(tank.full))),
    Column("empty", _of_tank(lambda tank: share(tank.empty))),
)


def brief(stages: Sequence[Stage], edges: Iterable[Edge]) -> list[str]:
    """Return a table for people as lines: a row per step, with its notes below."""
    runs_in = places(stages, edges)
    where = Column("runs in", lambda stage: runs_in[stage.id], left=True)
    return [*_lines(stages, STEP.head, (where, THROUGHPUT, BUSY, QUEUE), noted=True)]


def in_full(stages: Sequence[Stage]) -> list[str]:
    """Return all figures as lines: a table of stages with notes below each, and one of queues and prefetches."""
    tanks = [stage for stage in stages if stage.tank is not None]
    levels = ["", *_lines(tanks, "queue", _LEVELS)] if tanks else []
    return [*_lines(stages, STEP.head, _FIGURES, noted=True), *levels]


def _lines(
    stages: Sequence[Stage],
    head: str,
    others: Sequence[Column],
    noted: bool = False,
) -> Iterator[str]:
    """Yield a table's lines, at most 80 columns wide if the names can be cut.

    Args:
        stages: The rows.
        head: The head of the first column, with their names.
        others: The other columns; those without a text are left out.
        noted: Add notes below the rows.
    """
    room = max(_LEAST, WIDTH - sum(width + _GAP for column in others if (width := column.width(stages))))
    first = Column(head, lambda stage: _step(stage, room), left=True)
    columns = [(column, column.width(stages)) for column in (first, *others)]

    def line(texts: Callable[[Column], str]) -> str:
        row = [
            text + space if column.left else space + text
            for column, width in columns
            if width
            for text in [texts(column)]
            for space in [" " * (width - cells(text))]
        ]
        return (" " * _GAP).join(row).rstrip()

    yield line(lambda column: column.head)
    for stage in stages:
        yield line(lambda column, stage=stage: column.text(stage))  # type: ignore[misc]
        for note in notes(stage) if noted else ():
            yield wrapped(note, "  ")
