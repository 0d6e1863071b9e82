"""Parts: facts about a running recipe's steps, for reports."""

from __future__ import annotations

import os
import types
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from pipeline.diagnostics import live
from pipeline.diagnostics.clocks import Clocks
from pipeline.diagnostics.frames import is_running
from pipeline.diagnostics.live import PartFacts
from pipeline.stages.node import Node
from pipeline.stages.run import Measured

_LAMBDA = "<lambda>"
_PARSERS = ("loads", "parse_single_example")
_FEWER_FILES = "Fewer, larger files would be read faster"
_SMALL = 8e3  # bytes: opening a smaller file takes about as long as reading it
_SAMPLE = 4  # files
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
    """Return a name for one of several lambdas: its line first, as tables cut long names."""
    function = node.functions()[0]
    if not isinstance(function, types.FunctionType):  # such as a compiled one
        return _LAMBDA
    code = function.__code__
    return f"line {code.co_firstlineno} of {os.path.basename(code.co_filename)}: {_LAMBDA}"


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


def _are_small(files: Sequence[str]) -> bool:
    """Return whether opening the files takes about as long as reading them, by the sizes of the first few."""
    few = files[:_SAMPLE]
    try:
        return len(files) > _SAMPLE and sum(map(os.path.getsize, few)) < _SMALL * len(few)
    except OSError:  # they are remote, or have gone
        return False


def _parser_in(label: str, function: Any) -> str:
    """Return the parser that a function is or calls, if a source has a faster one; else ""."""
    called = function.__code__.co_names if isinstance(function, types.FunctionType) else ()
    return next((each for each in _PARSERS if each in called or label.endswith(each)), "")


def _facts(own: Measured, node: Node, kind: str, name: str, inputs: list[int], workers: int) -> PartFacts:
    """Return a step's facts for reports."""
    meter, ahead, executor = own.meter, own.ahead, own.workers
    settings: dict[str, Any] = {
        "in_workers": executor is not None,
        "unit": unit_of(node),
        "call": node.kind,
        "longest_s": meter.longest,
    }
    if kind == "source":
        settings["source"] = node.kind
        files = node.files()
        settings["reads_files"] = len(files) > 0
        settings["lighter"] = _FEWER_FILES if node.joins_files and _are_small(files) else node.lighter
        settings["csv_lines"] = node.kind == "text" and any(each in name for name in files[:1] for each in _OF_CSV)
    functions = [each for each in node.functions() if each is not list]  # `collate=list` takes no time
    if functions:
        settings["functions"] = True
        settings["parses"] = _parser_in(own.label, functions[0])
    if node.kind == "batch" and functions:
        settings["collate"] = getattr(functions[0], "__name__", "f").replace("<lambda>", "f")
    if own.objects:
        settings["objects"], settings["bytes"] = own.objects, own.bytes
    if own.fields:
        settings["fields"], settings["converts"] = own.fields, own.converts
    if node.takes_workers:
        settings["takes_workers"] = node.takes_workers
    if node.more:
        settings["more"] = node.more
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
