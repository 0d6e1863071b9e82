"""Measure datasets compared with the shortest code for the same batches: rows by index, lists, generators, map."""

import itertools

import numpy as np
import pytest

import pipeline

BATCH, BATCHES = 128, 300
ROWS = BATCH * BATCHES


def drain(batches):
    for _ in batches:
        pass


def taken(arrays, order):
    """Make batches with np.take."""
    for first in range(0, len(order), BATCH):
        numbers = order[first : first + BATCH]
        yield tuple(np.take(array, numbers, axis=0, mode="clip") for array in arrays)


def taken_into(arrays, order):
    """Make batches with np.take into existing arrays, the fastest way in NumPy: each batch replaces the last one."""
    out = [np.empty((BATCH, *array.shape[1:]), array.dtype) for array in arrays]
    for first in range(0, len(order), BATCH):
        numbers = order[first : first + BATCH]
        for array, to in zip(arrays, out, strict=True):
            np.take(array, numbers, axis=0, mode="clip", out=to)
        yield out


def stacked(items):
    """Make batches from single rows with np.stack."""
    items = iter(items)
    while rows := list(itertools.islice(items, BATCH)):
        yield np.stack(rows)


@pytest.mark.parametrize("which", ["ours", "take clip", "take clip out"])
@pytest.mark.parametrize("shuffled", [False, True], ids=["in order", "shuffled"])
@pytest.mark.parametrize(
    ("shape", "dtype", "rows"),
    [((4,), "f4", ROWS), ((32,), "f4", ROWS), ((784,), "f4", ROWS // 2), ((224, 224, 3), "u1", 8 * BATCH)],
    ids=["f32[4]", "f32[32]", "f32[784]", "u8[224,224,3]"],
)
def test_arrays_with_labels(measure, which, shuffled, shape, dtype, rows):
    images, labels = np.ones((rows, *shape), dtype), np.arange(rows)
    order = np.random.default_rng(1).permutation(rows) if shuffled else np.arange(rows)
    data = pipeline.arrays((images, labels), shuffle=shuffled, seed=1).batch(BATCH)
    next(iter(data))

    def run():
        other = taken if which == "take clip" else taken_into
        drain(data if which == "ours" else other((images, labels), order))

    how = "shuffled" if shuffled else "in order"
    measure(f"arrays of {dtype}{list(shape)} with labels, {how}, a row", run, rows, rounds=7, warmup_rounds=1)


@pytest.mark.parametrize("which", ["ours", "numpy"])
def test_ten_batches(measure, which):
    rows = np.zeros((10 * BATCH, 4), np.float32)
    order = np.arange(len(rows))

    def run():
        drain(pipeline.arrays(rows).batch(BATCH) if which == "ours" else taken((rows,), order))

    measure("a loop over ten batches of a small array, begun and ended", run, rounds=50, iterations=10)


def refilled():
    """Yield one array again and again, refilled each time."""
    row = np.zeros(4, np.float32)
    for i in range(ROWS):
        row[0] = i
        yield row


def copies():
    return map(np.copy, refilled())


def itself(row):
    return row


LIST = list(np.zeros((ROWS, 4), np.float32))
CHAINS = {
    "list": (lambda: pipeline.dataset(LIST), lambda: LIST),
    "list, pool of 1000": (lambda: pipeline.dataset(LIST).shuffle(1000, seed=1), lambda: LIST),
    "generator": (lambda: pipeline.dataset(refilled), copies),
    "generator, pool of 1000": (lambda: pipeline.dataset(refilled).shuffle(1000, seed=1), copies),
    "list, map": (lambda: pipeline.dataset(LIST).map(itself), lambda: map(itself, LIST)),
    "list, map in 1 thread": (lambda: pipeline.dataset(LIST).map(itself, workers=1), lambda: map(itself, LIST)),
}


@pytest.mark.parametrize("which", ["ours", "numpy"])
@pytest.mark.parametrize("chain", CHAINS)
def test_items_of_f32_4(measure, which, chain):
    data, rows = CHAINS[chain]

    def run():
        drain(data().batch(BATCH) if which == "ours" else stacked(rows()))

    measure(f"{chain}, a row of f32[4]", run, ROWS, rounds=7, warmup_rounds=1)


@pytest.mark.parametrize("which", ["ours", "numpy"])
def test_prefetch(measure, which):
    data = pipeline.dataset(refilled).batch(BATCH).prefetch(2)
    measure(
        "generator, prefetch, a row of f32[4]",
        lambda: drain(data if which == "ours" else stacked(copies())),
        ROWS,
        rounds=7,
        warmup_rounds=1,
    )
