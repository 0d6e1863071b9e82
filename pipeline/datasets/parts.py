"""Parts: what the steps of a running recipe report of themselves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pipeline.diagnostics import live
from pipeline.diagnostics.live import PartFacts
from pipeline.stages.node import Node
from pipeline.stages.run import Measured


def facts_of_parts(node: Node, measured: Mapping[Node, Measured]) -> list[PartFacts]:
    """Return what the steps of a recipe report, each after its inputs."""
    found: dict[int, PartFacts] = {}
    _visit(node, measured, 0, found)
    return list(found.values())


def _visit(node: Node, measured: Mapping[Node, Measured], workers: int, found: dict[int, PartFacts]) -> list[int]:
    """Note a step and its inputs; return the numbers of what gives its elements.

    Args:
        node: The step.
        measured: What is measured.
        workers: How many workers may make its examples for a step further down; 0 for none.
        found: What is known, by number.
    """
    queue = live.queues.number(node.queue)
    if queue is not None:  # others fill it, and it is a stage itself
        return [queue]
    own = measured.get(node)
    executor = None if own is None else own.workers
    count = 0 if executor is None else max(1, executor.count)
    inputs = [number for each in node.inputs for number in _visit(each, measured, count or workers, found)]
    if own is None:
        return inputs
    meter = own.meter
    settings: dict[str, Any] = {"in_workers": executor is not None}
    if executor is not None:
        settings["made_by"] = executor.made_by
        if (remote := executor.seen()) is not None:
            settings["remote"] = remote
    if own.level is not None:
        settings |= {"level": own.level(), "room": own.room}
    found[own.number] = PartFacts(
        own.number,
        "prefetch" if node.stage == "queue" else node.stage,
        node.label(),
        inputs,
        meter.elements,
        meter.own,
        meter.worked if executor is not None else meter.away,
        None if executor is None else executor.worker_seconds,
        count or workers,
        () if executor is None else executor.numbers(),
        None,
        settings,
    )
    return [own.number]
