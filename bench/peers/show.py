"""Writes the results of the peers as Markdown tables and as plots."""

import json
import runpy
import sys
import textwrap
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "runs"))

from report import IMAGES, RESULTS, machine_line, number, put_in_page, table
from workloads import WORKS

# What each picture and each table of the summary shows.
PICTURES = {
    "peers_memory": ["f32_4", "f32_32", "f32_784", "image"],
    "peers_files": ["lines", "csv", "tfrecord", "parquet", "arrow", "tar", "jpeg", "padded"],
    "peers_decode": ["decode_1", "decode_2", "decode_4"],
}
# The rows at the head of the page: what is measured there in which unit, and how much of that a row has.
FELT = {
    "f32_4": ("shuffled rows of 4 numbers in memory", "M rows/s", 1e-6),
    "image": ("shuffled images of 150 KB in memory", "k images/s", 1e-3),
    "jpeg": ("folder of JPEG files, decoded and cut", "images/s", 1),
    "decode_2": ("Python function of 50 µs, two workers", "k examples/s", 1e-3),
    "csv": ("CSV of 17 columns", "MB/s", 114e-6),
    "parquet": ("Parquet of 16 f32 columns and labels", "MB/s", 95e-6),
    "tfrecord": ("TFRecords of 256 bytes", "MB/s", 272e-6),
    "tar": ("tar shards of 3 KB arrays and labels", "k samples/s", 1e-3),
    "padded": ("rows of 1 to 100 numbers, padded", "M rows/s", 1e-6),
    "pack": ("sequences packed into rows of 1,024", "M tokens/s", 1024e-6),
}
SHOWN = ("torch", "tf.data", "grain")  # the columns of that table; the fastest of the others has one more
HEAD = ["", "rows/s", "lowest", "highest", "ours / peer", "us of processor time a row"]
OURS, OTHERS, BASELINE = "#c0392b", "#7f9fbf", "#b5b5b5"


def write(result):
    """Write the JSON, the Markdown, the plots and the summary in docs/performance.md."""
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "peers.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    (RESULTS / "peers.md").write_text("# The peers, measured\n\n" + tables(result) + "\n", encoding="utf-8")
    put_in_page("felt", felt(result["results"]))
    put_in_page("peers", intro(result) + "\n\n" + summary(result))
    draw(result["results"])
    runpy.run_path(str(IMAGES / "drawings.py"), run_name="__main__")  # the chart of README.md


def updated(result, works):
    """Return the results of the last full run, with those workloads taken from this one."""
    last = json.loads((RESULTS / "peers.json").read_text(encoding="utf-8"))
    kept = [cell for cell in last["results"] if cell["work"] not in works]
    order = list(WORKS)
    merged = sorted(kept + result["results"], key=lambda cell: order.index(cell["work"]))
    anew = {"work": works} | {key: result[key] for key in ("machine", "rounds", "seconds", "versions")}
    left_out = last["left_out"] | result["left_out"]
    before = [one for one in last.get("anew", []) if not set(one["work"]) <= set(works)]
    return last | {"results": merged, "left_out": left_out, "anew": [*before, anew]}


def intro(result):
    versions = ", ".join(f"{peer} {version}" for peer, version in result["versions"].items())
    anew = "".join(
        f" Measured again, with ours {one['versions']['ours']}: {', '.join(one['work'])}; "
        f"in {one['rounds']} rounds of {one['seconds']} s, at a load average of {one['machine']['load_before']}."
        for one in result.get("anew", [])
    )
    text = (
        f"{machine_line(result['machine'])}. {versions} (for python: the version of NumPy). Medians of "
        f"{result['rounds']} rounds, {result['seconds']} s each.{anew}"
    )
    return textwrap.fill(text, 120)


def tables(result):
    """Return a table for each workload: every way of every peer, the fastest first."""
    parts = [intro(result)]
    for work in WORKS:
        cells = [cell for cell in result["results"] if cell["work"] == work]
        if cells:
            columns = len(HEAD) - all("processor" not in cell for cell in cells)  # runs of before do not tell
            parts += [f"## {WORKS[work].title}", table(HEAD[:columns], [row[:columns] for row in rows(cells)])]
    if result["left_out"]:
        parts.append("Left out: " + "; ".join(f"{peer}: {why}" for peer, why in result["left_out"].items()) + ".")
    return "\n\n".join(parts)


def felt(results):
    """Return the table at the head of the page: the median of each one's fastest way, and who else is fastest.

    A queue or a function in a loop of one's own is no loader: what it gives is in the other tables.
    """
    lines = []
    for work, (title, unit, each) in FELT.items():
        cells = [cell for cell in results if cell["work"] == work and "rate" in cell]
        cells = [cell for cell in cells if not cell["way"].endswith("in one thread")]
        rates = {peer: best(cells, peer) * each for peer in dict.fromkeys(cell["peer"] for cell in cells)}
        if "ours" not in rates:
            continue
        others = {peer: rate for peer, rate in rates.items() if peer not in ("ours", *SHOWN)}
        other = max(others, key=others.get, default=None)
        most = max(rates.values())
        row = [_bold(rates.get(peer), most) for peer in ("ours", *SHOWN)]
        lines.append([f"{title}, {unit}", *row, f"{other}: {_bold(others[other], most)}" if other else "-"])
    return table(["", "queue-runner", "PyTorch", "tf.data", "Grain", "fastest of the others"], lines)


