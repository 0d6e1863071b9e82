"""Scenarios in many orders of their threads' steps. `make schedules` runs more; SCHEDULES_AFTER=n begins later."""

import os

import pytest
import schedule
from schedules import scenarios

COUNT = int(os.environ.get("SCHEDULES", "250"))
AFTER = int(os.environ.get("SCHEDULES_AFTER", "0"))
LINES = 4  # one schedule in four may also change the turn at each line of the product's files


@pytest.mark.parametrize("name", scenarios.ALL)
def test_at_waits(name):
    """The turn changes where the product waits or wakes another thread."""
    schedule.explore(scenarios.ALL[name], range(AFTER, AFTER + COUNT), quick=scenarios.quick(name))


@pytest.mark.parametrize("name", scenarios.ALL)
def test_at_lines(name):
    """The turn may change at each line of the files that wait, too."""
    seeds = range(AFTER, AFTER + -(-COUNT // LINES))
    schedule.explore(scenarios.ALL[name], seeds, scenarios.FILES, scenarios.quick(name))
