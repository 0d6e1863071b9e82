"""The report for a `feed` run: its figures, and the run's model with table and verdict."""

from __future__ import annotations

import dataclasses
import math
import re
from typing import Any, NamedTuple

from pipeline.diagnostics.wording import count
from pipeline.reports.advice import MEASURE_AGAIN, NO_STEP
from pipeline.reports.facts import MOSTLY, WAITS, made_by, taken
from pipeline.reports.model import Stage, Verdict
from pipeline.reports.report import Report as Run
from pipeline.reports.short_calls import AS_FAST
from pipeline.reports.words import WIDTH, hundredths, wrapped

_SHUFFLE = re.compile(r"`shuffle\([\d,]*\)`")  # its buffer's size is nothing that was written
_LOOP = {"Y": "The loop that counts batches", "y": "the loop that counts batches"}
_NO_SHUFFLE = "If the examples are in random order already, try --no-shuffle.", "--no-shuffle"
# Names for the dataset steps, because none was written by the user.
_IN_WORDS = {"_contents": "read", "_decoded": "decode", "list": "files"}
_SMALLER_BUFFER = "A smaller --min-after-dequeue starts sooner and shuffles less."
_AS_FAST = "This is about as fast as one thread reads these files."
_FEWER_COLUMNS = "In a program, `pipeline.csv(..., columns=[...])` reads fewer columns."
_IN_PYTHON = {  # advice for sources that make each example in Python
    "jsonl": "Convert to Parquet, for example with pyarrow.json.read_json: feed reads it, too.",
    "npz": "In a program, load the files in workers: `pipeline.dataset(files).map(load, workers=4)`.",
    "tar": "In a program, pass `decoders={'jpg': bytes}`, and decode in `.map(decode, workers=4)`.",
}
_WHOLE = ("images", "files")  # formats that threads read
_LARGE_BATCH = 1024  # compiled steps hand over larger batches in no noticeable time
_SMALL_EXAMPLE = 4096  # bytes
_MANY_COLUMNS = 4
_ALIKE = 0.5  # a step with this part of the longest one's time takes long, too
LONG_ENOUGH = 3.0  # seconds after which a run's verdict no longer varies between runs
SHORT = 1.0  # seconds: shorter runs have no table


