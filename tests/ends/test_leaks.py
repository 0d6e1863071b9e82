"""Dropped objects leave nothing behind. `make leaks` repeats each cycle up to 100,000 times."""

import re
import sys

import pytest
from endurance.leaks import CYCLES, TELLS
from helpers import run_script

SCRIPT = """
import sys
sys.path[:0] = {path}
from endurance import leaks
for name in {names}:
    grown = leaks.growth(getattr(leaks, name), {count})
    print(name, leaks.leaks(grown, {count}))
"""
COUNTS = {"graphs": 400, "graph_pipelines": 300, "pipelines": 200, "runners": 300}  # slow cycles


@pytest.mark.parametrize("name", [cycle.__name__ for cycle in CYCLES])
def test_nothing_is_left(name):
    """Runs in its own process, without other allocations."""
    script = SCRIPT.format(path=sys.path, names=[name], count=COUNTS.get(name, 1000))
    done = run_script(script)
    assert (done.returncode, done.stdout) == (0, f"{name} {{}}\n"), done.stdout + done.stderr


def test_a_leak_is_found():
    """One object kept in each cycle."""
    each = 1 if sys.version_info >= (3, 11) else 2  # an object's dict is an object too, if it has one
    found = int(re.search(r"'objects': (\d+)", leaking("kept.append(leaks.Thing())"))[1])
    assert 600 * each <= found < 600 * each + 6  # some Pythons make a few of their own: 3.14 one


@pytest.mark.skipif(not TELLS, reason="the C allocator does not say what it gave out")
def test_a_leak_of_the_compiled_parts_is_found():
    """Keep 200 bytes per cycle, invisible to Python."""
    assert "{'bytes': 1" in leaking("leaks.ctypes.CDLL(None).malloc(192)")


def leaking(what):
    """The report about that cycle."""
    script = SCRIPT.format(path=sys.path, names=["leaking"], count=600)
    planted = f"from endurance import leaks\nkept = []\nleaks.leaking = lambda _: {what}\n"
    return run_script(script.replace("from endurance import leaks\n", planted)).stdout
