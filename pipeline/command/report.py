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
from pipeline.reports.offers import WORTH, between
from pipeline.reports.report import Report as Run
from pipeline.reports.short_calls import AS_FAST
from pipeline.reports.words import WIDTH, hundredths, wrapped

_SHUFFLE = re.compile(r"`shuffle\([\d,]*\)`")  # its buffer's size is nothing that was written
_LOOP = {"Y": "The loop that counts batches", "y": "the loop that counts batches"}
_NO_SHUFFLE = "If the examples are in random order already, try --no-shuffle"
_MOST_BY_SHUFFLE = (
    4.0  # measured: 1.8 to 3.8, because the other steps find less of their data in the processor's caches
)
# Names for the dataset steps, because none was written by the user.
_IN_WORDS = {"_contents": "read", "_decoded": "decode", "list": "files"}
_SMALLER_BUFFER = "A smaller --min-after-dequeue starts sooner and shuffles less."
_AS_FAST = "This is about as fast as one thread reads these files."
_FEWER_COLUMNS = "In a program, `pipeline.csv(..., columns=[...])` reads fewer columns."
_IN_PYTHON = {  # advice for sources that make each example in Python
    "jsonl": "Convert to Parquet, for example with pyarrow.json.read_json",
    "npz": "In a program, load the files in workers: `pipeline.dataset(files).map(load, workers={})`",
    "tar": "In a program, pass `decoders={{'jpg': bytes}}`, and decode in `.map(decode, workers={})`",
}
_WHOLE = ("images", "files")  # formats that threads read
_LARGE_BATCH = 1024  # compiled steps hand over larger batches in no noticeable time
_SHORT_BATCH = 600.0  # microseconds: handing a batch over takes 15 to 90
_MEDIUM_BATCH = 256  # from 512 on the gain was 0.7 to 1.5
_HAND_OVER = 15.0  # microseconds to hand a batch over, at least
# Gain and least gain of Parquet for batches of at least so many examples; measured: 11 to 42, 4.5 to 14 and 2.5 to 3.4.
_PARQUET = (512, (50.0, 8.0)), (64, (15.0, 3.0)), (0, (5.0, 1.5))
_PARQUET_OF_LISTS = 10.0, 1.0  # measured: 1.1 to 9
_STANDS_OUT = 1.5  # factor: a verdict on steps closer to each other would vary between runs
_SHARED = 0.3  # share of a thread's work: a shuffle with so much is worth leaving out
_MANY_COLUMNS = 4
_MANY_FILES, _SHORT_FILE = 20, 1000  # files, and examples in each: opening one takes as long as 200 rows of a CSV file
_FEWER_FILES = "Join the files: fewer and larger ones are read faster."
LONG_ENOUGH = 3.0  # seconds after which a run's verdict no longer varies between runs
_NO_RATE = 0.1  # seconds: the start takes much of a shorter run, so that the number of epochs would be far too small
SHORT = 1.0  # seconds: shorter runs have no table


class _Texts(NamedTuple):
    """A verdict in the command's words: as in `Verdict`, where `knob` is an option."""

    cause: str
    advice: str = ""
    knob: str | None = None
    gain: float | None = None
    least: float | None = None


