"""Split an epoch between several hosts: each reads its own files, and together they read every line once.

    python examples/shards.py [HOSTS]

The hosts are processes here. Each creates its own dataset from its index and the number of hosts.
"""

import concurrent.futures
import multiprocessing
import pathlib
import sys
import tempfile

import numpy as np

import pipeline

DIGITS = pathlib.Path(__file__).parent / "data" / "digits.csv"


def split(folder, files=12):
    """Split the digits into several files, each line with its number in front."""
    lines = [f"{number},{line}" for number, line in enumerate(DIGITS.read_text().splitlines())]
    for part in range(files):
        (folder / f"part-{part:02}.csv").write_text("\n".join(lines[part::files]) + "\n")


def decode(line):
    """Return the line's number, its image and its label."""
    values = np.array(line.split(","), np.float32)
    return int(values[0]), values[1:65], int(values[65])


def host(folder, index, hosts):
    """Run one host; return its line numbers, and a fingerprint of its examples."""
    files = sorted(folder.glob("part-*.csv"))
    lines = pipeline.text(files, shuffle=True, seed=1, shard=(index, hosts))
    data = lines.map(decode).shuffle(100, seed=1).checksum().batch(32)
    seen = []
    with iter(data) as batches:
        for numbers, _, _ in batches:
            seen += numbers.tolist()
        return seen, batches.fingerprint()


def main(hosts):
    with tempfile.TemporaryDirectory() as made:
        folder = pathlib.Path(made)
        split(folder)
        spawn = multiprocessing.get_context("spawn")
        with concurrent.futures.ProcessPoolExecutor(hosts, mp_context=spawn) as machines:
            parts = list(machines.map(host, [folder] * hosts, range(hosts), [hosts] * hosts))
    for index, (seen, fingerprint) in enumerate(parts):
        print(f"host {index}: {len(seen)} lines, {fingerprint}")
    everything = sorted(number for seen, _ in parts for number in seen)
    print("every line once:", everything == list(range(1797)))


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 3)
