"""Read the same batches from an Arrow table in memory and from Feather files.

    python examples/arrow_tables.py

Needs `pip install pyarrow`.
"""

import pathlib
import tempfile

import numpy as np
import pyarrow as pa
import pyarrow.feather

import pipeline


def make_table():
    """Return 1,000 baskets: each customer, how many items they bought, and the prices."""
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 6, 1000)
    baskets = [rng.integers(1, 100, count).tolist() for count in counts]
    return pa.table({"customer": [f"customer {i % 50}" for i in range(1000)], "prices": baskets})


def spent(source):
    """Return each customer's total; rows with different lengths arrive as all values, and each row's start."""
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
