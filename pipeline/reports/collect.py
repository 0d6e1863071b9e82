"""From live stages and looks at them to a report."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pipeline.diagnostics import live
from pipeline.diagnostics.clocks import Clocks, processors
from pipeline.diagnostics.earlier import LONG, with_earlier
from pipeline.diagnostics.live import LoopFacts, LoopTimes, PartFacts
from pipeline.diagnostics.starts import without_slow_first, without_start
from pipeline.diagnostics.workers import WorkerGroup
from pipeline.reports.first import with_open_calls
from pipeline.reports.looks import Counts, Look, look, note_inputs
from pipeline.reports.model import Edge, Level, Progress, Stage, Tank, Verdict
from pipeline.reports.report import Report
from pipeline.reports.twins import numbered, with_number
from pipeline.reports.verdict import judge
from pipeline.stats import QueueStats

# Resolution of a queue's clock in seconds: a younger queue has age 0.
TICK = 0.004

_EARLIER = 0.1  # seconds: threads that began so much earlier have clocks of another time

_ZERO = QueueStats(0, 0, False, 0, 0, 0, 0, 0, 0.0, 0.0, 0.0, 0.0, 0.0, 0, 0)


def collect(looks: Sequence[Look], only: Any = None) -> Report:
    """Make a report about live stages.

    Args:
        looks: A monitor's looks, oldest first; empty without a monitor.
        only: An iterator: leave out unconnected stages.
    """
    if only is None:
        return _Collector(looks, None).report()
    number = live.loops.number(only) or 0
    return _Collector(looks, number, {number: only._facts()} if number else {}).report()


class _Collector:
    """Holds the facts at one moment until the report is made.

    Args:
        looks: As in `collect`.
        only: An iterator's number; None for all.
        known: The facts about iterators; None for those of all.
    """

    def __init__(self, looks: Sequence[Look], only: int | None, known: Mapping[int, LoopFacts] | None = None) -> None:
        self.looks = self.all_looks = looks
        self.alone = only is not None
        known = live.facts_of_loops() if known is None else known
        loops = {number: without_start(facts) for number, facts in known.items()}
        self.loops = loops if only is None else {number: loops[number] for number in loops.keys() & {only}}
        if only in self.loops:
            self._leave_out_slow_first(only)
            self._add_earlier_passes(only)
        self.now = look(loops=self.loops)
        self.queues = dict(live.queues.numbered())
        self.readers = dict(live.readers.numbered())
        self.groups: dict[int, WorkerGroup] = {
            number: group for number, group in live.groups.numbered() if not _is_producer(group.queue)
        }
        note_inputs(self.loops)
        self.consumed: list[int] = []
        self.edges = self._edges()
        self.begin, self.end, self.least = self._window()

    def _leave_out_slow_first(self, number: int) -> None:
        """Leave out a first batch for which a step began slowly, unless the looks begin later."""
        facts = self.loops[number]
        if not self.looks or self.looks[0].at <= (facts.times.first_at or 0.0):
            self.loops[number] = without_slow_first(facts)

    def _add_earlier_passes(self, number: int) -> None:
        """Look at a short pass together with the short ones before it. The looks are about a single pass."""
        facts = self.loops[number]
        if facts.before is not None and facts.times.age() < LONG:
            self.loops[number] = facts = with_earlier(facts, facts.before)
        if facts.passes > 1:
            self.looks = ()

    def _edges(self) -> list[Edge]:
        """Return the edges, and note the queues from which only the program's own threads take.

        Their consumer's stage has the negative number: it is no object that could have a number itself.
        """
        found = list(dict.fromkeys(edges_of(self.groups, self.readers, self.loops)))
        known = {edge.source for edge in found}
        if not self.alone:
            alive = {thread.native_id for thread in threading.enumerate()}
            alive.add(threading.get_native_id())  # Python 3.12 and earlier keep the parent's in a forked child
            taken = [number for number, queue in self.queues.items() if queue._taker() in alive]
            self.consumed = [number for number in taken if number not in known]
        return found + [Edge(number, -number) for number in self.consumed]

    def _window(self) -> tuple[float, float, float]:
        """Return the reported time's begin and end, and its least length."""
        begun = [each for each in self.loops.values() if each.times.begun_at is not None]
        running = [each for each in begun if each.state == "running"]
        ages = [TICK, *(each.age_s for each in self.now.queues.values())]  # without loops these are the duration
        begins = [each.times.begun_at or 0.0 for each in running or begun]
        begin = self.looks[0].at if self.looks else min(begins, default=self.now.at - max(ages))
        end, least = self.now.at, 1e-9 if self.looks or begun else max(ages)
        if self.alone and self.loops:  # within the loop's life
            (times,) = (each.times for each in self.loops.values())
            end, begin = times.ended_at or end, max(begin, times.begun_at or begin)
            if begin >= end:  # it had ended before the first look
                self.looks, begin = (), times.begun_at or end
            before = [each for each in self.looks if each.at < begin][-1:]  # before the loop
            self.looks = before + [each for each in self.looks if begin <= each.at <= end + 1]
        return begin, end, least  # the difference may be slightly less than `least`

    @property
    def seconds(self) -> float:
        return max(self.end - self.begin, self.least)

    def report(self) -> Report:
        if not self.alone and len(self.loops) > 1:
            self._drop_ended()
        if not self.alone and len(self.loops) == 1 and not (self.queues or self.readers or self.groups):
            (only,) = self.loops
            report = _Collector(self.all_looks, only).report()
            return dataclasses.replace(report, verdicts=tuple(self._of_loop(report, report.stage(only))))
        made = [self._queue(number, queue) for number, queue in self.queues.items()]
        made += [self._reader(number, reader) for number, reader in self.readers.items()]
        made += [self._function(number, group) for number, group in self.groups.items()]
        for number, facts in self.loops.items():
            merged = {each: part for part in facts.parts if part.settings["call"] == "merge" for each in part.inputs}
            made += _with_clocks([self._part(part, merged.get(part.number)) for part in facts.parts], merged)
            made.append(self._loop(number, facts))
        made += [self._consumer(stage) for stage in made if stage.id in self.consumed]
        stages = {stage.id: stage for stage in made}
        shown = _before(self.edges, self.loops if self.alone else _of_today(made, self.edges))
        # A queue may have been made, or have gone, since the edges were found.
        edges = tuple(edge for edge in self.edges if {edge.source, edge.target} <= stages.keys() & shown)
        times = next(iter(self.loops.values())).times if self.alone and self.loops else LoopTimes()
        idle, others = times.average()
        report = Report(
            self.seconds,
            bool(self.looks),
            numbered([stages[number] for number in in_order(stages.values(), edges) if number in shown]),
            edges,
            processors(),
            self._lock(),
            idle=idle,
            others=others,
        )
        report = with_open_calls(report)
        return dataclasses.replace(report, verdicts=tuple(self._verdicts(report)))

    def _lock(self) -> float | None:
        """Return the share of the time with the GIL held; None without looks."""
        looks = self.looks or [each for each in self.all_looks if self.begin <= each.at <= self.end + 1]
        probed = looks[-1].probed - looks[0].probed if looks else 0.0
        return (looks[-1].held - looks[0].held) / probed if probed else None

    def _drop_ended(self) -> None:
        """Leave out iterators that do not run and are not judged: the program may hold old ones in its variables."""
        first, loops = self.looks[0].at if self.looks else live.ended.since, self.loops
        self.loops = {n: loops[n] for n in loops if (loops[n].times.ended_at or first) >= first} or loops
        recorded = live.ended.last()
        kept = {*self._judged(), *(recorded[:1] if recorded and self._running() else ())}
        self.loops = {n: loops[n] for n in self.loops if loops[n].state == "running" or n in kept}
        self.edges = self._edges()

    def _verdicts(self, report: Report) -> list[Verdict]:
        """Judge each loop over its own life."""
        if self.alone:
            return judge(report)
        found = (
            self._of_loop(_Collector(self.all_looks, each).report(), report.stage(each)) for each in self._judged()
        )
        return [*(verdict for verdicts in found for verdict in verdicts), *self._of_consumers(report)]

    def _of_consumers(self, report: Report) -> list[Verdict]:
        """Judge the program's own code that takes from queues."""
        shown = {stage.id: stage.name for stage in report.stages if -stage.id in self.consumed}
        if not shown:
            return []
        several = len(self.loops) + len(self.consumed) > 1
        alone = _Collector(self.all_looks, None, {}).report() if self.loops else report  # its time is another one
        found = judge(alone, "queue")
        return [
            dataclasses.replace(each, called=f"Your loop ({shown[each.loop]}):" if several else "")
            for each in found
            if each.loop in shown
        ]

    def _of_loop(self, alone: Report, loop: Stage) -> list[Verdict]:
        """Return the verdict of a loop's own report, with the loop's name if there are several."""
        own = next((each for each in alone.stages if each.id == loop.id), loop)  # it may have gone meanwhile
        called = f"Y{with_number(loop, loop.settings['called'])[1:]}:" if "called" in loop.settings else ""
        if loop.state in ("ended", "closed") and live.ended.several:
            epochs = f"{own.settings['passes']} epochs, " if own.settings["passes"] > 1 else ""
            called = f"Your longest loop ({loop.name}, {epochs}{own.age_s or 0.0:.1f} s):"
        return [dataclasses.replace(verdict, called=called or verdict.called) for verdict in alone.verdicts]

    def _judged(self) -> list[int]:
        """Return the running iterators that limit their threads, or if there are none the longest one, or else all.

        An iterator does not limit a thread that spends more time in `next` of others than with all else.
        """
        if limiting := [each for each in self._running() if not self._waits_elsewhere(each)]:
            return limiting
        begun = {number: facts for number, facts in self.loops.items() if facts.times.begun_at is not None}
        own = {number: facts.times.age() - facts.elsewhere for number, facts in begun.items()}
        return sorted(own, key=lambda number: (own[number], number))[-1:] or [*self.loops]

    def _waits_elsewhere(self, number: int) -> bool:
        facts = self.loops[number]
        elsewhere = self._since(number, Counts(*facts.taken, facts.elsewhere)).worked
        return elsewhere > min(facts.times.age(), self.seconds) / 2

    def _running(self) -> list[int]:
        return [number for number, facts in self.loops.items() if facts.state == "running"]

    # One stage each

    def _queue(self, number: int, queue: Any) -> Stage:
        stats, change, seconds = self._change(number, queue.stats)
        producer = _is_producer(queue)
        takers = max(1, stats.waiting_dequeues, *(self._threads(target) for target in self._targets(number)))
        return Stage(
            number,
            "producer" if producer else "queue",
            queue.name,
            "closed" if stats.closed else "open",
            threads=int(producer),
            elements=stats.dequeued,
            rate=change.dequeued / seconds,
            waits_in=_share(change.dequeue_wait_s, seconds * takers),
            waits_out=_share(change.enqueue_wait_s, seconds * max(1, self._fillers(queue))),
            progress=_progress(queue, change.dequeued / seconds) if producer else None,
            tank=self._tank(number, stats, change, seconds, queue._watched_by.min_after_dequeue),
            settings={"capacity": stats.capacity},
        )

    def _reader(self, number: int, reader: Any) -> Stage:
        records, files, _ = reader._counts()
        return Stage(
            number,
            "reader",
            reader.name,
            elements=records,
            rate=self._since(number, Counts(records)).elements / self.seconds,
            bytes=reader.bytes_read,
            errors=reader.num_errors,
            settings={"kind": type(reader).__name__, "files_finished": files},
        )

    def _function(self, number: int, group: WorkerGroup) -> Stage:
        """Return the stage for a queue runner's threads."""
        times = group.times()
        spans = [max(0.0, min(end or self.end, self.end) - max(begin, self.begin)) for begin, end in times.values()]
        total = max(sum(spans), 1e-9)
        filled = live.queues.number(group.queue)
        change, seconds = _ZERO, self.seconds
        if filled is not None:
            _, change, seconds = self._change(filled, group.queue.stats)
        inputs = [self._change(each, self.queues[each].stats)[1] for each in self._inputs(number)]
        waits_in = _share(sum(each.dequeue_wait_s for each in inputs), total)
        waits_out = _share(change.enqueue_wait_s * group.size / max(1, self._fillers(group.queue)), total)
        running = sum(end is None for _, end in times.values())
        cpu, wanted = self._clocks(number) if self.looks else self._clocks_so_far(group)
        busy = max(0.0, 1 - waits_in - waits_out)
        settings = {"in_workers": True, "made_by": "pipeline.threads", "taken": busy, "more": group.more}
        return Stage(
            number,
            "function",
            ", ".join(dict.fromkeys(each.rpartition("<locals>.")[2] for each in group.ops)) or group.name,
            "running" if running else "ended",
            threads=group.size,
            running=running,
            elements=change.enqueued,
            rate=change.enqueued / seconds,
            busy=busy,
            waits_in=waits_in,
            waits_out=waits_out,
            cpu=cpu,
            wanted=wanted,
            settings=settings,
        )

    def _part(self, part: PartFacts, merged: PartFacts | None = None) -> Stage:
        """Return the stage for a step; `merged` has the threads that call it, if it is a function they all call."""
        if merged is not None and "more" in part.settings:
            settings = part.settings | {"in_workers": True, "made_by": "pipeline.threads"}
            number = merged.inputs.count(part.number)
            part = part._replace(workers=number, running=merged.running, worked=part.seconds, settings=settings)
        change = self._since(part.number, Counts(part.elements, part.seconds, part.worked, part.offered or 0.0))
        in_workers, taken = part.settings["in_workers"], _share(change.seconds, self.seconds)
        settings = {**part.settings, "taken": taken, "auto": part.offered is not None}
        settings.pop("ready_at", None)
        offered = self.seconds * max(1, part.workers) if part.offered is None else change.offered
        cpu, wanted = self._clocks(part.number)
        stage = Stage(
            part.number,
            part.kind,
            part.name,
            threads=part.workers if in_workers else len(part.threads),
            running=part.running,
            elements=part.elements + part.left_out,
            rate=change.elements / self.seconds,
            busy=min(1.0, _share(change.worked, offered) + (0.0 if in_workers else taken)),
            cpu=cpu,
            wanted=wanted,
            settings=settings,
        )
        if part.ahead is None:
            return stage
        ahead = part.ahead
        _, waits, seconds = self._change(part.number, lambda: ahead)
        tank = self._tank(part.number, ahead, waits, seconds, 0)
        tank = dataclasses.replace(tank, full=min(tank.full, 1 - tank.empty))  # at other times it waits for the GIL
        return dataclasses.replace(stage, busy=None, waits_in=tank.empty, waits_out=tank.full, tank=tank)

    def _loop(self, number: int, facts: LoopFacts) -> Stage:
        """Return the stage for an iterator and the user's loop over it."""
        change, times = self._since(number, Counts(*facts.taken, facts.elsewhere)), facts.times
        waited = busy = None
        if times.begun_at is not None:
            waited = _share(change.seconds, self.seconds)
            busy = max(0.0, 1 - waited - change.worked / self.seconds)
        cpu, wanted = self._clocks(number)
        called = {"called": f"your loop ({facts.name})"} if len(self.loops) > 1 else {}
        threads = [each.thread for each in self.loops.values() if each.thread]
        if facts.thread and threads.count(facts.thread) < len(threads):
            name = facts.thread if threads.count(facts.thread) == 1 else f"{facts.name}, {facts.thread}"
            called = {"called": f"your loop ({name})", "thread": facts.thread}
        return Stage(
            number,
            "loop",
            facts.name,
            facts.state,
            threads=1,
            running=int(facts.state == "running"),
            elements=facts.taken[0] + facts.left_out,
            rate=change.elements / self.seconds,
            busy=busy,
            waits_in=waited,
            cpu=cpu,
            wanted=wanted,
            errors=facts.errors,
            dropped=facts.dropped,
            first_s=None if times.first_at is None or times.begun_at is None else times.first_at - times.begun_at,
            age_s=None if times.begun_at is None else (times.ended_at or self.now.at) - times.begun_at,
            settings={"kind": "dataset", "unit": facts.unit, "passes": facts.passes} | called,
        )

    def _consumer(self, queue: Stage) -> Stage:
        """Return the stage for the user's code that takes from a queue."""
        assert queue.tank is not None
        called = {"called": f"your loop ({queue.name})"} if len(self.loops) + len(self.consumed) > 1 else {}
        ended = queue.state == "closed" and not queue.tank.stats.size
        return Stage(
            -queue.id,
            "loop",
            queue.name,
            "ended" if ended else "running",
            threads=1,
            running=int(not ended),
            elements=queue.elements,
            rate=queue.rate,
            busy=1 - (queue.waits_in or 0.0),
            waits_in=queue.waits_in,
            age_s=queue.tank.stats.age_s,
            settings={"kind": "queue", "unit": "elements"} | called,
        )

    # Figures for the stages

    def _since(self, number: int, counts: Counts) -> Counts:
        """Return how much the counters grew within the window."""
        before = self.looks[0].counts.get(number, Counts()) if self.looks else Counts()
        changes: list[Any] = [max(0, a - b) for a, b in zip(counts, before, strict=True)]
        return Counts(*changes)

    def _change(self, number: int, current: Any) -> tuple[QueueStats, QueueStats, float]:
        """Return a queue's statistics, their change within the window, and its seconds."""
        stats: QueueStats = self.now.queues.get(number) or current()
        known = [each.queues[number] for each in self.looks if number in each.queues]
        before, after = (self.looks[0].queues.get(number, _ZERO) if self.looks else _ZERO), stats
        if self.end < self.now.at and known:
            after = known[-1]
        changes: list[Any] = [a - b for a, b in zip(after, before, strict=True)]
        return stats, QueueStats(*changes), max(min(self.seconds, max(stats.age_s, TICK)), 1e-9)

    def _tank(self, number: int, stats: QueueStats, change: QueueStats, seconds: float, least: int) -> Tank:
        known = [(each.at, each.queues[number].size) for each in self.looks if number in each.queues]
        levels = tuple(Level(self.now.at - at, size) for at, size in known)
        mean = sum(level.size for level in levels) / len(levels) if levels else float(stats.size)
        return Tank(stats, least, mean, _share(change.full_s, seconds), _share(change.empty_s, seconds), levels)

    def _clocks(self, number: int) -> tuple[float | None, float | None]:
        """Return how many processors a stage's threads used and wanted."""
        known = [(each.at, each.clocks[number]) for each in self.looks if number in each.clocks]
        if not known and number in self.now.clocks:
            known = [(self.end, self.now.clocks[number])]
        if not self.looks or number not in self.looks[0].clocks:  # they began with the stage
            known.insert(0, (self.begin, Clocks()))
        if len(known) < 2:
            return None, None
        (begin, before), (end, after) = known[0], known[-1]
        seconds = max(min(end, self.end) - begin, 1e-9)
        return (after.cpu - before.cpu) / seconds, (after.wanted - before.wanted) / seconds

    def _clocks_so_far(self, group: WorkerGroup) -> tuple[float | None, float | None]:
        """Return how many processors a queue runner's threads used and wanted, while they ran.

        None if they began before the report does: a part of it was earlier.
        """
        times, found = group.times().values(), group.clocks()
        if found is None or min(begin for begin, _ in times) < self.begin - _EARLIER:
            return None, None
        seconds = max(sum((end or self.end) - begin for begin, end in times) / len(times), 1e-9)
        return found.cpu / seconds, found.wanted / seconds

    def _fillers(self, queue: Any) -> int:
        """Return how many threads fill a queue."""
        return sum(group.size for group in self.groups.values() if group.queue is queue)

    def _targets(self, number: int) -> list[int]:
        return [edge.target for edge in self.edges if edge.source == number]

    def _threads(self, number: int) -> int:
        """Return how many threads take this stage's inputs."""
        known = [number, *self._targets(number)]
        return max((self.groups[each].size for each in known if each in self.groups), default=1)

    def _inputs(self, number: int) -> list[int]:
        """Return a group's input queues, direct or through readers."""
        sources = [edge.source for edge in self.edges if edge.target == number]
        further = [edge.source for edge in self.edges if edge.target in sources and edge.target not in self.queues]
        return [each for each in dict.fromkeys(sources + further) if each in self.queues]


