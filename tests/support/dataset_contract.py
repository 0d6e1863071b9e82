"""The promises of every dataset, from any source: `pipeline.testing.check_resume`, and states for other tests."""

import json

import chains
from steps import same

import pipeline
from pipeline.stages.functions import CallSettings, Map
from pipeline.stages.node import nodes_of
from pipeline.stages.selection import with_inputs
from pipeline.testing import check_resume


def check(data, expected):
    """Run all checks on all elements, with its own workers and with threads, on one host and on two.

    Then read the sources through workers, so that indexed steps run as streams, and resume before each element. That
    changes the private recipe, so all steps stay as they are, with their draws.
    """
    check_resume(data, expected=expected, limit=None, workers=(2,), hosts=(2,))
    if not any(each.needs_index for each in nodes_of(data._node)):
        behind = pipeline.Dataset(_behind_workers(data._node), data._epoch)
        check_resume(behind, expected=expected, limit=None, checks=["elements", "resume"])


def _behind_workers(node):
    """Return a recipe whose sources are read through workers."""
    if not node.inputs:
        return Map(node, same, CallSettings(workers=2))
    return with_inputs(node, tuple(map(_behind_workers, node.inputs)))


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
