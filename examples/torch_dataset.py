"""Read a PyTorch Dataset unchanged, in two threads and shuffled batches, leaving out items that fail.

    python examples/torch_dataset.py

Needs PyTorch.
"""

import numpy as np
import torch

import pipeline.torch


class Digits(torch.utils.data.Dataset):
    """Digit images. One label in 100 is invalid."""

    def __init__(self, name):
        self.rows = np.loadtxt(name, delimiter=",", dtype=np.float32)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        image, label = torch.from_numpy(self.rows[index, :64]), int(self.rows[index, 64])
        if index % 100 == 99:
            raise ValueError("its label cannot be read")
        return {"image": image, "label": label}


def scaled(example):
    return {"image": example["image"] / 16, "label": example["label"]}


def main():
    digits = pipeline.torch.dataset(Digits("examples/data/digits.csv"), shuffle=True, seed=1)
    dataset = digits.map(scaled, workers=2, on_error="skip").batch(100)
    sums, counts, right = np.zeros((10, 64)), np.zeros(10), 0
    with iter(dataset) as batches:
        for batch in batches:  # float32 [100, 64] and int64 [100]; fewer in the last batch
            np.add.at(sums, batch["label"], batch["image"])
            np.add.at(counts, batch["label"], 1)
        print(f"{counts.sum():,.0f} digits, {batches.num_errors} left out, such as the one of which it says:")
        print(batches.errors[0])
    averages = sums / counts[:, None]
    for batch in dataset.epoch(1):
        distances = ((batch["image"][:, None] - averages) ** 2).sum(axis=2)
        right += (distances.argmin(axis=1) == batch["label"]).sum()
    print(f"nearest to the average of their own: {right / counts.sum():.0%}")


if __name__ == "__main__":
    main()
