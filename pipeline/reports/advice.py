"""Advice: from the cause of a slow run to one change in the dataset, and the speed-up to expect."""

from __future__ import annotations

import math
from typing import NamedTuple

from pipeline.diagnostics.wording import count, listed
from pipeline.reports.facts import (
    ALWAYS,
    COMPUTES,
    HOGGED,
    MOSTLY,
    UNKNOWN,
    WAITS,
    Thread,
    all_before,
    by_epoch,
    called,
    calls,
    can_move,
    computing,
    delayed,
    does_in_workers,
    does_serially,
    elsewhere,
    has_workers,
    holds_gil,
    made_by,
    needed,
    taken,
    used_meanwhile,
)
from pipeline.reports.model import Stage
from pipeline.reports.offers import FEW, LEAST, WORTH, Offer, figure, more_workers, sending
from pipeline.reports.report import Report
from pipeline.reports.short_calls import Change, by_source, for_all, for_call
from pipeline.reports.twins import with_number

OFTEN = 0.2  # share of the time
SELDOM = 0.05  # share of the time: a shorter wait is not worth a change
SETTLED = 10  # seconds after which `workers="auto"` has tried all it can

_BRIEF = 10e-6  # seconds: handing a shorter call to a worker costs about as much as the call
_BRIEF_SERIAL = 20e-6  # seconds: workers speed up a shorter call less than work on whole batches does
_AT_WORK = 0.8  # share of the time: such workers are as much of a bottleneck as one that is always busy
_FULL = 0.05  # share of the time: a slow thread is never longer ahead if examples take equal time
_HALF = 0.5  # processors
_BUSY = 0.75  # share of the time: workers idle for longer may wait for the loop
_MUCH = 50e6  # bytes per second to and from processes: less takes them no noticeable time
_QUICK = 2e-3  # seconds: for shorter calls, pickling their arguments counts
_MUCH_OF_SHORT = 1e6  # bytes per second of such calls
_LARGE = 1e6  # bytes per result: smaller ones take no noticeable time if they are arrays
_COPIED = 0.5e9  # bytes per second of a `batch`: with more its time goes into copying
_AHEAD, _DEEP = 2, 8  # default of `prefetch`; the least one for unequal elements
_DEEPEST = 64  # the most at once: batches may be large
_HAND_OVER = 12e-6  # seconds added to each element by a prefetch

NO_STEP = "No step stands out"
MEASURE_AGAIN = "Measure again while the processors are free"
LESS_WORK = "To go faster, do less work per example"


class Remedy(NamedTuple):
    """A bottleneck, and the change to make. Both sentences lack their full stops.

    Attributes:
        stage, kind, knob, value, gain, least: As in `Verdict`.
        cause: A sentence on the bottleneck.
        advice: A sentence with the change, up to the speed-up.
        note: Follows the speed-up: its condition, or the next step.
        why: Follows the cause: a reason that a lack of processor time may explain as well.
        sure: True if other programs that took processor time change nothing.
    """

    stage: Stage
    kind: str
    cause: str
    advice: str
    knob: str | None = None
    value: int | None = None
    gain: float | None = None
    least: float | None = None
    note: str = ""
    why: str = ""
    sure: bool = False


# Steps without workers


