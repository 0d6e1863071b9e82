"""The scheduler itself: a seed repeats its order, a failure replays and shrinks, endless waits are found."""

import random
import threading

import pytest
import schedule
from schedules import scenarios

from pipeline.sync import stop_flag


def order(scheduled, draw=None):
    """Three threads record their steps; the order becomes an attribute on the schedule."""
    scheduled.steps_of = []

    def step(number):
        for i in range(4):
            scheduled.steps_of.append((number, i))
            scheduled.point()

    scenarios.joined(*(scenarios.started(step, i) for i in range(3)))


def test_a_seed_repeats_its_order():
    for seed in range(20):
        first, again = (schedule.play(order, schedule.Dice(seed)) for _ in range(2))
        assert first.failure is None
        assert (first.steps_of, first.choices) == (again.steps_of, again.choices)


def test_choices_repeat_an_order():
    for seed in range(20):
        first = schedule.play(order, schedule.Dice(seed))
        assert schedule.play(order, schedule.Replay(first.choices)).steps_of == first.steps_of


def test_seeds_differ():
    assert len({tuple(schedule.play(order, schedule.Dice(seed)).steps_of) for seed in range(40)}) > 20


@pytest.mark.parametrize("name", ["queue_history", "workers", "queue_runner", "executor"])
def test_scenarios_repeat(name):
    def run(seed):
        scenario = scenarios.ALL[name]
        found = schedule.play(lambda each: scenario(each, random.Random(seed)), schedule.Dice(seed), scenarios.FILES)
        assert found.failure is None
        return found.steps, found.choices

    run(0)  # one-time imports and caches
    assert [run(seed) for seed in range(5)] == [run(seed) for seed in range(5)]


def lost_update(scheduled, draw=None):
    """Two threads count without a lock."""
    total = [0]

    def count():
        for _ in range(3):
            before = total[0]
            scheduled.point()
            total[0] = before + 1

    scenarios.joined(*(scenarios.started(count) for _ in range(2)))
    assert total == [6]


def test_a_failure_shrinks_and_replays():
    with pytest.raises(schedule.Failed) as failed:
        schedule.explore(lost_update, range(100))
    assert len(failed.value.choices) <= 2
    again = schedule.play(lost_update, schedule.Replay(failed.value.choices))
    assert isinstance(again.failure, AssertionError)
    assert f"schedule {failed.value.seed} of lost_update, with the choices [" in str(failed.value)


def test_a_deadlock_is_found():
    def crossed(scheduled, draw):
        locks = [stop_flag.threading.Lock() for _ in range(2)]

        def taking(first, second):
            with locks[first], locks[second]:
                pass

        scenarios.joined(scenarios.started(taking, 0, 1), scenarios.started(taking, 1, 0))

    with pytest.raises(schedule.Failed, match=r"Deadlock: every thread waits for another:\n.*'main'") as failed:
        schedule.explore(crossed, range(200))
    assert isinstance(failed.value.__cause__, schedule.Deadlock)


def test_time_passes_only_when_all_wait():
    def sleeping(scheduled, draw=None):
        flag = stop_flag.StopFlag()
        running = scenarios.started(lambda: (scheduled.sleep(3), flag.set()))
        assert not flag.wait(2)
        assert flag.wait(2)
        scenarios.joined(running)

    for seed in range(20):
        found = schedule.play(sleeping, schedule.Dice(seed))
        assert found.failure is None
        assert 2.9 < found.passed < 3.1


def test_threads_that_go_on_are_found(monkeypatch):
    monkeypatch.setattr(schedule, "MOST_STEPS", 500)

    def endless(scheduled, draw=None):
        while True:
            scheduled.point()

    assert isinstance(schedule.play(endless, schedule.Dice(1)).failure, schedule.Stuck)


def test_a_failure_ends_all_threads():
    before = threading.active_count()

    def failing(scheduled, draw=None):
        for _ in range(3):
            scenarios.started(stop_flag.StopFlag().wait)
        raise ValueError("no")

    assert isinstance(schedule.play(failing, schedule.Dice(1)).failure, ValueError)
    assert threading.active_count() == before
