"""The verdict on a run: which stage holds it back and what to turn, judged by who waited for whom.

A loop waits for batches, or its threads wait for room, or neither. The side that does not wait is the slow one; if both
wait, by turns, the queue between them is too small. On the slow side the question is put again, one stage up, until a
stage is found that works while others wait for it. docs/monitoring.md has the rules in words.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from pipeline.watch.model import Report, Stage, Verdict

OFTEN = 0.2  # a share of the time that matters
MOSTLY = 0.5
MOST_THREADS = 4  # times as many threads as now are proposed at most


class Remedy(NamedTuple):
    """What is wrong with a stage, and what helps."""

    stage: Stage
    kind: str
    knob: str | None
    value: int | None
    gain: float | None
    text: str


def judge(report: Report) -> list[Verdict]:
    """Return the verdict on each loop that has begun."""
    found = []
    for loop in report.stages:
        queues = [stage for stage in report.before(loop) if stage.tank is not None]
        if loop.kind != "loop" or loop.state == "not started" or not queues:
            continue
        remedy = _of_loop(report, loop, queues[0])
        gain = None if remedy.gain is None else round(remedy.gain, 3)
        found.append(Verdict(loop.id, remedy.stage.id, remedy.kind, remedy.knob, remedy.value, gain, remedy.text))
    return found


def _of_loop(report: Report, loop: Stage, queue: Stage) -> Remedy:
    functions = [stage for stage in report.before(queue) if stage.kind == "function"]
    tank = queue.tank
    assert tank is not None
    if not queue.elements:
        return _nothing_yet(loop, queue)
    filling = min(loop.first_s or 0.0, report.seconds) if tank.min_after_dequeue else 0.0
    room = max(0.0, queue.waits_out or 0.0)
    if filling > MOSTLY * report.seconds:
        return _pool(report, loop, queue, filling, room)
    rest = max(report.seconds - filling, 1e-9)
    waited = max(0.0, (loop.waits_in or 0.0) * report.seconds - filling) / rest
    return _between(report, queue, functions, waited, room, loop)


def _nothing_yet(loop: Stage, queue: Stage) -> Remedy:
    tank = queue.tank
    assert tank is not None
    if tank.stats.size and tank.min_after_dequeue:
        size, wanted = f"{tank.stats.size:,}", f"{tank.min_after_dequeue:,}"
        text = f"'{queue.name}' is filling: {size} of min_after_dequeue={wanted}. A smaller one starts sooner."
        return Remedy(queue, "pool", "min_after_dequeue", None, None, text)
    return Remedy(queue, "start", None, None, None, f"No batch of '{loop.name}' has come through yet.")


def _pool(report: Report, loop: Stage, queue: Stage, filling: float, room: float) -> Remedy:
    """Filling the pool took most of the time."""
    tank = queue.tank
    assert tank is not None
    arriving = report.seconds * (1 - room)
    gain = report.seconds / max(arriving, report.seconds - filling, 1e-9)
    text = (
        f"Filling the pool of '{queue.name}' took {filling / report.seconds:.0%} of the time: "
        f"a smaller min_after_dequeue (now {tank.min_after_dequeue:,}) starts sooner and shuffles less{_times(gain)}."
    )
    return Remedy(queue, "pool", "min_after_dequeue", None, gain, text)


def _between(
    report: Report, queue: Stage, functions: list[Stage], waited: float, room: float, loop: Stage | None = None
) -> Remedy:
    """Look at both sides of a queue: the share that its takers waited, and that its fillers waited for room."""
    if waited > OFTEN and room > OFTEN:
        tank = queue.tank
        assert tank is not None
        gain = min(1 / max(1 - waited, 1e-3), 1 / max(1 - room, 1e-3))
        text = (
            f"'{queue.name}' is too small to keep both sides busy: it was waited for {waited:.0%} of the time, and its "
            f"threads waited {room:.0%} for room; raise capacity (now {tank.stats.capacity:,}){_times(gain)}."
        )
        return Remedy(queue, "capacity", "capacity", 4 * tank.stats.capacity, gain, text)
    if room > waited and loop is not None:
        gain = 1 / max(1 - room, 1e-3)
        text = (
            f"The consumer of '{loop.name}' is the bottleneck: the threads waited {room:.0%} of the time for room; "
            f"without it batches would come{_times(gain, '') or ' no faster'}."
        )
        return Remedy(loop, "consumer", "consumer", None, gain, text)
    if not functions:
        return Remedy(queue, "unknown", None, None, None, f"Nobody knows which threads fill '{queue.name}'.")
    return _supply(report, functions[0], 1 / max(1 - waited, 1e-3), loop)


def _supply(report: Report, function: Stage, most: float, loop: Stage | None) -> Remedy:
    """What keeps the threads that are too slow; `most` is how many times as fast those they feed could take."""
    share = function.doing.get
    alive = function.settings.get("alive", 1.0)
    if function.threads > 1 and alive < 0.75:
        gain = min(most, 1 / max(alive, 1e-3))
        text = (
            f"On average {alive * function.threads:.1f} of {function.threads} threads of {function.name} had input: "
            f"share it out more evenly, as more and smaller files{_times(gain)}."
        )
        return Remedy(function, "uneven", "files", None, gain, text)
    if share("results", 0.0) > MOSTLY:
        workers = [stage for stage in report.before(function) if stage.kind == "workers"]
        if workers:
            return _workers(report, workers[0], most)
    if share("turn", 0.0) > OFTEN:
        readers = [stage for stage in report.before(function) if stage.kind == "reader"] or [function]
        gain = min(most, float(function.threads))
        text = (
            f"The {function.threads} threads of {function.name} wait {share('turn', 0.0):.0%} of their time for each "
            f"other's reads from '{readers[0].name}': give each thread a reader of its own{_times(gain)}."
        )
        return Remedy(readers[0], "reader", "readers", function.threads, gain, text)
    if (function.waits_in or 0.0) > MOSTLY:
        return _upstream(report, function, most)
    return _busy(report, function, most, loop)


def _upstream(report: Report, function: Stage, most: float) -> Remedy:
    """The threads wait for a queue: look at what fills it."""
    waits = function.waits_in or 0.0
    sources = report.before(function)
    queues = [stage for stage in sources if stage.tank is not None]
    queues += [stage for each in sources for stage in report.before(each) if stage.tank is not None]
    if not queues:
        text = f"{function.name} waits {waits:.0%} of its time for a queue that nobody knows."
        return Remedy(function, "unknown", None, None, None, text)
    queue, most = queues[0], min(most, 1 / max(1 - waits, 1e-3))
    functions = [stage for stage in report.before(queue) if stage.kind == "function"]
    if queue.kind == "producer" or not functions:
        text = f"{function.name} waits {waits:.0%} of its time for '{queue.name}', which gives {queue.rate:,.1f}/s."
        return Remedy(queue, "producer", "producer", None, most, text)
    return _between(report, queue, functions, waits, queue.waits_out or 0.0)


def _workers(report: Report, workers: Stage, most: float) -> Remedy:
    """The threads wait for the results of an executor."""
    now = workers.threads or 1
    value = max(now + 1, min(math.ceil(now * most), MOST_THREADS * now))
    gain = min(most, value / now)
    text = (
        f"The executor of {workers.name} is the bottleneck: its {now} workers are waited for; "
        f"max_workers={value}, with buffersize to match, would do more at once{_times(gain)}."
    )
    return Remedy(workers, "workers", "max_workers", value, gain, text)


def _busy(report: Report, function: Stage, most: float, loop: Stage | None) -> Remedy:
    """The threads are at work: do they compute or wait for something outside, and do they hold the lock?"""
    threads, busy = max(1, function.threads), function.busy or 0.0
    takes = f"{function.name} takes {busy:.0%} of the time of {threads} thread{'s' if threads > 1 else ''}"
    value = max(threads + 1, min(math.ceil(threads * most), MOST_THREADS * threads))
    in_turns = bool(loop is not None and loop.settings.get("in_turns"))
    if function.cpu is None:
        text = f"{takes}. Whether more threads help, only `with pipeline.monitor():` can tell."
        return Remedy(function, "function", "num_threads", value, None, text)
    computing = function.cpu / max(threads * busy, 1e-3)
    if function.cpu < MOSTLY and computing < MOSTLY:
        gain = min(most, value / threads)
        if in_turns:
            text = f"{takes} and waits for something outside, one thread at a time: it is an iterator. A function"
            return Remedy(function, "waiting", "function", value, gain, f"{text} could be called by several threads.")
        text = f"{takes} and waits for something outside, not for a processor: num_threads={value}{_times(gain, ':')}."
        return Remedy(function, "waiting", "num_threads", value, gain, text)
    used = sum(stage.cpu or 0.0 for stage in report.stages)
    if (report.lock or 0.0) > MOSTLY and used < 1.3:
        gain = min(most, max(1.0, 0.95 * report.processors / max(used, 1.0)))
        text = (
            f"{takes} and holds the interpreter's lock: more threads will not help, "
            f"processes will (map_ahead){_times(gain, ':')}."
        )
        return Remedy(function, "locked", "processes", report.processors, gain, text)
    if used > 0.8 * report.processors:
        text = f"{takes}, and all {report.processors} processors are busy: only less work for each example will help."
        return Remedy(function, "processors", "function", None, 1.0, text)
    value = max(threads + 1, math.ceil(report.processors / max(computing, 0.1)))
    gain = min(most, report.processors / max(used, 1e-3), value / threads)
    text = f"{takes} and leaves the interpreter's lock to others: num_threads={value}{_times(gain, ':')}."
    return Remedy(function, "computing", "num_threads", value, gain, text)


def _times(gain: float, before: str = ":") -> str:
    return f"{before} about {gain:.1f} times as fast" if gain > 1.05 else ""