def of_serial(report: Report, slow: Stage, thread: Thread, behind: float, consumer: float) -> Remedy:
    """Return the remedy for a step without workers."""
    if taken(slow) < MOSTLY * thread.busy:  # rather one of yours than one that is compiled
        yours = [each for each in thread.parts if (calls(each) or can_move(each)) and not has_workers(each)]
        slow = max(yours, key=taken, default=slow)
    share = taken(slow)
    mine = consumer if thread.first else 0.0
    does = does_serially(report, slow, thread, mine)
    cpu = computing(slow, thread, mine)
    mixed = does == WAITS and cpu > OFTEN * share
    brief = takes(report, slow, share * (1 - delayed(thread.owner) / max(thread.busy + mine, 1e-3)), _BRIEF_SERIAL)
    if share < MOSTLY * thread.busy and (brief or thread.compiled):
        together = ", and all are compiled" if thread.compiled else ""
        cause = f"{NO_STEP}{together}: {_by_size(thread)}"
        return _of_change(slow, cause, for_all(report, thread))
    does_what = _does_both(cpu / share) if mixed else does
    files = slow.kind == "source" and not can_move(slow)  # a call's duration helps with functions
    cause = _cause(thread, slow, mine, does_what or brief if files else brief or does_what)
    if change := by_source(report, slow):
        return _of_change(slow, cause, change)
    least, ahead = _by_prefetch(report, thread, consumer)
    if brief and (calls(slow) or can_move(slow)) and not (mine > MOSTLY and ahead > WORTH):
        return _of_change(slow, cause, for_call(report, slow, thread, needed(thread, behind, consumer, slow)))
    if not brief and (slow.kind == "function" or can_move(slow)):
        limit = max(needed(thread, behind, consumer, slow), cpu * mixed)  # threads may compute in turn
        offer = more_workers(report, slow, 1, share, by_epoch(report, slow, share, limit), does)
        if (thread.owner.waits_out or 0.0) > _FULL:  # examples take unequal time
            offer = offer._replace(least=1.0)
        if offer.most > WORTH * (least if does == COMPUTES else ahead):
            return _in_workers(slow, cause, offer, does)
    if ahead > WORTH:
        return prefetched(slow, slow.kind, cause, ahead)
    if slow.settings.get("call") == "batch" and calls(slow):
        return _of_collate(report, slow, cause, share, needed(thread, behind, consumer, slow), does)
    if slow.kind == "function" and sending(report, slow) > OFTEN:
        return _of_sending(slow, cause)
    if slow.settings.get("converts"):
        return Remedy(slow, slow.kind, cause, _from_arrays(report, slow), sure=True)
    sure = not can_move(slow) and (slow.kind == "source" or not calls(slow))  # reading less helps in any case
    return Remedy(slow, slow.kind, cause, _as_it_is(report, slow, does), sure=sure)


def takes(report: Report, slow: Stage, share: float, limit: float) -> str:
    """Return the duration of a function's or source's calls, as text, if it is below a limit; else "".

    Args:
        report: The run.
        slow: The function or source.
        share: Share of the time in its calls.
        limit: Seconds.
    """
    rate, batches = called(report, slow)
    if slow.kind not in ("function", "source") or not rate or share >= limit * rate:
        return ""
    return f", {figure(max(0.1, 1e6 * share / rate))} µs per {'batch' if batches else 'example'}"


def _by_size(thread: Thread) -> str:
    """Return a thread's longest steps with their shares of the time."""
    longest = sorted(thread.parts, key=taken, reverse=True)[:3]
    return ", ".join(f"`{with_number(each, each.name)}` {taken(each):.0%}" for each in longest)


def _of_change(slow: Stage, cause: str, change: Change) -> Remedy:
    """Return the remedy for calls too short for workers; on a busy machine they are no longer."""
    return Remedy(slow, slow.kind, cause, change.advice, None, None, change.gain, change.least, change.note, sure=True)


def _of_sending(slow: Stage, cause: str) -> Remedy:
    """Return the remedy for a function whose results take long to send to processes."""
    size = slow.settings.get("bytes", 0)
    if size >= _LARGE:
        why = f"processes would not help, as results of {figure(size / 1e6)} MB take long to send"
        return Remedy(slow, slow.kind, cause, LESS_WORK, why=why)
    why = "processes would not help, as its examples consist of many Python objects, which take long to send"
    return Remedy(slow, slow.kind, cause, "To go faster, pass and return arrays", why=why)


def _of_collate(report: Report, slow: Stage, cause: str, share: float, limit: float, does: str) -> Remedy:
    """Return the remedy for a slow `collate=`."""
    offer = more_workers(report, slow, 1, share, [(share, limit)], does)
    name = slow.settings.get("collate", "f")
    call = f"{slow.name.removesuffix(')')}, collate=list).map_batches({name}, workers={offer.argument})"
    return Remedy(slow, slow.kind, cause, f"Try `.{call}`", "workers", offer.value, offer.most, 1.0)


def _from_arrays(report: Report, batch: Stage) -> str:
    """Return the advice for a `batch` that converts Python lists or numbers."""
    functions = (each for each in all_before(report, batch) if calls(each) and each.settings.get("call") != "filter")
    maker = next(functions, None)
    how = "start from arrays" if maker is None else f"return arrays from `{with_number(maker, maker.name)}`"
    return f"It converts Python lists or numbers; to go faster, {how}"


