"""Nothing is left of what was made and dropped. `make leaks` goes round each cycle up to 100,000 times."""

import os

import pytest
from helpers import run_script
from leaks import CYCLES

SCRIPT = """
import sys
sys.path.insert(0, {tests!r})
import leaks
for name in {names}:
    grown, _ = leaks.growth(getattr(leaks, name), {count})
    print(name, leaks.leaks(grown, {count}))
"""
COUNTS = {"graphs": 100, "graph_pipelines": 50, "pipelines": 100, "runners": 200}  # cycles that take long


@pytest.mark.parametrize("name", [cycle.__name__ for cycle in CYCLES])
def test_nothing_is_left(name):
    """In a process of its own, in which nothing else comes and goes."""
    script = SCRIPT.format(tests=os.path.dirname(__file__), names=[name], count=COUNTS.get(name, 400))
    done = run_script(script)
    assert (done.returncode, done.stdout) == (0, f"{name} {{}}\n"), done.stdout + done.stderr


def test_a_leak_is_found():
    """One object kept in each cycle."""
    done = run_script(
        SCRIPT.format(tests=os.path.dirname(__file__), names=["leaking"], count=600).replace(
            "import leaks\n", "import leaks\nkept = []\nleaks.leaking = lambda _: kept.append(leaks.Thing())\n"
        )
    )
    assert "'objects': 600" in done.stdout, done.stdout + done.stderr
