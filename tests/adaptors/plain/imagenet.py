"""examples/train_imagenet.py on torch's DataLoader alone. It resumes at the next epoch. Needs torchvision."""

import os
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist
from PIL import Image
from torch import nn
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler
from torchvision import datasets, transforms

SIZE, BATCH, EPOCHS = 32, 16, 3
RANK = int(os.environ.get("RANK", "0"))  # this process's rank under torchrun
VALUES = {"mean": (0.485, 0.456, 0.406), "std": (0.229, 0.224, 0.225)}


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


def loaders(folder):
    for_training = [transforms.RandomResizedCrop(SIZE, scale=(0.3, 1)), transforms.RandomHorizontalFlip()]
    for_validation = [transforms.Resize(SIZE * 8 // 7), transforms.CenterCrop(SIZE)]
    values = [transforms.ToTensor(), transforms.Normalize(**VALUES)]
    train = datasets.ImageFolder(f"{folder}/train", transforms.Compose(for_training + values))
    val = datasets.ImageFolder(f"{folder}/val", transforms.Compose(for_validation + values))
    train_sampler = val_sampler = None
    if dist.is_initialized():
        train_sampler = DistributedSampler(train, seed=1, drop_last=True)
        val_sampler = DistributedSampler(val, shuffle=False)  # counts some images twice if they do not divide evenly
    return (
        DataLoader(train, BATCH, train_sampler is None, train_sampler, num_workers=4, drop_last=True),
        DataLoader(val, BATCH, sampler=val_sampler, num_workers=4),
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
    parts = {"model": model, "optimizer": optimizer, "schedule": schedule}
    first, step, path = 0, 0, f"{folder}/checkpoint.pt"
    if os.path.exists(path):
        saved = torch.load(path)
        first, step = saved["epoch"], saved["step"]
        for name, part in parts.items():
            part.load_state_dict(saved[name])
    net = nn.parallel.DistributedDataParallel(model) if dist.is_initialized() else model
    for epoch in range(first, EPOCHS):
        if dist.is_initialized():
            train.sampler.set_epoch(epoch)
        for images, labels in train:  # float32 [16, 3, 32, 32] and int64 [16]
            optimizer.zero_grad()
            nn.functional.cross_entropy(net(images), labels).backward()
            optimizer.step()
            schedule.step()
            step += 1
        validate(model, val, epoch)
        save(path, epoch + 1, step, parts)


def save(path, epoch, step, parts):
    """Write a checkpoint, in the first process."""
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
        for images, labels in loader:
            right += torch.tensor([(model(images).argmax(1) == labels).sum(), len(labels)])
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
