"""Words about a stage, and texts made fit for a terminal or XML, or cut to a width."""

from __future__ import annotations

import html
import math
import textwrap
import unicodedata
from collections.abc import Mapping
from typing import Any

from pipeline.reports.model import UNBOUNDED, Stage

WIDTH = 80  # columns for a verdict

_XML = {"\t", "\n"}


def printable(text: str) -> str:
    """Return the text with control codes and invalid characters as escapes such as `\\x1b`."""
    return text if text.isprintable() else "".join(each if each.isprintable() else _escape(each) for each in text)


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def escaped(text: str) -> str:
    """Return the text for XML and HTML, in elements and attributes."""
    return html.escape("".join(each if each in _XML or each.isprintable() else _escape(each) for each in text))


def cells(text: str) -> int:
    """Return the text's width in terminal columns: two per wide character."""
    return sum(2 if unicodedata.east_asian_width(each) in "WF" else 1 for each in text)


def cut(text: str, width: int) -> str:
    """Return the text in at most `width` columns, with an ellipsis if it is cut."""
    if cells(text) <= width:
        return text
    kept, used = "", 1
    for each in text:
        used += cells(each)
        if used > width:
            break
        kept += each
    return f"{kept}\N{HORIZONTAL ELLIPSIS}"


def wrapped(text: str, indent: str = "") -> str:
    """Return a text wrapped to 80 columns, with each line indented."""
    lines = textwrap.wrap(
        printable(text),
        WIDTH,
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return "\n".join(lines)


def amount(number: int) -> str:
    """Return a capacity as text."""
    return "unbounded" if number == UNBOUNDED else f"{number:,}"


def share(part: float | None) -> str:
    """Return a share as text, such as 40%; empty if it is not known."""
    return "" if part is None else f"{part:.0%}"


def hundredths(gain: float | None) -> float | None:
    """Return a speed-up for programs, rounded."""
    return None if gain is None else round(gain, 2)


def duration(seconds: float) -> str:
    """Return a time to wait as text: 12 s, 3:20 min, 2:05 h."""
    if seconds < 100:
        return f"{math.ceil(seconds)} s"
    minutes, rest = divmod(int(seconds), 60)
    if minutes < 60:
        return f"{minutes}:{rest:02} min"
    return f"{minutes // 60:,}:{minutes % 60:02} h"


def rate(stage: Stage) -> str:
    """Return elements per second, with a digit behind the point for slow stages."""
    return f"{stage.rate:,.0f}" if stage.rate >= 10 or not stage.rate else f"{stage.rate:.1f}"


def unit(stage: Stage) -> str:
    """Return the plural name for a stage's elements."""
    return str(stage.settings.get("unit", "records" if stage.kind == "reader" else "elements"))


def held(stage: Stage) -> str:
    """Return a queue's level, such as "3 of 32"; "" for other stages."""
    return "" if stage.tank is None else f"{stage.tank.stats.size:,} of {amount(stage.tank.stats.capacity)}"


def level(stage: Stage) -> float | None:
    """Return how full a queue is, from 0 to 1; one without a capacity compared with its largest size."""
    if stage.tank is None:
        return None
    stats = stage.tank.stats
    return min(1.0, stats.size / max(1, stats.high_water if stats.capacity == UNBOUNDED else stats.capacity))


def mark(stage: Stage) -> float | None:
    """Return the level where a shuffle queue begins to deliver; None for other stages."""
    if stage.tank is None or not stage.tank.min_after_dequeue:
        return None
    stats = stage.tank.stats
    most = stats.high_water if stats.capacity == UNBOUNDED else stats.capacity
    return min(1.0, stage.tank.min_after_dequeue / max(1, most))


def progress(stage: Stage) -> str:
    """Return a stage's progress, such as "40%, 3 s left" or "filling 25%, 12 s to go"; "" if unknown."""
    tank, known = stage.tank, stage.progress
    if tank is not None and not stage.elements and stage.state != "closed" and tank.stats.size < tank.min_after_dequeue:
        return _filling(stage)
    if known is None:
        return ""
    if known.total is None:
        return f"epoch {known.epoch:,}"
    if known.position >= known.total:
        return "all handed out"
    epochs = f", epoch {known.epoch:,} of {known.epochs:,}" if known.epochs and known.epochs > 1 else ""
    left = "" if known.eta_s is None else f", {duration(known.eta_s)} left"
    return f"{known.position / known.total:.0%}{epochs}{left}"


def _filling(stage: Stage) -> str:
    """Return how far a shuffle queue is filled before its first element."""
    tank = stage.tank
    assert tank is not None
    text = f"filling {tank.stats.size / tank.min_after_dequeue:.0%}"
    if len(tank.levels) < 2:
        return text
    first, last = tank.levels[0], tank.levels[-1]
    speed = (last.size - first.size) / max(first.age_s - last.age_s, 1e-9)
    return f"{text}, {duration((tank.min_after_dequeue - tank.stats.size) / speed)} to go" if speed > 0 else text


def notes(stage: Stage) -> list[str]:
    """Return notes for a table row: facts without a column."""
    found = [progress(stage)]
    remote = stage.settings.get("remote")
    if remote is not None:
        age = max(remote["age_s"], 1e-9)
        nodes = [f", {printable(name)}: {seen['calls'] / age:,.1f}/s" for name, seen in sorted(remote["nodes"].items())]
        found.append(f"{remote['in_flight']:,} chunks in flight, {remote['retries']:,} begun again{''.join(nodes)}")
    if started := stage.settings.get("started_s"):
        who = "its workers" if stage.settings.get("in_workers") else "it"
        found.append(f"{who} took {started:.1f} s to start, left out here")
    if (drawn := stage.settings.get("drawn")) is not None:
        found.append(_drawn(drawn))
    if stage.bytes is not None:
        found.append(f"{stage.bytes:,} bytes read")
    if stage.errors:
        found.append(f"{stage.errors:,} errors skipped")
    if stage.dropped:
        found.append(f"{stage.dropped:,} examples filled no batch")
    return [each for each in found if each]


def _drawn(inputs: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the draws per input, such as "drawn: web 70 (61% of 3,000 tokens), books 30 (39%)"."""
    tokens = [each["tokens"] for each in inputs.values()]
    whole = None if None in tokens else sum(tokens)
    found: list[str] = []
    for name, each in inputs.items():
        of = f" of {whole:,} tokens" if whole and not found else ""
        share = f" ({each['tokens'] / whole:.0%}{of})" if whole else ""
        found.append(f"{printable(name)} {each['examples']:,}{share}")
    return f"drawn: {', '.join(found)}"
