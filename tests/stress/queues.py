"""The queues under test in histories: how elements become values, and how results are read back.

An element is a number in all its components; in a priority queue, a pair (priority, number).
The private hooks `_about_to_wait` and `_still_waiting` are where a call can be cancelled.
"""

import random
import threading
from typing import NamedTuple

import numpy as np
from stress.model import model
from stress.words import Call, HookRaised, Outcome, Unexpected, outcome_of

import pipeline

KINDS = ("fifo", "shuffle", "lockstep", "padding", "priority")
STRIDE = 1000  # numbers per thread
WIDE = 8192  # numbers in a wide row: the engine copies it without the GIL


class Plan(NamedTuple):
    """A seed's queue."""

    kind: str
    capacity: int
    min_after_dequeue: int
    width: int
    seed: int

    def model(self):
        return model(self.kind, self.capacity, self.min_after_dequeue, self.seed)


def plan(seed):
    """Return the plan for a seed's queue."""
    draw = random.Random(seed)
    capacity = draw.choice([1, 2, 2, 3, 4, 6])
    return Plan(
        kind=draw.choice(KINDS),
        capacity=capacity,
        min_after_dequeue=draw.randrange(capacity),
        width=draw.choice([0, 0, 0, WIDE]),
        seed=seed % 1000 + 1,
    )


class Hooks:
    """Lets another thread cancel a waiting call, as the drop-in's session does."""

    def __init__(self, *args, **kwargs):
        self.cancelled = set()
        super().__init__(*args, **kwargs)

    def cancel(self, thread):
        """Make the thread's call raise HookRaised if it waits, or as soon as it does."""
        self.cancelled.add(thread)
        self._poke()

    def _look(self):
        thread = getattr(here, "thread", None)
        if thread in self.cancelled:
            self.cancelled.discard(thread)
            raise HookRaised(thread)

    def _about_to_wait(self, call):
        self._look()
        return super()._about_to_wait(call)

    def _still_waiting(self, call, waited_s):
        self._look()
        return super()._still_waiting(call, waited_s)


class Here(threading.local):
    thread = None


here = Here()
HOOKED = {
    name: type(name, (Hooks, getattr(pipeline, name)), {})
    for name in ("FIFOQueue", "RandomShuffleQueue", "PaddingFIFOQueue", "PriorityQueue")
}


