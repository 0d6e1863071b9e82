"""Trains on digits, and after a kill goes on as if nothing had happened: same batches, same losses.

    python examples/resume.py digits.state

Kill it at any moment (Ctrl-C, kill -9, a machine that goes away) and run it again. Together its runs print the losses
that one run prints. The number of threads may change from run to run.
"""

import os
import sys

import numpy as np

import pipeline


def make_batches(threads):
    files = pipeline.string_input_producer(["examples/data/digits.csv"], num_epochs=20, seed=1)
    reader = pipeline.TextLineReader()

    def block():
        """Return up to 64 images, with a little noise that is the same in every run."""
        _, lines = reader.read_up_to(files, 64)
        *pixels, labels = pipeline.decode_csv(lines, [np.float32] * 64 + [np.int32])
        images = np.stack(pixels, axis=1) / 16
        return images + pipeline.example_rng().normal(0, 0.05, images.shape).astype(np.float32), labels

    return pipeline.shuffle_batch(
        block,
        batch_size=128,
        capacity=2000,
        min_after_dequeue=1000,
        num_threads=threads,
        seed=2,
        enqueue_many=True,
        deterministic=True,
    )


def train(weights, images, labels):
    """One step of softmax regression; changes the weights and returns the loss."""
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
        for images, labels in batches:  # float32 [128, 64] and int32 [128]
            loss = train(weights, images, labels)
            step += 1
            print(f"step {step}: loss {loss}", flush=True)
            if step % 5 == 0:  # the model and its place in the input go into one file, so they always fit together
                pipeline.save_state(path, {"step": step, "weights": weights.tolist(), "input": batches.state_dict()})
    print("the order of the examples:", batches.fingerprint())


if __name__ == "__main__":
    if not sys.argv[1:]:
        sys.exit("usage: python examples/resume.py STATE [THREADS]")
    main(sys.argv[1], threads=int(sys.argv[2]) if sys.argv[2:] else 3)
