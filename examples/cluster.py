"""Prepare examples on a Ray cluster; without an address, start one on this machine.

    python examples/cluster.py [address]

The function adds noise to the digits in examples/data/digits.csv. Each example draws its own random numbers, so the
last line is the same on every cluster, even if its machines die meanwhile.
"""

import sys
from pathlib import Path

import numpy as np

import pipeline

LINES = (Path(__file__).parent / "data" / "digits.csv").read_text().splitlines()


def noisy(line):
    """Return an example: the image with noise, and its digit."""
    *pixels, label = map(int, line.split(","))
    image = np.array(pixels, np.float32).reshape(8, 8) / 16
    return {"image": image + pipeline.example_rng().normal(0, 0.1, (8, 8)), "label": np.int32(label)}


def images(workers):
    """Return batches of shuffled images; their iterator's fingerprint covers the bytes."""
    return pipeline.dataset(LINES).shuffle(seed=1).map(noisy, workers=workers).checksum().batch(64)


def main(address="local"):
    with iter(images(pipeline.cluster.workers(2, address=address))) as batches:
        count = sum(len(batch["label"]) for batch in batches)
        print(f"{count} images, {batches.fingerprint()}")


if __name__ == "__main__":
    main(*sys.argv[1:])
