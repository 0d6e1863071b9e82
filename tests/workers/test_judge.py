"""How many workers of each kind the judge tries, keeps and undoes, given the loop's waits."""

from collections import Counter
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pytest

from pipeline.workers.judge import HERE, PROCESSES, THREADS, Choice, Chosen, Judge, Period


def run(judge, machine, count=300):
    """Let a judge work with a machine describing each period for given workers; return all choices."""
    choices = [judge.choice]
    for _ in range(count):
        choices.append(judge.after(machine(judge.choice)))
    return choices


def settled(choices):
    """Return the value of nearly all the last choices."""
    (choice, times), *_ = Counter(choices[-100:]).most_common()
    assert times >= 0.9 * len(choices[-100:])
    return choice


def machine(rates, wanted=1e9, cpu=1.0):
    """Return a machine with a rate per choice, and a loop with a maximum rate."""

    def period(choice):
        rate = rates(choice)
        waited = max(0.0, 1 - rate / wanted)
        busy = choice.number * min(1.0, wanted / rate)
        return Period(min(rate, wanted), waited, busy, cpu)

    return period


def alone(choice):
    """The lock is held, so threads do not help."""
    return 100.0 * (choice.number if choice.kind == PROCESSES else 1)


def each(choice):
    return 100.0 * choice.number


def test_a_function_that_holds_the_lock_gets_processes():
    judge = Judge(Chosen(Choice(HERE, 1)), 8, lambda: 8)
    assert settled(run(judge, machine(alone))) == (PROCESSES, 8)


def test_one_that_releases_it_gets_as_many_threads_as_there_are_processors():
    judge = Judge(Chosen(Choice(HERE, 1)), 8, lambda: 8)
    choices = run(judge, machine(lambda choice: 100.0 * min(8, choice.number)))
    assert settled(choices) == (THREADS, 8)


def test_one_that_waits_gets_more_threads_and_never_processes():
    judge = Judge(Chosen(Choice(HERE, 1)), 2, lambda: 2)
    choices = run(judge, machine(each, cpu=0.05))
    assert settled(choices) == (THREADS, 32)
    assert all(choice.kind != PROCESSES for choice in choices)


def test_threads_that_keep_the_lock_from_the_loop_give_way_to_processes():
    """The loop wants 900 examples per second, and gets 600 without waiting for any."""

    def period(choice):
        if choice.kind == HERE:
            return Period(450.0, 0.5, 0.5, 1.0)
        return Period(600.0 if choice.kind == THREADS else 900.0, 0.01, 0.9, 1.0)

    choices = run(Judge(Chosen(Choice(HERE, 1)), 2, lambda: 2), period)
    assert settled(choices).kind == PROCESSES
    choices = run(Judge(Chosen(Choice(HERE, 1)), 2, lambda: 0), period)
    assert settled(choices).kind == THREADS


def test_processes_do_not_help_a_loop_that_is_slow_itself():
    def period(choice):
        return Period(450.0, 0.5, 0.5, 1.0) if choice.kind == HERE else Period(600.0, 0.01, 0.9, 1.0)

    choices = run(Judge(Chosen(Choice(HERE, 1)), 2, lambda: 2), period)
    assert settled(choices).kind == THREADS
    assert sum(choice.kind == PROCESSES for choice in choices) <= 3  # tried once


def test_a_cheap_one_stays_in_the_thread_of_the_loop():
    judge = Judge(Chosen(Choice(HERE, 1)), 2, lambda: 2)
    choices = run(judge, machine(lambda choice: 100.0 if choice.kind == HERE else 40.0))
    assert settled(choices) == (HERE, 1)
    assert choices.count((THREADS, 2)) <= 4  # failed attempts are repeated less and less often


def test_no_more_than_the_loop_wants():
    judge = Judge(Chosen(Choice(HERE, 1)), 2, lambda: 2)
    choices = run(judge, machine(each, wanted=350.0, cpu=0.05))
    assert settled(choices) == (THREADS, 4)


