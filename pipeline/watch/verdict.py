"""The verdict on a run: which stage holds it back and what to turn, judged by who waited for whom.

A loop waits for batches, or its threads wait for room, or neither. The side that does not wait is the slow one; if both
wait, by turns, the queue between them is too small. On the slow side the question is put again, one queue up, until a
stage is found that works while others wait for it; `remedies.py` says what helps that one. docs/monitoring.md has the
rules in words.
"""

from __future__ import annotations

from pipeline.watch.chains import of_dataset
from pipeline.watch.model import Report, Stage, Verdict
from pipeline.watch.remedies import HOGGED, Remedy, at_work, crowded, executor, in_loop, one_by_one, times

OFTEN = 0.2  # a share of the time that matters
MOSTLY = 0.5
NEARLY = 0.9
WORTH = 1.05  # times as fast: for less, nothing is made smaller
EVEN = 0.75  # threads that have input for at least this share of the time are evenly fed
BUCKETS = "bucket_by_sequence_length"
MORE_ROOM = 10  # times the capacity, for sides that take turns


def judge(report: Report) -> list[Verdict]:
    """Return the verdict on each loop that has begun."""
    found = []
    for loop in report.stages:
        if loop.settings.get("kind") == "dataset":
            if loop.state != "not started":
                stage, kind, knob, value, gain, text = of_dataset(report, loop)
                found.append(Verdict(loop.id, stage.id, kind, knob, value, gain, text))
            continue
        queues = [stage for stage in report.before(loop) if stage.tank is not None]
        if loop.kind == "loop" and loop.state != "not started" and queues:
            stage, kind, knob, value, gain, text = _of_loop(report, loop, queues[0])
            found.append(Verdict(loop.id, stage.id, kind, knob, value, gain, text))
    return found


def _of_loop(report: Report, loop: Stage, queue: Stage) -> Remedy:
    if not queue.elements:
        return _nothing_yet(loop, queue)
    gathers = loop.settings.get("kind") == BUCKETS or (queue.tank is not None and queue.tank.min_after_dequeue)
    begins = report.seconds > NEARLY * (loop.age_s or 0.0)  # the window begins with the loop
    filling = min(loop.first_s or 0.0, report.seconds) if begins else 0.0
    functions = [stage for stage in report.before(queue) if stage.kind == "function"]
    if functions and loop.settings.get("num_threads") == 0:
        return in_loop(functions[0], loop)
    needed = max((_needed(report, stage, queue) for stage in functions), default=1.0)
    if gathers and filling > MOSTLY * report.seconds and not _at_its_least(queue, loop):
        found = _gathering(report, loop, queue, filling, needed)
        if (found.gain or 0.0) >= WORTH:
            return found
    if any(_leaves_nothing(report, stage, loop) for stage in functions):
        return _supply(report, functions[0], loop.waits_in or 0.0, loop)
    rest = max(report.seconds - filling, 1e-9)
    waited = max(0.0, (loop.waits_in or 0.0) * report.seconds - filling) / rest
    return _between(report, queue, functions, waited, 1 - needed, loop)


def _needed(report: Report, function: Stage, queue: Stage) -> float:
    """The share of the time that the threads needed for what was taken: they also waited for room, had ended, or
    filled the queue further."""
    tank = queue.tank
    assert tank is not None
    before = max(tank.levels[0].size if tank.levels else 0, tank.min_after_dequeue)
    ahead = max(0, tank.stats.size - before) / max(1.0, function.rate * report.seconds)
    return function.longest * (1 - (function.waits_out or 0.0)) * max(0.0, 1 - ahead)


def _leaves_nothing(report: Report, function: Stage, loop: Stage) -> bool:
    """Whether the threads take the interpreter's lock, or all processors, so that the consumer waits for these too."""
    if (function.cpu or 0.0) < 2 * (loop.cpu or 0.0):
        return False
    hasty = one_by_one(function, loop) and (function.waits_out or 0.0) < OFTEN
    return hasty or (report.lock or 0.0) > HOGGED or crowded(report, function)


def _at_its_least(queue: Stage, loop: Stage) -> bool:
    """Whether a pool holds back no more than a batch has anyhow, so that no smaller one would start sooner."""
    least = max(1, int(loop.settings.get("batch_size") or 1))
    return queue.tank is not None and 0 < queue.tank.min_after_dequeue <= least


def _nothing_yet(loop: Stage, queue: Stage) -> Remedy:
    tank = queue.tank
    assert tank is not None
    if tank.stats.size and tank.min_after_dequeue:
        text = (
            f"The pool of '{queue.name}' fills: it has {tank.stats.size:,} of min_after_dequeue="
            f"{tank.min_after_dequeue:,} examples. A smaller one starts sooner and shuffles less."
        )
        return Remedy(queue, "pool", "min_after_dequeue", None, None, text)
    return Remedy(queue, "start", None, None, None, f"No batch of '{loop.name}' has come through yet.")


