"""Train a classifier on folders of JPEG files, like PyTorch's imagenet example, and resume mid-epoch.

    python examples/train_imagenet.py [FOLDER]
    torchrun --nproc-per-node=2 examples/train_imagenet.py FOLDER

FOLDER has train/ and val/, each with one folder per class. Without it the program draws some images first. Kill it and
start it again: it continues after its last checkpoint with the next batch. Needs `pip install torch pillow`.

Compared with this program on torch's DataLoader (tests/adaptors/plain/imagenet.py), 23 lines are new and 23 are gone.
That one needs torchvision, resumes only at the next epoch, and validates some images twice under torchrun.
"""

import os
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist
from PIL import Image
from torch import nn

import pipeline
import pipeline.torch
from pipeline.image import center_crop_resize, random_resized_crop

SIZE, BATCH, EPOCHS, SAVE_EVERY = 32, 16, 3, 4
RANK = int(os.environ.get("RANK", "0"))  # this process's rank under torchrun
VALUES = {"mean": (0.485, 0.456, 0.406), "std": (0.229, 0.224, 0.225), "layout": "CHW"}


def write_data(folder):
    """Write JPEG files: horizontal stripes, and vertical ones."""
    rng = np.random.default_rng(0)
    for split, count in {"train": 200, "val": 50}.items():
        for number in range(count):
            kind = ("flat", "tall")[number % 2]
            height, width = rng.integers(40, 80, 2)
            wave = 100 + 80 * np.sin(np.arange(height) / rng.uniform(1, 2) + rng.uniform(0, 9))
            image = np.tile(wave[:, None, None], (1, width, 3)) + rng.normal(0, 10, (height, width, 3))
            image = image if kind == "flat" else image.swapaxes(0, 1)
            path = Path(folder, split, kind, f"{number:03}.jpg")
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(image.clip(0, 255).astype(np.uint8)).save(path)


def for_training(example):
    data, label = example
    return random_resized_crop(data, SIZE, scale=(0.3, 1), **VALUES), label


def for_validation(example):
    data, label = example
    return center_crop_resize(data, SIZE, **VALUES), label


def loaders(folder):
    train = pipeline.image_folder(f"{folder}/train", None, shuffle=True, seed=1).map(for_training, workers=4)
    val = pipeline.image_folder(f"{folder}/val", None).map(for_validation, workers=4)
    return (
        pipeline.torch.DataLoader(train.batch(BATCH, drop_remainder=True)),  # each process takes its batches
        pipeline.torch.DataLoader(val.batch(BATCH), pad_last=True),  # with a mask of the examples
    )


def main(folder):
    if "RANK" in os.environ:
        dist.init_process_group("gloo")
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(128, 2)
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 15, 0.5)
    train, val = loaders(folder)
    parts = {"model": model, "optimizer": optimizer, "schedule": schedule, "train": train}
    first, step, path = 0, 0, f"{folder}/checkpoint.pt"
    if os.path.exists(path):
        saved = torch.load(path)
        first, step = saved["epoch"], saved["step"]
        for name, part in parts.items():
            part.load_state_dict(saved[name])
    net = nn.parallel.DistributedDataParallel(model) if dist.is_initialized() else model
    for epoch in range(first, EPOCHS):
        train.set_epoch(epoch)
        for images, labels in train:  # float32 [16, 3, 32, 32] and int64 [16]
            optimizer.zero_grad()
            nn.functional.cross_entropy(net(images), labels).backward()
            optimizer.step()
            schedule.step()
            step += 1
            if step % SAVE_EVERY == 0:
                save(path, epoch, step, parts)
        validate(model, val, epoch)
    save(path, EPOCHS, step, parts)


def save(path, epoch, step, parts):
    """Write a checkpoint, in the first process; its loader's state serves all processes."""
    if RANK:
        return
    states = {name: part.state_dict() for name, part in parts.items()}
    torch.save({**states, "epoch": epoch, "step": step}, f"{path}.new")
    os.replace(f"{path}.new", path)


def validate(model, loader, epoch):
    """Print how many images are right in all processes."""
    model.eval()
    right = torch.zeros(2, dtype=torch.int64)
    with torch.no_grad():
        for (images, labels), mask in loader:
            right += torch.stack([(model(images).argmax(1) == labels)[mask].sum(), mask.sum()])
    model.train()
    if dist.is_initialized():
        dist.all_reduce(right)
    if RANK == 0:
        print(f"epoch {epoch}: {right[0]} of {right[1]} right", flush=True)


if __name__ == "__main__":
    if sys.argv[1:]:
        main(sys.argv[1])
    else:
        with tempfile.TemporaryDirectory() as made:
            write_data(made)
            main(made)
