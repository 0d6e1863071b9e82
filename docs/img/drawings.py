"""Makes the drawings of docs/how/: `python docs/img/drawings.py` writes them beside this file.

Colours, light and dark, are those of the pictures of pipelines. A test compares what this makes with what is here.
"""

import sys
from pathlib import Path

from pipeline.reports.picture import STYLE
from pipeline.reports.words import escaped

HERE = Path(__file__).parent
sys.path.append(str(HERE.parents[1] / "bench" / "peers"))

import pages  # noqa: E402

SLOT = 18


class Drawing:
    """Parts in the order in which they are put down, on a card."""

    def __init__(self, width, height, about):
        self.head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
            f'role="img" aria-label="{escaped(about)}" style="max-width:100%;height:auto">{STYLE}'
        )
        self.parts = [f'<rect class="pipeline-card" x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="8"/>']

    def bar(self, x, y, width, height, style):
        self.parts.append(f'<rect class="chart-{style}" x="{x}" y="{y}" width="{width:.1f}" height="{height}" rx="2"/>')

    def text(self, x, y, words, dim=False, middle=True, size=13, anchor=""):
        style = "dim" if dim else "text"
        anchor = f' text-anchor="{anchor or "middle"}"' if middle or anchor else ""
        self.parts.append(
            f'<text class="pipeline-{style}" x="{x}" y="{y}" font-size="{size}"{anchor}>{escaped(words)}</text>'
        )

    def box(self, x, y, width, height, *lines, style="shell"):
        """A box with a title, and smaller lines below it."""
        self.parts.append(f'<rect class="pipeline-{style}" x="{x}" y="{y}" width="{width}" height="{height}" rx="6"/>')
        top = y + height / 2 - 8 * len(lines) + 12
        for row, words in enumerate(lines):
            self.text(x + width / 2, top + 16 * row, words, dim=row > 0 and style == "shell", size=12 if row else 13)

    def queue(self, x, y, slots, full=(), marked=(), title="", below=""):
        """Slots in a row: full ones are blue, marked ones are outlined."""
        high = SLOT + 6
        for slot in range(slots):
            left = x + SLOT * slot
            self._rect("water" if slot in full else "shell", left, y, SLOT, high)
            self._rect("line", left, y, SLOT, high)
            if slot in marked:
                self._rect("slow", left + 3, y + 3, SLOT - 6, high - 6)
        self.text(x + SLOT * slots / 2, y - 9, title)
        self.text(x + SLOT * slots / 2, y + SLOT + 24, below, dim=True, size=12)

    def _rect(self, style, x, y, width, height):
        self.parts.append(f'<rect class="pipeline-{style}" x="{x}" y="{y}" width="{width}" height="{height}"/>')

    def arrow(self, x, y, to_x, to_y, words="", above=7):
        """A straight arrow; its words stand above its middle."""
        length = ((to_x - x) ** 2 + (to_y - y) ** 2) ** 0.5
        dx, dy = (to_x - x) / length, (to_y - y) / length
        back_x, back_y = to_x - 9 * dx, to_y - 9 * dy
        self.parts += [
            f'<path class="pipeline-line" d="M{x:g} {y:g}L{back_x:.1f} {back_y:.1f}"/>',
            f'<path class="pipeline-head" d="M{to_x:g} {to_y:g}L{back_x - 5 * dy:.1f} {back_y + 5 * dx:.1f}'
            f'L{back_x + 5 * dy:.1f} {back_y - 5 * dx:.1f}z"/>',
        ]
        if words:
            self.text((x + to_x) / 2, (y + to_y) / 2 - above, words, dim=True, size=12)

    def svg(self):
        return self.head + "".join(self.parts) + "</svg>\n"


