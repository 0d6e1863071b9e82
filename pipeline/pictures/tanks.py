"""Stages of a run as SVG: tanks with a level, boxes with a share, and what goes where."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from pipeline.pictures.words import amount, cut, escaped, printable
from pipeline.stats import QueueStats

BOX_WIDTH, BOX_HEIGHT = 124, 58
COLUMN, ROW = 164, 140  # from one box to the next
MARGIN = 14
HEAD = 34  # above the box: kind and name
LINE = 14
TICK = 12  # the length of a mark, left and right of the words
SMALL = 6.0  # pixels: the width of a character of the caption

# By name too: resvg knows no `system-ui`, and by `sans-serif` it means Arial.
FONTS = "system-ui,-apple-system,'Segoe UI',Helvetica,Arial,'Liberation Sans','DejaVu Sans','Noto Sans',sans-serif"

# The card brings its own background, so that texts are readable whatever the page is like.
_LIGHT = {
    "card": "fill:#fff;stroke:#d1d9e0",
    "text": "fill:#1f2328",
    "dim": "fill:#59636e",
    "shell": "fill:#f6f8fa;stroke:#59636e;stroke-width:1.5",
    "water": "fill:#80bdf8",
    "busy": "fill:#7bd88f",
    "mark": "stroke:#59636e;stroke-width:2",
    "line": "fill:none;stroke:#59636e;stroke-width:1.5",
    "head": "fill:#59636e",
    "slow": "fill:none;stroke:#bc4c00;stroke-width:3",
}
_DARK = {
    "card": "fill:#0d1117;stroke:#3d444d",
    "text": "fill:#f0f6fc",
    "dim": "fill:#9198a1",
    "shell": "fill:#151b23;stroke:#9198a1",
    "water": "fill:#1f5fa8",
    "busy": "fill:#22692f",
    "mark": "stroke:#9198a1",
    "line": "stroke:#9198a1",
    "head": "fill:#9198a1",
    "slow": "stroke:#ff9b50",
}


def _rules(colours: dict[str, str]) -> str:
    return "".join(f".pipeline-{name}{{{rule}}}" for name, rule in colours.items())


_STYLE = (
    f"<style>{_rules(_LIGHT)}@media (prefers-color-scheme:dark){{{_rules(_DARK)}}}"
    f".pipeline-text,.pipeline-dim{{font-family:{FONTS}}}</style>"
)


class Box(NamedTuple):
    """One stage of a picture.

    Attributes:
        number: What edges call it.
        kind, name: The words above it.
        words: The words in it.
        level: How full it is, from 0 to 1; None for what is no tank.
        mark: The level below which nothing comes out; None if there is none.
        busy: The share of its time that it was at work; None if nobody knows.
        notes: Lines below it, at most two.
        slow: Whether it holds the others back.
    """

    number: int
    kind: str
    name: str
    words: str
    level: float | None = None
    mark: float | None = None
    busy: float | None = None
    notes: Sequence[str] = ()
    slow: bool = False


def tank(number: int, kind: str, name: str, stats: QueueStats, min_after_dequeue: int) -> Box:
    """Return the box of a queue; `min_after_dequeue` are the elements that stay in it to draw from."""
    bounded = stats.capacity != 2**31 - 1
    full = stats.capacity if bounded else max(1, stats.high_water)
    words = f"{stats.size:,} of {amount(stats.capacity)}"
    mark = min(1.0, min_after_dequeue / full) if min_after_dequeue else None
    notes = f"{stats.dequeued:,} taken", "closed" if stats.closed else ""
    return Box(number, kind, name, words, min(1.0, stats.size / full), mark, notes=notes)


def picture(boxes: Sequence[Box], edges: Iterable[tuple[int, int]], caption: str = "") -> str:
    """Return an SVG of the boxes, what feeds them left of them.

    Args:
        boxes: The stages, each after those that feed it, as far as there is no circle.
        edges: Pairs of numbers of boxes: from where to where.
        caption: A text below, wrapped to the width of the picture.
    """
    places = _places(boxes, edges := [*edges])
    columns = 1 + max((column for column, _ in places.values()), default=0)
    rows = 1 + max((row for _, row in places.values()), default=0)
    width = max(2 * MARGIN + COLUMN * (columns - 1) + BOX_WIDTH, 420 if caption else 0)
    lines = textwrap.wrap(printable(caption), int((width - 2 * MARGIN) / SMALL))
    below = MARGIN + ROW * rows
    height = below + LINE * len(lines) + (6 if lines else 0)
    drawn = [part for start, end in edges if {start, end} <= set(places) for part in _edge(places[start], places[end])]
    drawn += [part for box in boxes for part in _box(box, *_corner(places[box.number]))]
    drawn += [_text(MARGIN, below + LINE * i + 8, line, 11.5) for i, line in enumerate(lines)]
    label = "; ".join(f"{box.kind} {box.name}: {box.words}" for box in boxes)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'role="img" aria-label="{escaped(label)}" style="max-width:100%;height:auto">{_STYLE}'
        f"{_rect('card', 0.5, 0.5, width - 1, height - 1, 8)}{''.join(drawn)}</svg>"
    )


def _places(boxes: Sequence[Box], edges: Sequence[tuple[int, int]]) -> dict[int, tuple[int, int]]:
    """Column and row of each box: a column right of all that feed it. Edges of circles that lead back do not count."""
    places: dict[int, tuple[int, int]] = {}
    filled: dict[int, int] = {}
    for box in boxes:
        before = [places[start][0] for start, end in edges if end == box.number and start in places]
        column = 1 + max(before, default=-1)
        row = filled.get(column, 0)
        filled[column] = row + 1
        places[box.number] = column, row
    return places


def _corner(place: tuple[int, int]) -> tuple[float, float]:
    """The upper left corner of the box itself, below its name."""
    column, row = place
    return MARGIN + COLUMN * column, MARGIN + ROW * row + HEAD


def _edge(start: tuple[int, int], end: tuple[int, int]) -> Iterator[str]:
    (x, y), (to_x, to_y) = _corner(start), _corner(end)
    x, y, to_y = x + BOX_WIDTH, y + BOX_HEIGHT / 2, to_y + BOX_HEIGHT / 2
    if to_x < x:  # a circle
        return
    middle = to_x - (COLUMN - BOX_WIDTH) / 2
    yield f'<path class="pipeline-line" d="M{x} {y}H{middle - 12}C{middle} {y} {middle - 6} {to_y} {to_x - 6} {to_y}"/>'
    yield f'<path class="pipeline-head" d="M{to_x} {to_y}l-9 -5v10z"/>'


def _box(box: Box, x: float, y: float) -> Iterator[str]:
    name = printable(box.name)
    yield f"<g><title>{escaped(f'{box.kind} {name}')}</title>"
    yield _text(x, y - 21, box.kind, 10.5, "dim")
    yield _text(x, y - 7, cut(name, 18), 12)
    round_by = 4 if box.level is None else 10
    yield _rect("shell", x, y, BOX_WIDTH, BOX_HEIGHT, round_by)
    if box.level is not None:
        yield from _water(box.level, box.mark, x + 2, y + 2, BOX_WIDTH - 4, BOX_HEIGHT - 4)
    elif box.busy is not None:
        share = min(1.0, max(0.0, box.busy))
        yield _rect("busy", x + 2, y + BOX_HEIGHT - 10, (BOX_WIDTH - 4) * share, 8, 2)
    if box.slow:
        yield _rect("slow", x, y, BOX_WIDTH, BOX_HEIGHT, round_by)
    yield _text(x + BOX_WIDTH / 2, y + BOX_HEIGHT / 2 + 4, cut(box.words, 20), 11.5, middle=True)
    for i, note in enumerate(box.notes[:2]):
        yield _text(x, y + BOX_HEIGHT + 15 + 13 * i, cut(printable(note), 25), 10, "dim")
    yield "</g>"


def _water(level: float, mark: float | None, x: float, y: float, width: float, height: float) -> Iterator[str]:
    deep = height * min(1.0, max(0.0, level))
    if deep:
        top = y + height - deep
        yield _rect("water", x, top, width, deep, min(8, deep / 2))
    if mark is not None:
        at = _n(y + height * (1 - mark))
        yield f'<path class="pipeline-mark" d="M{x} {at}h{TICK}M{x + width} {at}h-{TICK}"/>'


def _text(x: float, y: float, text: str, size: float, style: str = "text", middle: bool = False) -> str:
    anchor = ' text-anchor="middle"' if middle else ""
    return f'<text class="pipeline-{style}" x="{_n(x)}" y="{_n(y)}" font-size="{size}"{anchor}>{escaped(text)}</text>'


def _rect(style: str, x: float, y: float, width: float, height: float, round_by: float) -> str:
    at, size = f'x="{_n(x)}" y="{_n(y)}"', f'width="{_n(width)}" height="{_n(height)}"'
    return f'<rect class="pipeline-{style}" {at} {size} rx="{_n(round_by)}"/>'


def _n(number: float) -> str:
    """A coordinate, without digits that nobody sees."""
    return f"{number:.1f}".removesuffix(".0")
