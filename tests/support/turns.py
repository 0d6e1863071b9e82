"""A deterministic loop in small: turns that pull, and a book that puts what they pull from to its place."""

import contextlib

from pipeline import pulls
from pipeline.errors import FailedPreconditionError


class Book:
    """Adopts whatever its turns pull from; `places` has positions, by name, to go to first."""

    def __init__(self, places=None):
        self.places = dict(places or {})
        self.adopted = []
        self.pulls = 0

    def adopt(self, thing, how):
        if getattr(thing, "owner", None) is not None:
            raise pulls.in_use(thing)
        thing.owner = self
        self.adopted.append((thing, how))
        if thing.name in self.places:
            thing._go_to(self.places[thing.name])

    def check(self, turn):
        raise FailedPreconditionError(None, None, "the baton has passed")

    def pulled(self, turn):
        self.pulls += 1


@contextlib.contextmanager
def turn(book=None):
    """In the body, this thread has a turn."""
    pulls.this_thread.turn = made = pulls.Turn(book or Book(), 0)
    try:
        yield made
    finally:
        pulls.this_thread.turn = None
