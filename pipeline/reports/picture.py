"""Stages as SVG: tanks with a level, boxes with a share, and arrows."""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Iterable, Iterator, Sequence

from pipeline.reports.model import Stage, Tank
from pipeline.reports.words import cut, escaped, held, level, mark, printable, progress, rate
from pipeline.stats import QueueStats

BOX_WIDTH, BOX_HEIGHT = 124, 58
COLUMN, ROW = 164, 140  # from one box to the next
_MARGIN = 14
_HEAD = 34  # above the box: kind and name
_LINE = 14
_TICK = 12  # pixels: a mark's length, left and right of the words
_SMALL = 6.0  # pixels: a caption character's width

# By name too: resvg knows no `system-ui`, and by `sans-serif` it means Arial.
FONTS = "system-ui,-apple-system,'Segoe UI',Helvetica,Arial,'Liberation Sans','DejaVu Sans','Noto Sans',sans-serif"

# The card has its own background, so its texts are readable on any page.
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


STYLE = (
    f"<style>{_rules(_LIGHT)}@media (prefers-color-scheme:dark){{{_rules(_DARK)}}}"
    f".pipeline-text,.pipeline-dim{{font-family:{FONTS}}}</style>"
)


def picture(
    stages: Sequence[Stage], edges: Iterable[tuple[int, int]] = (), slow: Collection[int] = (), caption: str = ""
) -> str:
    """Return an SVG with each stage to the right of its inputs.

    Args:
        stages: The stages, each after its inputs, except in cycles.
        edges: Pairs of stage numbers: from, to.
        slow: The bottlenecks' numbers.
        caption: A text below, wrapped to the picture's width.
    """
    places = _places(stages, edges := [*edges])
    columns = 1 + max((column for column, _ in places.values()), default=0)
    rows = 1 + max((row for _, row in places.values()), default=0)
    width = max(2 * _MARGIN + COLUMN * (columns - 1) + BOX_WIDTH, 420 if caption else 0)
    lines = textwrap.wrap(printable(caption), int((width - 2 * _MARGIN) / _SMALL))
    below = _MARGIN + ROW * rows
    height = below + _LINE * len(lines) + (6 if lines else 0)
    drawn = [part for start, end in edges if {start, end} <= set(places) for part in _edge(places[start], places[end])]
    drawn += [part for stage in stages for part in _box(stage, stage.id in slow, *_corner(places[stage.id]))]
    drawn += [_text(_MARGIN, below + _LINE * i + 8, line, 11.5) for i, line in enumerate(lines)]
    label = "; ".join(f"{stage.kind} {stage.name}: {_words(stage)}" for stage in stages)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'role="img" aria-label="{escaped(label)}" style="max-width:100%;height:auto">{STYLE}'
        f"{_rect('card', 0.5, 0.5, width - 1, height - 1, 8)}{''.join(drawn)}</svg>"
    )


def of_queue(kind: str, name: str, stats: QueueStats, min_after_dequeue: int) -> str:
    """Return an SVG for one queue."""
    tank = Tank(stats, min_after_dequeue, stats.size, 0.0, 0.0)
    state = "closed" if stats.closed else "open"
    return picture([Stage(0, kind, name, state, elements=stats.dequeued, tank=tank)])


def _words(stage: Stage) -> str:
    """Return the words in the box."""
    if stage.tank is not None:
        return held(stage)
    if stage.kind == "loop":
        return f"{stage.elements:,}" if stage.state == "running" else stage.state
    if stage.threads:
        return f"{stage.threads} thread{'s' if stage.threads != 1 else ''}"
    return f"{stage.elements:,}{' records' if stage.kind == 'reader' else ''}"


def _notes(stage: Stage) -> tuple[str, str]:
    """Return the lines below the box."""
    speed = f"{rate(stage)}/s" if stage.rate else f"{stage.elements:,} taken"
    busy = "" if stage.busy is None else f", busy {stage.busy:.0%}"
    return speed + busy, progress(stage) or (stage.state if stage.state in ("closed", "ended") else "")


