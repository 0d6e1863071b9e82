"""Which stage feeds which: from what is known, never from names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pipeline.diagnostics import live
from pipeline.diagnostics.live import LoopFacts, PartFacts
from pipeline.diagnostics.workers import WorkerGroup
from pipeline.monitoring.model import Edge, Stage


def threads_of_datasets(loops: Mapping[int, LoopFacts]) -> dict[int, WorkerGroup]:
    """Return the threads that fill the queues of datasets, by the numbers of these queues: one stage with them."""
    parts = (part for facts in loops.values() for part in facts.parts)
    return {part.number: part.group for part in parts if part.group is not None}


def edges_of(groups: Mapping[int, WorkerGroup], loops: Mapping[int, LoopFacts]) -> list[Edge]:
    """Return what goes where.

    A group fills its queue, and takes from what its threads were seen to take from. A reader takes from the queue that
    gave it the last work item. An iterator takes from the last part of its dataset.
    """
    edges: list[Edge] = []
    readers = dict(live.readers.numbered())
    for number, reader in readers.items():
        _add(edges, _number(reader._counts()[2]), number)
    _add_groups(edges, groups, readers)
    for number, facts in loops.items():
        _add_dataset(edges, number, facts, readers)
    return edges


def _add_groups(edges: list[Edge], groups: Mapping[int, WorkerGroup], readers: Mapping[int, Any]) -> None:
    for number, group in groups.items():
        filled = _number(group.queue)
        if hasattr(group.queue, "progress"):  # of a producer, which is one stage with its queue
            continue
        _add(edges, number, filled)
        sources = [_number(each) for each in group.taken_from()]
        between = {edge.source for edge in edges if edge.target in sources and edge.target in readers}
        for source in sources:
            if source not in between:
                _add(edges, source, number)


def _add_dataset(edges: list[Edge], number: int, facts: LoopFacts, readers: Mapping[int, Any]) -> None:
    parts = {part.number: part for part in facts.parts}
    for part in facts.parts:
        for each in part.inputs:
            _add(edges, each, part.number)
        if part.group is not None:  # what a thread takes from, the source takes from that it runs
            between = {edge.source for edge in edges if edge.target in readers}
            for taken in map(_number, part.group.taken_from()):
                if taken not in between:
                    _add(edges, taken, _source_of(part, parts).number)
    if facts.parts:
        _add(edges, facts.parts[-1].number, number)


def _source_of(part: PartFacts, parts: Mapping[int, PartFacts]) -> PartFacts:
    """Return the part that the elements of another one come from."""
    while part.inputs and part.inputs[0] in parts:
        part = parts[part.inputs[0]]
    return part


def _add(edges: list[Edge], source: int | None, target: int | None) -> None:
    if source is not None and target is not None and source != target and Edge(source, target) not in edges:
        edges.append(Edge(source, target))


def _number(thing: Any) -> int | None:
    """The number of whatever can be a stage."""
    if thing is None:
        return None
    for kind in (live.queues, live.readers, live.groups):
        number = kind.number(thing)
        if number is not None:
            return number
    return None


def of_today(stages: Sequence[Stage], edges: Sequence[Edge]) -> set[int | None]:
    """Return the numbers of all stages but what is left of runs that have ended: functions, and queues they filled."""
    ended = {stage.id for stage in stages if stage.kind == "function" and stage.state == "ended"}
    left = {edge.target for edge in edges if edge.source in ended}
    left = ended | {stage.id for stage in stages if stage.id in left and stage.state == "closed"}
    left |= {stage.id for stage in stages if stage.kind == "producer" and stage.state == "closed"}
    return {stage.id for stage in stages if stage.id not in left}


def leading_to(
    numbers: set[int | None], stages: Sequence[Stage], edges: Sequence[Edge]
) -> tuple[list[Stage], list[Edge]]:
    """Keep the stages with these numbers, and what leads to them."""
    wanted, found = set(numbers), True
    while found:
        more = {edge.source for edge in edges if edge.target in wanted} - wanted
        wanted |= more
        found = bool(more)
    kept = [stage for stage in stages if stage.id in wanted]
    return kept, [edge for edge in edges if edge.source in wanted and edge.target in wanted]


def in_order(stages: Sequence[Stage], edges: Sequence[Edge]) -> list[Stage]:
    """Return the stages so that each comes after those that feed it; circles are cut somewhere."""
    by_number = {stage.id: stage for stage in stages}
    done: dict[int, None] = {}

    def visit(number: int, path: tuple[int, ...]) -> None:
        for edge in edges:
            if edge.target == number and edge.source not in path and edge.source not in done:
                visit(edge.source, (*path, number))
        done.setdefault(number)

    ends = [stage.id for stage in stages if stage.kind == "loop"] + [stage.id for stage in stages]
    for number in ends:
        if number not in done:
            visit(number, ())
    return [by_number[number] for number in done if number in by_number]
