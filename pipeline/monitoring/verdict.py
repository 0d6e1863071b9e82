"""The verdict on a run: which part of each iterator's dataset holds it back, and what to turn.

docs/monitoring.md has the rules in words; `chains.py` has them in code.
"""

from __future__ import annotations

import math

from pipeline.monitoring.chains import Remedy, of_dataset
from pipeline.monitoring.model import Stage, Verdict
from pipeline.monitoring.report import Report

SHORT = 1.0  # seconds; in less, starting threads and opening files count as much as the work


def judge(report: Report) -> list[Verdict]:
    """Return the verdict on each iterator that has begun."""
    found = []
    for loop in report.stages:
        if loop.kind == "loop" and loop.state != "not started":
            seconds = min(report.seconds, math.inf if loop.age_s is None else loop.age_s)
            short = loop.elements and seconds < SHORT
            remedy = _too_short(loop, seconds) if short else of_dataset(report, loop)
            stage, kind, knob, value, gain, text = remedy
            found.append(Verdict(loop.id, stage.id, kind, knob, value, gain, text))
    return found


def _too_short(loop: Stage, seconds: float) -> Remedy:
    text = f"Too short to judge ({seconds:.2f} s): let it run for {SHORT:.0f} s or more."
    return Remedy(loop, "short", None, None, None, text)