class Subject:
    """A queue under test: makes the calls in `words` and returns their outcomes.

    Args:
        plan: Which queue.
        classes: Namespace with its class; by default the compiled ones, which can be cancelled.
    """

    def __init__(self, plan, classes=None):
        self.plan, self.hooked = plan, classes is None
        classes = HOOKED if classes is None else classes
        shape = (plan.width,) if plan.width else ()
        options = {}
        if plan.kind in ("shuffle", "lockstep"):
            make, args = classes["RandomShuffleQueue"], (plan.capacity, plan.min_after_dequeue, np.int64, shape)
            options = {"seed": plan.seed, "deterministic": plan.kind == "lockstep"}
        elif plan.kind == "padding":
            make, args = classes["PaddingFIFOQueue"], (plan.capacity, [np.int64, np.int64], [(None,), shape])
        elif plan.kind == "priority":
            make, args = classes["PriorityQueue"], (plan.capacity, np.int64, shape)
        else:
            make, args = classes["FIFOQueue"], (plan.capacity, np.int64, shape)
        self.queue = make(*args, name="q", **options)

    def make(self, call):
        """Make a call; return its Outcome."""
        wait = {"timeout": call.timeout}
        try:
            if call.puts:
                vals = self.rows(call.rows) if call.method != "enqueue" else self.row(call.rows[0])
                getattr(self.queue, call.method)(vals, **wait)
                return Outcome("ok")
            if call.method == "dequeue":
                return Outcome("ok", self.read_row(self.queue.dequeue(**wait)))
            if call.method in ("dequeue_many", "dequeue_up_to"):
                return Outcome("ok", self.read_rows(getattr(self.queue, call.method)(call.n, **wait)))
            if call.method == "close":
                self.queue.close(**wait)
                return Outcome("ok")
            if call.method == "close_now":
                self.queue.close(cancel_pending_enqueues=True)
                return Outcome("ok")
            return Outcome("ok", self.look(call.method))
        except Unexpected:
            raise
        except Exception as error:
            return outcome_of(error, call)

    def look(self, method):
        if method != "stats":
            return getattr(self.queue, method)()
        stats = self.queue.stats()
        return stats.size, stats.closed, stats.waiting_enqueues, stats.waiting_dequeues

    # Elements as values. A number fixes its padded component's length, so that padding is checked as well.

    def row(self, row):
        if self.plan.kind == "priority":
            return row[0], self.filled(row[1])
        if self.plan.kind == "padding":
            return np.full(row % 4, row), self.filled(row)
        return self.filled(row)

    def rows(self, rows):
        if self.plan.kind == "priority":
            return np.array([row[0] for row in rows], np.int64), self.many(row[1] for row in rows)
        if self.plan.kind == "padding":
            return np.tile(np.array(rows, np.int64)[:, None], rows[0] % 4), self.many(rows)
        return (self.many(rows),)

    def filled(self, number):
        return np.full(self.plan.width, number) if self.plan.width else number

    def many(self, numbers):
        return np.stack([np.asarray(self.filled(number), np.int64) for number in numbers])

    def number(self, value):
        first = int(np.ravel(value)[0])
        if not np.all(np.asarray(value) == first):
            raise Unexpected(f"a torn row: {value!r}")
        return first

    def read_row(self, value):
        if self.plan.kind == "priority":
            return ((int(value[0]), self.number(value[1])),)
        if self.plan.kind == "padding":
            self.check_padding([value[0]], [self.number(value[1])], True)
            return (self.number(value[1]),)
        return (self.number(value),)

    def read_rows(self, values):
        if self.plan.kind == "priority":
            return tuple(zip(values[0].tolist(), map(self.number, values[1]), strict=True))
        if self.plan.kind == "padding":
            numbers = tuple(map(self.number, values[1]))
            self.check_padding(values[0], numbers, False)
            return numbers
        return tuple(map(self.number, values))

    def check_padding(self, padded, numbers, exact):
        lengths = [number % 4 for number in numbers]
        for row, number, length in zip(padded, numbers, lengths, strict=True):
            wanted = [number] * length + [0] * (0 if exact else max(lengths) - length)
            if row.tolist() != wanted:
                raise Unexpected(f"a padded row {row!r} of element {number}")


def calls(plan, draw, count, threads, thread, patience, hooked=True):
    """Return `count` calls for one thread. Its elements are numbered from STRIDE times its index."""
    made, first = [], STRIDE * (thread + 1)
    puts = ["enqueue"] * 4 + ["enqueue_many"] * 2
    if hooked and plan.kind in ("shuffle", "priority"):
        puts.append("_enqueue_each")
    takes = ["dequeue"] * 4 + ["dequeue_many", "dequeue_many", "dequeue_up_to"]
    for i in range(count):
        kind = draw.random()
        timeout = draw.choice(patience)
        if kind < 0.08:
            made.append(Call(draw.choice(["size", "is_closed", "stats"])))
        elif kind < 0.15 and i > count // 2:
            made.append(Call("close_now") if draw.random() < 0.3 else Call("close", timeout=timeout))
        elif 0.15 < kind < 0.19 and hooked:
            made.append(Call("cancel", n=draw.randrange(threads)))
        elif kind < 0.6:
            method = draw.choice(puts)
            step = 4 if plan.kind == "padding" else 1  # padded rows in one call have the same length
            numbers = range(first, first + step * (1 if method == "enqueue" else draw.randint(1, 5)), step)
            first = numbers[-1] + 1
            rows = tuple((draw.randint(-1, 1), i) if plan.kind == "priority" else i for i in numbers)
            made.append(Call(method, rows, timeout=timeout))
        else:
            method = draw.choice(takes)
            made.append(Call(method, n=1 if method == "dequeue" else draw.randint(1, 4), timeout=timeout))
    return made
