"""The model of a run: its stages, what flows between them, and the verdict. Plain data that does not change."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, NamedTuple

from pipeline.stats import QueueStats

UNBOUNDED = 2**31 - 1  # the capacity of a queue without one


class Level(NamedTuple):
    """How full a queue was at one moment.

    Attributes:
        age_s: Seconds before the report.
        size: Its elements.
    """

    age_s: float
    size: int


@dataclasses.dataclass(frozen=True)
class Tank:
    """The elements in a queue, or those that `prefetch` has taken ahead.

    Attributes:
        stats: Its counters since it was made; see `QueueStats`.
        min_after_dequeue: The elements that it keeps back; 0 unless it is a shuffle queue.
        mean_size: The mean number of elements over the levels; the current number if there are none.
        full, empty: Shares of the window during which it was full, or had no element to give.
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
    """How far an input of known length has been read.

    Attributes:
        position: How many elements it has given.
        total: How many it has in all epochs; None if there is no end.
        epoch: The epoch of the next element, from 1.
        epochs: How many there are; None if there is no end.
        eta_s: Seconds until its end at the rate of the window; None if that is not known.
    """

    position: int
    total: int | None
    epoch: int
    epochs: int | None
    eta_s: float | None


@dataclasses.dataclass(frozen=True)
class Stage:
    """One part of a run. All shares are of the time of its threads within the window, from 0 to 1.

    Attributes:
        id: A unique number in this process; edges name it.
        kind: "producer" (a queue that fills itself), "queue", "reader", "function" (what the threads of a queue runner,
            or a dataset, call), "source" (where the examples of a dataset come from), "step" (another transformation
            of a dataset) or "loop" (an iterator, and your code that takes its batches).
        name: What the user called it, or the name of the function.
        state: "running", "ended", ...; of a queue "open" or "closed".
        threads: How many threads or workers it has; of a loop 1; of a `prefetch` the one that fills it; 0 for a stage
            that runs in the thread that takes from it.
        running: How many of them run now.
        elements: How many elements have come out of it since it was made; of a reader the records.
        rate: Elements per second, over the window.
        busy: The share of their time that the threads were at work; of a stage that runs in the thread that takes from
            it, the share of that thread's time; None if unknown.
        waits_in: The share that they waited for input; of a queue or `prefetch`, that its consumers waited.
        waits_out: The share that they waited for room; of a queue or `prefetch`, that those who fill it waited.
        cpu: Processors that they kept busy, such as 1.7; None without a monitor, or if the system cannot tell.
        wanted: As `cpu`, with the time that they waited for a processor.
        bytes: The bytes that a reader has read from its files; None for other stages.
        errors: Errors that were skipped.
        dropped: Examples that filled no batch.
        first_s: Seconds from the start of a loop to its first batch; None before, and for other stages.
        age_s: Seconds from the start of a loop to now, or to its end; None before, and for other stages.
        progress: How far a producer has come; None for other stages.
        tank: What a queue, producer or `prefetch` held; None for other stages.
        settings: What it was made with, by the names of the parameters.
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
    """The bottleneck of a loop, and what to change.

    Attributes:
        loop: The `id` of the loop.
        stage: The `id` of the stage that limits it.
        kind: That stage in one word, such as "function", "consumer", "pool"; docs/monitoring.md lists them.
        knob: What to change: "workers", "prefetch" or "buffer_size"; "consumer" for your own loop; None for nothing.
        value: What to set it to; None if that is not known.
        gain: At most how many times as fast the run would be; None if that is not known.
        text: The verdict, in a few sentences.
        least: At least how many times as fast the run would be; None if that is not known.
    """

    loop: int
    stage: int
    kind: str
    knob: str | None
    value: int | None
    gain: float | None
    text: str
    least: float | None = None
