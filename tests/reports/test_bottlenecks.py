"""Verdicts on datasets with a known bottleneck name its stage and knob.

One case of each kind runs with every test run, the others every night. `make verdicts` turns the knobs and measures the
gains.
"""

import logging
import sys

import bottlenecks
import pytest

pytestmark = [
    pytest.mark.alone,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux has the clocks of threads"),
]

IN_TURNS = "threads that hold the lock"
AHEAD = "threads that hold the lock, read ahead"
LOCKED = {"function that holds the lock", IN_TURNS, AHEAD}
LOOKS = 3  # one second may mislead: 2 in 100 did
QUIET = 0.9  # minimum available CPU fraction for a look to count: other busy programs would change the bottleneck
PARALLEL = {"function that releases the lock"}
SLOW = LOCKED | PARALLEL | {"few workers", "consumer that computes", "workers behind those of a light function"}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in bottlenecks.CASES]
)
def test_the_verdict_names_stage_and_knob(name, caplog):
    caplog.set_level(logging.ERROR)
    if name in LOCKED and not getattr(sys, "_is_gil_enabled", lambda: True)():
        pytest.skip("this Python has no such lock")
    if name in PARALLEL and bottlenecks.processors() < 2:
        pytest.skip("there is one processor")
    case, looks, quiet = bottlenecks.CASES[name], 0, 0
    while quiet < LOOKS:
        report = bottlenecks.watch(case, case.settings).report
        verdict, looks = report.verdict, looks + 1
        if (verdict.kind, verdict.knob) == (case.kind, case.knob):
            break
        quiet += bottlenecks.had() > QUIET
        if looks - quiet > LOOKS:
            pytest.skip(f"other programs take the processors: it looked like {verdict.kind}, {verdict.knob}")
    assert (verdict.kind, verdict.knob) == (case.kind, case.knob), str(report)
    assert verdict.gain is None or verdict.gain >= 1
    assert " ".join(str(report).split()).startswith(verdict.text)
    assert report.watched
    if name == IN_TURNS:
        assert "its 4 threads take turns at Python's lock (GIL). Try `workers=pipeline.processes(" in verdict.text
