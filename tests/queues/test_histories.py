"""One order of steps explains each thread's results, with calls in their order of arrival.

`tests/stress/histories.py` makes and records the calls, `tests/stress/check.py` looks for the order. This file also
tests that search.
"""

import random
from collections import Counter

import pytest
import reference
from stress.check import explain
from stress.histories import Hurried, check, record
from stress.model import FIFO, Model, Shuffle, model
from stress.queues import Plan, Subject, plan
from stress.words import Call, Outcome, Record, Unexpected

REFERENCE = vars(reference)
MANY = range(400)  # seeds among which a planted fault has to show


@pytest.fixture(autouse=True)
def hurried():
    with Hurried():
        yield


@pytest.mark.parametrize("block", range(8))
def test_histories_of_the_compiled_queues(block):
    for seed in range(40 * block, 40 * block + 40):
        problem = check(seed)
        assert problem is None, problem


def test_histories_of_the_reference():
    for seed in range(60):
        problem = check(seed, REFERENCE)
        assert problem is None, problem


def test_a_seed_repeats_its_history_where_the_order_is_known():
    for seed in range(1, 21, 2):
        first, again = ([(each.call, each.outcome) for each in record(seed)[0]] for _ in range(2))
        assert Counter(first) == Counter(again)  # calls ended by one step may end in either order


# Faults in a queue, to be found by the search -------------------------------------------------------------------------


def found(**how):
    """Return whether a planted fault shows in the history for one of many seeds."""
    for seed in MANY:
        try:
            if check(seed, **how) is not None:
                return True
        except Unexpected:
            return True
    return False


class Overtaking(reference.FIFOQueue):
    """Serves the last in line first."""

    def serve(self, line, attempt):
        line.reverse()
        try:
            return super().serve(line, attempt)
        finally:
            line.reverse()


class Losing(reference.FIFOQueue):
    """Forgets the elements collected by a dequeue that ends early."""

    def put_back(self, rows):
        pass


class Repeating(reference.FIFOQueue):
    """Stores an element twice, now and then."""

    def put(self, row):
        self.store += [row, row] if len(self.store) == 1 else [row]


class Overfull(reference.FIFOQueue):
    """Takes one element more than fits."""

    def __init__(self, capacity, *args, **kwargs):
        super().__init__(capacity + 1, *args, **kwargs)


class Greedy(reference.RandomShuffleQueue):
    """Does not keep min_after_dequeue elements back."""

    def available(self):
        return len(self.store)


class Unstable(reference.PriorityQueue):
    """A heap that is not repaired after its first element is taken."""

    def take(self):
        return self.store.pop(0)


FAULTY = {
    "FIFOQueue": [Overtaking, Losing, Repeating, Overfull],
    "RandomShuffleQueue": [Greedy],
    "PriorityQueue": [Unstable],
}


@pytest.mark.parametrize(("name", "cls"), [(name, cls) for name, classes in FAULTY.items() for cls in classes])
def test_a_faulty_queue_is_found(name, cls):
    assert found(classes={**REFERENCE, name: cls})


class Swapping(Subject):
    """Swaps the results of two dequeues."""

    held = None

    def make(self, call):
        outcome = super().make(call)
        if call.method == "dequeue" and outcome.end == "ok":
            self.held, outcome = outcome, outcome if self.held is None else self.held
        return outcome


def test_swapped_results_are_found(monkeypatch):
    monkeypatch.setattr("stress.histories.Subject", Swapping)
    assert found()


# Faults in the model: real histories have no explanation by the wrong model -------------------------------------------


class LastIn(FIFO):
    def take(self):
        return self.store.pop()


class AllOrNothing(FIFO):
    def try_dequeue(self, a):
        return reference.PriorityQueue.try_dequeue(self, a)


class Reversed(FIFO):
    def put_back(self, rows):
        self.store[:0] = rows[::-1]


class Impatient(FIFO):
    """A plain close does not wait for its turn."""

    def arrive(self, number, call):
        return super().arrive(number, call) if call.method != "close" else self.soon(number, call)

    def soon(self, number, call):
        waiting, self.enqueues = self.enqueues, type(self.enqueues)()
        ended = super().arrive(number, call)
        self.enqueues = waiting
        return ended + self.served()


class OtherDraws(Shuffle):
    def take(self):
        next(self.words)
        return super().take()


def mutated(cls):
    """Correct models, except for one kind of queue."""
    other = {FIFO: "fifo", Shuffle: "shuffle"}[cls.__base__]

    def make(made):
        if made.kind != other:
            return made.model()
        args = (made.min_after_dequeue,) if other == "shuffle" else ()
        options = {"seed": made.seed} if other == "shuffle" else {}
        return cls(made.capacity, *args, int, shapes=(), **options).settle()

    return make


@pytest.mark.parametrize("cls", [LastIn, AllOrNothing, Reversed, Impatient, OtherDraws])
def test_a_wrong_model_is_found(cls):
    assert found(model=mutated(cls))


