"""Ctrl-C interrupts a loop over batches at any moment: no thread is left behind.

Runs in its own process: earlier tests leave threads and loops, and the collector may run their finalizers at any time.
"""

import os
import random
import sys

import pytest
from helpers import run_script

import pipeline

STEP = 10  # `make exits` tries every moment
LOOPS = ["one_source", "several_sources", "producer"]
SCRIPT = """
import sys
sys.path[:0] = {paths}
from endurance.interrupts import {make}, strike
assert strike({make}, {closed}, {first}, {step}) >= 5
"""


@pytest.mark.skipif(sys.version_info < (3, 11), reason="the instructions at which Python looks have other names")
@pytest.mark.parametrize("closed", [True, False], ids=["with", "dropped"])
@pytest.mark.parametrize("make", LOOPS)
def test_no_thread_is_left(make, closed):
    first = random.randint(1, STEP)
    tests = os.path.dirname(os.path.dirname(__file__))
    paths = [tests, os.path.join(tests, "support")]
    done = run_script(SCRIPT.format(make=make, closed=closed, first=first, step=STEP, paths=paths))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), f"from moment {first}"


def test_an_error_is_on_its_way():
    """Ctrl-C while an error's traceback is shortened must not look like the end of the data."""
    failing = iter(pipeline.dataset([1, 2]).map(lambda number: 1 // 0))

    def strike(frame, event, _):
        if frame.f_globals["__name__"] == "pipeline.tracebacks":
            sys.settrace(None)
            raise KeyboardInterrupt

    sys.settrace(strike)
    try:
        with pytest.raises(KeyboardInterrupt):
            next(failing)
    finally:
        sys.settrace(None)


@pytest.mark.parametrize("num_threads", [1, 3])
def test_an_error_hidden_while_the_iterator_ends(num_threads):
    """After Ctrl-C while threads stop because of an error, the next call raises it instead of ending silently."""

    def number():
        raise ValueError("no number")

    def strike(frame, event, _):
        if frame.f_globals["__name__"] == "pipeline.stages.run" and frame.f_code.co_name == "stop":
            sys.settrace(None)
            raise KeyboardInterrupt

    numbers = pipeline.batch(number, 2, num_threads=num_threads)
    sys.settrace(strike)
    try:
        with pytest.raises(KeyboardInterrupt):
            next(numbers)
    finally:
        sys.settrace(None)
    with pytest.raises(pipeline.FailedPreconditionError, match="interrupted and cannot continue: number is a"):
        next(numbers)
    with pytest.raises(StopIteration):
        next(numbers)
