"""Accounts for elements: those enqueued, those dequeued, and those still held by failing threads.

Every element has its own number. In the end each element certainly enqueued must be in exactly one place: delivered,
still in a queue, or reported by the thread that failed with it. An element in an interrupted call may be stored or not,
but the stored rows are the call's first ones.
"""

import threading
from collections import Counter


class Ledger:
    """Thread safety: every thread may record its own observations."""

    def __init__(self):
        self._lock = threading.Lock()
        self.stored, self.refused = [], []  # by the producers' calls
        self.unsure = []  # blocks from interrupted calls
        self.delivered, self.reported, self.left = [], [], []
        self.events = Counter()
        self.seconds = 0.0

    def note(self, event, account=None, numbers=()):
        """Record an event and its elements."""
        with self._lock:
            self.events[event] += 1
            if account is not None:
                getattr(self, account).extend(numbers)

    def doubt(self, event, block):
        """Record an interrupted call, with an unknown number of stored rows."""
        with self._lock:
            self.events[event] += 1
            self.unsure.append(list(block))

    def add(self, other):
        """Add another ledger's accounts to this one."""
        for account in ("stored", "refused", "unsure", "delivered", "reported", "left"):
            getattr(self, account).extend(getattr(other, account))
        self.events.update(other.events)

    def check(self):
        """Raise AssertionError unless every element is accounted for."""
        found = Counter(self.delivered) + Counter(self.left)
        twice = [number for number, times in found.items() if times > 1]
        assert not twice, f"{len(twice)} elements came out twice, such as {twice[:9]}"
        made_up = found.keys() - set(self.stored) - {number for block in self.unsure for number in block}
        assert not made_up, f"{len(made_up)} elements were refused or never put in, such as {sorted(made_up)[:9]}"
        both = found.keys() & set(self.reported)
        assert not both, f"{len(both)} elements were reported as not taken and yet came out, such as {sorted(both)[:9]}"
        doubtful = {number for block in self.unsure for number in block}
        lost = set(self.stored) - found.keys() - set(self.reported) - doubtful
        assert not lost, f"{len(lost)} elements were lost, such as {sorted(lost)[:9]}"

    def summary(self):
        """Return the events as a readable line."""
        places = {name: len(getattr(self, name)) for name in ("stored", "delivered", "left", "reported", "refused")}
        places["unsure"] = sum(map(len, self.unsure))
        events = ", ".join(f"{count:,} {event}" for event, count in sorted(self.events.items()))
        return ", ".join(f"{count:,} {name}" for name, count in places.items()) + f"; {events}"
