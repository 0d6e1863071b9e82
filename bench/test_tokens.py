"""Measure rows from token files compared with NumPy rows cut by hand from a mapped file, as in nanoGPT."""

import numpy as np
import pytest

import pipeline

LENGTH, BATCH, TOKENS = 1024, 8, 20_000_000
ROWS = TOKENS // LENGTH
BATCHES = ROWS // BATCH


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    made = tmp_path_factory.mktemp("tokens") / "train.bin"
    np.random.default_rng(0).integers(0, 50257, TOKENS, dtype=np.uint16).tofile(made)
    return made


def by_hand(path, labels):
    """Yield batches with rows from a mapped file, in random order."""
    data = np.memmap(path, np.uint16, "r")
    order = np.random.default_rng(1).permutation(ROWS - labels)
    for first in range(0, len(order) - BATCH + 1, BATCH):
        begins = [int(i) * LENGTH for i in order[first : first + BATCH]]
        x = np.stack([data[i : i + LENGTH] for i in begins])
        yield (x, np.stack([data[i + 1 : i + 1 + LENGTH] for i in begins])) if labels else x


def ours(path, labels):
    return pipeline.tokens(path, LENGTH, dtype="uint16", labels=labels).shuffle(seed=1).batch(BATCH)


def windows(path, labels):
    if labels:
        pytest.skip("windows have no labels")
    return pipeline.arrays(np.memmap(path, np.uint16, "r")).window(LENGTH, LENGTH).shuffle(seed=1).batch(BATCH)


MAKE = {"ours": ours, "ours: windows of arrays": windows, "numpy": by_hand}


@pytest.mark.parametrize("which", MAKE)
@pytest.mark.parametrize("labels", [False, True], ids=["x", "x, y"])
def test_shuffled_rows(measure, path, which, labels):
    def run():
        for _ in MAKE[which](path, labels):
            pass

    name = "x, y" if labels else "x"
    measure(f"tokens: rows of {LENGTH}, shuffled, batches of {BATCH}: {name}, ns per token", run, ROWS * LENGTH)


@pytest.mark.parametrize("which", MAKE)
def test_first_batch(measure, path, which):
    measure("tokens: the first batch", lambda: next(iter(MAKE[which](path, False))))
