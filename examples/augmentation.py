"""Read a folder of images, augment them in two processes, and train on the batches.

    python examples/augmentation.py

An image's random numbers follow from the seed, the epoch and its index. So the images are the same with any number of
processes, and the program checks this. Needs `pip install pillow`.
"""

import tempfile
from pathlib import Path

import numpy as np

import pipeline

SIZE = 24


def draw_images(folder):
    """Write 60 images: some with a horizontal bar, some with a vertical one."""
    rng = np.random.default_rng(1)
    for number in range(60):
        kind = ("flat", "tall")[number % 2]
        image = rng.integers(0, 80, (32, 32, 3), np.uint8)
        at = rng.integers(6, 22)
        bar = (slice(at, at + 4), slice(None)) if kind == "flat" else (slice(None), slice(at, at + 4))
        image[bar] += 150
        Path(folder, kind).mkdir(exist_ok=True)
        Path(folder, kind, f"{number:02}.png").write_bytes(pipeline.encode_png(image))


def augment(example):
    """Crop and mirror an image, and change its brightness, at random."""
    image, label = example
    rng = pipeline.example_rng()
    top, left = rng.integers(0, image.shape[0] - SIZE + 1, 2)
    image = pipeline.image.normalize(image[top : top + SIZE, left : left + SIZE])
    if rng.random() < 0.5:
        image = image[:, ::-1]
    return {"image": image * rng.uniform(0.7, 1.3), "label": label}


def batches_of(folder, workers):
    images = pipeline.image_folder(folder, shuffle=True, seed=1)
    return images.map(augment, workers=workers).batch(20)


def looks_tall(images):
    """Return a mask for images that vary more from column to column than from row to row."""
    grey = images.mean(axis=3)
    return grey.mean(axis=1).std(axis=1) > grey.mean(axis=2).std(axis=1)


def main():
    with tempfile.TemporaryDirectory() as folder:
        draw_images(folder)
        processes = pipeline.processes(2)
        dataset = batches_of(folder, processes)
        means = []
        for epoch in range(2):
            right = count = 0
            for batch in dataset.epoch(epoch):
                right += (looks_tall(batch["image"]) == batch["label"]).sum()
                count += len(batch["label"])
                means.append(batch["image"].mean())
            print(f"epoch {epoch}: {right} of {count} right")
        alone = [batch["image"].mean() for epoch in range(2) for batch in batches_of(folder, None).epoch(epoch)]
        print(f"the same without processes: {means == alone}")


if __name__ == "__main__":
    main()
