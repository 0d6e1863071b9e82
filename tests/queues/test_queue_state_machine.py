"""Any sequence of calls, including blocked ones, has the same effect on the compiled queues and the reference."""

import numpy as np
import reference
from helpers import plain, run_in_thread, wait_until, waiting
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import pipeline

COUNTS = st.integers(0, 6)
PRIORITIES = st.integers(-1, 2)


class Sides:
    """The compiled queue and its reference; every call goes to both."""

    def __init__(self, kind, *args, **kwargs):
        self.queues = [getattr(module, kind)(*args, name="q", **kwargs) for module in (pipeline, reference)]
        self.calls = []  # pairs of unfinished calls in threads

    def start(self, method, *args, **kwargs):
        self.calls.append([run_in_thread(getattr(queue, method), *args, **kwargs) for queue in self.queues])
        self.settle()

    def run(self, method, *args):
        """Make a call that does not wait."""
        results = [outcome(lambda queue=queue: getattr(queue, method)(*args, timeout=0)) for queue in self.queues]
        assert results[0] == results[1]
        self.settle()

    def settle(self):
        """Wait until every call has ended or is blocked, and compare the ended ones."""
        for side, queue in enumerate(self.queues):
            wait_until(
                lambda queue=queue, side=side: sum(pair[side].alive() for pair in self.calls) == sum(waiting(queue)),
                "calls that neither end nor are blocked",
            )
        ended = [pair for pair in self.calls if not (pair[0].alive() and pair[1].alive())]
        self.calls = [pair for pair in self.calls if pair[0].alive() and pair[1].alive()]
        for pair in ended:
            assert pair[0].alive() == pair[1].alive(), "a call is blocked on one side only"
            assert outcome(pair[0].result) == outcome(pair[1].result)


def outcome(call):
    try:
        return plain(call())
    except Exception as error:
        return type(error), str(error).split("\n")[0]


class QueueMachine(RuleBasedStateMachine):
    sides = None

    @initialize(
        kind=st.sampled_from(["fifo", "shuffle", "lockstep", "padding", "priority"]),
        capacity=st.integers(1, 6),
        data=st.data(),
    )
    def make(self, kind, capacity, data):
        self.kind, self.value = kind, 0
        if kind == "fifo":
            self.sides = Sides("FIFOQueue", capacity, np.int32, shapes=())
        elif kind in ("shuffle", "lockstep"):
            keep = data.draw(st.integers(0, capacity - 1), "min_after_dequeue")
            options = {"seed": capacity, "deterministic": kind == "lockstep"}
            self.sides = Sides("RandomShuffleQueue", capacity, keep, np.int32, shapes=(), **options)
        elif kind == "padding":
            self.sides = Sides("PaddingFIFOQueue", capacity, [np.int32, np.int32], [(None,), ()])
        else:
            self.sides = Sides("PriorityQueue", capacity, np.int32, shapes=())

    def element(self, priority):
        self.value += 1
        if self.kind == "padding":
            return [self.value] * (priority + 2), self.value
        return (priority, self.value) if self.kind == "priority" else self.value

    def elements(self, priorities):
        first = self.value + 1
        self.value += len(priorities)
        values = np.arange(first, self.value + 1, dtype=np.int32)
        if self.kind == "padding":
            return np.tile(values[:, None], len(priorities) % 3), values
        return (np.array(priorities, np.int64), values) if self.kind == "priority" else (values,)

    def call(self, method, *args, block):
        if block:
            self.sides.start(method, *args)
        else:
            self.sides.run(method, *args)

    @rule(priority=PRIORITIES, block=st.booleans())
    def enqueue(self, priority, block):
        self.call("enqueue", self.element(priority), block=block)

    @rule(priorities=st.lists(PRIORITIES, max_size=9), block=st.booleans())
    def enqueue_many(self, priorities, block):
        self.call("enqueue_many", self.elements(priorities), block=block)

    @rule(block=st.booleans())
    def dequeue(self, block):
        self.call("dequeue", block=block)

    @rule(n=COUNTS, block=st.booleans())
    def dequeue_many(self, n, block):
        self.call("dequeue_many", n, block=block)

    @rule(n=COUNTS, block=st.booleans())
    def dequeue_up_to(self, n, block):
        self.call("dequeue_up_to", n, block=block)

    @precondition(lambda self: self.value > 20)
    @rule(block=st.booleans())
    def close(self, block):
        self.call("close", block=block)

    @precondition(lambda self: self.value > 20)
    @rule()
    def close_and_cancel(self):
        self.call("close", True, block=True)

    @invariant()
    def both_agree(self):
        if self.sides is not None:
            compiled, plain_python = ((q.size(), q.is_closed(), waiting(q)) for q in self.sides.queues)
            assert compiled == plain_python

    def teardown(self):
        if self.sides is None:
            return
        self.sides.start("close", True)  # ends every blocked call
        assert self.sides.calls == []
        while self.sides.queues[1].size():
            self.sides.start("dequeue")
        self.both_agree()


QueueMachine.TestCase.settings = settings(
    max_examples=150, stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck)
)
TestQueues = QueueMachine.TestCase
