"""Count hot path instructions with callgrind: `make bench-instructions`.

Counts hardly depend on the machine or its load, so a regression shows anywhere. Each path runs with few calls and with
many; the difference is the cost per call. The counts are compared with bench/runs/instructions.json, and a path that
needs more than TOLERANCE above its record fails. --record writes the file again.

A count depends on the CPython, NumPy and compiler versions; the file has those of its record.
"""

import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import hot_paths  # noqa: E402
import numpy as np  # noqa: E402
from report import put_in_page, table  # noqa: E402

RECORD = HERE / "instructions.json"
TOLERANCE = 0.05
# Fixed hashes, no NumPy threads, and vector copies, because a repeated string instruction counts every byte.
STEADY = {
    "PYTHONHASHSEED": "0",
    "OPENBLAS_NUM_THREADS": "1",
    "GLIBC_TUNABLES": "glibc.cpu.x86_rep_movsb_threshold=0x40000000",
}
FEW = 0.2  # fraction of the calls


def main():
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        sys.exit("bench-instructions needs valgrind, which is not there: install the package valgrind of your system.")
    counts = {name: count(valgrind, name) for name in hot_paths.PATHS}
    if "--record" in sys.argv:
        record(counts)
    recorded = json.loads(RECORD.read_text(encoding="utf-8"))
    worse = compare(counts, recorded["instructions"])
    now, then = versions(), recorded["versions"]
    if now != then:
        print(f"The record is of {then}, this is {now}: such a difference changes counts too.")
    if worse:
        sys.exit(f"more than {TOLERANCE:.0%} above the record: {', '.join(worse)}")


def count(valgrind, name):
    """Return the instructions per call."""
    calls = hot_paths.CALLS[name]
    few = int(calls * FEW)
    return round((total(valgrind, name, calls) - total(valgrind, name, few)) / (calls - few))


def total(valgrind, name, calls):
    """Return a process's instructions for this many calls."""
    environment = {**os.environ, **STEADY, "PYTHONPATH": str(HERE.parents[1])}
    script = [sys.executable, str(HERE / "hot_paths.py"), name, str(calls)]
    with tempfile.TemporaryDirectory() as directory:
        command = [valgrind, "--tool=callgrind", f"--callgrind-out-file={directory}/out", *script]
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
    found = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode or not found:
        sys.exit(f"{name} failed under callgrind:\n{done.stderr[-2000:]}")
    return int(found[1])


def compare(counts, recorded):
    """Print one line per path; return the names of slower ones."""
    worse = []
    for name, mine in counts.items():
        change = mine / recorded[name] - 1 if name in recorded else 0
        if change > TOLERANCE:
            worse.append(name)
        print(f"{name:48} {mine:>12,} {change:+8.1%}  {'WORSE' if change > TOLERANCE else ''}".rstrip())
    return worse


def record(counts):
    RECORD.write_text(json.dumps({"versions": versions(), "instructions": counts}, indent=1) + "\n", encoding="utf-8")
    rows = [[name, f"{value:,}", f"{value / hot_paths.ELEMENTS[name]:,.0f}"] for name, value in counts.items()]
    known = ", ".join(f"{name} {version}" for name, version in versions().items())
    put_in_page("instructions", table(["", "instructions per call", "per element"], rows) + f"\n\n{known}.")


def versions():
    """Return the versions that affect a count."""
    return {
        "CPython": platform.python_version(),
        "NumPy": np.__version__,
        "compiler of CPython": platform.python_compiler(),
        "machine": platform.machine(),
    }


if __name__ == "__main__":
    main()
