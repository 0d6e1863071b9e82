"""Read a table with a rare class, and draw both classes equally often.

    python examples/class_balance.py

It creates a CSV file of payments, with one fraud in 50. A model trained on the rows as they are finds no fraud; a model
trained on balanced draws finds most.
"""

import os
import tempfile

import numpy as np

import pipeline

ROWS = 20_000


def write_payments(name):
    rng = np.random.default_rng(1)
    fraud = rng.random(ROWS) < 0.02
    amount = rng.normal(0, 1, ROWS) + 1.5 * fraud
    hour = rng.normal(0, 1, ROWS) - 1.5 * fraud
    with open(name, "w") as file:
        print("amount,hour,fraud", file=file)
        for row in zip(amount, hour, fraud, strict=True):
            print("{:.3f},{:.3f},{:d}".format(*row), file=file)


def step(weights, batch):
    """Run one step of logistic regression."""
    x = np.stack([batch["amount"], batch["hour"], np.ones(len(batch["fraud"]))], axis=1)
    chances = 1 / (1 + np.exp(-x @ weights))
    weights -= 0.5 * x.T @ (chances - batch["fraud"]) / len(x)


def main():
    with tempfile.TemporaryDirectory() as folder:
        name = os.path.join(folder, "payments.csv")
        write_payments(name)
        table = pipeline.csv(name).to_arrays()  # rows need an index to be drawn by weight

    payments = pipeline.arrays(table)
    train, test = payments.skip(5_000), payments.take(5_000)
    labels = table["fraud"][5_000:]
    weights = 1 / np.bincount(labels)[labels]

    [held_out] = test.batch(5_000)
    x = np.stack([held_out["amount"], held_out["hour"], np.ones(5_000)], axis=1)
    for title, dataset in {
        "as it is": train.shuffle(seed=1),
        "balanced": train.sample(weights, seed=1),
    }.items():
        model, frauds, count = np.zeros(3), 0, 0
        for epoch in range(3):
            for batch in dataset.epoch(epoch).batch(100):
                step(model, batch)
                frauds += batch["fraud"].sum()
                count += len(batch["fraud"])
        found = ((x @ model > 0) & (held_out["fraud"] == 1)).sum() / held_out["fraud"].sum()
        print(f"{title}: {frauds / count:.0%} of what it learns from is fraud; it finds {found:.0%} of the frauds")


if __name__ == "__main__":
    main()