def _with_clocks(parts: Sequence[Stage], merged: Mapping[int, PartFacts]) -> list[Stage]:
    """Return the stages; the clocks of threads that call a function are the function's, not those of their `merge`."""
    known = {each.id: each for each in parts}
    for number, merge in merged.items():
        threads, function = known[merge.number], known[number]
        if function.settings["in_workers"] and "more" in function.settings:
            known[number] = dataclasses.replace(function, cpu=threads.cpu, wanted=threads.wanted)
            known[merge.number] = dataclasses.replace(threads, cpu=None, wanted=None)
    return list(known.values())


def _is_producer(queue: Any) -> bool:
    """Return whether a queue fills itself. It is one stage with its threads."""
    return hasattr(queue, "progress")


def _progress(producer: Any, rate: float) -> Progress:
    taken, total, length = producer.progress()
    epochs = None if total is None else total // max(1, length)
    epoch = taken // max(1, length) + 1
    left = None if total is None or not rate else (total - taken) / rate
    return Progress(taken, total, epoch if epochs is None else min(epoch, max(1, epochs)), epochs, left)


def _share(part: float, whole: float) -> float:
    return min(1.0, max(0.0, part / whole)) if whole > 0 else 0.0


# Edges between stages, from facts and never from names


def edges_of(
    groups: Mapping[int, WorkerGroup], readers: Mapping[int, Any], loops: Mapping[int, LoopFacts]
) -> Iterator[Edge]:
    """Yield the edges.

    A queue runner's threads fill its queue and take from their observed inputs. A reader takes from
    the queue with its last work item, a step from its inputs, and an iterator from the last steps.
    """
    feeds = {number: _number(reader._counts()[2]) for number, reader in readers.items()}  # readers take from these

    def taken(inputs: Any) -> Iterator[int]:
        """Yield the inputs of threads, without the inputs of readers in these threads."""
        found = [number for each in inputs.alive() if (number := _number(each)) is not None]
        between = [feeds[number] for number in found if number in feeds]
        return (number for number in found if number not in between)

    for number, source in feeds.items():
        yield from _edge(source, number)
    for number, group in groups.items():
        yield from _edge(number, _number(group.queue))
        for source in taken(group.inputs):
            yield from _edge(source, number)
    for number, facts in loops.items():
        parts = {part.number: part for part in facts.parts}
        for part in facts.parts:
            for each in part.inputs:
                yield from _edge(each, part.number)
            first = part
            while first.inputs and first.inputs[0] in parts:
                first = parts[first.inputs[0]]
            for thread in part.threads:  # its thread runs all steps before it
                for source in taken(thread.inputs):
                    yield from _edge(source, first.number)
        for each in facts.inputs:
            yield from _edge(each, number)


