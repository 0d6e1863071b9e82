"""The verdict on twenty-one pipelines that are slow for a known reason: it names the stage and the knob.

`make verdicts` turns the knobs and measures what that gains.
"""

import logging
import sys

import bottlenecks
import pytest

pytestmark = [
    pytest.mark.alone,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux has the clocks of threads"),
]

LOCKED = {"function that holds the lock", "function= that holds the lock"}
PARALLEL = {"function that releases the lock", "few processes"}


@pytest.mark.parametrize("name", bottlenecks.CASES)
def test_the_verdict_names_stage_and_knob(name, caplog):
    caplog.set_level(logging.ERROR)
    if name in LOCKED and not getattr(sys, "_is_gil_enabled", lambda: True)():
        pytest.skip("this Python has no such lock")
    if name in PARALLEL and bottlenecks.processors() < 2:
        pytest.skip("there is one processor")
    case = bottlenecks.CASES[name]
    for _ in range(3):  # half a second of a run on a busy machine may look like another one: 2 in 100 did
        report = bottlenecks.watch(case, case.settings).report
        verdict = report.verdict
        if (verdict.kind, verdict.knob) == (case.kind, case.knob):
            break
    assert (verdict.kind, verdict.knob) == (case.kind, case.knob), str(report)
    assert report.stage(verdict.stage).kind == case.stage
    assert verdict.gain >= 1
    assert verdict.text in str(report)
