"""The report of a run of `feed`: its figures, the table of its queues and the verdict of verdict.py."""

from __future__ import annotations

from typing import Any, NamedTuple

from pipeline.command.verdict import QueueUse, bottleneck, share


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
        fingerprint: Of the order in which the examples came, in all runs so far; None if that was left to the threads.
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
    fingerprint: str | None = None

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
            "fingerprint": self.fingerprint,
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
            *([f"fingerprint {self.fingerprint}"] if self.fingerprint else []),
            "",
            f"{'queue':<10}{'capacity':>10}{'mean size':>11}{'most':>9}{'full':>7}{'empty':>7}"
            f"{'producers waited':>18}{'consumers waited':>18}",
            *(self._row(use) for use in (self.files, self.queue)),
            "",
            self.bottleneck()[1],
        ]
        return "\n".join(lines)

    def bottleneck(self) -> tuple[str, str]:
        """Return the stage that holds up the others, and a sentence that says so and names the option to change."""
        if not (self.examples or self.interrupted) and self.fingerprint and not self.fingerprint.startswith("0-"):
            return "start", "No batch was left: the run that saved the state had come to the end of its input."
        return bottleneck(self.queue, self.examples, self.seconds, self.first_batch_s, self.settings)

    def _row(self, use: QueueUse) -> str:
        s, seconds = use.stats, self.seconds
        put = share(s.enqueue_wait_s, seconds, use.producers)
        take = share(s.dequeue_wait_s, seconds, use.consumers)
        return (
            f"{use.name:<10}{s.capacity:>10,}{use.mean_size:>11,.0f}{s.high_water:>9,}"
            f"{share(s.full_s, seconds):>7.0%}{share(s.empty_s, seconds):>7.0%}{put:>18.0%}{take:>18.0%}"
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
