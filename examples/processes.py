"""Prepare examples on every core: a Python function in two processes, or in threads by changing one word.

    python examples/processes.py [processes|threads]

The function turns each digit in examples/data/digits.csv by a random angle, in plain Python. Arrays return through
shared memory. The batches are the same with any workers, because each example draws its own random numbers.
"""

import math
import sys
from pathlib import Path

import numpy as np

import pipeline

INVERSE = {}  # in each worker: the origin of each pixel in a turned image


def get_ready():
    """Prepare a worker; called once in each."""
    for degrees in range(-30, 31):
        INVERSE[degrees] = [[source(x, y, math.radians(degrees)) for x in range(8)] for y in range(8)]


def source(x, y, angle):
    """Return the origin of a pixel in a turned image; None if it is outside."""
    dx, dy = x - 3.5, y - 3.5
    x0 = round(3.5 + dx * math.cos(angle) + dy * math.sin(angle))
    y0 = round(3.5 - dx * math.sin(angle) + dy * math.cos(angle))
    return (y0, x0) if 0 <= x0 < 8 and 0 <= y0 < 8 else None


def turned(line):
    """Return an example: the turned image, and its digit."""
    *pixels, label = map(int, line.split(","))
    image = np.array(pixels, np.float32).reshape(8, 8) / 16
    degrees = int(pipeline.example_rng().integers(-30, 31))
    rows = [[image[place] if place else 0 for place in row] for row in INVERSE[degrees]]
    return {"image": np.array(rows, np.float32), "label": np.int32(label), "degrees": np.int32(degrees)}


def main(kind="processes"):
    lines = (Path(__file__).parent / "data" / "digits.csv").read_text().splitlines()
    workers = getattr(pipeline, kind)(2, setup=get_ready)
    shuffled = pipeline.dataset(lines).shuffle(seed=1)
    images = shuffled.map(turned, workers=workers).checksum()
    with iter(images.batch(64)) as batches:
        count = sum(len(batch["label"]) for batch in batches)
        print(f"{count} images, {batches.fingerprint()}")


if __name__ == "__main__":  # each worker imports this file
    main(*sys.argv[1:])