def _bold(rate, most):
    if rate is None:
        return "-"
    return f"**{number(rate)}**" if rate == most else number(rate)


def rows(cells):
    mine = best(cells, "ours")
    for cell in sorted(cells, key=lambda cell: -cell.get("rate", 0)):
        name = f"{cell['peer']}: {cell['way']}" if cell["peer"] != cell["way"] else cell["peer"]
        if "rate" not in cell:
            yield name, cell["error"].replace("|", "/"), "", "", "", ""
            continue
        low, high = cell["rates"][0], cell["rates"][-1]
        ratio = "" if mine is None or cell["peer"] == "ours" else f"{mine / cell['rate']:.2f}"
        name = f"**{name}**" if cell["peer"] == "ours" else name
        processor = number(cell["processor"] * 1e6) if "processor" in cell else ""
        yield name, number(cell["rate"]), number(low), number(high), ratio, processor


def best(cells, peer):
    """Return the rate of the peer's fastest way, or None."""
    return max((cell["rate"] for cell in cells if cell["peer"] == peer and "rate" in cell), default=None)


def summary(result):
    """Return a table for each picture, with a row for each way of ours.

    It has our median, and that divided by the best round of each peer's fastest way: a peer's median would flatter us
    where the peer uses all cores and something else ran on the machine. Peers that do nothing of a table are not in it.
    """
    parts = []
    for works in PICTURES.values():
        cells = [cell for cell in result["results"] if cell["work"] in works and "rate" in cell]
        peers = [peer for peer in result["versions"] if peer != "ours" and any(cell["peer"] == peer for cell in cells)]
        head = ["", "ours, rows/s", *[f"/ {peer}" for peer in peers]]
        lines = [line for work in works for line in compared([c for c in cells if c["work"] == work], peers)]
        parts.append(table(head, lines))
    return "\n\n".join(parts)


def compared(cells, peers):
    """Yield the lines of a workload's cells."""
    others = [max((cell["rates"][-1] for cell in cells if cell["peer"] == peer), default=None) for peer in peers]
    for mine in (cell for cell in cells if cell["peer"] == "ours"):
        ratios = ["-" if other is None else times(mine["rate"] / other) for other in others]
        yield [f"{WORKS[mine['work']].title}: {mine['way']}", number(mine["rate"]), *ratios]


def times(ratio):
    """Return a ratio as text; bold where the peer wins."""
    text = f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.2f}" if ratio < 2 else f"{ratio:.1f}"
    return f"**{text}**" if ratio < 1 else text


def draw(results):
    """Draw a picture for each group of workloads: bars of rows per second with the spread of the rounds."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    IMAGES.mkdir(exist_ok=True)
    for name, shown in PICTURES.items():
        works = [work for work in shown if any(cell["work"] == work for cell in results)]
        figure, axes = pyplot.subplots(-(-len(works) // 2), 2, figsize=(12, 3.6 * -(-len(works) // 2)), squeeze=False)
        for axis, work in zip(axes.flat, works, strict=False):
            bars(axis, work, [cell for cell in results if cell["work"] == work and "rate" in cell])
        for axis in axes.flat[len(works) :]:
            axis.axis("off")
        figure.tight_layout()
        figure.savefig(IMAGES / f"{name}.png", dpi=80)
        pyplot.close(figure)


def bars(axis, work, cells):
    cells = sorted(cells, key=lambda cell: cell["rate"])
    names = [cell["peer"] if cell["peer"] == cell["way"] else f"{cell['peer']}: {cell['way']}" for cell in cells]
    colors = [{"ours": OURS, "python": BASELINE}.get(cell["peer"], OTHERS) for cell in cells]
    spread = [[abs(cell["rates"][end] - cell["rate"]) for cell in cells] for end in (0, -1)]
    drawn = axis.barh(names, [cell["rate"] for cell in cells], xerr=spread, color=colors, ecolor="#404040")
    axis.bar_label(drawn, [number(cell["rate"]) for cell in cells], padding=3, fontsize=8)
    axis.set_title(f"{WORKS[work].title}: rows/s", fontsize=10)
    axis.margins(x=0.15)
    axis.tick_params(labelsize=8)
    axis.set_xticks([])
    axis.spines[["top", "right", "bottom"]].set_visible(False)


if __name__ == "__main__":
    write(json.loads((RESULTS / "peers.json").read_text(encoding="utf-8")))
