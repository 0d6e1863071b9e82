"""Write every measured number in README.md and docs/ from bench/results, so that all pages agree.

    python bench/peers/pages.py

Each block goes between `<!-- NAME: written by the bench -->` and `<!-- end of NAME -->` in a page. Bold always marks
the fastest. A test compares the pages with the blocks.
"""

import json
import sys
import textwrap
from pathlib import Path
from typing import NamedTuple

sys.path.append(str(Path(__file__).resolve().parents[1] / "runs"))

from report import RESULTS, machine_line, number, put_in_page, table
from workloads import WORKS

LIBRARIES = {
    "ours": "queue-runner",
    "torch": "PyTorch",
    "tf.data": "tf.data",
    "grain": "Grain",
    "python": "Python and NumPy",
    "TF1 queues": "TensorFlow 1 queues",
    "datasets": "Hugging Face datasets",
    "pyarrow": "pyarrow",
    "pandas": "pandas",
    "webdataset": "WebDataset",
    "mlx-data": "MLX Data",
    "dali": "DALI, on the CPU",
    "spdl": "SPDL",
}
SHOWN = ("torch", "tf.data", "grain")  # have columns in the summary; the fastest other one has one more
WAYS = {"f32_32": "arrays", "f32_784": "arrays", "image": "arrays", "csv": "csv"}  # else our fastest one
ALIKE = 0.05  # rates that differ by less count as equal


class Task(NamedTuple):
    """A row in the summary.

    Attributes:
        work: A workload in peers.json, or a row in measured.json.
        title: The task in a reader's words.
        unit: Unit for the rates shown.
        each: Units per row of the workload.
    """

    work: str
    title: str
    unit: str
    each: float


SUMMARY = (
    Task("375 x 500 pixels", "random-resized crops of JPEG files", "images per CPU second", 1),
    Task("jpeg", "folder of JPEG files, middle cut out", "images/s", 1),
    Task("image", "shuffled images of 150 KB in memory", "k images/s", 1e-3),
    Task("decode_2", "Python function of 50 µs, two processes", "k examples/s", 1e-3),
    Task("shuffled rows of 1,024 tokens", "shuffled rows of 1,024 tokens", "M rows per CPU second", 1e-6),
    Task("pack", "documents packed into rows of 1,024", "M tokens/s", 1024e-6),
    Task("csv", "CSV of 17 columns", "MB/s", 114e-6),
    Task("parquet", "Parquet of 16 float32 columns", "MB/s", 95e-6),
    Task("tfrecord", "TFRecords of 256 bytes, by a reader without threads", "MB/s", 272e-6),
    Task("tar", "tar shards of 3 KB arrays", "k samples/s", 1e-3),
)
GROUPS = (
    ("f32_4", "f32_32", "f32_784", "image"),
    ("lines", "csv", "tfrecord", "tar"),
    ("parquet", "arrow", "jpeg", "padded"),
    ("decode_1", "decode_2", "decode_4"),
)
CHAINS = {
    "mix": "two arrays of 32 numbers mixed by weight",
    "pack": "`flat_map` and `pack` into rows of 1,024",
    "filter": "`filter`, then a Python function in 2 workers",
    "window": "`window` of 16 rows, every 4 rows",
}


def results():
    """Return the recorded run."""
    return json.loads((RESULTS / "peers.json").read_text(encoding="utf-8"))


def measured():
    """Return the figures from programs that only print them."""
    return json.loads((RESULTS / "measured.json").read_text(encoding="utf-8"))


def version(work):
    """Return the queue-runner version of a workload's last run, or of a row in measured.json."""
    known = results()
    versions = {part["version"] for part in measured().values() if work in part["rows"]}
    again = [one["versions"]["ours"] for one in known.get("anew", []) if work in one["work"]]
    return versions.pop() if versions else [known["versions"]["ours"], *again][-1]


def conditions(known):
    """Return the machine, versions and rounds of a run and of what was measured again later."""
    versions = ", ".join(f"{LIBRARIES[peer]} {version}" for peer, version in known["versions"].items())
    again = "".join(
        f" Measured again with queue-runner {one['versions']['ours']}: {', '.join(one['work'])}; {rounds(one)}, "
        f"{machine_line(one['machine'])}."
        for one in known.get("anew", [])
    )
    return (
        f"{machine_line(known['machine'])}. {versions} (for Python: the version of NumPy). Medians over "
        f"{rounds(known)}.{again}"
    )


def rounds(run):
    """Return how often and how long a run measured."""
    return f"{run['rounds']} rounds, {run['seconds']} s each"


def rates(work):
    """Return each library's best rate, for ours in the way that readers would choose, best first."""
    found = {}
    for part in measured().values():
        if work in part["rows"]:
            found = {
                library: part["per_second"] / value
                for library, value in zip(part["libraries"], part["rows"][work], strict=True)
            }
    for cell in results()["results"]:
        ours = cell["peer"] == "ours"
        chosen = not ours or WAYS.get(work, cell["way"]) == cell["way"]
        if cell["work"] == work and "rate" in cell and chosen and not cell["way"].endswith("in one thread"):
            found[cell["peer"]] = max(cell["rate"], found.get(cell["peer"], 0))
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def compared(ratio):
    """Return a ratio between two rates in words, on the scale used by all pages."""
    if abs(ratio - 1) < ALIKE:
        return "as fast"
    if ratio >= 2:
        return f"{ratio:.2g} times as fast" if ratio < 100 else f"{ratio:.0f} times as fast"
    return f"{100 * abs(ratio - 1):.0f}% {'faster' if ratio > 1 else 'slower'}"


