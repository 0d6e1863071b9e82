"""Scenarios in many orders of their threads' steps. `make schedules` runs more; SCHEDULES_AFTER=n begins later."""

import os

import pytest
import schedule
from schedules import scenarios

COUNT = int(os.environ.get("SCHEDULES", "250"))
AFTER = int(os.environ.get("SCHEDULES_AFTER", "0"))
LINES = 4  # one schedule in four may also switch at each line in the product's files


@pytest.mark.parametrize("name", scenarios.ALL)
def test_at_waits(name):
    """Schedules switch where the product waits or wakes another thread."""
    schedule.explore(scenarios.ALL[name], range(AFTER, AFTER + COUNT), quick=scenarios.quick(name))


@pytest.mark.parametrize("name", scenarios.ALL)
def test_at_lines(name):
    """Schedules may also switch at each line in files that wait."""
    seeds = range(AFTER, AFTER + -(-COUNT // LINES))
    schedule.explore(scenarios.ALL[name], seeds, scenarios.FILES, scenarios.quick(name))