def _places(stages: Sequence[Stage], edges: Sequence[tuple[int, int]]) -> dict[int, tuple[int, int]]:
    """Return each stage's column and row, right of its inputs. Edges back do not count."""
    places: dict[int, tuple[int, int]] = {}
    filled: dict[int, int] = {}
    for stage in stages:
        before = [places[start][0] for start, end in edges if end == stage.id and start in places]
        column = 1 + max(before, default=-1)
        row = filled.get(column, 0)
        filled[column] = row + 1
        places[stage.id] = column, row
    return places


def _corner(place: tuple[int, int]) -> tuple[float, float]:
    """Return the box's upper left corner, below its name."""
    column, row = place
    return _MARGIN + COLUMN * column, _MARGIN + ROW * row + _HEAD


def _edge(start: tuple[int, int], end: tuple[int, int]) -> Iterator[str]:
    (x, y), (to_x, to_y) = _corner(start), _corner(end)
    x, y, to_y = x + BOX_WIDTH, y + BOX_HEIGHT / 2, to_y + BOX_HEIGHT / 2
    if to_x < x:  # it leads back
        return
    middle = to_x - (COLUMN - BOX_WIDTH) / 2
    yield f'<path class="pipeline-line" d="M{x} {y}H{middle - 12}C{middle} {y} {middle - 6} {to_y} {to_x - 6} {to_y}"/>'
    yield f'<path class="pipeline-head" d="M{to_x} {to_y}l-9 -5v10z"/>'


def _box(stage: Stage, slow: bool, x: float, y: float) -> Iterator[str]:
    name, full = printable(stage.name), level(stage)
    yield f"<g><title>{escaped(f'{stage.kind} {name}')}</title>"
    yield _text(x, y - 21, stage.kind, 10.5, "dim")
    yield _text(x, y - 7, cut(name, 18), 12)
    round_by = 4 if full is None else 10
    yield _rect("shell", x, y, BOX_WIDTH, BOX_HEIGHT, round_by)
    if full is not None:
        yield from _water(full, mark(stage), x + 2, y + 2, BOX_WIDTH - 4, BOX_HEIGHT - 4)
    elif stage.busy is not None:
        yield _rect("busy", x + 2, y + BOX_HEIGHT - 10, (BOX_WIDTH - 4) * min(1.0, max(0.0, stage.busy)), 8, 2)
    if slow:
        yield _rect("slow", x, y, BOX_WIDTH, BOX_HEIGHT, round_by)
    yield _text(x + BOX_WIDTH / 2, y + BOX_HEIGHT / 2 + 4, cut(_words(stage), 20), 11.5, middle=True)
    for i, note in enumerate(_notes(stage)):
        yield _text(x, y + BOX_HEIGHT + 15 + 13 * i, cut(note, 25), 10, "dim")
    yield "</g>"


def _water(full: float, at: float | None, x: float, y: float, width: float, height: float) -> Iterator[str]:
    if deep := height * full:
        yield _rect("water", x, y + height - deep, width, deep, min(8, deep / 2))
    if at is not None:
        line = _n(y + height * (1 - at))
        yield f'<path class="pipeline-mark" d="M{x} {line}h{_TICK}M{x + width} {line}h-{_TICK}"/>'


def _text(x: float, y: float, text: str, size: float, style: str = "text", middle: bool = False) -> str:
    anchor = ' text-anchor="middle"' if middle else ""
    return f'<text class="pipeline-{style}" x="{_n(x)}" y="{_n(y)}" font-size="{size}"{anchor}>{escaped(text)}</text>'


def _rect(style: str, x: float, y: float, width: float, height: float, round_by: float) -> str:
    at, size = f'x="{_n(x)}" y="{_n(y)}"', f'width="{_n(width)}" height="{_n(height)}"'
    return f'<rect class="pipeline-{style}" {at} {size} rx="{_n(round_by)}"/>'


def _n(number: float) -> str:
    """Return a coordinate as text, without invisible digits."""
    return f"{number:.1f}".removesuffix(".0")