def test_fewer_when_the_loop_wants_less():
    judge = Judge(Chosen(Choice(THREADS, 16)), 2, lambda: 2)
    choices = run(judge, machine(each, wanted=350.0, cpu=0.05))
    assert min(choice.number for choice in choices) >= 3
    assert settled(choices).number <= 6


def test_a_slow_input_is_not_the_workers_fault():
    judge = Judge(Chosen(Choice(THREADS, 2)), 8, lambda: 8)
    assert set(run(judge, lambda choice: Period(10.0, 0.9, 0.3, 1.0))) == {(THREADS, 2)}


def test_workers_that_seemed_to_help_are_found_out():
    judge = Judge(Chosen(Choice(THREADS, 2)), 2, lambda: 0)
    assert settled(run(judge, machine(lambda choice: 100.0 if choice.kind == HERE else 80.0))) == (HERE, 1)


def test_within_the_memory():
    judge = Judge(Chosen(Choice(HERE, 1)), 16, lambda: 3)
    choices = run(judge, machine(alone))
    assert settled(choices) == (PROCESSES, 3)


@pytest.mark.parametrize("memory", [0, 1])
def test_no_processes_without_need(memory):
    judge = Judge(Chosen(Choice(HERE, 1)), 8, lambda: memory)
    assert all(choice.kind != PROCESSES for choice in run(judge, machine(alone)))


def test_processes_that_cannot_start_are_not_tried_again():
    judge = Judge(Chosen(Choice(HERE, 1)), 8, lambda: 8)
    while judge.choice.kind != PROCESSES:
        judge.after(machine(alone)(judge.choice))
    judge.refuse(PROCESSES)
    assert judge.choice == (HERE, 1)
    assert all(choice.kind != PROCESSES for choice in run(judge, machine(alone)))


def test_what_was_in_vain_is_tried_again_later():
    judge = Judge(Chosen(Choice(HERE, 1)), 2, lambda: 0)
    assert settled(run(judge, machine(lambda choice: 100.0))) == (HERE, 1)
    assert settled(run(judge, machine(each))) == (THREADS, 2)


def test_whether_processes_can_call_it_is_asked_when_they_are_to_be_tried():
    asked = []
    judge = Judge(Chosen(Choice(HERE, 1)), 2, lambda: asked.append(judge.choice) or 2)
    run(judge, machine(lambda choice: 100.0 * min(2, choice.number), wanted=210.0))
    assert asked == []
    run(judge, machine(alone))
    assert len(asked) == 1


@pytest.mark.parametrize("seed", range(20))
def test_other_programs_that_slow_some_periods_decide_nothing(seed):
    random, slow, shares = np.random.default_rng(seed), 0, []

    def noisy(choice):
        nonlocal slow
        slow = slow - 1 if slow else int(random.random() < 0.1) * int(random.integers(1, 8))
        share = min(choice.number, 20) / 20
        shares.append(share)
        rate = 2000 * share * random.uniform(0.9, 1.0) * (random.uniform(0.05, 0.5) if slow else 1.0)
        return Period(rate, 0.97, choice.number, 0.03)

    run(Judge(Chosen(Choice(HERE, 1)), 2, lambda: 2), noisy, 80)
    assert sum(shares) / len(shares) > 0.6  # relative to the best workers' rate, including the time to find them


def test_the_next_loop_knows_what_was_in_vain():
    chosen = Chosen(Choice(HERE, 1))
    tried = run(Judge(chosen, 2, lambda: 0), machine(lambda choice: 100.0 if choice.kind == HERE else 40.0), 20)
    assert (THREADS, 2) in tried
    again = run(Judge(chosen, 2, lambda: 0), machine(lambda choice: 100.0 if choice.kind == HERE else 40.0), 10)
    assert set(again) == {(HERE, 1)}


def test_it_begins_with_what_was_kept_not_with_what_was_tried_last():
    chosen = Chosen(Choice(HERE, 1))
    judge = Judge(chosen, 2, lambda: 0)
    while judge.choice == (HERE, 1):
        judge.after(machine(each)(judge.choice))
    assert chosen.choice == (HERE, 1)
    judge.after(machine(each)(judge.choice))
    assert chosen.choice == (THREADS, 2)


