"""What every dataset promises, whatever it is made of: `pipeline.testing.check_resume`, and states for other tests."""

import json

import chains

from pipeline.testing import check_resume


def check(data, expected):
    """All checks of all elements, by its workers and by threads, on one host and on two."""
    check_resume(data, expected=expected, limit=None, workers=(2,), hosts=(2,))


def check_resumed_again(data, expected):
    """Each element by an iterator that resumes from the state of the one before it, which was resumed itself."""
    check_resume(data, expected=expected, limit=None, checks=["elements", "resumed"])


def states_of(data):
    """The state before each element and after the last, as JSON keeps it."""
    with iter(data) as iterator:
        states = [json.loads(json.dumps(iterator.state_dict()))]
        return states + [json.loads(json.dumps(iterator.state_dict())) for _ in iterator]


def stream(items):
    """A dataset whose elements come one after the other, and have no numbers."""

    def items_again():
        yield from items

    items_again.__qualname__ = "stream"
    return chains.dataset(items_again)