def _as_it_is(report: Report, slow: Stage, does: str) -> str:
    """Return the advice for a step that neither workers nor a prefetch speed up."""
    if slow.kind == "source" and not can_move(slow):
        if does == WAITS:
            return "Faster storage or a local copy of its files would help"
        return str(slow.settings.get("lighter", LESS_WORK))
    if calls(slow) or can_move(slow):
        return LESS_WORK
    if slow.settings.get("call") == "unbatch":
        return "It is compiled; to go faster, leave out `unbatch` if the batches fit"
    if max(each.settings.get("fields", 0) for each in report.stages) > 1:
        return "It is compiled; to go faster, drop unused fields before it"
    return "It is compiled; to go faster, make examples smaller before it"


def _in_workers(slow: Stage, cause: str, offer: Offer, does: str) -> Remedy:
    """Return the advice to give a step's work to workers, with the argument to write."""
    call, most, least, note = slow.settings.get("takes_workers"), offer.most, offer.least, offer.note
    advice = f"Try `{call}(..., workers={offer.argument})`" if call else f"Try `workers={offer.argument}`"
    if does == WAITS and "more" in slow.settings:
        advice = f"Try {slow.settings['more'].format(offer.value)}"
        return Remedy(slow, slow.kind, cause, advice, "num_threads", offer.value, most, least, note, sure=True)
    if slow.kind == "source" and not call:
        advice = f"Move its slow part into `.map(..., workers={offer.argument})`"
        least, note = 1.0, ""
    return Remedy(slow, slow.kind, cause, advice, "workers", offer.value, most, least, note, sure=does == WAITS)


# Prefetch


def _by_prefetch(report: Report, thread: Thread, consumer: float) -> tuple[float, float]:
    """Return the smallest and largest speed-up by a prefetch at the end."""
    if not thread.first:
        return 1.0, 1.0
    together = sum(map(max, by_epoch(report, thread.owner, consumer, thread.busy)))
    held = report.lock or 0.0
    if any(each.settings.get("objects", 0) > FEW for each in thread.parts):  # made and freed while the GIL is held
        held = max(held, thread.wanted or 0.0)
    limit = max(together, held) + _HAND_OVER * thread.owner.rate
    most = 1 / max(limit, 1e-3)
    return max(1.0, min(LEAST * most, 1 / max(thread.wanted or 0.0, 1e-3))), most


def _waits_for(loop: Stage, slow: Stage, consumer: float) -> str:
    """Return the cause if the loop, with other iterators in its thread, has most of the time."""
    others = elsewhere(loop)
    also = f" and {others:.0%} for other iterators" if others > SELDOM else ""
    mine = consumer - others if also else consumer
    return f"Your loop takes {mine:.0%} of the time, and waits {1 - consumer:.0%} for `{slow.name}`{also}"


def _cause(thread: Thread, slow: Stage, consumer: float, details: str) -> str:
    """Return the cause for a step without workers; `consumer` is the loop's share of the time in its thread."""
    if consumer > MOSTLY:
        return _waits_for(thread.owner, slow, consumer)
    return f"Bottleneck: `{slow.name}` ({taken(slow):.0%} of the time{details})"


def _does_both(part: float) -> str:
    """Return how much of its time a function computes."""
    return f", {1 - part:.0%} waiting, {part:.0%} computing"


def beside(report: Report, thread: Thread, consumer: float) -> Remedy | None:
    """Return the remedy for a loop that seldom waits for steps in its own thread; None if a prefetch gains nothing."""
    _, ahead = _by_prefetch(report, thread, consumer)
    if not thread.parts or ahead <= 1 + SELDOM:
        return None
    slow = max(thread.parts, key=taken)
    return prefetched(slow, slow.kind, _waits_for(thread.owner, slow, consumer), ahead)


def prefetched(slow: Stage, kind: str, cause: str, gain: float, why: str = "") -> Remedy:
    """Return the advice to add a prefetch."""
    return Remedy(slow, kind, cause, f"Try `.prefetch({_AHEAD})` at the end", "prefetch", _AHEAD, gain, 1.0, why=why)


def too_small(prefetch: Stage) -> Remedy:
    """Return the remedy for batches that take less time than handing them over."""
    cause = f"Bottleneck: `{prefetch.name}`, as the batches are too small for a thread of their own"
    advice = f"Leave out `.{prefetch.name}`, or make larger batches"
    return Remedy(prefetch, "prefetch", cause, advice, "prefetch", sure=True)


