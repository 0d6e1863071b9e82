"""Advice for calls too short for workers: one call for many examples, with the names and sizes of this dataset."""

from __future__ import annotations

import re
from typing import NamedTuple

from pipeline.reports.facts import OF_USERS, Thread, called, has_workers, made_by, taken
from pipeline.reports.model import Stage
from pipeline.reports.report import Report

AS_FAST = "This is about as fast as one thread"

# Speed-up by `csv`, for batches of at least so many examples, over Python that splits and converts lines of 4 to 65
# columns: to an array for the least one, to a list of floats for the largest.
_BY_CSV = (32, (5.0, 30.0)), (8, (2.0, 10.0)), (0, (1.0, 4.0))
_PAYS = 256  # examples: NumPy is hardly faster than Python for smaller batches


class Change(NamedTuple):
    """A change in the dataset; all attributes as in `Remedy`."""

    advice: str
    gain: float | None = None
    least: float | None = None
    note: str = ""


def for_call(report: Report, slow: Stage, thread: Thread, limit: float | None) -> Change:
    """Return the change for one short function or source.

    Args:
        report: The run.
        slow: The function or source.
        thread: Its thread.
        limit: The share of the time needed without it; None if unknown.
    """
    if slow.kind == "source":
        return Change(_whole_arrays(slow))
    if called(report, slow)[1]:
        return Change("To go faster, make larger batches")
    if slow.settings.get("call") == "filter":
        return Change("To go faster, filter whole batches (`.batch(n).map_batches(f).unbatch()`)")
    if any(each.settings.get("csv_lines") for each in report.stages):  # most likely to split them
        return _by_csv(report, thread)
    return _whole_batches(report, slow, thread, limit)


def by_source(report: Report, slow: Stage) -> Change | None:
    """Return the change if the source can parse Examples instead of a function, many times as fast; else None."""
    if slow.settings.get("parses") and _parses(report, "parse_single_example", "tfrecord"):
        return Change(f"Let the source parse them instead of `{slow.name}`: `pipeline.tfrecord(paths, features)`")
    return None


def _parses(report: Report, parser: str, source: str) -> bool:
    """Return whether a function calls this parser for examples from this kind of source."""
    parses = any(each.settings.get("parses") == parser for each in report.stages)
    return parses and any(each.settings.get("source") == source for each in report.stages)


def _by_csv(report: Report, thread: Thread) -> Change:
    """Return the change to read columns; the loop takes its time as before."""
    loop = max(each.busy or 0.0 for each in report.stages if each.kind == "loop")
    gains = next(gains for examples, gains in _BY_CSV if _batch_size(thread) >= examples)
    turns = loop if thread.first else 0.0  # the share of the time in which the thread runs the loop
    least, gain = (1 / max(loop, turns + (1 - turns) / each) for each in gains)
    note = "; batches become dicts of columns"
    return Change("Read its columns with `pipeline.csv(path, names=[...])`", gain, least, note)


def for_all(report: Report, thread: Thread) -> Change:
    """Return the change for a thread of short steps."""
    mapped = thread.step("map")
    source = next((each for each in thread.parts if each.settings.get("source") in OF_USERS), None)
    if mapped is not None and not called(report, mapped)[1] and (source is None or taken(source) <= taken(mapped)):
        return _whole_batches(report, mapped, thread, 1 - taken(mapped))
    if source is not None:
        return Change(_whole_arrays(source))
    if thread.reads_files:
        return Change(f"{AS_FAST} reads this file")
    return Change(f"{AS_FAST} goes; larger batches take less time per example")


def _batch_size(thread: Thread) -> int:
    """Return the size of a thread's batches; 0 if it makes none."""
    batch = thread.step("batch")
    given = None if batch is None else re.search(r"\d+", batch.name.replace(",", ""))
    return int(given[0]) if given else 0


def _whole_batches(report: Report, slow: Stage, thread: Thread, limit: float | None) -> Change:
    """Return the change to call a function once per batch."""
    if _parses(report, "loads", "text"):
        return Change("Read the file with `pipeline.jsonl(path)`")
    name = "f" if slow.name.endswith(">") else slow.name
    batch = thread.step("batch")
    size = "batch(n)" if batch is None else batch.name
    if any(each.settings.get("source") == "text" for each in report.stages):
        listed = "batch(64, collate=list)" if batch is None else f"{size.removesuffix(')')}, collate=list)"
        return Change(f"To go faster, do more per call, such as `.{listed}.map_batches({name})`")
    workers = ""
    if has_workers(slow):
        number = str(slow.threads)
        workers = f", workers={number if made_by(slow) == 'pipeline.threads' else f'{made_by(slow)}({number})'}"
    large = re.sub(r"\d[\d,]*\d|\d", str(_PAYS), size, count=1) if 0 < _batch_size(thread) < _PAYS else size
    advice = (
        f"To go faster, write `{slow.name}` for whole batches in NumPy: `.{large}.map_batches({name})` instead of "
        f"`.map({name}{workers}).{size}`"
    )
    if limit is None:
        return Change(advice)
    return Change(advice, 1 / max(limit, 1e-3), 1.0)


def _whole_arrays(source: Stage) -> str:
    """Return the advice for a source whose examples take little time each."""
    if source.settings.get("source") in ("callable", "stateful"):
        return f"To go faster, let `{source.name}` yield arrays of many examples, and add `.unbatch()`"
    if source.name == "range":
        return "To go faster, start from an array: `pipeline.dataset(np.arange(n))`"
    return "To go faster, pass arrays (`pipeline.arrays(x)`) instead of single examples"