def _gathering(report: Report, loop: Stage, queue: Stage, filling: float, needed: float) -> Remedy:
    """Most of the time went by until there was a first batch, because many examples had to be there."""
    gain = report.seconds / max(report.seconds * needed, report.seconds - filling, 1e-9)
    share = f"{filling / report.seconds:.0%} of the time"
    tank = queue.tank
    if tank is None or not tank.min_after_dequeue:
        text = (
            f"The first batch of '{loop.name}' took {share}: a bucket had to be full. "
            f"A smaller batch_size, or fewer buckets, start sooner{times(gain)}."
        )
        return Remedy(loop, "buckets", "batch_size", None, gain, text)
    text = (
        f"Filling the pool of '{queue.name}' took {share}: "
        f"a smaller min_after_dequeue (now {tank.min_after_dequeue:,}) starts sooner and shuffles less{times(gain)}."
    )
    return Remedy(queue, "pool", "min_after_dequeue", None, gain, text)


def _between(
    report: Report, queue: Stage, functions: list[Stage], waited: float, room: float, loop: Stage | None = None
) -> Remedy:
    """Look at both sides of a queue: the shares that its takers waited, and that its fillers did not need."""
    tank = queue.tank
    assert tank is not None
    if waited > OFTEN and room > OFTEN and any(stage.running for stage in functions):
        gain = min(1 / max(1 - waited, 1e-3), 1 / max(1 - room, 1e-3))
        text = (
            f"'{queue.name}' is too small to keep both sides busy: its takers waited {waited:.0%} of the time, its "
            f"threads {room:.0%}, by turns. Raise capacity (now {tank.stats.capacity:,}){times(gain)}."
        )
        return Remedy(queue, "capacity", "capacity", MORE_ROOM * tank.stats.capacity, gain, text)
    if room > waited and loop is not None:
        gain = 1 / max(1 - room, 1e-3)
        text = (
            f"The consumer of '{loop.name}' is the bottleneck: the threads waited {room:.0%} of the time for room. "
            f"If it took no time, batches would come{times(gain, '') or ' as fast'}."
        )
        return Remedy(loop, "consumer", "consumer", None, gain, text)
    if not functions:
        text = f"'{queue.name}' is waited for, and nobody knows which threads fill it."
        return Remedy(queue, "unknown", None, None, None, text)
    return _supply(report, functions[0], waited, loop)


def _supply(report: Report, function: Stage, waited: float, loop: Stage | None) -> Remedy:
    """What keeps the threads that are waited for."""
    most = 1 / max(1 - waited, 1e-3)
    if function.threads > 1 and function.alive < EVEN * function.longest:
        return _uneven(function, most)
    if function.doing.get("results", 0.0) > MOSTLY:
        workers = [stage for stage in report.before(function) if stage.kind == "workers"]
        if workers:
            return executor(report, workers[0], waited, loop)
    turn = function.doing.get("turn", 0.0)
    if turn > OFTEN:
        readers = [stage for stage in report.before(function) if stage.kind == "reader"] or [function]
        gain = min(most, float(function.threads))
        text = (
            f"The {function.threads} threads of {function.name} wait {turn:.0%} of their time for each other's reads "
            f"from '{readers[0].name}': give each a reader of its own, in a join{times(gain)}."
        )
        return Remedy(readers[0], "reader", "readers", function.threads, gain, text)
    if (function.waits_in or 0.0) > MOSTLY:
        return _upstream(report, function, most)
    return at_work(report, function, waited, loop)


def _uneven(function: Stage, most: float) -> Remedy:
    """Some threads had no input any more while others still worked."""
    gain = min(most, function.longest / max(function.alive, 1e-3))
    text = (
        f"The {function.threads} threads of {function.name} had input for {function.alive:.0%} of the time on average, "
        f"one of them for {function.longest:.0%}: share it out evenly, as more and smaller files{times(gain)}."
    )
    return Remedy(function, "uneven", "files", None, gain, text)


def _upstream(report: Report, function: Stage, most: float) -> Remedy:
    """The threads wait for a queue: look at what fills it."""
    waits = function.waits_in or 0.0
    sources = report.before(function)
    queues = [stage for each in sources for stage in (each, *report.before(each)) if stage.tank is not None]
    if not queues:
        text = f"{function.name} waits {waits:.0%} of its time for a queue that nobody knows."
        return Remedy(function, "unknown", None, None, None, text)
    queue = queues[0]
    functions = [stage for stage in report.before(queue) if stage.kind == "function"]
    if functions:
        return _between(report, queue, functions, min(waits, 1 - 1 / most), queue.waits_out or 0.0)
    text = f"{function.name} waits {waits:.0%} of its time for '{queue.name}', which gives {queue.rate:,.1f}/s."
    return Remedy(queue, "producer", "producer", None, min(most, 1 / max(1 - waits, 1e-3)), text)
