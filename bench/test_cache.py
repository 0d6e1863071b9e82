"""Measure a full cache compared with memory-mapped arrays, and filling one compared with no cache."""

import numpy as np
import pytest

import pipeline

BATCH, ROWS, IMAGES = 128, 12_800, 512


def drain(batches):
    for _ in batches:
        pass


def f32():
    return np.random.default_rng(0).random((ROWS, 784), np.float32)


def images():
    return np.random.default_rng(0).integers(0, 256, (IMAGES, 224, 224, 3), np.uint8)


@pytest.mark.parametrize("which", ["ours", "memory map"])
@pytest.mark.parametrize("shuffled", [False, True], ids=["in order", "shuffled"])
@pytest.mark.parametrize(("make", "batch"), [(f32, BATCH), (images, 32)], ids=["f32[784]", "u8[224,224,3]"])
def test_rows_of_a_full_cache(measure, which, shuffled, make, batch, tmp_path):
    array = make()
    np.save(tmp_path / "x.npy", array)
    data = pipeline.arrays(tmp_path / "x.npy", memory_map=True)
    if which == "ours":
        data = pipeline.arrays(array).cache(tmp_path / "cache")
        drain(data)
    data = (data.shuffle(seed=1) if shuffled else data).batch(batch)
    group = f"rows of a cache, {make.__name__}, {'shuffled' if shuffled else 'in order'}"
    measure(group, lambda: drain(data), len(array))


def texts():
    return [f"line {i} " + "x" * (i % 60) for i in range(ROWS)]


def ragged():
    return [np.arange(i % 40, dtype=np.int32) for i in range(ROWS)]


@pytest.mark.parametrize("which", ["ours", "list"])
@pytest.mark.parametrize(("make", "pad"), [(texts, None), (ragged, 0)], ids=["texts", "ragged"])
def test_values_of_several_lengths(measure, which, make, pad, tmp_path):
    data = pipeline.dataset(make())
    if which == "ours":
        data = data.cache(tmp_path / "cache")
        drain(data)
    data = data.shuffle(seed=1).batch(BATCH, pad=pad)
    measure(f"values of a cache, {make.__name__}, shuffled", lambda: drain(data), ROWS)


@pytest.mark.parametrize("which", ["ours", "in memory", "not kept"])
@pytest.mark.parametrize("make", [f32, texts, ragged], ids=["f32[784]", "texts", "ragged"])
def test_filling_a_cache(measure, which, make, tmp_path):
    given = make()
    data = pipeline.arrays(given) if make is f32 else pipeline.dataset(given)

    def made():
        folder = tmp_path / "cache"
        kept = {"ours": lambda: data.cache(folder, rebuild=True), "in memory": data.cache, "not kept": lambda: data}
        return (kept[which]().batch(BATCH, collate=list),), {}

    measure(f"fill a cache, {make.__name__}", drain, ROWS, setup=made, rounds=5)