class _Texts(NamedTuple):
    """A verdict in the command's words: as in `Verdict`, where `knob` is an option."""

    cause: str
    advice: str = ""
    knob: str | None = None
    gain: float | None = None
    least: float | None = None


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
        columns = _columns(self.columns)
        batches = f"{self.batches:,} {'batch' if self.batches == 1 else 'batches'}"
        text = self.bottleneck()["text"]
        verdicts = tuple(dataclasses.replace(each, starved="", cause=text, advice="") for each in self.run.verdicts)
        run = dataclasses.replace(self.run, stages=tuple(map(_in_words, self.run.stages)), verdicts=verdicts)
        advice = wrapped(text)
        amounts = (
            f"{count(self.examples, 'example')} ({columns}) in {batches}",
            _bytes(self.bytes),
            f"{self.seconds:.2f} s",
            *(["interrupted"] if self.interrupted else []),
        )
        rates = (
            f"{_rate(self.examples, self.seconds):,.0f} examples/s",
            f"{_bytes(_rate(self.bytes, self.seconds))}/s",
            f"first batch after {self.first_batch_s:.3f} s",
        )
        lines = [
            _listed(amounts),
            _listed(rates),
            *([f"fingerprint {self.fingerprint}"] if self.fingerprint else []),
            *([advice] if self.seconds < SHORT else ["", *([] if verdicts else [advice, ""]), str(run)]),
        ]
        return "\n".join(lines)

    def bottleneck(self) -> dict[str, Any]:
        """Return the verdict as data: the step as in the table, the option to change, and the gain."""
        verdict = self.run.verdict
        if self.examples == 0 or verdict is None:
            text = "No batch came through: the run ended before the first one was complete."
            if not (self.examples or self.interrupted):
                text = "No batch was left: the run that saved the state had come to the end of its input."
            return _as_dict(None, "start", _Texts(text), None)
        texts = self._texts(verdict)
        kind, number = verdict.kind, verdict.stage
        if kind == "function" and (pool := self._filled()) is not None:
            kind, number = "pool", pool.id
        step = next((each for each in self.run.stages if each.id == number), None)
        name = None if step is None else _step(_in_words(step))
        return _as_dict(name, kind, texts, verdict.starved)

    def _texts(self, verdict: Verdict) -> _Texts:
        """Return the verdict in the command's words, with the option to change."""
        if verdict.kind == "short":
            return _Texts(
                f"Too short to judge ({self.seconds:.2f} s): {self._longer(LONG_ENOUGH / max(self.seconds, 1e-3))}.",
                "",
                "--epochs",
            )
        cause = _SHUFFLE.sub("`shuffle`", verdict.cause)
        cause = re.sub("([Yy])our loop", lambda found: _LOOP[found[1]], cause)
        if verdict.starved:  # a thread without a processor looks as if it waits for I/O
            cause = cause.replace(WAITS, "")
        for name, words in _IN_WORDS.items():
            cause = cause.replace(f"`{name}`", f"`{words}`")
        filled = self._filled() if verdict.kind == "function" else None
        if (verdict.kind == "pool" or filled is not None) and self.examples <= self._kept():
            advice = f"The run ended before the buffer was full: {self._longer(4 * self._kept() / self.examples)}."
            return _Texts("Too short to judge.", advice, "--epochs")
        if filled is not None:
            busy = cause.removeprefix("Bottleneck: ").partition(";")[0].rstrip(".")
            return _Texts(self._filling(f", by {busy}"), _SMALLER_BUFFER, "--min-after-dequeue")
        if verdict.kind == "pool":
            return _Texts(self._filling(), _SMALLER_BUFFER, "--min-after-dequeue")
        small = verdict.kind == "prefetch" and verdict.value is None
        if (cause.startswith(NO_STEP) or small) and (longest := self._longest(small)) is not None:
            cause = f"Bottleneck: `{_in_words(longest).name}` ({taken(longest):.0%} of the time)."
            return _Texts(cause, *self._of_thread(verdict, cause, longest.kind == "source"))
        if verdict.kind in ("source", "step") or small:
            return _Texts(cause, *self._of_thread(verdict, cause, verdict.kind == "source"))
        if verdict.advice.startswith((MEASURE_AGAIN, AS_FAST)):
            return _Texts(cause, verdict.advice)
        return _Texts(cause, *self._advice(verdict), verdict.gain, verdict.least)

    def _of_thread(self, verdict: Verdict, cause: str, reads: bool) -> tuple[str, str | None]:
        """Return the advice for a source, if it `reads`, or a step in the thread that prepares batches; the option."""
        format, batch_size = self.settings["format"], self.settings["batch_size"]
        if WAITS in cause:
            return "One thread reads: faster files help.", None
        nested = any(kind.startswith(("list", "dict")) for kind in self.columns)
        if format in _IN_PYTHON and reads and not nested and (format != "tar" or "uint8" in self.columns):
            return _IN_PYTHON[format], None
        compiled = not nested and format not in (*_IN_PYTHON, *_WHOLE) and self.bytes <= _SMALL_EXAMPLE * self.examples
        if compiled and batch_size < _LARGE_BATCH:
            return f"Try --batch-size {_LARGE_BATCH}.", "--batch-size"
        if "`prefetch(" in cause:
            return "Try a larger --batch-size.", "--batch-size"
        if verdict.advice.startswith(MEASURE_AGAIN):
            return verdict.advice, None
        if "`shuffle`" in cause:
            return _NO_SHUFFLE
        many = format == "csv" and sum(self.columns.values()) >= _MANY_COLUMNS
        return _FEWER_COLUMNS if many else _AS_FAST, None

    def _filled(self) -> Stage | None:
        """Return the shuffle step if most of the run went by until the first batch; else None."""
        if self.first_batch_s < MOSTLY * self.seconds:
            return None
        return next((each for each in self.run.stages if each.name.startswith("shuffle(")), None)

    def _filling(self, by: str = "") -> str:
        share = self.first_batch_s / self.seconds
        return f"Bottleneck: filling the buffer of `shuffle` took {share:.0%} of the time{by}."

    def _kept(self) -> int:
        """Return how many examples the shuffle buffer holds."""
        return int(self.settings["min_after_dequeue"] + self.settings["batch_size"])

    def _longer(self, times: float) -> str:
        """Return what to do after a run that was too short: so many times as many epochs."""
        if not self.settings["epochs"]:
            return f"let it run for {LONG_ENOUGH:.0f} s or more"
        needed = math.ceil(self.settings["epochs"] * times)
        size = 10 ** (len(str(needed)) - 1)
        return f"try --epochs {math.ceil(needed / size) * size}"

    def _advice(self, verdict: Verdict) -> tuple[str, str | None]:
        """Return the verdict's advice in terms of the command's options, and the option."""
        threads, processors = self.settings["threads"], self.run.processors
        if verdict.kind == "consumer":
            return "Your files keep up with a loop that does nothing else.", None
        if verdict.kind == "prefetch":
            assert verdict.value is not None
            capacity = self.settings["min_after_dequeue"] + verdict.value * self.settings["batch_size"]
            return f"Try --capacity {capacity}.", "--capacity"
        if threads < processors:
            return f"Try --threads {min(2 * threads, processors)}.", "--threads"
        smaller = f"smaller {'images' if self.settings['format'] == 'images' else 'files'}"
        helps = "faster files" if WAITS in verdict.cause else smaller
        return f"All {processors} processors have a thread: {helps} help.", None

    def _longest(self, shuffling: bool) -> Stage | None:
        """Return the step with most of the read-ahead thread's time; if `shuffling`, only if a shuffle takes long."""
        working = [each for each in self.run.stages if each.kind != "loop" and each.tank is None and not made_by(each)]
        longest = max(working, key=taken, default=None)
        if longest is None or not taken(longest):
            return None
        shuffles = any(each.name.startswith("shuffle") and taken(each) >= _ALIKE * taken(longest) for each in working)
        return longest if shuffles or not shuffling else None


