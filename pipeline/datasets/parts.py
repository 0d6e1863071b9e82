"""Parts: what the parts of a running recipe say of themselves to those who look."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pipeline.datasets.node import Node, NodeStats
from pipeline.diagnostics import live
from pipeline.diagnostics.live import PartFacts


def facts_of_parts(node: Node, parts: Mapping[Node, NodeStats]) -> list[PartFacts]:
    """Return what the parts of a recipe say, each after its inputs."""
    found: dict[int, PartFacts] = {}
    _visit(node, parts, 0, found)
    return list(found.values())


def _visit(node: Node, parts: Mapping[Node, NodeStats], workers: int, found: dict[int, PartFacts]) -> list[int]:
    """Note a part and its inputs; return the numbers of what gives its elements.

    Args:
        node: The part.
        parts: What is measured.
        workers: How many workers may make its examples for a part further down; 0 for none.
        found: What is known, by number.
    """
    queue = live.queues.number(getattr(node, "queue", None))
    if queue is not None:  # others fill it, and it is a stage itself
        return [queue]
    part = parts.get(node)
    executor = None if part is None else part.executor
    own = 0 if executor is None else _count(executor)
    inputs = [number for each in node.inputs for number in _visit(each, parts, own or workers, found)]
    if part is None:
        return inputs
    filled = live.queues.number(part.queue)
    if filled is not None:
        found[filled] = PartFacts(filled, "queue", part.queue.name, inputs, 0, 0.0, 0.0, None, 0, (), part.group, {})
        inputs = [filled]
    if node.stage == "queue" or (part.chooses and node.stage == "step"):
        return inputs
    meter = part.meter
    settings: dict[str, Any] = {}
    if executor is not None:
        settings = {"made_by": getattr(executor, "made_by", type(executor).__name__)}
        if hasattr(executor, "seen"):  # one of a cluster
            settings["remote"] = executor.seen()
    worked = meter.worked if executor is not None else meter.away
    found[part.number] = PartFacts(
        part.number,
        node.stage,
        node.label(),
        inputs,
        meter.elements,
        meter.own,
        worked,
        getattr(executor, "worker_seconds", None),
        own or workers,
        _natives(executor),
        None,
        settings | {"in_workers": executor is not None},
    )
    return [part.number]


def _count(executor: Any) -> int:
    return getattr(executor, "_max_workers", None) or 1


def _natives(executor: Any) -> Sequence[int]:
    numbers = getattr(executor, "numbers", None)
    return () if numbers is None else numbers()
