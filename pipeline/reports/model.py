"""The model of a run: stages, edges and verdicts, as immutable plain data."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, NamedTuple

from pipeline.stats import QueueStats

UNBOUNDED = 2**31 - 1  # the capacity of an unbounded queue


class Level(NamedTuple):
    """A queue's size at one moment.

    Attributes:
        age_s: Seconds before the report.
        size: Its elements.
    """

    age_s: float
    size: int


@dataclasses.dataclass(frozen=True)
class Tank:
    """The elements in a queue or a `prefetch`.

    Attributes:
        stats: Its counters since it was made; see `QueueStats`.
        min_after_dequeue: Elements held back by a shuffle queue; 0 for others.
        mean_size: The mean size over the levels; the current size without levels.
        full, empty: Shares of the window when it was full, or had no element available.
        levels: One entry per sample, oldest first. Empty without a monitor.
    """

    stats: QueueStats
    min_after_dequeue: int
    mean_size: float
    full: float
    empty: float
    levels: tuple[Level, ...] = ()


@dataclasses.dataclass(frozen=True)
class Progress:
    """The progress through an input with a known length.

    Attributes:
        position: Elements delivered.
        total: Elements in all epochs; None if there is no end.
        epoch: The next element's epoch, from 1.
        epochs: Number of epochs; None if there is no end.
        eta_s: Seconds until the end at the window's rate; None if unknown.
    """

    position: int
    total: int | None
    epoch: int
    epochs: int | None
    eta_s: float | None


@dataclasses.dataclass(frozen=True)
class Stage:
    """One part of a run. Shares are from 0 to 1 and refer to its threads' time within the window.

    Attributes:
        id: A unique number in this process; edges name it. It is negative for a loop that takes from a queue.
        kind: "producer" (a queue with its own thread), "queue", "reader", "function" (called by a queue runner or a
            dataset), "source" (the input of a dataset), "step" (another transformation in a dataset) or "loop" (your
            code that takes batches from an iterator, or elements from a queue).
        name: The user's name for it, or the function's name.
        state: "running", "idle", "ended", ...; for a queue "open" or "closed".
        threads: Number of threads or workers; 1 for a loop or a `prefetch`; 0 for a stage that runs in the consuming
            thread.
        running: How many run now.
        elements: Elements or records produced so far; with short epochs before this one if they are judged together.
        rate: Elements per second, over the window.
        busy: Share of its threads' time at work; for a stage in the consuming thread, its share of that time; None if
            unknown.
        waits_in: Share of the time waiting for input; for a queue or `prefetch`, its consumers' share.
        waits_out: Share of the time waiting for room; for a queue or `prefetch`, its producers' share.
        cpu: Processors used, such as 1.7; None if unknown, and for ended queue runners without a monitor.
        wanted: Processors used or waited for.
        bytes: Bytes a reader has read from its files; None for other stages.
        errors: Skipped errors.
        dropped: Examples left over because they filled no batch.
        first_s: Seconds from a loop's start to its first batch; None before, and for other stages.
        age_s: Seconds from a loop's start to now, or to its end; None before, and for other stages.
        progress: A producer's progress; None for other stages.
        tank: The elements in a queue, producer or `prefetch`; None for other stages.
        settings: Its arguments by name.
    """

    id: int
    kind: str
    name: str
    state: str = "running"
    threads: int = 0
    running: int = 0
    elements: int = 0
    rate: float = 0.0
    busy: float | None = None
    waits_in: float | None = None
    waits_out: float | None = None
    cpu: float | None = None
    wanted: float | None = None
    bytes: int | None = None
    errors: int = 0
    dropped: int = 0
    first_s: float | None = None
    age_s: float | None = None
    progress: Progress | None = None
    tank: Tank | None = None
    settings: Mapping[str, Any] = dataclasses.field(default_factory=dict)


class Edge(NamedTuple):
    """Elements go from one stage to another; both by their `id`."""

    source: int
    target: int


@dataclasses.dataclass(frozen=True)
class Verdict:
    """A loop's bottleneck, and the change to make: at most three sentences, one for each of the texts.

    Attributes:
        loop: The loop's `id`.
        stage: The `id` of its bottleneck.
        kind: That stage in one word, such as "function", "consumer", "pool"; docs/monitoring.md lists them.
        cause: A sentence on the bottleneck.
        advice: A sentence with the change and the speed-up to expect; "" if there is nothing to change.
        knob: The argument to change: "workers", "prefetch" or "buffer_size"; "consumer" for your own loop; or None.
        value: Its new value; None if unknown.
        gain: The largest speed-up to expect; None if unknown.
        least: The smallest speed-up to expect; None if unknown.
        starved: A sentence on processors taken by other programs; "" if there were enough.
        called: The beginning of the sentence on the bottleneck, with the loop's name or its number of epochs; "" for
            a single epoch of the only loop.
    """

    loop: int
    stage: int
    kind: str
    cause: str
    advice: str = ""
    knob: str | None = None
    value: int | None = None
    gain: float | None = None
    least: float | None = None
    starved: str = ""
    called: str = ""

    @property
    def text(self) -> str:
        """The verdict in words."""
        return " ".join(filter(None, (self.starved, self.called, self.cause, self.advice)))