class Model(NamedTuple):
    """A loop over a function on a machine with two processors; times are ms per example.

    Attributes:
        waits: How long the function waits for something other than the processor.
        holds: How long it computes with the GIL.
        computes: How long it computes without.
        loop: How long the loop takes to make its batches, with the GIL.
        step: How long the loop does something else, with the GIL free.
        serves: How many calls can wait at the same time.
        sent: Processes can call it.
    """

    waits: float = 0.0
    holds: float = 0.0
    computes: float = 0.0
    loop: float = 0.004
    step: float = 0.0
    serves: int = 1000
    sent: bool = True

    def rate(self, choice):
        """Return examples per second."""
        call = self.waits + self.holds + self.computes
        if choice.kind == HERE:
            return 1000 / (call + self.loop + self.step)
        send, number = (0.006, min(choice.number, 64)) if choice.kind == PROCESSES else (0.002, choice.number)
        holds = self.holds * (1.1 if number > 1 else 1.0)  # handing over the GIL costs time
        lock = self.loop + send + (holds if choice.kind == THREADS else 0)
        limits = [
            number / (self.waits + holds + self.computes + send),
            1 / lock,
            1 / (self.loop + send + self.step),
            2 / (holds + self.computes + self.loop + send),
            self.serves / max(self.waits, 1e-9),
        ]
        return 1000 * min(limits)

    def period(self, choice):
        rate, call = self.rate(choice), (self.waits + self.holds + self.computes) / 1000
        alone = (self.holds + self.computes) / 1000 / call
        if choice.kind == HERE:
            return Period(rate, rate * call, rate * call, alone)
        waited = max(0.0, 1 - rate * (self.step + self.loop) / 1000)
        idle = waited < 0.01  # the loop is the bottleneck: workers wait for it
        busy = min(choice.number, rate * call) if idle else choice.number
        return Period(rate, waited, busy, min(1.0, rate * call * alone / busy))

    def best(self):
        kinds = [Choice(HERE, 1), *(Choice(THREADS, 2**n) for n in range(1, 6))]
        return max(self.rate(choice) for choice in [*kinds, *[Choice(PROCESSES, 2)] * self.sent])


# The pipelines in `make bench-auto`.
MODELS = {
    "a disk, 4 ms": Model(waits=4),
    "a network, 20 ms": Model(waits=20),
    "a fast disk, 0.5 ms": Model(waits=0.5),
    "waits of 1 to 20 ms": Model(waits=6),
    "4 ms, a consumer of 10 ms": Model(waits=4, step=1.25),
    "4 ms, a consumer of 40 ms": Model(waits=4, step=5),
    "a server that serves 6 at once": Model(waits=4, serves=6, sent=False),
    "a server that serves one": Model(waits=2, serves=1, sent=False),
    "a filter that waits 3 ms": Model(waits=3),
    "flat_map that waits 4 ms": Model(waits=4, loop=0.016),
    "a wait, then Python code": Model(waits=4, loop=0.1),
    "a wait and Python code": Model(waits=4, holds=0.2),
    "a cast": Model(holds=0.0004),
    "NumPy on 784 numbers": Model(holds=0.002),
    "a cast, a consumer of 40 ms": Model(holds=0.0004, step=5),
    "Python code, 1 ms": Model(holds=1),
    "Python code that no process can import": Model(holds=1, sent=False),
    "Python code, a consumer of 10 ms": Model(holds=1, step=1.25),
    "SHA-256 of 1 MiB": Model(computes=1),
    "zlib, 128 KiB": Model(computes=0.3, holds=0.01),
}


@pytest.mark.parametrize("name", MODELS)
def test_within_10_percent_of_the_best_by_hand(name):
    model = MODELS[name]
    choices = run(Judge(Chosen(), 2, lambda: 2 if model.sent else 0), model.period, 120)  # half a minute
    settling = [choice for before, choice in pairwise(choices) if choice != before]  # one period each
    rates = [model.rate(choice) for choice in [*choices, *settling]]
    assert model.rate(settled(choices)) >= 0.9 * model.best()
    assert sum(rates) / len(rates) >= 0.95 * rates[0]