def by_turns(report: Report, prefetch: Stage, consumer: float, empty: float, room: float) -> Remedy:
    """Return the remedy for unequal elements: sometimes the loop waits, sometimes the read-ahead thread."""
    assert prefetch.tank is not None
    capacity = prefetch.tank.stats.capacity
    longest = max((each.settings.get("longest_s", 0.0) for each in report.before(prefetch)), default=0.0)
    meanwhile = math.ceil(longest * prefetch.rate / max(1 - empty, 1e-3))  # what the loop takes during the longest call
    more = min(meanwhile, _DEEPEST) if meanwhile > capacity else (4 if empty >= OFTEN else 2) * capacity
    value = max(_DEEP, more)
    cause = (
        f"Bottleneck: `{prefetch.name}` is too small: your loop waited for it {empty:.0%} of the time, and it was full "
        f"{room:.0%} of the time"
    )
    gain = 1 / max(consumer, 1 - room, 1e-3)
    return Remedy(prefetch, "prefetch", cause, f"Try `prefetch({value})`", "prefetch", value, gain, 1.0)


# Steps with workers


def of_workers(report: Report, slow: Stage, thread: Thread, behind: float, consumer: float) -> Remedy:
    """Return the remedy for slow workers."""
    now, busy, auto = max(1, slow.threads), slow.busy or 0.0, slow.settings.get("auto")
    does = UNKNOWN if auto else does_in_workers(report, slow)
    used, work = slow.cpu or 0.0, now * busy
    brief = takes(report, slow, used if does == COMPUTES else max(used, work - delayed(slow)), _BRIEF)
    cause = f"Bottleneck: `{slow.name}` ({count(now, 'worker')}, {busy:.0%} busy{does}{'' if auto else brief})"
    if auto:
        return _of_auto(report, slow, cause)
    if moves_much(report, slow):
        return _of_moving(report, slow, thread, consumer)
    if brief:
        return _of_change(slow, cause, for_call(report, slow, thread, None))
    turns = does == COMPUTES and holds_gil(report, made_by(slow), used_meanwhile(report, slow, slow))
    _, ahead = _by_prefetch(report, thread, consumer)
    if busy < _BUSY and consumer > OFTEN and ahead > WORTH and not turns:
        return prefetched(slow, "function", cause, ahead, "they are idle while your loop works")
    if does == WAITS and (peers := _peers(report, slow, thread)):
        return _of_peers(report, slow, peers, thread, behind, consumer)
    if busy < ALWAYS and not turns and (others := [each for each in all_before(report, slow) if has_workers(each)]):
        return _behind_others(report, slow, others[0], thread, cause, does)
    if busy < MOSTLY and not turns:
        why = "they wait for the slowest, as examples take unequal time"
        sure = taken(slow) > MOSTLY * thread.busy  # the thread waits for them, not for a processor
        return Remedy(slow, "function", cause, "If any order will do, pass `ordered=False`", why=why, sure=sure)
    epochs = by_epoch(report, slow, now * taken(slow), needed(thread, behind, consumer, slow))
    offer = more_workers(report, slow, now, work, epochs if len(epochs) > 1 else [(now, epochs[0][1])], does)
    if offer.most < WORTH:
        return Remedy(slow, "function", cause, LESS_WORK, why=why_no_more(report, slow, does))
    why = f"its {now} threads take turns at Python's lock (GIL)" if offer.turns else ""
    sure = does == WAITS or (
        offer.turns and report.lock is not None
    )  # a busy machine does not change who holds the GIL
    return _in_workers(slow, cause, offer, does)._replace(why=why, sure=sure)


def _peers(report: Report, slow: Stage, thread: Thread) -> list[Stage]:
    """Return the steps of a thread whose workers are busy with waiting, in order; none if there is but one."""
    busy = [each for each in thread.parts if has_workers(each) and (each.busy or 0.0) >= _AT_WORK]
    found = [each for each in busy if each is slow or does_in_workers(report, each) == WAITS]
    equal = all(each.threads == slow.threads and made_by(each) == made_by(slow) for each in found)
    return sorted(found, key=report.stages.index) if len(found) > 1 and equal else []


def _of_peers(
    report: Report, slow: Stage, peers: list[Stage], thread: Thread, behind: float, consumer: float
) -> Remedy:
    """Return the remedy for several steps that need more workers at once."""
    others = thread._replace(parts=[each for each in thread.parts if each not in peers])
    now, limit = slow.threads, needed(others, behind, consumer)
    offer = more_workers(report, slow, now, now * (slow.busy or 0.0), [(now, limit)], WAITS)
    names, shares = listed(f"`{each.name}`" for each in peers), listed(f"{each.busy:.0%}" for each in peers)
    cause = f"Bottleneck: {names} ({count(now, 'worker')} each, {shares} busy{WAITS})"
    both = "both" if len(peers) == 2 else "all"
    remedy = _in_workers(slow, cause, offer, WAITS)
    return remedy._replace(advice=f"{remedy.advice} for {both}")


