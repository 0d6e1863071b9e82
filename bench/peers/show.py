"""Write the peer results: the JSON, the tables with every way, and everything shown in docs/."""

import json
import runpy
import sys
import textwrap
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "runs"))

import pages
from report import IMAGES, RESULTS, number, table
from workloads import WORKS

HEAD = ["", "rows/s", "lowest", "highest", "queue-runner is", "µs of CPU time per row"]


def write(result):
    """Write bench/results, the tables in the docs/ pages, and the chart in README.md."""
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "peers.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    (RESULTS / "peers.md").write_text(f"{INTRODUCTION}\n\n{tables(result)}\n", encoding="utf-8")
    pages.write()
    runpy.run_path(str(IMAGES / "drawings.py"), run_name="__main__")


def updated(result, works):
    """Return the last full run's results, with those workloads taken from this run."""
    last = json.loads((RESULTS / "peers.json").read_text(encoding="utf-8"))
    kept = [cell for cell in last["results"] if cell["work"] not in works]
    order = list(WORKS)
    merged = sorted(kept + result["results"], key=lambda cell: order.index(cell["work"]))
    again = {"work": works} | {key: result[key] for key in ("machine", "rounds", "seconds", "versions")}
    left_out = last["left_out"] | result["left_out"]
    before = [one for one in last.get("anew", []) if not set(one["work"]) <= set(works)]
    return last | {"results": merged, "left_out": left_out, "anew": [*before, again]}


INTRODUCTION = """\
# Every library, every way

How we ran the other libraries, and every result, with the lowest and highest of the rounds. The fastest way of each
task is bold. [Performance](../../docs/performance.md) has the summary.

## How the libraries were run

- Each library runs alone, in its own environment with its newest version at the time: `bench/peers/*.txt`.
- A script of about a hundred lines runs each library: `bench/peers/peer_*.py`. All scripts read the same files, make
  batches of 128 rows, and check the values of a batch before measuring. The consumer does nothing else.
- Each library has several ways, such as threads, processes or none. The tables show all of them.
- Measuring begins after eight batches and 0.25 s. The libraries take turns, so a slow minute of the machine hits all.
- What failed is in the tables too, with its error.

## Is a number unfair to your library?

Change its script and open a pull request, or describe the faster way in an issue. Run it beside ours with
`make bench-peers PEERS="torch ours" WORK="csv"`; `bench/peers/workloads.py` lists the tasks. The next full run of all
libraries has it.

## Machine and versions
"""


def tables(result):
    """Return one table per workload: every library's ways, the fastest first."""
    parts = [textwrap.fill(pages.conditions(result), 120)]
    for work in WORKS:
        cells = [cell for cell in result["results"] if cell["work"] == work]
        if cells:
            parts += [f"## {WORKS[work].title}", table(HEAD, rows(cells))]
    if result["left_out"]:
        parts.append("Left out: " + "; ".join(f"{peer}: {why}" for peer, why in result["left_out"].items()) + ".")
    return "\n\n".join(parts)


def rows(cells):
    """Yield a workload's lines; the fastest is bold."""
    fastest = max(cell.get("rate", 0) for cell in cells)
    ours = max((cell["rate"] for cell in cells if cell["peer"] == "ours" and "rate" in cell), default=None)
    for cell in sorted(cells, key=lambda cell: -cell.get("rate", 0)):
        library = pages.LIBRARIES[cell["peer"]]
        name = library if cell["peer"] == cell["way"] else f"{library}: {cell['way']}"
        if "rate" not in cell:
            yield name, cell["error"].replace("|", "/"), "", "", "", ""
            continue
        low, high = cell["rates"][0], cell["rates"][-1]
        compared = "" if ours is None or cell["peer"] == "ours" else pages.compared(ours / cell["rate"])
        processor = number(cell["processor"] * 1e6) if "processor" in cell else ""
        name = f"**{name}**" if cell["rate"] == fastest else name
        yield name, number(cell["rate"]), number(low), number(high), compared, processor


if __name__ == "__main__":
    write(pages.results())
