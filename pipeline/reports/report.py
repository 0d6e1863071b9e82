"""Report: the model of a run. It prints as a verdict and a table, and is a picture in a notebook."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

from pipeline.reports.model import Edge, Stage, Verdict
from pipeline.reports.picture import picture
from pipeline.reports.table import brief, in_full
from pipeline.reports.words import escaped, hundredths, wrapped

_STARVED = 0.3  # share of the threads' work: report a longer wait for processors
_CROWDED = 0.15  # share of the threads' work: promise nothing after a longer wait
_HALF = 0.5  # processors: do not report a shorter wait


@dataclasses.dataclass(frozen=True, repr=False)
class Report:
    """The model of a run.

    `str` returns the verdict, and a table with a row per step. `details` returns all figures as text, `to_dict` as JSON
    values.

    Attributes:
        seconds: The window's length: from the oldest sample to now; without samples, from the start.
        watched: True if there are samples of it, so `levels` are known. Those of several epochs together are not.
        stages: The stages, inputs first.
        edges: The known edges between stages.
        processors: How many processors this process may use.
        lock: Share of the window with the GIL held by some thread; None without a monitor.
        verdicts: One per running loop; without one, the longest ended loop's, or one per loop that has not begun.
        idle, others: How many of the machine's processors were idle during a loop, and how many ran other programs, on
            average; None if unknown.
    """

    seconds: float
    watched: bool
    stages: tuple[Stage, ...]
    edges: tuple[Edge, ...]
    processors: int
    lock: float | None = None
    verdicts: tuple[Verdict, ...] = ()
    idle: float | None = None
    others: float | None = None

    @property
    def verdict(self) -> Verdict | None:
        """The first verdict; a loop's report has no other."""
        return self.verdicts[0] if self.verdicts else None

    @property
    def slow(self) -> set[int]:
        """The `id` of each bottleneck."""
        return {verdict.stage for verdict in self.verdicts}

    @property
    def crowded(self) -> bool:
        """True if more threads or processes that compute may gain nothing.

        The threads waited for processors, or other programs used most of the processors that they left.
        """
        had, wanted = self._clocks()
        rest = self.processors - had
        return wanted - had > _CROWDED * wanted or (self.idle is not None and rest > _HALF and self.idle < rest / 2)

    def _clocks(self) -> tuple[float, float]:
        """Return how many processors all threads used and wanted."""
        had = sum(stage.cpu or 0.0 for stage in self.stages)
        wanted = sum(stage.wanted or 0.0 for stage in self.stages)
        return had, min(wanted, self.processors)

    @property
    def starved(self) -> str:
        """A sentence on processors taken by other programs; "" for less than half a processor."""
        had, wanted = self._clocks()
        waited = wanted - had
        if self.others is not None:  # else the program's own threads and processes may have waited for each other
            waited = min(waited, self.others)
        if self.seconds < 1 or waited <= max(_HALF, _STARVED * wanted):
            return ""
        return f"Other programs took processor time: your threads waited {waited:.1f} s per second for it."

    def stage(self, number: int) -> Stage:
        """Return the stage with this `id`; KeyError if there is none."""
        for each in self.stages:
            if each.id == number:
                return each
        raise KeyError(number)

    def before(self, stage: Stage) -> list[Stage]:
        """Return the stages just before this one."""
        return [self.stage(edge.source) for edge in self.edges if edge.target == stage.id]

    def after(self, stage: Stage) -> list[Stage]:
        """Return the stages just behind this one."""
        return [self.stage(edge.target) for edge in self.edges if edge.source == stage.id]

    def named(self) -> Iterator[tuple[str, Stage]]:
        """Yield the stages with a unique name per kind: equal names get a number.

        The oldest running stage keeps its name, so a queue made again in each epoch stays the same curve.
        """
        seen: dict[tuple[str, str], int] = {}
        for stage in sorted(self.stages, key=lambda each: (each.state in ("closed", "ended"), each.id)):
            count = seen[stage.kind, stage.name] = seen.get((stage.kind, stage.name), 0) + 1
            name = stage.name.encode(errors="backslashreplace").decode()  # a file name may not be UTF-8
            yield name if count == 1 else f"{name}_{count}", stage

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON values: dicts, lists, texts, numbers, booleans and None."""
        return {
            **vars(self),
            "stages": [_stage_dict(stage) for stage in self.stages],
            "edges": [edge._asdict() for edge in self.edges],
            "verdicts": [_verdict_dict(verdict) for verdict in self.verdicts],
        }

    def __repr__(self) -> str:
        if not self.stages:
            return NOTHING
        texts = [wrapped(verdict.text) for verdict in self.verdicts]
        starved = [wrapped(self.starved)] if self.starved and not texts else []  # verdicts begin with it
        return "\n".join([*texts, *[""] * bool(texts), *brief(self.stages, self.edges), *starved])

    def details(self) -> str:
        """Return all figures as text: the verdict, a table of stages, one of queues and prefetches, and notes."""
        if not self.stages:
            return NOTHING
        texts = [wrapped(verdict.text) for verdict in self.verdicts]
        notes = [f"over {self.seconds:.1f} s"]
        if self.lock is not None:
            notes.append(f"the GIL was held {self.lock:.0%} of the time")
        if not self.watched and self.lock is None:
            notes.append("GIL use and mean sizes were not measured: run inside `with pipeline.monitor():` to add them")
        notes += filter(None, [] if texts else [self.starved])  # verdicts begin with it
        return "\n".join([*texts, *[""] * bool(texts), *in_full(self.stages), "", *map(wrapped, notes)])

    def to_svg(self) -> str:
        """Return a drawing: the stages as tanks in a row, with the verdicts below."""
        texts = " ".join(verdict.text for verdict in self.verdicts)
        return picture(self.stages, self.edges, self.slow, texts or ("" if self.stages else NOTHING))

    def _repr_html_(self) -> str:
        short, full = (f'<pre style="overflow-x:auto">{escaped(text)}</pre>' for text in (str(self), self.details()))
        return f"<div>{short}{self.to_svg()}<details><summary>figures</summary>{full}</details></div>"


NO_EXAMPLE = "No example has arrived yet"
NOTHING = (
    "Nothing to report: no queue or iterator is running, and no loop has run for\n"
    "10 ms. Call `pipeline.report()` after a loop over your dataset, or `report()` of\n"
    "its iterator."
)


def _verdict_dict(verdict: Verdict) -> dict[str, Any]:
    return {**vars(verdict), "gain": hundredths(verdict.gain), "least": hundredths(verdict.least), "text": verdict.text}


def _stage_dict(stage: Stage) -> dict[str, Any]:
    found = {**vars(stage), "settings": dict(stage.settings)}
    if stage.progress is not None:
        found["progress"] = vars(stage.progress)
    if stage.tank is not None:
        levels = [list(level) for level in stage.tank.levels]
        found["tank"] = {**vars(stage.tank), "stats": stage.tank.stats._asdict(), "levels": levels}
    return found
