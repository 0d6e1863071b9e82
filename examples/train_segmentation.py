"""Train a segmentation network on images and masks augmented alike, and resume mid-epoch.

    python examples/train_segmentation.py [FOLDER]

FOLDER has images/ and masks/, with PNG files under the same names. Without it the program draws some first. Kill it and
start it again: it continues after its last checkpoint with the next batch, and its crops and flips are the same as
without the kill. Needs `pip install torch pillow`.

Compared with this program on torch's DataLoader (tests/adaptors/plain/segmentation.py), 17 lines are new and 8 are
gone. Its Dataset is the same except for `example_rng`. The other program resumes only at the next epoch, with other
crops and flips.
"""

import os
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch import nn
from torch.utils.data import Dataset

import pipeline
import pipeline.torch

SIZE, CROP, BATCH, EPOCHS, SAVE_EVERY = 48, 32, 8, 4, 3


def write_data(folder):
    """Write images of a bright disc on noise, and masks that are 1 on the disc."""
    rng = np.random.default_rng(0)
    y, x = np.mgrid[:SIZE, :SIZE]
    for number in range(100):
        (cy, cx), radius = rng.uniform(12, 36, 2), rng.uniform(8, 16)
        mask = (np.hypot(y - cy, x - cx) < radius).astype(np.uint8)
        image = rng.normal(80, 40, (SIZE, SIZE, 3)) + 60 * mask[..., None]
        for kind, array in {"images": image.clip(0, 255).astype(np.uint8), "masks": mask}.items():
            path = Path(folder, kind, f"{number:03}.png")
            path.parent.mkdir(exist_ok=True)
            Image.fromarray(array).save(path)


def read(path):
    """Read an image, uint8 [height, width, 3], and its mask, uint8 [height, width]."""
    mask = path.parents[1] / "masks" / path.name
    return np.array(Image.open(path).convert("RGB")), np.array(Image.open(mask))


def augment(image, mask):
    """Crop and flip both alike."""
    rng = pipeline.example_rng()
    top, left = rng.integers(0, np.array(mask.shape) - CROP + 1)
    flip = rng.random() < 0.5
    parts = (each[top : top + CROP, left : left + CROP] for each in (image, mask))
    return [each[:, ::-1] if flip else each for each in parts]


class Examples(Dataset):
    def __init__(self, folder):
        self.paths = sorted(Path(folder, "images").glob("*.png"))

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        image, mask = augment(*read(self.paths[index]))
        return pipeline.image.normalize(image, layout="CHW"), mask.astype(np.int64)


def loader_of(folder):
    examples = Examples(folder)
    numbers = pipeline.dataset(range(len(examples))).shuffle(seed=1)
    batches = numbers.map(examples.__getitem__, workers=4).batch(BATCH, drop_remainder=True)
    return pipeline.torch.DataLoader(batches)


def main(folder):
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(3, 8, 5, padding=2), nn.ReLU(), nn.Conv2d(8, 8, 5, padding=2), nn.ReLU(), nn.Conv2d(8, 2, 1)
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    train = loader_of(folder)
    parts = {"model": model, "optimizer": optimizer, "train": train}
    first, step, path = 0, 0, f"{folder}/checkpoint.pt"
    if os.path.exists(path):
        saved = torch.load(path)
        first, step = saved["epoch"], saved["step"]
        for name, part in parts.items():
            part.load_state_dict(saved[name])
    for epoch in range(first, EPOCHS):
        train.set_epoch(epoch)
        right = total = 0
        for images, masks in train:  # float32 [8, 3, 32, 32] and int64 [8, 32, 32]
            scores = model(images)
            optimizer.zero_grad()
            nn.functional.cross_entropy(scores, masks).backward()
            optimizer.step()
            step += 1
            guess = scores.argmax(1)
            right += int((guess & masks).sum())
            total += int((guess | masks).sum())
            if step % SAVE_EVERY == 0:
                save(path, epoch, step, parts)
        print(f"epoch {epoch}: intersection over union {right / max(total, 1):.2f}", flush=True)
    save(path, EPOCHS, step, parts)


def save(path, epoch, step, parts):
    states = {name: part.state_dict() for name, part in parts.items()}
    torch.save({**states, "epoch": epoch, "step": step}, f"{path}.new")
    os.replace(f"{path}.new", path)


if __name__ == "__main__":
    if sys.argv[1:]:
        main(sys.argv[1])
    else:
        with tempfile.TemporaryDirectory() as made:
            write_data(made)
            main(made)