def difference(work):
    """Return the comparison between queue-runner and the fastest other library, in words, and their rate ratio."""
    found = rates(work)
    other = next(library for library in found if library != "ours")
    ratio = found["ours"] / found[other]
    words = compared(ratio)
    return f"{words} {'as' if words.endswith('fast') else 'than'} {LIBRARIES[other]}", ratio


def summary():
    """Return the first table in docs/performance.md."""
    lines = []
    for task in SUMMARY:
        found = {library: rate * task.each for library, rate in rates(task.work).items()}
        most = max(found.values())
        row = [_bold(found.get(library), most, _plain) for library in ("ours", *SHOWN)]
        other = next((library for library in found if library not in ("ours", *SHOWN)), None)
        last = f"{LIBRARIES[other]}: {_bold(found[other], most, _plain)}" if other else "-"
        lines.append([f"{task.title}, {task.unit}", *row, last, compared(difference(task.work)[1])])
    head = ["", "queue-runner", "PyTorch", "tf.data", "Grain", "best library without a column", "queue-runner is"]
    return f"{table(head, lines, words=(0, 5, 6))}\n\n{_filled(measured_with())}"


def measured_with():
    """Return the queue-runner versions behind the summary as a sentence."""
    titles = {}
    for task in SUMMARY:
        titles.setdefault(version(task.work), []).append(task.title)
    newest, *older = sorted(titles, reverse=True)
    rest = "".join(f"; with {each}: {'; '.join(titles[each])}" for each in older)
    return f"Measured with queue-runner {newest}{rest}."


def verdicts():
    """Return the summary's tasks grouped by winner, as a list."""
    said = {"Faster": [], "As fast": [], "Slower": []}
    for task in SUMMARY:
        words, ratio = difference(task.work)
        kind = "As fast" if abs(ratio - 1) < ALIKE else "Faster" if ratio > 1 else "Slower"
        said[kind].append((ratio, f"{task.title} ({words})"))
    some = {kind: [each for _, each in sorted(found)[::-1]] for kind, found in said.items() if found}
    lines = [f"- *{kind}*: {'; '.join(found)}." for kind, found in some.items()]
    return "\n".join(_filled(line, "  ") for line in lines)


def libraries():
    """Return one table per workload group: each library's fastest way, one per line."""
    known = results()
    parts = [_filled(f"Rows per second. {conditions(known)}")]
    for works in GROUPS:
        found = {work: rates(work) for work in works}
        lines = []
        for library, name in LIBRARIES.items():
            if any(library in each for each in found.values()):
                cells = [_bold(each.get(library), max(each.values())) for each in found.values()]
                lines.append([name, *cells])
        parts.append(table(["", *(WORKS[work].title for work in works)], lines))
    return "\n\n".join(parts)


def chains():
    """Return a table with CPU time per row, for each library's cheapest way."""
    cells = results()["results"]
    lines = []
    for work, title in CHAINS.items():
        cost = {}
        for cell in cells:
            if cell["work"] == work and "processor" in cell:
                peer = cell["peer"]
                cost[peer] = min(cell["processor"] * 1e6, cost.get(peer, cell["processor"] * 1e6))
        least = min(cost.values())
        lines.append([title, *(_bold(cost.get(peer), least, _plain) for peer in ("ours", "grain", "tf.data"))])
    return table(["CPU time per row, µs", "queue-runner", "Grain", "tf.data"], lines)


def of_program(name):
    """Return part of measured.json as a table."""
    part = measured()[name]
    lines = []
    for title, row in part["rows"].items():
        least = min(value for value in row if value is not None)
        lines.append([title, *(_bold(value, least, _plain) for value in row)])
    return table([part["unit"], *(LIBRARIES[library] for library in part["libraries"])], lines)


def dlio(found=None):
    """Return a table with the most accelerators each loader feeds in DLIO, from these results or the recorded ones."""
    found = found or json.loads((RESULTS / "dlio.json").read_text(encoding="utf-8"))
    lines = []
    for work, part in found.items():
        passed = {
            loader: max((int(count) for count, each in runs.items() if each >= part["mark"]), default=0)
            for loader, runs in part["loaders"].items()
        }
        for loader, most in passed.items():
            runs = ", ".join(f"{count}: {each:.1f}" for count, each in part["loaders"][loader].items())
            best = f"**{most}**" if most == max(passed.values()) else most
            lines.append([work, part["mark"], loader, best, runs, part["machine"]["load_before"]])
    head = ["workload", "AU to reach, %", "loader", "accelerators", "AU by accelerators, %", "load"]
    return table(head, lines, words=(0, 2, 4))


def _filled(text, indent=""):
    return textwrap.fill(text, 96, subsequent_indent=indent, break_on_hyphens=False)


def _bold(value, best, text=number):
    if value is None:
        return "-"
    return f"**{text(value)}**" if value == best else text(value)


def _plain(value):
    """Return three significant digits, or all digits before the point."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def blocks():
    """Return each block's text by name."""
    return {
        "summary": summary(),
        "verdicts": verdicts(),
        "libraries": libraries(),
        "chains": chains(),
        "crops": of_program("crops"),
        "indexed": of_program("indexed"),
        "worker_start": of_program("worker_start"),
        "dlio": dlio(),
    }


def write():
    """Write each block into the pages with markers for it."""
    for name, text in blocks().items():
        put_in_page(name, text)


if __name__ == "__main__":
    write()
