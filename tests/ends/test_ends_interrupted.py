"""Ctrl-C strikes a loop over batches at any moment, or a thread of it is killed: nobody stays behind."""

import random
import sys

import pytest
from endurance.interrupts import LOOPS, Interrupt, Striker, strike
from helpers import run_in_thread

from pipeline.batches import source as sources

STEP = 10  # `make exits` tries every moment


@pytest.mark.skipif(sys.version_info < (3, 11), reason="the instructions at which Python looks have other names")
@pytest.mark.parametrize("closed", [True, False], ids=["with", "dropped"])
@pytest.mark.parametrize("make", LOOPS)
def test_no_thread_is_left(make, closed):
    first = random.randint(1, STEP)
    print("from moment", first)
    assert strike(make, closed, first, STEP) >= 5


@pytest.mark.skipif(sys.version_info < (3, 11), reason="the instructions at which Python looks have other names")
def test_a_thread_is_killed_as_it_takes_from_an_iterator():
    """The others are not locked out."""
    number = 0
    while True:
        number += 1
        take = sources.open_source(range(9), False, False, None, None, bool).take
        striker = Striker(number, {take.__code__})

        def struck(take=take, striker=striker):
            sys.settrace(striker)
            for _ in range(3):  # some Pythons trace the instructions of a function from its second call on
                take()

        killed = run_in_thread(struck).exception()
        assert run_in_thread(take).result() in range(9)
        if killed is None:
            break
        assert isinstance(killed, Interrupt)
    assert number > 3
