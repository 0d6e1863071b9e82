"""Parts: facts about a running recipe's steps, for reports."""

from __future__ import annotations

import os
import types
from collections import Counter
from collections.abc import Mapping
from typing import Any

from pipeline.diagnostics import live
from pipeline.diagnostics.clocks import Clocks
from pipeline.diagnostics.frames import is_running
from pipeline.diagnostics.live import PartFacts
from pipeline.stages.node import Node
from pipeline.stages.run import Measured

_LAMBDA = "<lambda>"
_OF_CSV = (".csv", ".tsv")  # in the names of CSV files


def facts_of_parts(
    node: Node, measured: Mapping[Node, Measured], summed: Measured | None
) -> tuple[list[PartFacts], list[int]]:
    """Return facts about a recipe's steps, each after its inputs, and the numbers of the last steps.

    Args:
        node: The recipe.
        measured: Meters for each step.
        summed: Meter for the checksum, which the iterator computes; None if there is none.
    """
    found: dict[int, PartFacts] = {}
    same = Counter((each.stage, own.label) for each, own in measured.items())
    last = _visit(node, measured, 0, found, same, "")
    if summed is not None:
        found[summed.number] = _facts(summed, node, "step", "checksum", last, 0)
        last = [summed.number]
    return list(found.values()), last


def _with_line(node: Node) -> str:
    """Return a name for one of several lambdas: its file and line."""
    function = node.functions()[0]
    if not isinstance(function, types.FunctionType):  # such as a compiled one
        return _LAMBDA
    code = function.__code__
    return f"{_LAMBDA} at {os.path.basename(code.co_filename)}:{code.co_firstlineno}"


def unit_of(node: Node) -> str:
    """Return the name for a recipe's elements in reports."""
    return "batches" if node.batched else "examples"


def _visit(
    node: Node,
    measured: Mapping[Node, Measured],
    workers: int,
    found: dict[int, PartFacts],
    same: Counter[tuple[str, str]],
    branch: str,
) -> list[int]:
    """Record a step and its inputs; return the numbers of the stages producing its elements.

    Args:
        node: The step.
        measured: The meters.
        workers: Number of workers that may run it for a step further down; 0 for none.
        found: The known facts, by number.
        same: Steps per label.
        branch: The mix input containing it, to distinguish steps with the same label.
    """
    queue = live.queues.number(node.queue)
    if queue is not None:  # other threads fill the queue, so it is a stage itself
        return [queue]
    own = measured.get(node)
    count = 0 if own is None or own.workers is None else max(1, own.workers.count)
    inputs = []
    before = node.runs if own is None else own.inputs
    for name, each in zip(node.input_names(), before, strict=False):
        inner = "/".join(part for part in (branch, name) if part)
        inputs += _visit(each, measured, count or workers, found, same, inner)
    if own is None:
        return inputs
    label = own.label
    if label == _LAMBDA and same[node.stage, label] > 1:
        label = _with_line(node)
    elif branch and same[node.stage, label] > 1:
        label = f"{label} ({branch})"
    found[own.number] = _facts(own, node, node.stage, label, inputs, count or workers)
    return [own.number]


def _facts(own: Measured, node: Node, kind: str, name: str, inputs: list[int], workers: int) -> PartFacts:
    """Return a step's facts for reports."""
    meter, ahead, executor = own.meter, own.ahead, own.workers
    settings: dict[str, Any] = {"in_workers": executor is not None, "unit": unit_of(node), "call": node.kind}
    if kind == "source":
        settings["source"] = node.kind
        files = node.files()
        settings["reads_files"] = len(files) > 0
        settings["csv_lines"] = node.kind == "text" and any(each in name for name in files[:1] for each in _OF_CSV)
    if node.functions():
        settings["functions"] = True
    if node.kind == "batch" and node.functions():
        settings["collate"] = getattr(node.functions()[0], "__name__", "f").replace("<lambda>", "f")
    if own.objects:
        settings["objects"] = own.objects
    if node.takes_workers:
        settings["takes_workers"] = node.takes_workers
    if executor is not None:
        settings["made_by"] = executor.made_by
        settings["moved"] = own.moved
        settings["ready_at"] = executor.ready_at
        if (remote := executor.seen()) is not None:
            settings["remote"] = remote
    if own.drawn is not None:
        settings["drawn"] = own.drawn()
    threads = () if ahead is None else tuple(ahead.threads)
    running = sum(is_running(each.thread) for each in threads) if executor is None else len(executor.numbers())
    return PartFacts(
        own.number,
        kind,
        name,
        inputs,
        meter.elements,
        meter.own,
        meter.worked if executor is not None else meter.away,
        None if executor is None else executor.worker_seconds,
        workers,
        running,
        _clocks(own),
        None if ahead is None else ahead.stats(meter.elements, meter.own),
        threads,
        settings,
    )


def _clocks(own: Measured) -> Clocks | None:
    """Return the clocks of a step's threads or workers; None if it has none, or they are on other machines."""
    if own.ahead is not None:
        return own.ahead.clocks()
    if own.workers is None or own.workers.seen() is not None:
        return None
    return Clocks(own.meter.cpu, own.meter.cpu + own.meter.delayed)
