"""Measure the cost of making tensors from a batch: microseconds, the minimum over many runs.

    python bench/runs/conversion.py

`from_numpy` is PyTorch's own time for the arrays, with one call each. `conversion` is the time for `to_tensors`, and
`loader` is everything that a DataLoader adds to its iterator: epochs, states and the conversion.
"""

import itertools
import time

import numpy as np
import torch

import pipeline.torch
from pipeline.adaptors.structure import mapped

IMAGES, LABELS = np.zeros((128, 784), np.float32), np.zeros(128, np.int64)
BATCHES = {
    "one array": IMAGES,
    "a tuple of two": (IMAGES, LABELS),
    "a dict of two": {"image": IMAGES, "label": LABELS},
    "nested, four": {"image": (IMAGES, LABELS), "box": {"low": LABELS, "high": LABELS}},
}


def loop_of(batch):
    """Return a loop with a batch made beforehand."""
    return iter(pipeline.dataset(itertools.repeat(batch)))


def least(call, runs=400, calls=200):
    best = float("inf")
    for _ in range(runs):
        began = time.thread_time()
        for _ in itertools.repeat(None, calls):
            call()
        best = min(best, (time.thread_time() - began) / calls)
    return 1e6 * best


def main():
    print(f"{'':16} {'from_numpy':>10} {'conversion':>10} {'loader':>8}  us a batch")
    for name, batch in BATCHES.items():
        arrays = []
        mapped(lambda value, _, arrays=arrays: arrays.append(value), batch)
        loop, batches = loop_of(batch), iter(pipeline.torch.DataLoader(loop_of(batch)))
        plain = least(lambda arrays=arrays: [torch.from_numpy(each) for each in arrays])
        conversion = least(lambda batch=batch: pipeline.torch.to_tensors(batch))
        loader = least(batches.__next__) - least(loop.__next__)
        print(f"{name:16} {plain:10.2f} {conversion:10.2f} {loader:8.2f}")


if __name__ == "__main__":
    main()
