"""From what is alive, and looks at it, to the model of a run."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from pipeline.diagnostics import live
from pipeline.diagnostics.live import LoopFacts, PartFacts
from pipeline.diagnostics.workers import WorkerGroup
from pipeline.monitoring.doing import DOINGS, Clocks
from pipeline.monitoring.flow import edges_of, in_order, leading_to, of_today, threads_of_datasets
from pipeline.monitoring.look import Look, look, processors
from pipeline.monitoring.model import Level, Progress, Stage, Tank, Verdict
from pipeline.monitoring.report import Report
from pipeline.monitoring.verdict import judge
from pipeline.stats import QueueStats

# How far the clock of a queue may be behind, in seconds; by it a queue that has lived for less has not lived at all.
TICK = 0.004

NEVER = (0,) * len(DOINGS)
_ZERO = QueueStats(0, 0, False, 0, 0, 0, 0, 0, 0.0, 0.0, 0.0, 0.0, 0.0, 0, 0)


def collect(looks: Sequence[Look], only: Any = None) -> Report:
    """Make the model of what is alive.

    Args:
        looks: Those of a watcher, oldest first; none if nobody watches.
        only: A loop: leave out what does not lead to it.
    """
    return _Collector(looks, only).report()


class _Collector:
    """Holds what is alive for the time that it takes to make one report."""

    def __init__(self, looks: Sequence[Look], only: Any) -> None:
        self.looks = self.all_looks = looks
        self.only = only
        self.now = look()
        self.queues = dict(live.queues.numbered())
        self.loops = {number: loop._facts() for number, loop in live.loops.numbered() if only in (None, loop)}
        self.ahead = threads_of_datasets(self.loops)
        hidden = list(self.ahead.values())
        self.groups: dict[int, WorkerGroup] = {
            number: group for number, group in live.groups.numbered() if group not in hidden
        }
        self.edges = edges_of(self.groups, self.loops)
        facts = [each for each in self.loops.values() if each.times.begun_at is not None]
        running = [each for each in facts if each.state == "running"]
        begun = [each.times.begun_at or 0.0 for each in running or facts]
        ages = [TICK, *(each.age_s for each in self.now.queues.values())]  # without loops these tell how long it took
        self.begin = looks[0].at if looks else min(begun, default=self.now.at - max(ages))
        self.least = 1e-9 if looks or begun else max(ages)  # a difference of two instants may be a trifle less
        self.end = self.now.at
        if only is not None and self.loops:
            self._clip_to(next(iter(self.loops.values())))

    def _clip_to(self, facts: LoopFacts) -> None:
        """Let the window lie within the life of a loop."""
        times = facts.times
        self.end = times.ended_at or self.end
        self.begin = max(self.begin, times.begun_at or self.begin)
        if self.begin >= self.end:  # it had ended before anybody looked
            self.looks, self.begin = (), times.begun_at or self.end
        before = [each for each in self.looks if each.at < self.begin][-1:]  # nothing of the loop was there
        self.looks = before + [each for each in self.looks if self.begin <= each.at <= self.end + 1]

    @property
    def seconds(self) -> float:
        return max(self.end - self.begin, self.least)

    def report(self) -> Report:
        stages = [self._queue(number, queue) for number, queue in self.queues.items()]
        stages += [self._reader(number, reader) for number, reader in live.readers.numbered()]
        for number, group in self.groups.items():
            if not _is_producer(group):
                stages.append(self._function(number, group))
        for number, facts in self.loops.items():
            stages += [self._part(part) for part in facts.parts if part.kind != "queue"]
            stages.append(self._iterator(number, facts))
        edges = list(self.edges)
        if self.only is not None:
            stages, edges = leading_to({live.loops.number(self.only)}, stages, edges)
        else:
            stages, edges = leading_to(of_today(stages, edges), stages, edges)
        alive = {stage.id for stage in stages}  # a queue may have been made, or have gone, since the edges were found
        edges = [edge for edge in edges if alive.issuperset(edge)]
        probed, held = self._probed()
        report = Report(
            self.seconds,
            bool(self.looks),
            tuple(in_order(stages, edges)),
            tuple(edges),
            processors(),
            held / probed if probed else None,
        )
        return dataclasses.replace(report, verdicts=tuple(self._verdicts(report)))

    def _verdicts(self, report: Report) -> list[Verdict]:
        """Judge each loop by its own life: the only one, or all that run."""
        if self.only is not None:
            return judge(report)
        running = [loop for number, loop in live.loops.numbered() if self._runs(number)]
        return [verdict for loop in running for verdict in collect(self.all_looks, loop).verdicts]

    def _runs(self, number: int) -> bool:
        return number in self.loops and self.loops[number].state == "running"

    # One stage each.

    def _queue(self, number: int, queue: Any) -> Stage:
        stats, change, seconds = self._change(number, queue)
        producer = hasattr(queue, "progress")
        ahead = self.ahead.get(number)
        cpu, wanted = (None, None) if ahead is None else self._clocks(live.groups.number(ahead) or 0, alone=True)
        takers = max(1, stats.waiting_dequeues, *(self._threads(target) for target in self._targets(number)))
        return Stage(
            number,
            "producer" if producer else "queue",
            queue.name,
            "closed" if stats.closed else "open",
            threads=1 if producer or ahead is not None else 0,
            running=0 if ahead is None else sum(end is None for _, end in ahead.times().values()),
            elements=stats.dequeued,
            rate=change.dequeued / seconds,
            waits_in=_share(change.dequeue_wait_s, seconds * takers),
            waits_out=_share(change.enqueue_wait_s, seconds * max(1, self._fillers(queue))),
            cpu=cpu,
            wanted=wanted,
            progress=_progress(queue, change.dequeued / seconds) if producer else None,
            tank=self._tank(number, queue, stats, change, seconds),
            settings={"capacity": stats.capacity} | ({} if ahead is None else {"kind": "prefetch"}),
        )

    def _tank(self, number: int, queue: Any, stats: QueueStats, change: QueueStats, seconds: float) -> Tank:
        known = [(each.at, each.queues[number].size) for each in self.looks if number in each.queues]
        levels = tuple(Level(self.now.at - at, size) for at, size in known)
        mean = sum(level.size for level in levels) / len(levels) if levels else float(stats.size)
        min_after_dequeue = queue._watched_by.min_after_dequeue
        full, empty = _share(change.full_s, seconds), _share(change.empty_s, seconds)
        return Tank(stats, min_after_dequeue, mean, full, empty, levels)

    def _reader(self, number: int, reader: Any) -> Stage:
        records, files, _ = reader._counts()
        before = self.looks[0].counts.get(number, 0) if self.looks else 0
        return Stage(
            number,
            "reader",
            reader.name,
            elements=records,
            rate=(records - before) / self.seconds,
            bytes=reader.bytes_read,
            errors=reader.num_errors,
            settings={"kind": type(reader).__name__, "files_finished": files},
        )

    def _function(self, number: int, group: WorkerGroup) -> Stage:
        times = group.times()
        spans = [max(0.0, min(end or self.end, self.end) - max(begin, self.begin)) for begin, end in times.values()]
        total = max(sum(spans), 1e-9)
        life = self.end - max(self.begin, min((begin for begin, _ in times.values()), default=self.begin))
        filled = live.queues.number(group.queue)
        _, change, seconds = self._change(filled, group.queue) if filled is not None else (_ZERO, _ZERO, self.seconds)
        share = group.size / max(1, self._fillers(group.queue))
        doings = self._doing(number)
        waits_out = _share(change.enqueue_wait_s * share, total)
        waits_in = doings.get("in", 0.0)
        if not doings:
            inputs = [self._change(each, self.queues[each]) for each in self._inputs(number)]
            waits_in = _share(sum(each[1].dequeue_wait_s for each in inputs), total)
        cpu, wanted = self._clocks(number, alone=True)
        rest = sum(doings.get(each, 0.0) for each in ("turn",))
        return Stage(
            number,
            "function",
            ", ".join(dict.fromkeys(group.ops)) or group.name,
            "running" if any(end is None for _, end in times.values()) else "ended",
            threads=group.size,
            running=sum(end is None for _, end in times.values()),
            alive=_share(total, len(times) * life),
            longest=_share(max(spans, default=0.0), life),
            elements=change.enqueued,
            rate=change.enqueued / seconds,
            busy=max(0.0, 1 - waits_in - waits_out - rest),
            waits_in=waits_in,
            waits_out=waits_out,
            cpu=cpu,
            wanted=wanted,
            doing=doings,
        )

    def _part(self, part: PartFacts) -> Stage:
        """A part of a running dataset."""
        elements, seconds, worked, offered = part.elements, part.seconds, part.worked, part.offered
        if self.looks:
            before = self.looks[0]
            elements -= before.counts.get(part.number, 0)
            seconds -= before.spent.get(part.number, 0.0)
            worked -= before.worked.get(part.number, 0.0)
            offered = None if offered is None else offered - before.offered.get(part.number, 0.0)
        its = part.settings["in_workers"]
        taken = _share(seconds, self.seconds)
        offered = self.seconds * max(1, part.workers) if offered is None else offered
        busy = _share(worked, offered) + (0.0 if its else taken)
        cpu, wanted = self._clocks(part.number)
        return Stage(
            part.number,
            part.kind,
            part.name,
            threads=part.workers if its else 0,
            running=len(part.natives),
            elements=part.elements,
            rate=elements / self.seconds,
            busy=min(1.0, busy),
            cpu=cpu,
            wanted=wanted,
            settings={**part.settings, "taken": taken, "auto": part.offered is not None},
        )

    def _iterator(self, number: int, facts: LoopFacts) -> Stage:
        """The iterator of a dataset, and the loop of the user's."""
        elements, seconds = facts.taken
        before = self.looks[0] if self.looks else None
        times, begun = facts.times, facts.times.begun_at is not None
        waited = None
        if begun:
            waited = _share(seconds - (before.spent.get(number, 0.0) if before else 0.0), self.seconds)
        cpu, wanted = self._clocks(number)
        first = None if times.first_at is None or times.begun_at is None else times.first_at - times.begun_at
        return Stage(
            number,
            "loop",
            facts.name,
            facts.state,
            threads=1,
            running=int(facts.state == "running"),
            elements=elements,
            rate=(elements - (before.counts.get(number, 0) if before else 0)) / self.seconds,
            busy=None if waited is None else 1 - waited,
            waits_in=waited,
            cpu=cpu,
            wanted=wanted,
            errors=facts.errors,
            dropped=facts.dropped,
            first_s=first,
            age_s=None if times.begun_at is None else (times.ended_at or self.now.at) - times.begun_at,
            settings={"kind": "dataset"},
        )

    # What the stages are made of.

    def _change(self, number: int, queue: Any) -> tuple[QueueStats, QueueStats, float]:
        """The statistics of a queue now, what has changed within the window, and the seconds of the window."""
        stats = self.now.queues.get(number) or queue.stats()
        known = [each.queues[number] for each in self.looks if number in each.queues]
        before, after = (self.looks[0].queues.get(number, _ZERO) if self.looks else _ZERO), stats
        if self.end < self.now.at and known:
            after = known[-1]
        changes: list[Any] = [a - b for a, b in zip(after, before, strict=True)]
        return stats, QueueStats(*changes), max(min(self.seconds, max(stats.age_s, TICK)), 1e-9)

    def _doing(self, number: int) -> dict[str, float]:
        """What the threads of a group did, as shares."""
        known = [each.doing.get(number, NEVER) for each in self.looks]
        counts = [b - a for a, b in zip(known[0], known[-1], strict=True)] if known else NEVER
        total = sum(counts)
        return {what: count / total for what, count in zip(DOINGS, counts, strict=True) if count}

    def _clocks(self, number: int, alone: bool = False) -> tuple[float | None, float | None]:
        """How many processors the threads of a group, or the taker of a loop, kept busy and wanted.

        Args:
            number: Of the group or loop.
            alone: The clocks began with the stage, so that the first look need not know them.
        """
        known = [(each.at, each.clocks[number]) for each in self.looks if number in each.clocks]
        if alone and known and number not in self.looks[0].clocks:
            known.insert(0, (max(self.looks[0].at, self.begin), Clocks(0.0, 0.0)))
        if len(known) < 2:
            return None, None
        (begin, before), (end, after) = known[0], known[-1]
        seconds = max(end - begin, 1e-9)
        return (after.cpu - before.cpu) / seconds, (after.wanted - before.wanted) / seconds

    def _probed(self) -> tuple[float, float]:
        if not self.looks:
            return 0.0, 0.0
        first, last = self.looks[0], self.looks[-1]
        return last.probed - first.probed, last.held - first.held

    def _fillers(self, queue: Any) -> int:
        """How many threads fill a queue."""
        groups = [*self.groups.values(), *self.ahead.values()]
        return sum(group.size for group in groups if group.queue is queue)

    def _targets(self, number: int) -> list[int]:
        return [edge.target for edge in self.edges if edge.source == number]

    def _threads(self, number: int) -> int:
        """How many threads take from what goes to this stage."""
        if number in self.groups:
            return self.groups[number].size
        return max((self.groups[each].size for each in self._targets(number) if each in self.groups), default=1)

    def _inputs(self, number: int) -> list[int]:
        """The queues that a group takes from, itself or through readers."""
        sources = [edge.source for edge in self.edges if edge.target == number]
        further = [edge.source for edge in self.edges if edge.target in sources and edge.target not in self.queues]
        return [each for each in dict.fromkeys(sources + further) if each in self.queues]


def _is_producer(group: WorkerGroup) -> bool:
    """Whether these are the threads of a producer, which is a stage with its queue."""
    return hasattr(group.queue, "progress")


def _progress(producer: Any, rate: float) -> Progress:
    taken, total, length = producer.progress()
    epochs = None if total is None else total // max(1, length)
    epoch = taken // max(1, length) + 1
    left = None if total is None or not rate else (total - taken) / rate
    return Progress(taken, total, epoch if epochs is None else min(epoch, max(1, epochs)), epochs, left)


def _share(part: float, whole: float) -> float:
    return min(1.0, max(0.0, part / whole)) if whole > 0 else 0.0
