"""The same recipe with other workers, and partial recipes."""

from __future__ import annotations

import copy
from typing import Any, TypeGuard

from pipeline.datasets.dataset import Dataset
from pipeline.stages.functions import Each
from pipeline.stages.node import Node, nodes_of
from pipeline.stages.selection import with_inputs
from pipeline.workers.given import checked_workers


def again(data: Dataset[Any]) -> Dataset[Any]:
    """Return a fresh copy of a dataset: a second loop in the same order would cause a warning."""
    return Dataset(data._node, data._epoch)


def with_workers(data: Dataset[Any], workers: Any) -> Dataset[Any]:
    """Return a dataset with its functions called by other workers.

    Raises:
        TypeError: A function cannot be sent to them.
    """
    return Dataset(_with_workers(data._node, workers), data._epoch)


def _with_workers(node: Node, workers: Any) -> Node:
    inputs = tuple(_with_workers(each, workers) for each in node.inputs)
    if node.needs_index and not Dataset(inputs[0])._chooses_all():
        return node  # workers that read ahead have no random access
    if inputs:
        node = with_inputs(node, inputs)
    if _may_move(node):
        node = copy.copy(node)
        node.workers = None if workers is None else checked_workers(node.kind, workers, node.function)
    return node


def _may_move(node: Node) -> TypeGuard[Each]:
    """Return whether other workers may call a step's function.

    A flat_map without workers stays as it is: its results may be endless, and workers make all of them.
    """
    return isinstance(node, Each) and (node.workers is not None or not node.does.renews)


def calls_functions(data: Dataset[Any]) -> bool:
    """Return whether a step calls a function that workers could call."""
    return any(map(_may_move, nodes_of(data._node)))


def skips_errors(data: Dataset[Any]) -> bool:
    """Return whether a step skips elements if its function fails."""
    return any(each.skips for each in nodes_of(data._node))


def part(data: Dataset[Any], i: int) -> Dataset[Any]:
    """Return the dataset up to and including step i, counted from the sources."""
    return Dataset(nodes_of(data._node)[i], data._epoch)
