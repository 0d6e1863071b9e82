"""The verdict on a run: which part of each iterator's dataset holds it back, and what to turn.

docs/monitoring.md has the rules in words; `chains.py` has them in code.
"""

from __future__ import annotations

from pipeline.monitoring.chains import of_dataset
from pipeline.monitoring.model import Report, Verdict


def judge(report: Report) -> list[Verdict]:
    """Return the verdict on each iterator that has begun."""
    found = []
    for loop in report.stages:
        if loop.kind == "loop" and loop.state != "not started":
            stage, kind, knob, value, gain, text = of_dataset(report, loop)
            found.append(Verdict(loop.id, stage.id, kind, knob, value, gain, text))
    return found
