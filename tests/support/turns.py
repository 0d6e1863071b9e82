"""A recorded function in small: turns in which it reads, and a book that puts what it reads from to its place.

`_go_to` is called as a resumable run calls it.
"""

import contextlib

from pipeline import pulls


class Book:
    """Adopts whatever its turns read from; `places` has positions, by name, to go to first."""

    seeds = (0, 0)

    def __init__(self, places=None):
        self.places = dict(places or {})
        self.adopted = []

    def adopt(self, thing):
        if getattr(thing, "owner", None) is not None:
            raise pulls.in_use(thing)
        thing.owner = self
        self.adopted.append(thing)
        if thing.name in self.places:
            thing._go_to(self.places[thing.name])


@contextlib.contextmanager
def turn(book=None):
    """In the body, this thread has a turn."""
    pulls.this_thread.turn = made = pulls.Turn(book or Book())
    try:
        yield made
    finally:
        pulls.this_thread.turn = None
