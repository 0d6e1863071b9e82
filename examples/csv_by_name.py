"""Find the factors in a flat's price, using some columns of compressed CSV files with missing fields.

    python examples/csv_by_name.py [FILE ...]

Without files it writes four first, in a temporary folder. Files ending in .gz or .bz2 need no extra option.
"""

import gzip
import pathlib
import sys
import tempfile

import numpy as np

import pipeline


def write_files(folder):
    """Write 20,000 flats: 30 per square metre, 900 per room, 5,000 for the address."""
    rng = np.random.default_rng(0)
    for i in range(4):
        with gzip.open(folder / f"flats-{i}.csv.gz", "wt") as file:
            print("number,remark,rooms,area,price", file=file)
            for number in range(5000 * i, 5000 * i + 5000):
                rooms, area = rng.integers(1, 7), rng.uniform(20, 150)
                price = 5000 + 900 * rooms + 30 * area + rng.normal(0, 100)
                missing = number % 10 == 0
                print(f'{number},"bright, ""quiet""",{rooms},{"" if missing else f"{area:.1f}"},{price:.2f}', file=file)
    return f"{folder}/flats-*.csv.gz"


def main(paths):
    source = pipeline.csv(paths, columns=["rooms", "area", "price"], shuffle=True, seed=1)
    products, sums, without = np.zeros((3, 3)), np.zeros(3), 0
    with pipeline.shuffle_batch(source, 500, min_after_dequeue=2000, num_threads=2, seed=1) as batches:
        for batch in batches:  # int64 [500], float64 [500], float64 [500]
            known = ~np.isnan(batch["area"])
            flats = np.stack([np.ones(known.sum()), batch["rooms"][known], batch["area"][known]], axis=1)
            products += flats.T @ flats
            sums += flats.T @ batch["price"][known]
            without += (~known).sum()
    address, room, metre = np.linalg.solve(products, sums)
    print(f"{address:,.0f} for the address, {room:.0f} for a room, {metre:.1f} for a square metre; {without} left out")


if __name__ == "__main__":
    if sys.argv[1:]:
        main(sys.argv[1:])
    else:
        with tempfile.TemporaryDirectory() as made:
            main(write_files(pathlib.Path(made)))