def whole():
    """From names of files to batches."""
    d = Drawing(
        760, 250, "File names go into a queue, three threads read and decode, a shuffle queue mixes, a loop takes"
    )
    d.box(16, 90, 92, 50, "file names")
    d.arrow(108, 115, 142, 115)
    d.queue(144, 103, 5, range(4), title="names")
    d.text(140, 162, "filled by a producer", dim=True, size=12)
    for row, y in enumerate((36, 92, 148)):
        d.arrow(234, 115, 278, y + 23)
        d.box(280, y, 156, 46, f"thread {row + 1}", "reader, your function")
        d.arrow(436, y + 23, 486, 115)
    d.queue(488, 103, 8, range(6), title="examples", below="shuffled, up to its capacity")
    d.arrow(632, 115, 664, 115)
    d.box(666, 90, 78, 50, "your loop")
    d.box(280, 204, 352, 32, "a Coordinator: if one stops, all stop")
    return d


def row():
    """What happens to a row between enqueue and dequeue."""
    d = Drawing(
        760, 216, "Places are claimed under the lock, rows are copied without it, numbers are published under it"
    )
    d.text(16, 30, "enqueue", middle=False)
    d.box(100, 12, 150, 50, "claim slots", "the lock, briefly")
    d.arrow(250, 37, 298, 37)
    d.box(300, 12, 190, 50, "copy the rows in", "no lock: others go on", style="busy")
    d.arrow(490, 37, 538, 37)
    d.box(540, 12, 200, 50, "publish their numbers", "the lock, briefly")
    d.queue(300, 98, 10, (1, 2, 3, 5, 6, 8), title="", below="")
    d.text(496, 115, "rows in slots of a queue", dim=True, middle=False, size=12)
    d.arrow(395, 62, 395, 96)
    d.arrow(395, 122, 395, 152)
    d.text(16, 184, "dequeue", middle=False)
    d.box(100, 154, 150, 50, "take numbers", "the lock, briefly")
    d.arrow(250, 179, 298, 179)
    d.box(300, 154, 190, 50, "copy the rows out", "no lock, into the batch", style="busy")
    d.arrow(490, 179, 538, 179)
    d.box(540, 154, 200, 50, "free the slots", "the lock, briefly")
    return d


def pool():
    """What a shuffle queue draws from."""
    d = Drawing(
        760, 196, "In free order a draw is from all that the pool holds, in a fixed order from its oldest elements"
    )
    d.text(16, 30, "free order: a draw is from all that is there just then", middle=False)
    d.queue(150, 66, 16, range(13), range(13), title="", below="")
    d.arrow(30, 78, 146, 78, "in, in any order")
    d.arrow(442, 78, 570, 78, "out, at random")
    d.text(16, 128, "deterministic: from the min_after_dequeue + 1 oldest, however full it is", middle=False)
    d.queue(150, 146, 16, range(13), range(7))
    d.arrow(30, 158, 146, 158, "in, numbered")
    d.arrow(442, 158, 570, 158, "out, by the seed")
    d.text(582, 82, "the timing counts", middle=False, dim=True, size=12)
    d.text(582, 162, "the timing does not count", middle=False, dim=True, size=12)
    return d


def order():
    """Threads that finish in any order, and examples that come in one."""
    d = Drawing(760, 210, "Each call gets a ticket when it reads; results wait in a window until their ticket's turn")
    d.box(16, 80, 110, 50, "input", "read in turns")
    for number, (y, work) in enumerate(((16, "still at work"), (80, "done"), (144, "done"))):
        d.arrow(126, 105, 198, y + 25)
        d.box(
            200, y, 190, 50, f"thread {number + 1}: ticket {number + 7}", work, style="shell" if number == 0 else "busy"
        )
        d.arrow(390, y + 25, 444, 105)
    d.queue(446, 93, 4, (1, 2), (0,), title="window", below="tickets 7 to 10")
    d.arrow(518, 105, 580, 105)
    d.queue(582, 93, 8, range(6), title="examples 1 to 6", below="always this order")
    return d


