"""Shuffle lines from compressed text files, and count the words in each kind of message.

    python examples/compressed_text.py

It writes the files first, in a temporary folder.
"""

import bz2
import collections
import gzip
import pathlib
import tempfile

import pipeline

LINES = ["error: the disk is full", "warning: the disk is slow", "error: the network is slow"] * 200


def main(folder):
    for i, (ending, opened) in enumerate({"gz": gzip.open, "bz2": bz2.open}.items()):
        with opened(folder / f"log-{i}.txt.{ending}", "wt") as file:
            print("# messages", *LINES[i::2], sep="\n", file=file)
    words = collections.defaultdict(collections.Counter)
    # The suffixes of the file names give the compression.
    source = pipeline.text(f"{folder}/log-*.txt.*", skip_lines=1, shuffle=True, seed=1)
    for line in source.shuffle(200, seed=2):
        kind, message = line.split(": ")
        words[kind].update(message.split())
    for kind, counter in sorted(words.items()):
        print(f"{kind}: {counter['disk']} times the disk, {counter['network']} times the network")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        main(pathlib.Path(made))
