"""Measure a decode function in threads without the GIL, compared with processes and torch.

    python bench/runs/free_threaded.py PYTHON [--environments DIRECTORY]

PYTHON is a free-threaded interpreter with this package installed. It takes turns with the one that runs this program;
torch uses the environment of `make bench-peers`. Writes the table in docs/free-threading.md.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import textwrap
from pathlib import Path

from report import ROOT, machine, machine_line, put_in_page, table

PEERS = ROOT / "bench/peers"
WORKS = ["decode_1", "decode_2", "decode_4"]
WAYS = {
    ("free", "batch of a callable"): "without the GIL: `num_threads=`",
    ("free", "workers=threads"): "without the GIL: `workers=pipeline.threads()`",
    ("by hand", "threads"): "without the GIL: threads by hand, each a whole batch",
    ("locked", "batch of a callable"): "with the GIL: `num_threads=`",
    ("locked", "workers=threads"): "with the GIL: `workers=pipeline.threads()`",
    ("locked", "workers=processes"): "with the GIL: `workers=pipeline.processes()`",
    ("torch", "DataLoader"): "torch: worker processes",
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("python", type=Path)
    parser.add_argument("--environments", type=Path, default=ROOT / ".venv-peers")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    torch = options.environments / "torch/bin/python"
    who = {
        "free": (options.python, "peer_ours.py"),
        "by hand": (options.python, "peer_python.py"),
        "locked": (Path(sys.executable), "peer_ours.py"),
    }
    if torch.exists():
        who["torch"] = (torch, "peer_torch.py")
    rates, versions, where = {}, set(), machine()
    for _ in range(options.rounds):
        for name, (python, script) in who.items():
            for line in measured(python, script, python == options.python):
                peer = "NumPy" if line["peer"] == "python" else line["peer"]
                versions.add(f"{peer} {line['version']} on {line['python']}")
                rates.setdefault((name, line["way"].partition(",")[0], line["work"]), []).append(line["rate"])
    rows = [[title, *cells(rates, name, way)] for (name, way), title in WAYS.items()]
    intro = (
        f"{machine_line(where)}; {', '.join(sorted(versions))}. Thousands of rows a second, medians of "
        f"{options.rounds} rounds; in brackets: times one thread or worker of the same kind."
    )
    text = textwrap.fill(intro, 120) + "\n\n" + table(["threads or workers", "1", "2", "4"], rows)
    put_in_page("threads", text)
    print(text)


def measured(python, script, free):
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "ignore"}
    if free:
        environment["PYTHON_GIL"] = "0"  # other interpreters would not start with it
    command = [str(python), str(PEERS / script), str(ROOT / "build/bench-peers"), "0.5", *WORKS]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=600, check=True)
    found = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return [line for line in found if "rate" in line and not line["way"].endswith(("0 workers", "no threads"))]


def cells(rates, name, way):
    found = [statistics.median(rates[name, way, work]) if (name, way, work) in rates else None for work in WORKS]
    for rate in found:
        if rate is None:
            yield "-"
        elif found[0] in {None, rate}:
            yield f"{rate / 1e3:.1f}"
        else:
            yield f"{rate / 1e3:.1f} ({rate / found[0]:.2f})"


if __name__ == "__main__":
    main()
