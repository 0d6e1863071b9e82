"""Port a training program from PyTorch's DataLoader, keeping its dataset and collate function.

    python examples/from_dataloader.py

The replaced lines are kept as comments. NumPy stands in for the model, so the program runs without PyTorch;
`torch.from_numpy` turns the batches into tensors without a copy.
"""

import numpy as np

import pipeline


class Digits:  # was: (torch.utils.data.Dataset), which still works
    """Images of digits, with a little noise."""

    def __init__(self, name):
        self.rows = np.loadtxt(name, delimiter=",", dtype=np.float32)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        noise = pipeline.example_rng().normal(0, 0.05, 64)  # was: np.random.normal(0, 0.05, 64)
        return self.rows[index, :64] / 16 + noise, int(self.rows[index, 64])


def collate(examples):
    images, labels = zip(*examples, strict=True)
    return {"image": np.stack(images), "label": np.array(labels)}


def train(weights, batch):
    """Run one step of softmax regression; return how many examples were right before."""
    scores = batch["image"] @ weights
    chances = np.exp(scores - scores.max(axis=1, keepdims=True))
    chances /= chances.sum(axis=1, keepdims=True)
    weights -= 0.5 * batch["image"].T @ (chances - np.eye(10)[batch["label"]]) / len(chances)
    return (scores.argmax(axis=1) == batch["label"]).sum()


def main():
    digits = Digits("examples/data/digits.csv")
    # was: generator = torch.Generator().manual_seed(1)
    #      loader = DataLoader(digits, batch_size=100, shuffle=True, num_workers=2, drop_last=True,
    #                          collate_fn=collate, generator=generator, worker_init_fn=seed_numpy)
    numbers = pipeline.dataset(range(len(digits))).shuffle(seed=1)
    # In processes, like a DataLoader: workers=pipeline.processes(2)
    loader = numbers.map(digits.__getitem__, workers=2).batch(100, drop_remainder=True, collate=collate)
    weights = np.zeros((64, 10))
    for epoch in range(4):
        right = count = 0
        for batch in loader.epoch(epoch):  # was: in loader
            right += train(weights, batch)
            count += len(batch["label"])
        print(f"epoch {epoch}: {right / count:.0%} of {count} right")


if __name__ == "__main__":
    main()