# Histories by hand --------------------------------------------------------------------------------------------------

PUT1, PUT2, TAKE, TWO = Call("enqueue", (1,)), Call("enqueue", (2,)), Call("dequeue", n=1), Call("dequeue_many", n=2)
OK = Outcome("ok")


def history(*calls):
    """Return records of (call, began, ended, outcome), each from a different thread."""
    return [Record(i, *each) for i, each in enumerate(calls)]


def gave(*values):
    return Outcome("ok", values)


@pytest.mark.parametrize(
    ("records", "possible"),
    [
        ([(PUT1, 0, 1, OK), (PUT2, 2, 3, OK), (TAKE, 4, 5, gave(1))], True),
        ([(PUT1, 0, 1, OK), (PUT2, 2, 3, OK), (TAKE, 4, 5, gave(2))], False),
        ([(PUT1, 0, 2, OK), (PUT2, 1, 3, OK), (TAKE, 4, 5, gave(2))], True),  # concurrent: either first
        ([(PUT1, 0, 1, OK), (TAKE, 2, 3, gave(1)), (TAKE, 4, 5, gave(1))], False),
        ([(TAKE, 0, 9, gave(1)), (PUT1, 1, 2, OK)], True),
        ([(TAKE, 0, 1, gave(1)), (PUT1, 2, 3, OK)], False),
        # The batch waits first, as the queue shows, so it gets the element.
        (
            [
                (TWO, 0, 9, gave(1, 2)),
                (Call("stats"), 1, 2, Outcome("ok", (0, False, 0, 1))),
                (TAKE, 3, 8, Outcome("timed_out")),
                (PUT1, 4, 5, OK),
                (PUT2, 6, 7, OK),
            ],
            True,
        ),
        (
            [
                (TWO, 0, 9, Outcome("timed_out")),
                (Call("stats"), 1, 2, Outcome("ok", (0, False, 0, 1))),
                (TAKE, 3, 6, gave(1)),
                (PUT1, 4, 5, OK),
                (Call("stats"), 7, 8, Outcome("ok", (0, False, 0, 1))),
            ],
            False,
        ),
        # Elements given back by a dequeue are in front again.
        ([(PUT1, 0, 1, OK), (TWO, 2, 4, Outcome("hook")), (PUT2, 3, 5, OK), (TAKE, 6, 7, gave(1))], True),
        ([(PUT1, 0, 1, OK), (TWO, 2, 4, Outcome("hook")), (Call("size"), 5, 6, Outcome("ok", 0))], False),
        ([(Call("enqueue_many", (1, 2, 3)), 0, 1, Outcome("timed_out", (), 2))], True),
        ([(Call("enqueue_many", (1, 2, 3)), 0, 1, Outcome("timed_out", (), 1))], False),
    ],
)
def test_histories_by_hand(records, possible):
    assert (explain(history(*records), model("fifo", 2)) is None) == possible


def test_many_calls_that_time_out_together_are_explained():
    waits = [(Call("enqueue", (10 + i,), timeout=1), 2 + i, 20 + i, Outcome("timed_out")) for i in range(9)]
    rest = [(TAKE, 30, 31, gave(1)), (Call("stats"), 34, 35, Outcome("ok", (0, True, 0, 0)))]
    records = [(PUT1, 0, 1, OK), *waits, (Call("close"), 32, 33, OK), *rest]
    records.sort(key=lambda record: record[1])
    assert explain(history(*records), model("fifo", 1)) is None
    records[1] = (*records[1][:3], OK)  # it claims one row was stored, though no dequeue ever returned it
    assert "No order explains" in explain(history(*records), model("fifo", 1))


def test_a_call_that_timed_out_though_it_could_go_on_is_impossible():
    late = [(Call("close"), 0, 1, OK), (Call("enqueue", (1,), timeout=1), 2, 3, Outcome("timed_out"))]
    end = (Call("stats"), 4, 5, Outcome("ok", (0, True, 0, 0)))
    assert explain(history(*late, end), model("fifo", 1)) is not None


def test_the_report_names_the_call_and_lists_the_history():
    report = explain(history((PUT1, 0, 1, OK), (TAKE, 2, 3, gave(7))), model("fifo", 2))
    assert report.startswith("No order explains how call #1 ended.\n")
    assert "enqueue([1])  ->  ok" in report
    assert "dequeue()  ->  ok (7,)" in report


def test_seeds_stand_for_all_kinds_and_sizes():
    plans = [plan(seed) for seed in range(320)]
    assert {each.kind for each in plans} == {"fifo", "shuffle", "lockstep", "padding", "priority"}
    assert {each.capacity for each in plans} == {1, 2, 3, 4, 6}
    assert all(isinstance(each, Plan) and isinstance(each.model(), Model) for each in random.Random(1).sample(plans, 9))