def _as_dict(stage: str | None, kind: str, texts: _Texts, starved: str | None) -> dict[str, Any]:
    text = " ".join(filter(None, (starved, texts.cause, texts.advice)))
    gains = {"gain": hundredths(texts.gain), "least": hundredths(texts.least)}
    return {"stage": stage, "kind": kind, **texts._asdict(), **gains, "text": text}


def _in_words(stage: Stage) -> Stage:
    if stage.kind == "loop":
        return dataclasses.replace(stage, settings={**stage.settings, "called": "batches counted"})
    name = "shuffle" if stage.name.startswith("shuffle(") else stage.name
    return dataclasses.replace(stage, name=_IN_WORDS.get(name, name))


def _step(stage: Stage) -> str:
    """Return a step's name in the table."""
    return str(stage.settings.get("called", stage.name))


def _listed(parts: tuple[str, ...]) -> str:
    """Return amounts in a list, with line breaks between them."""
    text = wrapped(parts[0])
    for part in parts[1:]:
        fits = len(text.rpartition("\n")[2]) + len(part) + 3 <= WIDTH
        text += f", {part}" if fits else f",\n{part}"
    return text


def _columns(columns: dict[str, int]) -> str:
    """Return the columns by type; without numbers for examples with one value each."""
    if sum(columns.values()) == 1 and (kind := next(iter(columns))) in ("image", "bytes"):
        return "images" if kind == "image" else kind
    return ", ".join(f"{number} {kind}" for kind, number in columns.items())


def _rate(amount: float, seconds: float) -> float:
    return amount / seconds if seconds > 0 else 0.0


def _bytes(amount: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if amount < 1000 or unit == "GB":
            return f"{amount:,.0f} {unit}" if unit == "B" else f"{amount:,.1f} {unit}"
        amount /= 1000
    raise AssertionError
