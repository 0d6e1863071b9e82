"""Segment: neighbouring steps that the same workers run on a chunk of examples."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

from pipeline._meter import Meter, working_for_others
from pipeline.diagnostics.clocks import delay
from pipeline.stages.batch_rows import Empty
from pipeline.stages.block import Block
from pipeline.stages.draws import NoDraws, this_thread
from pipeline.stages.run import Clock, Limited, Measured
from pipeline.stages.steps import Named, SkippedAt, Step, StepTimes, outputs_of_steps
from pipeline.stages.stream import Skipped
from pipeline.workers.chunks import here
from pipeline.workers.executor import Workers
from pipeline.workers.generators import mark, scatter_generators, seed_generators

# Steps are sent to workers without their seeds, so they are equal in each epoch.
_SENT_APART = NoDraws("seeds come with each chunk")

# Per step of a chunk: seconds, CPU seconds, seconds of waiting for a processor, and the number of outputs.
Times: TypeAlias = "tuple[float, float, float, int]"

# A worker's result for a chunk: blocks and skipped errors in order, and the times of each step.
Made: TypeAlias = "tuple[list[Any], list[Times]]"


def make_chunk(
    steps: Sequence[Step],
    home: tuple[int, bytes],
    within: frozenset[int],
    draws: Sequence[tuple[int, ...] | NoDraws],
    block: Block,
    empty: Empty | None = None,
) -> Made:
    """Compute a chunk's outputs, in a worker.

    Errors become part of the result, so earlier outputs are not lost.

    Args:
        steps: The steps for each example.
        home: The mark for the user's process.
        within: Keys for the executors waiting for it.
        draws: Seeds for `example_rng` in each step. Only these and the block differ between epochs.
        block: The examples.
        empty: Makes the arrays of outputs; None for the worker's own way.
    """
    working_for_others(True)
    outer, this_thread.within = this_thread.within, within
    try:
        steps = [step.anew(draw) for step, draw in zip(steps, draws, strict=True)]  # not shared with other threads
        if mark() != home:
            scatter_generators()
            for step in steps:
                step.begins = seed_generators
        began, began_cpu = time.perf_counter(), time.thread_time()
        parts: list[Any] = list(outputs_of_steps(steps, block, max(1, len(block)), None, here.at, empty))
        seconds, cpu = time.perf_counter() - began, time.thread_time() - began_cpu
        total = sum(step.seconds for step in steps) or 1e-9
        shares = [step.seconds / total for step in steps]
        delayed = delay()
        return parts, [
            (seconds * share, cpu * share, delayed * share, step.count)
            for share, step in zip(shares, steps, strict=True)
        ]
    finally:
        this_thread.within = outer
        working_for_others(False)


class InProcess:
    """Makes chunks in a thread in this process, for a run with this clock; `empty` makes the arrays of outputs."""

    def __init__(self, call: Callable[..., Made], clock: Clock, empty: Empty | None) -> None:
        self._call, self._clock, self._empty = call, clock, empty

    def __call__(self, draws: Sequence[tuple[int, ...] | NoDraws], block: Block) -> Made:
        before, this_thread.serving = this_thread.serving, self._clock
        try:
            return self._call(draws, block, self._empty)
        finally:
            this_thread.serving = before


class Segment:
    """Neighbouring steps run by the same workers.

    Args:
        steps: The steps for each example.
        own: The same steps for the consuming thread.
        limits: Counters for skipped errors, one per step.
        measured: Meters for each step; None for a step without one.
        stage: The stage's meter; None if nothing is measured.
        workers: Their executor; None for the consuming thread.
        owned: True if the workers end with the stage.
        within: Keys for the executors waiting for the stage.
    """

    def __init__(
        self,
        steps: Sequence[Step],
        own: Sequence[Step],
        limits: Sequence[Limited],
        measured: Sequence[Measured | None],
        stage: Meter | None,
        workers: Workers | None,
        owned: bool,
        within: frozenset[int],
    ) -> None:
        self.steps, self.limits = steps, limits
        self.meters = [None if each is None else each.meter for each in measured]
        self._measured = [each for each in measured if each is not None]
        self.workers, self.owned = workers, owned
        keys = within if workers is None else within | {workers.key}
        self.draws = [step.draw for step in steps]
        self.call = functools.partial(make_chunk, [step.anew(_SENT_APART) for step in steps], mark(), keys)
        self._stage, self._own = stage, own
        self._times = StepTimes(own, self.meters, stage)
        for each in self._measured:
            each.workers = workers

    def note_moved(self, sent: int, received: int) -> None:
        """Add the bytes of a chunk's inputs and of its results."""
        for each in self._measured:
            each.moved = each.moved[0] + sent, each.moved[1] + received

    def skipped(self, part: SkippedAt) -> Skipped:
        """Return a skipped error with the counter for it."""
        return Skipped(part.error, self.limits[part.step].note)

    def note(self, times: Sequence[Times], waited: float) -> None:
        """Add the workers' time per step, and charge the waiting time to the slowest step."""
        apart = self.workers is not None and self.workers.count > 0  # else the caller's clocks have it
        slowest = max(range(len(times)), key=lambda i: times[i][0])
        for i, (meter, (seconds, cpu, delayed, count)) in enumerate(zip(self.meters, times, strict=True)):
            if meter is None or self._stage is None:
                continue
            meter.work(seconds, cpu * apart, delayed * apart)
            meter.count(count)
            if i == slowest and meter is not self._stage:
                meter.take_over(self._stage, waited, 0)

    def run(self, block: Block, n: int, named: Named) -> Iterator[Block | SkippedAt]:
        """Yield the outputs for a block in the consuming thread; see `outputs_of_steps`."""
        for part in outputs_of_steps(self._own, block, n, named):
            self._times.share()
            yield part

    def over(self, parts: Iterator[Block | Skipped], n: int, named: Named) -> Iterator[Block | Skipped]:
        """Run the steps here over blocks; yield up to n outputs at once, and earlier skipped errors."""
        for part in parts:
            if isinstance(part, Skipped):
                yield part
                continue
            made = self.run(part, n, named)
            for each in made if self.workers is None else self._noted(made, len(part), self.workers):
                yield self.skipped(each) if isinstance(each, SkippedAt) else each

    def _noted(self, made: Iterator[Block | SkippedAt], inputs: int, workers: Workers) -> Iterator[Block | SkippedAt]:
        """Yield the outputs for n inputs, and report the duration to the idle workers."""
        while True:
            began, began_cpu = time.perf_counter(), time.thread_time()
            part = next(made, None)
            if part is None and not inputs:
                return
            workers.note(inputs, time.perf_counter() - began, time.thread_time() - began_cpu, 0.0)
            inputs = 0
            if part is None:
                return
            yield part