def _edge(source: int | None, target: int | None) -> Iterator[Edge]:
    if source is not None and target is not None and source != target:
        yield Edge(source, target)


def _number(thing: Any) -> int | None:
    """Return a queue's or reader's number; None for anything else."""
    return live.queues.number(thing) or live.readers.number(thing)


def _of_today(stages: Iterable[Stage], edges: Sequence[Edge]) -> list[int]:
    """Return the stages without ended functions, the queues they filled and the readers between, or else all."""
    gone = {stage.id for stage in stages if stage.kind == "function" and stage.state == "ended"}
    filled = {edge.target for edge in edges if edge.source in gone}
    gone |= {
        stage.id for stage in stages if stage.state == "closed" and (stage.id in filled or stage.kind == "producer")
    }
    gone |= {-number for number in gone}  # their consumers
    for reader in (stage.id for stage in stages if stage.kind == "reader"):
        beside = {each for edge in edges if reader in edge for each in edge if each != reader}
        gone |= {reader} if beside and beside <= gone else set()
    return [stage.id for stage in stages if stage.id not in gone] or [stage.id for stage in stages]


def _before(edges: Sequence[Edge], numbers: Iterable[int]) -> set[int]:
    """Return these stages and all stages before them."""
    wanted: set[int] = set()
    left = list(numbers)
    while left:
        number = left.pop()
        if number not in wanted:
            wanted.add(number)
            left += [edge.source for edge in edges if edge.target == number]
    return wanted


def in_order(stages: Iterable[Stage], edges: Sequence[Edge]) -> list[int]:
    """Return the stages' numbers, each after its inputs; a cycle is cut somewhere."""
    done: dict[int, None] = {}

    def visit(number: int, path: tuple[int, ...]) -> None:
        for edge in edges:
            if edge.target == number and edge.source not in path and edge.source not in done:
                visit(edge.source, (*path, number))
        done.setdefault(number)

    for stage in sorted(stages, key=lambda stage: stage.kind != "loop"):
        if stage.id not in done:
            visit(stage.id, ())
    return list(done)
