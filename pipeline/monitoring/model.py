"""The model of a run: its stages, what flows between them, and the verdict. Plain data that no longer changes."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, NamedTuple

from pipeline.stats import QueueStats


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
    """What a queue held.

    Attributes:
        stats: Its counters since it was made; see `QueueStats`.
        min_after_dequeue: The elements that it holds back; 0 for what is no shuffle queue.
        mean_size: How many elements it held on average, over the levels; what it holds now if there are none.
        full, empty: Shares of the window during which it was full, or had no element to give.
        levels: How full it was, oldest first: one entry for each sample. Empty unless somebody watched.
    """

    stats: QueueStats
    min_after_dequeue: int
    mean_size: float
    full: float
    empty: float
    levels: tuple[Level, ...] = ()


@dataclasses.dataclass(frozen=True)
class Progress:
    """How far an input that can be counted has come.

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
        id: A number that no other stage of this process ever gets; edges name it.
        kind: "producer" (a queue that fills itself), "queue", "reader", "workers" (an executor of a `map`),
            "function" (what the threads of a queue runner, or a dataset, call), "source" (where the examples of a
            dataset come from), "step" (what else a dataset does to them) or "loop" (what takes the batches).
        name: What the user called it, or the name of the function.
        state: "running", "ended", ...; of a queue "open" or "closed".
        threads: How many threads it has; of a loop the threads that take batches, of workers those of the executor;
            of a queue of `prefetch` the one that fills it; 0 for what runs in the thread that takes from it.
        running: How many of them run now.
        alive: The share of the window, from the start of its threads on, for which they ran, on average.
        longest: The same for the one that ran longest.
        elements: How many elements have come out of it since it was made; of a reader the records.
        rate: Elements per second, over the window.
        busy: The share of their time that the threads were at work; of what runs in the thread that takes from it, the
            share of that thread's time; None if nobody can say.
        waits_in: The share that they waited for something to come; of a queue, that the calls on its way out waited.
        waits_out: The share that they waited for room.
        cpu: Processors that they kept busy, such as 1.7; None if nobody watched, or the system cannot say.
        wanted: As `cpu`, with the time that they waited for a processor.
        doing: What they did, as shares: "calling" the user's function, "reading" files, "moving" elements into the
            queue, "turn" (waiting for another thread's turn with a reader or an iterator), "results" (waiting for
            an executor), "in" and "out" (waiting in queues). Empty unless somebody watched.
        bytes: The bytes that a reader has read from its files; None for other stages.
        errors: Errors that were skipped.
        dropped: Examples that filled no batch.
        first_s: Seconds from the start of a loop to its first batch; None before, and for other stages.
        age_s: Seconds from the start of a loop to now, or to its end; None before, and for other stages.
        progress: How far a producer, or workers over a sequence, have come; None for other stages.
        tank: What a queue or producer held; None for other stages.
        settings: What it was made with, by the names of the parameters.
    """

    id: int
    kind: str
    name: str
    state: str = "running"
    threads: int = 0
    running: int = 0
    alive: float = 1.0
    longest: float = 1.0
    elements: int = 0
    rate: float = 0.0
    busy: float | None = None
    waits_in: float | None = None
    waits_out: float | None = None
    cpu: float | None = None
    wanted: float | None = None
    doing: Mapping[str, float] = dataclasses.field(default_factory=dict)
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
    """What holds a loop back, and what to turn.

    Attributes:
        loop: The `id` of the loop; None for queues that no loop takes from.
        stage: The `id` of the stage that holds it back; None if nothing has come through yet.
        kind: That stage in one word, such as "function", "consumer", "pool"; see docs/monitoring.md for all of them.
        knob: What to turn: "workers", "prefetch" or "buffer_size"; "consumer" for your own loop; None for nothing.
        value: What to set it to; None if that cannot be said.
        gain: How many times as fast the run would be; None if that cannot be said.
        text: The verdict in a sentence.
    """

    loop: int | None
    stage: int | None
    kind: str
    knob: str | None
    value: int | None
    gain: float | None
    text: str


@dataclasses.dataclass(frozen=True)
class RunModel:
    """The model of a run.

    Attributes:
        seconds: The length of the window: from the oldest sample to now; without samples, from the start.
        watched: Whether there are samples, so that `cpu`, `doing`, `levels` and `lock` are known.
        stages: What is alive, in the order of the flow.
        edges: What goes where, as far as it is known.
        processors: How many processors this process may use.
        lock: The share of the window during which somebody held the GIL; None if nobody watched.
        verdicts: One for each loop that has begun.
    """

    seconds: float
    watched: bool
    stages: tuple[Stage, ...]
    edges: tuple[Edge, ...]
    processors: int
    lock: float | None = None
    verdicts: tuple[Verdict, ...] = ()

    @property
    def verdict(self) -> Verdict | None:
        """The first verdict, which is the only one in the report of a loop."""
        return self.verdicts[0] if self.verdicts else None

    def stage(self, number: int) -> Stage:
        """Return the stage with this `id`; KeyError if there is none."""
        for each in self.stages:
            if each.id == number:
                return each
        raise KeyError(number)

    def before(self, stage: Stage) -> list[Stage]:
        """Return the stages from which elements go to this one."""
        return [self.stage(edge.source) for edge in self.edges if edge.target == stage.id]

    def after(self, stage: Stage) -> list[Stage]:
        """Return the stages to which elements go from this one."""
        return [self.stage(edge.target) for edge in self.edges if edge.source == stage.id]
