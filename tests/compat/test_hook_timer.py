"""SecondOrStepTimer: hooks' seconds do not depend on the system clock."""

import time

import pytest

import pipeline.compat.v1 as tf


@pytest.mark.parametrize("days", [-1, 1])
def test_a_system_clock_that_jumps(days, monkeypatch):
    often, seldom = tf.train.SecondOrStepTimer(every_secs=0), tf.train.SecondOrStepTimer(every_secs=80_000)
    for timer in (often, seldom):
        timer.update_last_triggered_step(1)
    now = time.time
    monkeypatch.setattr(time, "time", lambda: now() + 86_400 * days)
    assert often.should_trigger_for_step(2)
    assert not seldom.should_trigger_for_step(2)
    seconds, steps = often.update_last_triggered_step(2)
    assert 0 <= seconds < 80_000
    assert steps == 1
