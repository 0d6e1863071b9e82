"""The report of a run of `feed`: rates, how full the queues were, and which stage holds it back (`bottleneck`)."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from pipeline.stats import QueueStats


class QueueUse(NamedTuple):
    """How a queue was used. Its times are in seconds, summed over the threads of each side."""

    name: str
    stats: QueueStats
    mean_size: float
    producers: int  # threads
    consumers: int


class Report(NamedTuple):
    """The figures of one run.

    Attributes:
        examples, batches, bytes: How many came through; bytes of the lines read, line ends included.
        seconds: From the first request for a batch to the last batch.
        first_batch_s: Seconds until the first batch was complete.
        files: The queue of file names.
        queue: The queue of examples.
        columns: The number of columns of each type.
        interrupted: Whether Ctrl-C ended the run.
        settings: The options of the run by name.
    """

    examples: int
    batches: int
    bytes: int
    seconds: float
    first_batch_s: float
    files: QueueUse
    queue: QueueUse
    columns: dict[str, int]
    interrupted: bool
    settings: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Return the report for programs, as a dict of JSON values."""
        return {
            "examples": self.examples,
            "batches": self.batches,
            "bytes": self.bytes,
            "seconds": self.seconds,
            "examples_per_s": _rate(self.examples, self.seconds),
            "bytes_per_s": _rate(self.bytes, self.seconds),
            "first_batch_s": self.first_batch_s,
            "interrupted": self.interrupted,
            "columns": self.columns,
            "queues": [_queue_dict(use) for use in (self.files, self.queue)],
            "bottleneck": dict(zip(("stage", "advice"), self.bottleneck(), strict=True)),
            "settings": self.settings,
        }

    def to_text(self) -> str:
        """Return the report for people, as several lines."""
        columns = ", ".join(f"{count} {kind}" for kind, count in self.columns.items())
        lines = [
            f"{self.examples:,} examples ({columns}) in {self.batches:,} batches, {_bytes(self.bytes)}, "
            f"{self.seconds:.2f} s{', interrupted' if self.interrupted else ''}",
            f"{_rate(self.examples, self.seconds):,.0f} examples/s, {_bytes(_rate(self.bytes, self.seconds))}/s, "
            f"first batch after {self.first_batch_s:.3f} s",
            "",
            f"{'queue':<10}{'capacity':>10}{'mean size':>11}{'most':>9}{'full':>7}{'empty':>7}"
            f"{'producers waited':>18}{'consumers waited':>18}",
            *(self._row(use) for use in (self.files, self.queue)),
            "",
            self.bottleneck()[1],
        ]
        return "\n".join(lines)

    def _row(self, use: QueueUse) -> str:
        s = use.stats
        put = self._share(s.enqueue_wait_s, use.producers)
        take = self._share(s.dequeue_wait_s, use.consumers)
        return (
            f"{use.name:<10}{s.capacity:>10,}{use.mean_size:>11,.0f}{s.high_water:>9,}"
            f"{self._share(s.full_s):>7.0%}{self._share(s.empty_s):>7.0%}{put:>18.0%}{take:>18.0%}"
        )

    def _share(self, waited: float, threads: int = 1) -> float:
        return min(1.0, waited / (threads * self.seconds)) if self.seconds > 0 else 0.0

    def bottleneck(self) -> tuple[str, str]:
        """Return the stage that holds up the others, and a sentence that says so and names the option to change."""
        waited = self._share(self.queue.stats.dequeue_wait_s, self.queue.consumers)
        blocked = self._share(self.queue.stats.enqueue_wait_s, self.queue.producers)
        threads, min_after_dequeue = self.queue.producers, self.settings["min_after_dequeue"]
        if self.examples == 0:
            return "start", "No batch came through: the run ended before the first one was complete."
        if self.settings["shuffle"] and self.first_batch_s > self.seconds / 2:
            share = self.first_batch_s / self.seconds
            return "shuffle", (
                f"Filling the shuffle queue took {share:.0%} of the time: "
                f"a lower --min-after-dequeue (now {min_after_dequeue:,}) starts sooner and shuffles less."
            )
        if waited >= blocked:
            processors = os.cpu_count() or 1
            if threads < processors:
                advice = f"more --threads (now {threads}, on {processors} processors) read and decode more at once"
            else:
                advice = f"--threads {threads} is enough for {processors} processors, so fewer or plainer columns help"
            return (
                "readers",
                f"The reader threads are the bottleneck: the consumer waited {waited:.0%} of the time; {advice}.",
            )
        return "consumer", (
            f"The consumer is the bottleneck: the reader threads waited {blocked:.0%} of the time for room; "
            f"a larger --batch-size (now {self.settings['batch_size']:,}) takes more at a time."
        )


def _queue_dict(use: QueueUse) -> dict[str, Any]:
    return {
        "name": use.name,
        "mean_size": use.mean_size,
        "producer_threads": use.producers,
        "consumer_threads": use.consumers,
        **use.stats._asdict(),
    }


def _rate(amount: float, seconds: float) -> float:
    return amount / seconds if seconds > 0 else 0.0


def _bytes(amount: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if amount < 1000 or unit == "GB":
            return f"{amount:,.0f} {unit}" if unit == "B" else f"{amount:,.1f} {unit}"
        amount /= 1000
    raise AssertionError
