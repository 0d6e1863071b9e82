"""Programs end, and are interrupted, with threads blocked in any call. `make exits` does it a thousand times."""

import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from endurance.exits import CALLS, LIMIT, end_blocked, interrupt_feed
from helpers import run_script


@pytest.mark.parametrize("where", ["native", pytest.param("drop-in", marks=pytest.mark.slow)])
def test_the_interpreter_ends(where):
    with ThreadPoolExecutor(2) as pool:
        ends = list(pool.map(end_blocked, [where] * 10))
    assert [(status, said) for status, said, _ in ends] == [(0, "")] * 10


def test_the_interpreter_ends_while_a_function_of_map_waits():
    """Its iterator is still open, and its workers wait for input that never arrives."""
    program = """
import contextlib, pipeline
queue = pipeline.FIFOQueue(1, "int64", [()])
iterator = iter(pipeline.dataset(range(9)).map(lambda _: queue.dequeue(), workers=2).prefetch(1))
with contextlib.suppress(pipeline.errors.DeadlineExceededError):
    iterator.next(timeout=0.1)
"""
    done = run_script(program)
    assert (done.stdout, done.stderr) == ("", "")


@pytest.mark.parametrize("where", ["native", "drop-in"])
def test_ctrl_c_ends_every_blocking_call(where):
    """Interrupt each wait with KeyboardInterrupt: no attempt is left behind, and every element stays in place."""
    command = [sys.executable, str(CALLS), "interrupt", where]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_ctrl_c_at_any_moment_of_feed():
    first = random.randrange(2**32)
    print("seeds from", first)
    with ThreadPoolExecutor(2) as pool:
        for status, out, errors in pool.map(interrupt_feed, range(first, first + 6)):
            assert (status, errors) == (130, "")
            assert not out or "interrupted" in out
