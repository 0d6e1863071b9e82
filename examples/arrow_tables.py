"""Rows of an Arrow table in memory, and of the Feather files that it is written to: the same batches.

    python examples/arrow_tables.py

It needs `pip install pyarrow`.
"""

import pathlib
import tempfile

import numpy as np
import pyarrow as pa
import pyarrow.feather

import pipeline


def make_table():
    """1,000 baskets: who bought how many things, at which prices."""
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 6, 1000)
    baskets = [rng.integers(1, 100, count).tolist() for count in counts]
    return pa.table({"customer": [f"customer {i % 50}" for i in range(1000)], "prices": baskets})


def spent(source):
    """What each customer paid: rows of different lengths come as all values, and where each row begins."""
    totals = {}
    for batch in source.shuffle(300, seed=2).batch(100, collate="row_splits"):
        prices, splits = batch["prices"]
        for name, first, end in zip(batch["customer"], splits, splits[1:], strict=False):
            totals[name] = totals.get(name, 0) + int(prices[first:end].sum())
    return totals


def main(folder):
    table = make_table()
    for i in range(4):
        pa.feather.write_feather(table.slice(250 * i, 250), folder / f"part-{i}.feather")
    in_memory = spent(pipeline.arrow(table, shuffle=True, seed=1))
    in_files = spent(pipeline.feather(f"{folder}/part-*.feather", shuffle=True, seed=1))
    best = max(in_memory, key=in_memory.get)
    print(f"{best} of {len(in_memory)} spent most: {in_memory[best]} in memory, {in_files[best]} in files")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        main(pathlib.Path(made))