def _of_auto(report: Report, slow: Stage, cause: str) -> Remedy:
    """Return the remedy for workers that change their number themselves."""
    if report.seconds < SETTLED:
        advice = f'Let it run for {SETTLED} s or more, as `workers="auto"` still tries other numbers'
        return Remedy(slow, "function", cause, advice)
    return Remedy(slow, "function", cause, LESS_WORK, why='`workers="auto"` found no better number')


def _behind_others(report: Report, slow: Stage, other: Stage, thread: Thread, cause: str, does: str) -> Remedy:
    """Return the remedy for workers that wait for those of an earlier step, though neither is always busy."""
    work = (other.busy or 0.0) * other.threads
    alone = sum(taken(each) for each in thread.parts if not has_workers(each)) + work
    gain = 1 / max(alone, slow.busy or 0.0, 1e-3)
    name = with_number(other, other.name)
    waits = "it waits" if slow.threads == 1 else "they wait"
    why = f"{waits} for the {'worker' if other.threads == 1 else 'workers'} of `{name}`"
    if gain > WORTH and work < OFTEN:  # else the loop's thread would do much work
        advice = f"Leave out `workers=` of `{name}`"
        return Remedy(slow, "function", cause, advice, "workers", None, gain, 1.0, why=why)
    total, kind = slow.threads + other.threads, made_by(slow)
    number = min(total, max(report.processors, slow.threads)) if does == COMPUTES else total
    argument = str(number) if kind == "pipeline.threads" else f"{kind}({number})"
    advice = f"Try one function for both, with `workers={argument}`"
    return Remedy(slow, "function", cause, advice, why=why)


def moves_much(report: Report, slow: Stage) -> bool:
    """Return whether a thread is busy with sending inputs to processes, or taking out or copying their results."""
    if made_by(slow) in ("", "pipeline.threads"):
        return False
    if _copies(report, slow) is not None:
        return True
    if (slow.busy or 0.0) >= MOSTLY or taken(slow) < OFTEN:
        return False
    short = (slow.busy or 0.0) * slow.threads < _QUICK * slow.rate
    least = _MUCH_OF_SHORT if short else _MUCH
    return bool(sum(slow.settings.get("moved", (0, 0))) >= least * (slow.age_s or report.seconds))


def _copies(report: Report, slow: Stage) -> Stage | None:
    """Return the `batch` that takes most of the time, as it copies the large results of processes; None without one."""
    received = slow.settings.get("moved", (0, 0))[1]
    for each in report.after(slow):
        copying = taken(each) * report.seconds
        if each.settings.get("call") == "batch" and taken(each) > MOSTLY and received > _COPIED * copying:
            return each
    return None


def _of_moving(report: Report, slow: Stage, thread: Thread, consumer: float) -> Remedy:
    """Return the remedy for processes whose inputs or results are large; a busy machine does not change it."""
    sent, received = slow.settings["moved"]
    size = max(sent, received) / max(slow.elements, 1)
    amount = f"{figure(size / 1e6)} MB" if size >= 1e6 else f"{figure(size / 1e3)} kB"
    how = f"`{slow.name}` ({count(slow.threads, 'worker')}, {slow.busy or 0.0:.0%} busy; {amount} at a time)"
    moving, less = "copying the results of", "Return less, such as smaller dtypes"
    if sent > received:
        moving, less = "sending inputs to", "Send less, such as file names"
    copies = _copies(report, slow)
    others = sum(taken(each) for each in thread.parts if each not in (slow, copies))
    alone = (slow.busy or 0.0) * slow.threads + others + (consumer if thread.first else 0.0)
    advice = f"{less}, or leave out `workers=`" if alone < 1 else less
    return Remedy(slow, "function", f"Bottleneck: {moving} {how}", advice, sure=True)


def why_no_more(report: Report, slow: Stage, how: str) -> str:
    """Return why more workers gain nothing; "" if at least half a processor is free."""
    if how != COMPUTES and (report.lock or 0.0) > HOGGED:
        return f"the GIL is held {report.lock:.0%} of the time"
    number = report.processors
    known = [used_meanwhile(report, slow, stage) for stage in report.stages if stage.cpu is not None]
    if known and number - sum(known) >= _HALF:
        return ""
    return f"{'the only processor is' if number == 1 else f'all {number} processors are'} used"
