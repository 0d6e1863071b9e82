"""Cut a long series into windows, and batch sequences of similar length.

    python examples/windows.py

Windows: each row has 24 hours of temperatures, and the model learns the next hour from the 23 before. Buckets: walks
with 1 to 60 steps are padded, and the program counts how much of the batches is padding.
"""

import numpy as np

import pipeline


def temperatures():
    """Yield hourly temperatures for 60 days."""
    rng = np.random.default_rng(1)
    for hour in range(24 * 60):
        yield 15 + 8 * np.sin(2 * np.pi * hour / 24) + rng.normal(0, 0.5)


def next_hour():
    """Learn the next hour by least squares; return the mean error in degrees on the last windows."""
    windows = pipeline.dataset(temperatures).window(24, stride=1)
    train, test = windows.take(1200), windows.skip(1224)
    [rows] = train.shuffle(500, seed=1).batch(1200)
    factors, *_ = np.linalg.lstsq(rows[:, :-1], rows[:, -1], rcond=None)
    errors = [np.abs(batch[:, :-1] @ factors - batch[:, -1]) for batch in test.batch(64)]
    return np.concatenate(errors).mean()


def walk(length):
    return pipeline.example_rng().normal(size=(length, 2)).cumsum(axis=0)


def padding(batches):
    """Return the fraction of padding in some batches; walks never return to exactly 0."""
    zeros = sum((batch[:, :, 0] == 0).sum() for batch in batches)
    return zeros / sum(batch.shape[0] * batch.shape[1] for batch in batches)


def main():
    print(f"windows: the next hour is off by {next_hour():.2f} degrees")
    lengths = np.random.default_rng(1).integers(1, 61, 2000)
    walks = pipeline.dataset(lengths.tolist()).map(walk, seed=1)
    plain = list(walks.batch(32, pad=0))
    bucketed = list(walks.bucket([11, 21, 31, 41, 51], [32] * 6))
    print(f"batches as they come: {padding(plain):.0%} is padding; from buckets: {padding(bucketed):.0%}")


if __name__ == "__main__":
    main()
