"""Train on digits, and continue after a kill with the same batches and the same losses.

    python examples/resume.py digits.state

Kill it at any moment (Ctrl-C, kill -9, a lost machine) and run it again. Together its runs print the losses of a single
run. The number of threads may change from run to run.
"""

import os
import sys

import numpy as np

import pipeline


def decode(line):
    """Return an image, with a little noise that is the same in every run, and its label."""
    values = np.array(line.split(","), np.float32)
    noise = pipeline.example_rng().normal(0, 0.05, 64).astype(np.float32)
    return values[:64] / 16 + noise, int(values[64])


def make_batches(threads):
    lines = pipeline.text("examples/data/digits.csv", num_epochs=20)
    examples = lines.map(decode, workers=threads, seed=1).shuffle(1000, seed=2)
    return iter(examples.checksum().batch(128, drop_remainder=True))


def train(weights, images, labels):
    """Run one step of softmax regression: change the weights and return the loss."""
    scores = images.astype(float) @ weights
    scores -= scores.max(axis=1, keepdims=True)
    chances = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    rows = np.arange(len(labels))
    loss = -np.log(chances[rows, labels]).mean()
    chances[rows, labels] -= 1
    weights -= 0.5 * images.T @ chances / len(labels)
    return loss


def main(path, threads):
    batches = make_batches(threads)
    step, weights = 0, np.zeros((64, 10))
    if os.path.exists(path):
        saved = pipeline.load_state(path)
        step, weights = saved["step"], np.array(saved["weights"])
        batches.load_state_dict(saved["input"])
    with batches:
        for images, labels in batches:  # float32 [128, 64] and int64 [128]
            loss = train(weights, images, labels)
            step += 1
            print(f"step {step}: loss {loss}", flush=True)
            if step % 5 == 0:  # one file for the model and the input's state, so that they always fit together
                pipeline.save_state(path, {"step": step, "weights": weights.tolist(), "input": batches.state_dict()})
    print("the examples:", batches.fingerprint())


if __name__ == "__main__":
    if not sys.argv[1:]:
        sys.exit("usage: python examples/resume.py STATE [THREADS]")
    main(sys.argv[1], threads=int(sys.argv[2]) if sys.argv[2:] else 3)
