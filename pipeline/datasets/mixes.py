"""Mixes: which weights a mix has had, so that a state goes on with others, and with more inputs.

Later steps may make elements again that were drawn before a state was saved, such as those in a buffer. So earlier
weights stay in effect up to the furthest draw that the saved run had made, and those of the recipe follow.
"""

from __future__ import annotations

import copy
from typing import Any

from pipeline.stages.mix import Mix
from pipeline.stages.node import Node, nodes_of
from pipeline.stages.selection import with_inputs


def mixes_of(node: Node) -> list[Mix]:
    """Return the mixes of a recipe, each after its inputs."""
    return [each for each in nodes_of(node) if isinstance(each, Mix)]


def _saved_mixes(recipe: Any) -> list[dict[str, Any]]:
    """Return the options of the mixes of a saved recipe, in the same order."""
    kind, options, inputs = recipe
    found = [each for inner in inputs for each in _saved_mixes(inner)]
    return [*found, options] if kind == "mix" else found


def mixes_with_history(node: Node, before: Node, recipe: Any, mixes: list[Any]) -> list[Any]:
    """Return what a state says of the mixes of a recipe, with the weights that it was saved with where they differ.

    Args:
        node: The recipe.
        before: The same without new inputs.
        recipe: The saved one.
        mixes: Its mixes.
    """
    found: dict[Node, list[Any]] = {}
    for each, saved, (epoch, drawn, history) in zip(mixes_of(before), _saved_mixes(recipe), mixes, strict=True):
        if saved["weights"] != each.options()["weights"]:
            history = [*history, [epoch, drawn, saved["weights"]]]
        found[each.written] = [epoch, drawn, history]
    return [found.get(each.written, [0, 0, []]) for each in mixes_of(node)]


def without_new_inputs(node: Node, recipe: Any) -> Node:
    """Return a recipe as it was: without the inputs that were added to its mixes, behind the others."""
    if node.kind in ("prefetch", "checksum"):
        return with_inputs(node, (without_new_inputs(node.inputs[0], recipe),))
    kind, _, saved = recipe
    if kind != node.kind:  # an error, or a shard that only one of them has
        if kind == "shard":
            return without_new_inputs(node, saved[0])
        if node.kind == "shard":
            return with_inputs(node, (without_new_inputs(node.inputs[0], recipe),))
        return node
    if not node.inputs:
        return node
    inputs = tuple(without_new_inputs(*each) for each in zip(node.inputs, saved, strict=False))
    if not isinstance(node, Mix):
        return with_inputs(node, inputs) if len(inputs) == len(node.inputs) else node
    made = copy.copy(node)
    count = len(saved)
    made.inputs, made._written = (*inputs, *node.inputs[len(inputs) :])[:count], node.written
    made.names = None if node.names is None else node.names[:count]
    return made