def end():
    """The way of an exception."""
    d = Drawing(
        760,
        190,
        "An exception in a thread is kept by the Coordinator, which closes the queues; the loop raises it last",
    )
    d.box(16, 20, 170, 50, "thread 2 raises", "at record a.csv:17")
    d.arrow(186, 45, 268, 45, "1")
    d.box(270, 20, 200, 50, "Coordinator", "keeps it, sets the flag")
    d.arrow(370, 70, 370, 122)
    d.text(384, 100, "2", dim=True, size=12)
    d.queue(280, 124, 10, range(4, 10), title="", below="closed: nothing more goes in")
    d.arrow(470, 45, 552, 45, "3")
    d.box(554, 20, 190, 50, "the other threads", "end")
    d.arrow(460, 136, 552, 136, "4")
    d.box(554, 110, 190, 54, "your loop", "gets the rest, then raises it")
    return d


def processes():
    """How arrays come back from other processes."""
    d = Drawing(
        760, 214, "Items go to processes through pipes, arrays come back through shared memory, which becomes the batch"
    )
    d.box(16, 82, 120, 54, "your process", "items, in chunks")
    for number, y in enumerate((24, 136)):
        d.arrow(136, 109, 208, y + 27, "pipe" if number == 0 else "", above=12)
        d.box(210, y, 200, 54, f"process {number + 1}", "calls your function")
        d.arrow(410, y + 27, 478, 109)
    d.queue(480, 97, 7, range(5), title="shared memory")
    d.text(640, 160, "no name: nothing stays behind", dim=True, size=12)
    d.arrow(606, 109, 652, 109)
    d.box(654, 82, 92, 54, "a batch", "in order")
    return d


# Panels of the chart in README.md: title, unit, the workload of bench/results, how much one unit has, and the bars.
PANELS = [
    (
        "Random-resized crops of JPEG files",
        "images per second of CPU time",
        "375 x 500 pixels",
        1,
        ("ours", "tf.data", "dali", "torch", "grain"),
    ),
    (
        "Shuffled rows of 1,024 tokens from a file",
        "million rows per second of CPU time",
        "shuffled rows of 1,024 tokens",
        1e6,
        ("ours", "python", "tf.data", "torch", "grain"),
    ),
    (
        "A Python function of 50 µs in two processes",
        "thousand examples per second",
        "decode_2",
        1e3,
        ("ours", "torch", "grain", "tf.data"),
    ),
    (
        "Shuffled images of 150 KB in memory",
        "thousand images per second",
        "image",
        1e3,
        ("ours", "tf.data", "python", "torch", "grain"),
    ),
]
CHART = 330  # pixels wide, so that a phone shows it in full size
# Bars have at least a contrast of 3:1 with the card, light and dark.
CHART_STYLE = (
    "<style>.chart-ours{fill:#0550ae}.chart-other{fill:#8c959f}"
    "@media (prefers-color-scheme:dark){.chart-ours{fill:#58a6ff}.chart-other{fill:#59626d}}</style>"
)


def speed():
    """Bars of recorded rates, the fastest library first, one panel below the other."""
    bars = sum(len(panel[-1]) for panel in PANELS)
    about = "Rates of queue-runner and other libraries; higher is better"
    drawing = Drawing(CHART, 34 + 58 * len(PANELS) + 20 * bars, about)
    drawing.parts.append(CHART_STYLE)
    drawing.text(CHART - 16, 26, "higher is better", dim=True, size=12, anchor="end")
    y = 46
    for title, unit, work, scale, shown in PANELS:
        rates = {library: rate / scale for library, rate in pages.rates(work).items() if library in shown}
        drawing.text(16, y, title, middle=False)
        drawing.text(16, y + 17, unit, dim=True, middle=False, size=12)
        y += 20
        for library, rate in rates.items():
            y += 20
            width = 142 * rate / max(rates.values())
            drawing.text(16, y, pages.LIBRARIES[library], dim=library != "ours", middle=False, size=12)
            drawing.bar(134, y - 11, width, 14, "ours" if library == "ours" else "other")
            drawing.text(140 + round(width), y, f"{rate:.3g}", middle=False, size=12)
        y += 38
    return drawing


DRAWINGS = {
    "speed": speed,
    "whole": whole,
    "row": row,
    "pool": pool,
    "order": order,
    "end": end,
    "processes": processes,
}

if __name__ == "__main__":
    for name, make in DRAWINGS.items():
        (HERE / f"{name}.svg").write_text(make().svg())
