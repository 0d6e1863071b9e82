"""Train PyTorch on the handwritten digits, stop mid-epoch, and continue with the very next batch.

    python examples/torch_training.py

Needs `pip install torch`.
"""

import numpy as np
import torch

import pipeline
import pipeline.torch


def loaders():
    """Return the loaders for training, reshuffled in each epoch, and for the test, every tenth image."""
    table = np.loadtxt("examples/data/digits.csv", delimiter=",", dtype=np.float32)
    images, labels, tested = table[:, :64] / 16, table[:, 64].astype(np.int64), np.arange(len(table)) % 10 == 0
    train = pipeline.arrays((images[~tested], labels[~tested]), shuffle=True, seed=1)
    test = pipeline.arrays((images[tested], labels[tested]))
    return (
        pipeline.torch.DataLoader(train.batch(64, drop_remainder=True), device="cpu"),  # or "cuda"
        pipeline.torch.DataLoader(test.batch(90)),
    )


def train(steps, checkpoint=None):
    """Train from a checkpoint, or from the start; return the next checkpoint and the accuracy."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    loader, test = loaders()
    parts = {"model": model, "optimizer": optimizer, "input": loader}
    for name, state in (checkpoint or {}).items():
        parts[name].load_state_dict(state)
    with loader, test:
        while steps:
            for images, labels in loader:  # one epoch
                optimizer.zero_grad()
                torch.nn.functional.cross_entropy(model(images), labels).backward()
                optimizer.step()
                steps -= 1
                if not steps:
                    break
        right = sum(int((model(images).argmax(dim=1) == labels).sum()) for images, labels in test)
        return {name: part.state_dict() for name, part in parts.items()}, right / 180


if __name__ == "__main__":
    whole, right = train(150)
    half, _ = train(60)  # 25 batches are an epoch
    resumed, again = train(90, half)
    same = all(torch.equal(whole["model"][name], resumed["model"][name]) for name in whole["model"])
    print(f"{right:.0%} of the test images are right; resumed {again:.0%}, the same weights: {same}")
