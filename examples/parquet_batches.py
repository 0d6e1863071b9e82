"""Make shuffled batches from Parquet files, with chosen columns and a new order in each epoch.

    python examples/parquet_batches.py [FOLDER]

Without a folder it writes four files first, in a temporary one. Needs `pip install pyarrow`.
"""

import pathlib
import sys
import tempfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import pipeline


def write_files(folder):
    """Write 40,000 rows: a vector, the class of its largest value, and a text that is never read."""
    random = np.random.default_rng(0)
    for i in range(4):
        vectors = random.normal(size=(10_000, 8)).astype(np.float32)
        columns = {
            "vector": pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), 8),
            "label": pa.array(vectors.argmax(axis=1).astype(np.int32)),
            "text": pa.array([f"row {n} of file {i}" for n in range(len(vectors))]),
        }
        pq.write_table(pa.table(columns), folder / f"part-{i}.parquet", row_group_size=1000)


def main(folder):
    rows = pipeline.parquet(f"{folder}/part-*.parquet", columns=["vector", "label"], shuffle=True, seed=1)
    batches = rows.shuffle(5000, seed=2).batch(128, drop_remainder=True)
    weights = np.zeros((8, 8), np.float32)
    for epoch in range(2):
        right = count = 0
        for batch in batches.epoch(epoch):
            guess = (batch["vector"] @ weights).argmax(axis=1)
            right += (guess == batch["label"]).sum()
            count += len(guess)
            wrong = guess != batch["label"]  # a perceptron: towards the label, away from the guess
            for target, sign in ((batch["label"], 0.01), (guess, -0.01)):
                np.add.at(weights.T, target[wrong], sign * batch["vector"][wrong])
        print(f"epoch {epoch}: {count:,} rows, {right / count:.0%} right")


if __name__ == "__main__":
    if sys.argv[1:]:
        main(sys.argv[1])
    else:
        with tempfile.TemporaryDirectory() as made:
            write_files(pathlib.Path(made))
            main(made)