class _Advice(NamedTuple):
    """The last three fields of `_Texts`, after the advice."""

    advice: str
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
        cached: True if the files came out of the system's memory, so that no step waited for them.
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
    cached: bool = False

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
        columns = f" ({_columns(self.columns)})" if self.columns else ""
        batches = f"{self.batches:,} {'batch' if self.batches == 1 else 'batches'}"
        text, run = self.bottleneck()["text"], self.in_words()
        advice = wrapped(text)
        amounts = (
            f"{count(self.examples, 'example')}{columns} in {batches}",
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
            *([advice] if self.seconds < SHORT else ["", *([] if run.verdicts else [advice, ""]), str(run)]),
        ]
        return "\n".join(lines)

    def in_words(self) -> Run:
        """Return the model of the run in the command's words: its stages, and its verdict once there is one."""
        text = self.bottleneck()["text"]
        verdicts = tuple(dataclasses.replace(each, starved="", cause=text, advice="") for each in self.run.verdicts)
        return dataclasses.replace(self.run, stages=tuple(map(_in_words, self.run.stages)), verdicts=verdicts)

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
        if texts.knob == "--batch-size":
            kind, number = "prefetch", next((each.id for each in self.run.stages if each.tank is not None), number)
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
        if verdict.starved or self.cached:  # waiting for a processor, or for the GIL, looks like waiting for I/O
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
        if (verdict.kind in ("source", "step") or small) and WAITS not in cause:
            larger = self._larger_batches()
            if larger.gain is not None:
                return _Texts(self._small_batches(), *larger)
        if verdict.kind in ("source", "step") or small:
            if WAITS not in cause:
                cause = self._by_size(cause)
            return _Texts(cause, *self._of_thread(verdict, cause))
        if verdict.advice.startswith((MEASURE_AGAIN, AS_FAST)):
            return _Texts(cause, verdict.advice)
        return _Texts(cause, *self._advice(verdict, cause))

    def _of_thread(self, verdict: Verdict, cause: str) -> _Advice:
        """Return the advice for steps in the thread that prepares batches, and the option."""
        format, longest = self.settings["format"], self._longest()
        reads = verdict.kind == "source" if longest is None else longest.kind == "source"
        shared = cause.startswith(NO_STEP)
        if WAITS in cause:
            return _Advice("Faster storage or a local copy of the files would help.")
        if format == "jsonl":
            size = self.settings["batch_size"]
            gains = _PARQUET_OF_LISTS if self._nested() else next(each for least, each in _PARQUET if size >= least)
            return _Advice(f"{_IN_PYTHON[format]}{between(gains[1], gains[0])}.", None, *gains)
        if format in _IN_PYTHON and self.run.processors > 1 and reads and (format != "tar" or "uint8" in self.columns):
            return _Advice(f"{_IN_PYTHON[format].format(self.run.processors)}.")
        if format not in _IN_PYTHON and ("Bottleneck: `shuffle`" in cause or (shared and self._shuffles() > _SHARED)):
            return self._no_shuffle()
        if (reads or shared) and self._per_file() < _SHORT_FILE:
            return _Advice(_FEWER_FILES)
        if (reads or shared) and format == "csv" and sum(self.columns.values()) >= _MANY_COLUMNS:
            return _Advice(_FEWER_COLUMNS)
        return _Advice(f"{MEASURE_AGAIN}." if verdict.starved else _AS_FAST)

    def _no_shuffle(self) -> _Advice:
        """Return the advice not to shuffle, with the largest gain: twice that of leaving out the step's share."""
        most = min(_MOST_BY_SHUFFLE, 2 / max(0.01, 1 - self._shuffles()))
        return _Advice(f"{_NO_SHUFFLE}{between(1.0, most)}.", "--no-shuffle", most, 1.0)

    def _shuffles(self) -> float:
        """Return the shuffle's share of the steps' time."""
        working = self._working()
        shuffles = sum(taken(each) for each in working if each.name.startswith("shuffle"))
        return shuffles / max(0.01, sum(map(taken, working)))

    def _by_size(self, cause: str) -> str:
        """Return the cause by the steps' shares: the longest one, or all if another one is nearly as long."""
        found = sorted(filter(taken, self._working()), key=taken, reverse=True)
        if len(found) > 1 and taken(found[0]) < _STANDS_OUT * taken(found[1]):
            return f"{NO_STEP}: {', '.join(f'`{_in_words(each).name}` {taken(each):.0%}' for each in found[:3])}."
        if not found or cause.startswith(f"Bottleneck: `{_in_words(found[0]).name}`"):
            return cause
        return f"Bottleneck: `{_in_words(found[0]).name}` ({taken(found[0]):.0%} of the time)."

    def _small_batches(self) -> str:
        each = _rate(self.batches, self.seconds)
        return f"Bottleneck: small batches ({count(self.settings['batch_size'], 'example')}, {each:,.0f} per second)."

    def _larger_batches(self) -> _Advice:
        """Return the advice for small batches, with its gain; without one if handing them over takes little time."""
        size, format = self.settings["batch_size"], self.settings["format"]
        each = 1e6 * (self.seconds - self.first_batch_s) / max(1, self.batches - 1)  # microseconds per batch
        length = self.bytes / self.examples
        short = 0 < each < _SHORT_BATCH
        if self._nested() or format in (*_IN_PYTHON, *_WHOLE) or size >= _MEDIUM_BATCH or not short:
            return _Advice("")
        # The range held for six files with batches of 4, 16 and 128: the gains were 1.0 to 67.
        shortest, longest = 0.1 + length / 1000, 2 + length / 50  # microseconds per example in large batches
        shortest = min(shortest, each / size / 4)  # such as rows of a .npy file, where handing over takes the rest
        most = each / size / (shortest + max(0.0, each - shortest * size) / _LARGE_BATCH)
        apart = each / size / (longest + each / _LARGE_BATCH)
        least = max(1.0, apart, each / (each - min(_HAND_OVER, each / 2) * (1 - size / _LARGE_BATCH)))
        if most < WORTH:
            return _Advice("")
        return _Advice(f"Try --batch-size {_LARGE_BATCH}{between(least, most)}.", "--batch-size", most, least)

    def _nested(self) -> bool:
        """Return whether examples have lists, which are padded or made one by one."""
        return any(kind.startswith(("list", "dict", "ListValue")) for kind in self.columns)

    def _filled(self) -> Stage | None:
        """Return the shuffle step if most of the run went by until the first batch; else None."""
        if self.first_batch_s < MOSTLY * self.seconds:
            return None
        return next((each for each in self.run.stages if each.name.startswith("shuffle(")), None)

    def _filling(self, by: str = "") -> str:
        share = self.first_batch_s / self.seconds
        return f"Bottleneck: filling the buffer of `shuffle` took {share:.0%} of the time{by}."

    def _per_file(self) -> float:
        """Return how many examples a file has on average, if there are many; else infinity."""
        files = len(self.settings["files"]) * (self.settings["epochs"] or math.inf)
        return self.examples / files if len(self.settings["files"]) >= _MANY_FILES else math.inf

    def _kept(self) -> int:
        """Return how many examples the shuffle buffer holds."""
        return int(self.settings["min_after_dequeue"] + self.settings["batch_size"])

    def _longer(self, times: float) -> str:
        """Return what to do after a run that was too short: so many times as many epochs."""
        if self.seconds < _NO_RATE:
            return f"try --epochs 0, and press Ctrl-C after {LONG_ENOUGH:.0f} s"
        if not self.settings["epochs"]:
            return f"let it run for {LONG_ENOUGH:.0f} s or more"
        needed = math.ceil(self.settings["epochs"] * times)
        size = 10 ** (len(str(needed)) - 1)
        return f"try --epochs {math.ceil(needed / size) * size}"

    def _advice(self, verdict: Verdict, cause: str) -> _Advice:
        """Return the advice for functions in threads, for the loop, and for a prefetch."""
        threads, processors = self.settings["threads"], self.run.processors
        if verdict.kind == "consumer":
            return _Advice("Your files keep up with a loop that does nothing else.")
        gain = verdict.gain or 1.0
        if verdict.kind == "prefetch":
            assert verdict.value is not None
            capacity = self.settings["min_after_dequeue"] + verdict.value * self.settings["batch_size"]
            return _Advice(f"Try --capacity {capacity}{between(1.0, gain)}.", "--capacity", gain, 1.0)
        if "pipeline.processes(" in verdict.advice:
            text = f"In a program, pass `workers=pipeline.processes({verdict.value})` to `map`"
            return _Advice(f"{text}{between(verdict.least or 1.0, gain)}.", None, gain, verdict.least or 1.0)
        wanted = max(verdict.value or 0, min(2 * threads, processors))
        if self.cached:  # reading computes
            wanted = min(wanted, processors)
        if wanted > threads:
            most, least = min(gain, wanted / threads), verdict.least or 1.0
            return _Advice(f"Try --threads {wanted}{between(least, most)}.", "--threads", most, min(least, most))
        smaller = f"smaller {'images' if self.settings['format'] == 'images' else 'files'}"
        helps = "faster files" if WAITS in cause else smaller
        return _Advice(f"All {processors} processors have a thread: {helps} help.")

    def _working(self) -> list[Stage]:
        """Return the steps in the read-ahead thread."""
        return [each for each in self.run.stages if each.kind != "loop" and each.tank is None and not made_by(each)]

    def _longest(self) -> Stage | None:
        """Return the step with most of the read-ahead thread's time."""
        longest = max(self._working(), key=taken, default=None)
        return longest if longest is not None and taken(longest) else None


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
