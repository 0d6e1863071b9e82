"""Tell circles from squares: images in one folder per class, read and resized by two threads.

    python examples/image_folder.py [FOLDER]

Without a folder it draws 600 images first, in a temporary one. Needs `pip install pillow`.
"""

import pathlib
import sys
import tempfile

import numpy as np

import pipeline

SIDE = 48


def draw(folder):
    """Write circles and squares with random position, size and colour as PNG files."""
    rng = np.random.default_rng(0)
    y, x = np.mgrid[:SIDE, :SIDE]
    for shape in ("circle", "square"):
        (folder / shape).mkdir()
        for number in range(300):
            (cx, cy), radius = rng.uniform(18, 28, 2), rng.uniform(13, 17)
            distance = np.hypot(x - cx, y - cy) if shape == "circle" else np.maximum(abs(x - cx), abs(y - cy))
            image = np.where((distance < radius)[..., None], rng.integers(100, 256, 3), rng.integers(0, 80, 3))
            (folder / shape / f"{number}.png").write_bytes(pipeline.encode_png(image.astype(np.uint8)))


def features(images):
    """Return how much of the box around the bright pixels is bright: pi / 4 for a circle, everything for a square."""
    bright = images.mean(axis=3) > 90
    area = bright.any(axis=1).sum(axis=1) * bright.any(axis=2).sum(axis=1)
    return bright.sum(axis=(1, 2)) / area


def decode(data):
    """Decode a file's bytes into an image with 24 x 24 pixels."""
    return pipeline.resize(pipeline.decode_image(data, channels=3), (24, 24), method="area")


def main(folder):
    source = pipeline.image_folder(folder, decode, shuffle=True, seed=1)
    right = 0
    with pipeline.shuffle_batch(source, 50, min_after_dequeue=200, num_threads=2, seed=1) as batches:
        for images, labels in batches:  # uint8 [50, 24, 24, 3] and the class number
            right += ((features(images) > 0.89) == labels).sum()
        print(f"{' or '.join(source.classes)}: {right} of {len(source)} right")


if __name__ == "__main__":
    if sys.argv[1:]:
        main(sys.argv[1])
    else:
        with tempfile.TemporaryDirectory() as made:
            draw(pathlib.Path(made))
            main(made)
