"""Tracks: what each thread did, as spans that nest. Exact ones, which it noted, and between them what was sampled.

Spans that a thread notes are exact: waits, and taking a batch. Whatever it does in between is seen at the samples only.
What a sample shows is taken to last until the next one, but never across the begin or end of an exact span; after such
a begin or end it is what the next sample shows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from pipeline import spans
from pipeline.monitoring.activities import Activity
from pipeline.queues.texts import CALL_NAMES

Emit = Callable[..., None]  # as TraceFile.write


# A thread that fills a queue stores what its function gave until it calls it again.
_BETWEEN_CALLS = (Activity("store", "library"),)


class _Open(NamedTuple):
    """An exact span that has not ended."""

    began: int  # as it was noted
    since: int  # where it begins in the trace
    kind: str
    name: str
    about: dict[str, Any]


class Track:
    """One thread.

    Args:
        number: Of the track in the file.
        emit: Takes the finished events.
        process: Its id.
        start: The instant of the trace's begin, in ns.
        mark: The instant at which the thread is first looked at.
    """

    def __init__(self, number: int, emit: Emit, process: int, start: int, mark: int) -> None:
        self._number = number
        self._emit = emit
        self._process = process
        self._start = start
        self._mark = mark  # everything before is written
        self._open: list[_Open] = []
        self._sampled: list[tuple[Activity, int]] = []  # what goes on, with the instant since when
        self._usual: tuple[Activity, ...] = ()  # what it was last seen at
        self._calls = False  # whether each call of its function is an exact span

    @property
    def _inside(self) -> str:
        """The kind of the innermost exact span."""
        return self._open[-1].kind if self._open else ""

    def _within(self, seen: tuple[Activity, ...]) -> tuple[Activity, ...]:
        """What a sample shows beside the exact spans that it was taken in."""
        names = {each.name for each in self._open}
        return () if self._inside == "wait" else tuple(activity for activity in seen if activity.name not in names)

    def _guess(self) -> tuple[Activity, ...]:
        """What the thread was at if no sample was taken: what it usually is at."""
        if not self._inside and self._calls:
            return _BETWEEN_CALLS
        return self._usual if self._inside in ("", "consumer") else ()

    def advance(self, events: Iterable[spans.Event], instant: int, seen: tuple[Activity, ...]) -> None:
        """Go on to an instant at which a sample was taken.

        Args:
            events: What the thread has noted, in order.
            instant: Of the sample.
            seen: What it showed; nothing if the thread was at nothing worth a name.
        """
        gap: int | None = None  # begins there, and nobody knows yet what the thread was at
        for event in events:
            if gap is not None:
                self._show(self._guess(), gap)
            gap = max(event[1], self._mark)
            self._show((), gap)
            self._apply(event, gap)
        seen = self._within(seen)
        if gap is not None:
            self._show(seen or self._guess(), gap)
        self._show(seen, max(instant, self._mark))
        if seen and self._inside in ("", "consumer"):
            self._usual = seen

    def finish(self, instant: int) -> None:
        """The trace, or the thread, is at its end: so are all spans."""
        at = max(instant, self._mark)
        self._show((), at)
        while self._open:
            self._close(at)

    def _apply(self, event: spans.Event, at: int) -> None:
        """Begin or end an exact span."""
        _, instant, kind, first, *more = event
        if kind == spans.WAIT_BEGINS:
            call, queue = CALL_NAMES[first], more[0]
            side = "dequeue" if call.startswith("dequeue") else "enqueue"
            about = {"queue": queue.name, "kind": queue._kind_name, "call": call, "side": side}
            self._open.append(_Open(instant, at, "wait", f"wait: {call} of '{queue.name}'", about))
        elif kind == spans.NEXT_BEGINS:
            self._end_until(lambda each: each.kind == "consumer", at)
            self._open.append(_Open(instant, at, "next", f"next of '{first}'", {"loop": first}))
        elif kind == spans.CALL_BEGINS:
            self._open.append(_Open(instant, at, "function", first, {}))
        elif kind == spans.CALL_ENDS:
            ended = self._end_until(lambda each: each.began == first, at)
            if ended is not None and not self._open:
                self._calls = more[0]
        elif kind == spans.WAIT_ENDS:
            self._end_until(lambda each: each.began == first, at, {"waited_us": more[0] / 1000})
        elif kind == spans.NEXT_ENDS:
            ended = self._end_until(lambda each: each.began == first, at)
            if ended is not None and more[0]:
                loop = ended.about["loop"]
                self._open.append(_Open(at, at, "consumer", f"between batches of '{loop}'", {"loop": loop}))

    def _end_until(self, wanted: Callable[[_Open], bool], at: int, more: dict[str, Any] | None = None) -> _Open | None:
        """End the innermost span of that kind, and those within; return it, or None if there is none."""
        ended = next((each for each in reversed(self._open) if wanted(each)), None)
        if ended is not None:
            ended.about.update(more or {})
            while self._close(at) is not ended:
                pass
        return ended

    def _close(self, at: int) -> _Open:
        ended = self._open.pop()
        self._write(ended.name, ended.kind, ended.since, at, ended.about)
        return ended

    def _show(self, seen: tuple[Activity, ...], at: int) -> None:
        """From this instant on the thread is at these activities; those that go on are not written yet."""
        same = 0
        while same < min(len(seen), len(self._sampled)) and self._sampled[same][0] == seen[same]:
            same += 1
        while len(self._sampled) > same:
            activity, since = self._sampled.pop()
            inset = len(self._sampled) + 1  # of two spans that are equal, a viewer does not know the inner one
            if at - since > 2 * inset:
                more = {"place": activity.place, "queue": activity.queue}
                about = {"sampled": True} | {key: value for key, value in more.items() if value}
                self._write(activity.name, activity.kind, since + inset, at - inset, about)
        self._sampled += [(activity, at) for activity in seen[same:]]
        self._mark = max(self._mark, at)

    def _write(self, name: str, kind: str, since: int, until: int, about: dict[str, Any]) -> None:
        self._emit(
            {
                "ph": "X",
                "name": name,
                "cat": kind,
                "ts": (since - self._start) / 1000,
                "dur": (until - since) / 1000,
                "pid": self._process,
                "tid": self._number,
                "args": about,
            }
        )
