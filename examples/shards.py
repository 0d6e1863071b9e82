"""One epoch shared out among several hosts: each reads its own files, and together they read every line once.

    python examples/shards.py [HOSTS]

The hosts are processes here. Each makes its own loop, told only its number and how many there are.
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
    """Write the digits into several files, each line with its number in front."""
    lines = [f"{number},{line}" for number, line in enumerate(DIGITS.read_text().splitlines())]
    for part in range(files):
        (folder / f"part-{part:02}.csv").write_text("\n".join(lines[part::files]) + "\n")


def host(folder, index, hosts):
    """What runs on each host; return the numbers of the lines that it got, and the order as a fingerprint."""
    files = pipeline.string_input_producer(
        sorted(folder.glob("part-*.csv")), num_epochs=1, seed=1, shard=(index, hosts)
    )
    reader = pipeline.TextLineReader()

    def block():
        _, lines = reader.read_up_to(files, 64)
        number, *pixels, label = pipeline.decode_csv(lines, [np.int64] + [np.float32] * 64 + [np.int32])
        return number, np.stack(pixels, axis=1), label

    seen = []
    with pipeline.shuffle_batch(
        block, 32, capacity=500, min_after_dequeue=100, seed=1, enqueue_many=True, allow_smaller_final_batch=True,
        deterministic=True,
    ) as batches:  # fmt: skip
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
