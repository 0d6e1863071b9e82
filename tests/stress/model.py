"""The sequential model of a queue: the reference's engine, one step at a time, with plain values as elements.

A call is not one step but up to three: it *arrives* (joins its line, and the lines are served), it may be *withdrawn*
while it waits (a timeout, or an error in a hook), and a dequeue with its elements already taken when a hook raised is
*undone*.
"""

from collections import deque

import reference
from reference import Attempt
from stress.words import Outcome

from pipeline.errors import CancelledError


class Nobody:
    """Replaces the reference's condition variable: in the model no thread sleeps."""

    def notify_all(self):
        pass


class Words:
    """A generator's words and the number drawn so far; a copy continues independently."""

    def __init__(self, source, known=None, drawn=0):
        self.source, self.known, self.drawn = source, [] if known is None else known, drawn

    def __next__(self):
        while len(self.known) <= self.drawn:
            self.known.append(next(self.source))
        self.drawn += 1
        return self.known[self.drawn - 1]

    def copy(self):
        return Words(self.source, self.known, self.drawn)


class Waits(Attempt):
    """An attempt with a reference to its call."""

    def __init__(self, call, rows=(), missing=0, up_to=False, close=False, each=False):
        super().__init__("queue", rows, missing, up_to, close)
        self.call, self.each = call, each

    def copy(self):
        other = object.__new__(Waits)
        other.__dict__.update(self.__dict__)
        other.rows, other.taken = deque(self.rows), list(self.taken)
        return other

    def key(self):
        return self.call, tuple(self.rows), tuple(self.taken), self.missing

    def outcome(self):
        """Return the call's outcome after the attempt's end."""
        if isinstance(self.error, CancelledError):
            return Outcome("already" if self.close else "closed")
        if self.error is not None:
            return self.error
        return Outcome("ok", tuple(self.taken))


class Model:
    """Mixed into a reference queue: steps instead of calls, and states that can be copied and compared."""

    def settle(self):
        """Prepare for steps: no thread waits, nothing is drawn yet."""
        self.change = Nobody()
        self.words = Words(getattr(self, "words", None))
        return self

    def copy(self):
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other.store, other.words = list(self.store), self.words.copy()
        other.enqueues = deque(a.copy() for a in self.enqueues)
        other.dequeues = deque(a.copy() for a in self.dequeues)
        return other

    def key(self):
        lines = (tuple(a.key() for a in line) for line in (self.enqueues, self.dequeues))
        return tuple(self.store), getattr(self, "again", 0), self.closed, self.words.drawn, *lines

    def held(self):
        """Return the stored elements, plus those collected by waiting calls."""
        return [*self.store, *(row for a in self.dequeues for row in a.taken)]

    # Where the reference makes errors with texts, the model records the outcome.

    def out_of_range(self, a, size):
        return a.finish(Outcome("exhausted", (a.missing, size)))

    def try_enqueue(self, a):
        if not (a.each and self.dequeues):
            return super().try_enqueue(a)
        capacity, self.capacity = self.capacity, min(self.capacity, len(self.store) + 1)
        try:
            return super().try_enqueue(a)  # one row, as enqueue would
        finally:
            self.capacity = capacity

    # The steps. Each returns the ended attempts.

    def served(self):
        before = [*self.enqueues, *self.dequeues]
        self.flush()
        return [a for a in before if a.done]

    def arrive(self, number, call):
        """Let a call arrive; it may have to wait."""
        rows, each = (call.rows, call.method == "_enqueue_each") if call.puts else ((), False)
        a = Waits(number, rows, call.n, call.method == "dequeue_up_to", call.method == "close", each)
        (self.enqueues if call.puts or a.close else self.dequeues).append(a)
        return self.served()

    def withdraw(self, number):
        """Take a waiting call out of its line; return it, and the calls that ended because of it."""
        for line in (self.enqueues, self.dequeues):
            for a in line:
                if a.call == number:
                    line.remove(a)
                    self.put_back(a.taken)
                    return a, self.served()
        raise AssertionError(f"call {number} does not wait")

    def undo(self, taken):
        """Put back undelivered elements."""
        self.put_back(list(taken))
        return self.served()

    def close_now(self):
        """Close, and cancel every waiting enqueue and close."""
        cancelled = list(self.enqueues)
        for a in cancelled:
            a.finish(Outcome("cancelled"))
        self.enqueues.clear()
        self.closed = True
        return cancelled + self.served()

    def seen(self, method):
        """Return the result of a read-only call."""
        if method == "is_closed":
            return self.closed
        if method == "size":
            return len(self.store)
        return len(self.store), self.closed, len(self.enqueues), len(self.dequeues)


class FIFO(Model, reference.FIFOQueue):
    pass


class Shuffle(Model, reference.RandomShuffleQueue):
    pass


class Priority(Model, reference.PriorityQueue):
    def put_back(self, rows):
        for row in rows:
            self.put(row)


def model(kind, capacity, min_after_dequeue=0, seed=None):
    """Return a queue's model as made by `histories`; a padding queue is modelled as a FIFO queue."""
    if kind in ("shuffle", "lockstep"):
        lockstep = {"deterministic": kind == "lockstep"}
        return Shuffle(capacity, min_after_dequeue, int, shapes=(), seed=seed, **lockstep).settle()
    if kind == "priority":
        return Priority(capacity, int, shapes=()).settle()
    return FIFO(capacity, int, shapes=()).settle()
