"""Ctrl-C strikes a loop over batches at any moment: nobody stays behind."""

import random
import sys

import pytest
from endurance.interrupts import LOOPS, strike

STEP = 10  # `make exits` tries every moment


@pytest.mark.skipif(sys.version_info < (3, 11), reason="the instructions at which Python looks have other names")
@pytest.mark.parametrize("closed", [True, False], ids=["with", "dropped"])
@pytest.mark.parametrize("make", LOOPS)
def test_no_thread_is_left(make, closed):
    first = random.randint(1, STEP)
    print("from moment", first)
    assert strike(make, closed, first, STEP) >= 5
