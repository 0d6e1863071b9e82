"""Report: the model of a run, which prints as a table with its verdict, and is a picture in a notebook."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

from pipeline.reports.model import Edge, Stage, Verdict
from pipeline.reports.picture import picture
from pipeline.reports.table import brief, in_full
from pipeline.reports.words import escaped, wrapped

_STARVED = 0.3  # of the time that threads could run: from there on waiting for a processor is reported
_HALF = 0.5  # of a processor: what other programs take below that is no advice


@dataclasses.dataclass(frozen=True, repr=False)
class Report:
    """The model of a run.

    `str` returns the verdict, and a table with a row per step. `details` returns all figures as text, `to_dict` as JSON
    values.

    Attributes:
        seconds: The length of the window: from the oldest sample to now; without samples, from the start.
        watched: Whether there are samples, so that `cpu`, `levels` and `lock` are known.
        stages: What is alive, in the order of the flow.
        edges: Which stage feeds which, as far as it is known.
        processors: How many processors this process may use.
        lock: The share of the window during which some thread held the GIL; None without a monitor.
        verdicts: One for each loop that has begun.
    """

    seconds: float
    watched: bool
    stages: tuple[Stage, ...]
    edges: tuple[Edge, ...]
    processors: int
    lock: float | None = None
    verdicts: tuple[Verdict, ...] = ()

    @property
    def verdict(self) -> Verdict | None:
        """The first verdict, which is the only one in the report of a loop."""
        return self.verdicts[0] if self.verdicts else None

    @property
    def slow(self) -> set[int]:
        """The stages that limit a loop, by their `id`."""
        return {verdict.stage for verdict in self.verdicts}

    @property
    def starved(self) -> str:
        """How many processors other programs took from this one, as text; "" if it lacked less than half of one."""
        had, wanted = (sum(getattr(stage, each) or 0.0 for stage in self.stages) for each in ("cpu", "wanted"))
        wanted = min(wanted, self.processors)
        if self.seconds < 1 or wanted - had <= max(_HALF, _STARVED * wanted):
            return ""
        return f"CPU-starved: it had {had:.1f} of the {wanted:.1f} processors that it could use, as other programs run"

    def stage(self, number: int) -> Stage:
        """Return the stage with this `id`; KeyError if there is none."""
        for each in self.stages:
            if each.id == number:
                return each
        raise KeyError(number)

    def before(self, stage: Stage) -> list[Stage]:
        """Return the stages from which elements go to this one."""
        return [self.stage(edge.source) for edge in self.edges if edge.target == stage.id]

    def after(self, stage: Stage) -> list[Stage]:
        """Return the stages to which elements go from this one."""
        return [self.stage(edge.target) for edge in self.edges if edge.source == stage.id]

    def named(self) -> Iterator[tuple[str, Stage]]:
        """Yield the stages, each with a name that is unique for its kind: a number is added where names are equal.

        The oldest that is not at its end keeps its name, so that a queue made again for each epoch is the same curve.
        """
        seen: dict[tuple[str, str], int] = {}
        for stage in sorted(self.stages, key=lambda each: (each.state in ("closed", "ended"), each.id)):
            count = seen[stage.kind, stage.name] = seen.get((stage.kind, stage.name), 0) + 1
            name = stage.name.encode(errors="backslashreplace").decode()  # of a file whose name is not UTF-8
            yield name if count == 1 else f"{name}_{count}", stage

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON values: dicts, lists, texts, numbers, booleans and None."""
        return {
            **vars(self),
            "stages": [_stage_dict(stage) for stage in self.stages],
            "edges": [edge._asdict() for edge in self.edges],
            "verdicts": [vars(verdict) for verdict in self.verdicts],
        }

    def __repr__(self) -> str:
        if not self.stages:
            return NOTHING
        texts = [wrapped(verdict.text) for verdict in self.verdicts]
        starved = [wrapped(self.starved)] if self.starved and not texts else []  # verdicts begin with it
        return "\n".join([*texts, *[""] * bool(texts), *brief(self.stages, self.edges), *starved])

    def details(self) -> str:
        """Return all figures as text: a table of every stage, queue and thread, and what was measured."""
        if not self.stages:
            return NOTHING
        notes = [f"over {self.seconds:.1f} s"]
        if self.lock is not None:
            notes.append(f"the GIL was held {self.lock:.0%} of the time")
        if not self.watched:
            notes.append("CPU and GIL use were not measured: run inside `with pipeline.monitor():` to add them")
        notes += filter(None, [self.starved])
        return "\n".join([*in_full(self.stages), "", *map(wrapped, notes)])

    def to_svg(self) -> str:
        """Return the stages as a row of tanks, with the verdicts below."""
        texts = " ".join(verdict.text for verdict in self.verdicts)
        return picture(self.stages, self.edges, self.slow, texts or ("" if self.stages else NOTHING))

    def _repr_html_(self) -> str:
        short, full = (f'<pre style="overflow-x:auto">{escaped(text)}</pre>' for text in (str(self), self.details()))
        return f"<div>{short}{self.to_svg()}<details><summary>figures</summary>{full}</details></div>"


NOTHING = "nothing to report: no queue or iterator is running"


def _stage_dict(stage: Stage) -> dict[str, Any]:
    found = {**vars(stage), "settings": dict(stage.settings)}
    if stage.progress is not None:
        found["progress"] = vars(stage.progress)
    if stage.tank is not None:
        levels = [list(level) for level in stage.tank.levels]
        found["tank"] = {**vars(stage.tank), "stats": stage.tank.stats._asdict(), "levels": levels}
    return found
