"""The promises of every dataset, from any source: `pipeline.testing.check_resume`, and states for other tests."""

import json

import chains

from pipeline.testing import check_resume


def check(data, expected):
    """Run all checks on all elements, with its own workers and with threads, on one host and on two."""
    check_resume(data, expected=expected, limit=None, workers=(2,), hosts=(2,))


def check_resumed_again(data, expected):
    """Check each element with an iterator resumed from the state before it, saved by a resumed iterator too."""
    check_resume(data, expected=expected, limit=None, checks=["elements", "resumed"])


def states_of(data):
    """Return the state before each element and after the last, as stored in JSON."""
    with iter(data) as iterator:
        states = [json.loads(json.dumps(iterator.state_dict()))]
        return states + [json.loads(json.dumps(iterator.state_dict())) for _ in iterator]


def stream(items):
    """A dataset without random access."""

    def items_again():
        yield from items

    items_again.__qualname__ = "stream"
    return chains.dataset(items_again)
