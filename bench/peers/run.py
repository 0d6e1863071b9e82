"""Run the peers, each in its own environment, in alternating rounds, and write their results.

    python bench/peers/run.py [--peers NAME...] [--work NAME...]

A run with all of them writes bench/results, the chart in README.md and the tables in docs/. A run with some of them
prints its tables and leaves those files alone. With --update, a run with all peers in some workloads replaces these
workloads in the results. --short does this for the first rows of docs/performance.md, in at most a quarter of an hour.
Only one peer runs at a time.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "runs")]

import pages  # noqa: E402
import show  # noqa: E402
from data import generate  # noqa: E402
from report import ROOT, machine, run_apart  # noqa: E402
from workloads import WORKS  # noqa: E402

# The scripts per environment. The first two run in this script's environment.
PEERS = {
    "ours": ["peer_ours.py"],
    "python": ["peer_python.py"],
    "tensorflow": ["peer_tf1.py", "peer_tfdata.py"],
    "torch": ["peer_torch.py", "peer_ours_torch.py", "peer_datasets.py", "peer_tables.py"],
    "grain": ["peer_grain.py"],
    "webdataset": ["peer_webdataset.py"],
    "mlx": ["peer_mlx.py"],
}
ALIKE = ("ours", "python")
TIMEOUT = 600  # seconds for one round and script


def main():
    options = parse()
    directory = ROOT / "build/bench-peers"
    known = machine()
    generate(directory)
    lines, left_out, began = [], {}, time.monotonic()
    for number in range(options.rounds):
        if number and (time.monotonic() - began) * (number + 1) / number > options.minutes * 60:
            options.rounds = number
            break
        for peer in options.peers:
            python = sys.executable if peer in ALIKE else options.environments / peer / "bin/python"
            if peer not in ALIKE and not (options.environments / peer / ".installed").exists():
                left_out[peer] = "could not be installed"
                continue
            for script in PEERS[peer]:
                print(f"round {number + 1} of {options.rounds}: {script}", file=sys.stderr, flush=True)
                try:
                    lines += measure(python, script, directory, options)
                except (subprocess.SubprocessError, OSError) as error:
                    left_out.setdefault(script, f"{type(error).__name__} in round {number + 1}")
    result = {
        "machine": known,
        "rounds": options.rounds,
        "seconds": options.seconds,
        "versions": {line["peer"]: line["version"] for line in lines},
        "left_out": left_out,
        "results": medians(lines),
    }
    if options.peers == list(PEERS) and (options.update or options.work == list(WORKS)):
        show.write(show.updated(result, options.work) if options.update else result)
    print(show.tables(result))


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peers", nargs="*", help="which, of: " + " ".join(PEERS))
    parser.add_argument("--work", nargs="*", help="which, of: " + " ".join(WORKS))
    parser.add_argument("--update", action="store_true", help="put these into the results of the last full run")
    parser.add_argument("--short", action="store_true", help="those at the head of the page, in 14 minutes")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--minutes", type=float, help="begin no round that would end later; 40, or 14 with --short")
    parser.add_argument("--seconds", type=float, default=0.5, help="seconds of one measurement")
    parser.add_argument("--environments", type=Path, default=ROOT / ".venv-peers")
    options = parser.parse_args()
    if options.short:
        options.work, options.update = options.work or [task.work for task in pages.SUMMARY if task.work in WORKS], True
    options.minutes = options.minutes or (14 if options.short else 40)
    options.peers, options.work = options.peers or list(PEERS), options.work or list(WORKS)
    for given, all_of_them in ((options.peers, PEERS), (options.work, WORKS)):
        if unknown := set(given) - set(all_of_them):
            parser.error(f"no such peer or workload: {', '.join(sorted(unknown))}; there are {', '.join(all_of_them)}")
    return options


def measure(python, script, directory, options):
    """Run one script and return its JSON lines; its stderr is only shown if it fails."""
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONWARNINGS": "ignore"}
    if script.startswith("peer_ours"):
        environment["PYTHONPATH"] = str(ROOT)
    command = [str(python), str(HERE / script), str(directory), str(options.seconds), *options.work]
    done = run_apart(command, environment, TIMEOUT)
    if done.returncode:
        print(done.stderr[-2000:], file=sys.stderr)
        done.check_returncode()
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def medians(lines):
    """Return one line per peer and way, in workload order."""
    cells = {}
    for line in lines:
        cells.setdefault((line["work"], line["peer"], line["way"]), []).append(line)
    results = []
    for (work, peer, way), found in cells.items():
        cell = {"work": work, "peer": peer, "way": way}
        if errors := [line["error"] for line in found if "error" in line]:
            cell["error"] = errors[0]
        else:
            rates = [line["rate"] for line in found]
            cell |= {"rate": round(statistics.median(rates)), "rates": sorted(map(round, rates))}
            cell["processor"] = min(line["processor"] for line in found)
        results.append(cell)
    order = list(WORKS)
    return sorted(results, key=lambda cell: order.index(cell["work"]))


if __name__ == "__main__":
    main()
