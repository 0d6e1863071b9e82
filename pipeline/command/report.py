"""The report for a `feed` run: its figures, and the run's model with table and verdict."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

from pipeline.diagnostics.wording import count
from pipeline.reports.advice import AS_FAST, MEASURE_AGAIN
from pipeline.reports.facts import COMPUTES, made_by, taken
from pipeline.reports.model import Stage, Verdict
from pipeline.reports.report import Report as Run
from pipeline.reports.words import wrapped

# Stages in the command's words; all others are threads that read and decode.
_STAGES = {"consumer": "consumer", "pool": "shuffle", "step": "shuffle", "prefetch": "queue", "start": "start"}
_SHUFFLES = "`shuffle("
_NO_SHUFFLE: tuple[str, str | None] = "If the order does not matter, try --no-shuffle.", "--no-shuffle"
# Names for the dataset steps, because none was written by the user.
_IN_WORDS = {"_contents": "read", "_decoded": "decode"}
_LESS_PARSING = "fewer columns or a format that needs less parsing"
_ALIKE = 0.5  # a step with this part of the longest one's time is a bottleneck, too
LONG_ENOUGH = 3.0  # seconds after which a run's verdict no longer varies between runs
SHORT = 1.0  # seconds: shorter runs have no table


class FeedReport(NamedTuple):
    """The figures of one run.

    Attributes:
        examples, batches, bytes: Amounts processed; bytes are those in the lines read, including line ends.
        seconds: From the first request for a batch to the last batch.
        first_batch_s: Seconds until the first batch was complete.
        run: The model of the run.
        columns: Column count per type.
        interrupted: True if Ctrl-C ended the run.
        settings: The run's options by name.
        fingerprint: Fingerprint over all examples, in all runs so far; None if threads decided their order.
    """

    examples: int
    batches: int
    bytes: int
    seconds: float
    first_batch_s: float
    run: Run
    columns: dict[str, int]
    interrupted: bool
    settings: dict[str, Any]
    fingerprint: str | None = None

    @property
    def nothing_to_read(self) -> bool:
        """True if the input ended without an example, in this run and in the runs it resumed from."""
        before = self.fingerprint is not None and not self.fingerprint.startswith("0-")
        return not (self.examples or self.interrupted or before)

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
            "queues": [
                {"name": stage.name, "mean_size": stage.tank.mean_size, **stage.tank.stats._asdict()}
                for stage in self.run.stages
                if stage.tank is not None
            ],
            "bottleneck": self.bottleneck(),
            "settings": self.settings,
        }

    def to_text(self) -> str:
        """Return the report for people, as several lines."""
        columns = ", ".join(f"{number} {kind}" for kind, number in self.columns.items())
        batches = f"{self.batches:,} {'batch' if self.batches == 1 else 'batches'}"
        text = self.bottleneck()["advice"]
        verdicts = tuple(dataclasses.replace(each, starved="", cause=text, advice="") for each in self.run.verdicts)
        run = dataclasses.replace(self.run, stages=tuple(map(_in_words, self.run.stages)), verdicts=verdicts)
        advice = wrapped(text)
        lines = [
            f"{count(self.examples, 'example')} ({columns}) in {batches}, {_bytes(self.bytes)}, "
            f"{self.seconds:.2f} s{', interrupted' if self.interrupted else ''}",
            f"{_rate(self.examples, self.seconds):,.0f} examples/s, {_bytes(_rate(self.bytes, self.seconds))}/s, "
            f"first batch after {self.first_batch_s:.3f} s",
            *([f"fingerprint {self.fingerprint}"] if self.fingerprint else []),
            *([advice] if self.seconds < SHORT else ["", *([] if verdicts else [advice, ""]), str(run)]),
        ]
        return "\n".join(lines)

    def bottleneck(self) -> dict[str, Any]:
        """Return the bottleneck stage with a sentence about it, the option to change, and the gain."""
        verdict = self.run.verdict
        if not (self.examples or self.interrupted):
            text = "No batch was left: the run that saved the state had come to the end of its input."
            return {"stage": "start", "advice": text, "knob": None, "gain": None}
        if self.examples == 0 or verdict is None:
            text = "No batch came through: the run ended before the first one was complete."
            return {"stage": "start", "advice": text, "knob": None, "gain": None}
        cause, advice, knob = self._texts(verdict)
        stage = _STAGES.get(verdict.kind, "readers")
        if verdict.kind == "step" and _SHUFFLES not in verdict.cause:
            stage = "batches"
        text = " ".join(filter(None, (verdict.starved, cause, advice)))
        return {"stage": stage, "advice": text, "knob": knob, "gain": verdict.gain}

    def _texts(self, verdict: Verdict) -> tuple[str, str, str | None]:
        """Return the cause and the advice as sentences in the command's words, and the option to change."""
        if verdict.kind == "short":
            took = f"Too short to judge ({self.seconds:.2f} s)"
            return f"{took}: let it run for {LONG_ENOUGH:.0f} s or more, by --epochs.", "", "--epochs"
        cause = verdict.cause
        for name, words in _IN_WORDS.items():
            cause = cause.replace(f"`{name}`", f"`{words}`")
        if verdict.advice.startswith((MEASURE_AGAIN, AS_FAST)):
            return cause, verdict.advice, None
        if verdict.kind in ("source", "step") and (pair := self._sharing()):
            advice, knob = _NO_SHUFFLE if _SHUFFLES in pair else ("", None)
            return f"Bottleneck: {pair} share one thread.", advice, knob
        return cause, *self._advice(verdict)

    def _advice(self, verdict: Verdict) -> tuple[str, str | None]:
        """Return the verdict's advice in terms of the command's options, and the option."""
        threads, processors = self.settings["threads"], self.run.processors
        if verdict.kind == "consumer":
            return "Your files keep up with a loop that does nothing else.", None
        if verdict.kind == "pool":
            return "A smaller --min-after-dequeue starts sooner and shuffles less.", "--min-after-dequeue"
        if verdict.kind == "prefetch" and verdict.value is None:
            return "Try a larger --batch-size.", "--batch-size"
        if verdict.kind == "prefetch":
            return f"Try --capacity {2 * self.settings['capacity']}.", "--capacity"
        if verdict.kind == "source":
            helps = _LESS_PARSING if f"{COMPUTES})" in verdict.cause else "faster files"
            return f"One thread reads: {helps} help.", None
        if verdict.kind == "step" and _SHUFFLES in verdict.cause:
            return _NO_SHUFFLE
        if verdict.kind == "step":
            return "Your files keep up with it.", None
        if threads < processors:
            return f"Try --threads {min(2 * threads, processors)}.", "--threads"
        return f"All {processors} processors have a thread: faster files or fewer columns help.", None

    def _sharing(self) -> str:
        """Return the two longest steps in one thread with their shares; "" if one of them takes most of its time."""
        working = [each for each in self.run.stages if each.kind != "loop" and each.tank is None and not made_by(each)]
        parts = sorted(working, key=taken, reverse=True)
        if len(parts) < 2 or not taken(parts[1]) or taken(parts[1]) < _ALIKE * taken(parts[0]):
            return ""
        return " and ".join(f"`{_in_words(each).name}` {taken(each):.0%}" for each in parts[:2])


def _in_words(stage: Stage) -> Stage:
    if stage.kind == "loop":
        return dataclasses.replace(stage, settings={**stage.settings, "called": "batches counted"})
    return dataclasses.replace(stage, name=_IN_WORDS.get(stage.name, stage.name))


def _rate(amount: float, seconds: float) -> float:
    return amount / seconds if seconds > 0 else 0.0


def _bytes(amount: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if amount < 1000 or unit == "GB":
            return f"{amount:,.0f} {unit}" if unit == "B" else f"{amount:,.1f} {unit}"
        amount /= 1000
    raise AssertionError
