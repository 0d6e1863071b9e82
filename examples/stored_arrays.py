"""Recognize digits by their average images: arrays in .npy files and in an HDF5 file.

    python examples/stored_arrays.py

It writes both first, in a temporary folder. HDF5 needs `pip install h5py`; without it that part is left out.
"""

import pathlib
import tempfile

import numpy as np

import pipeline

try:
    import h5py
except ImportError:
    h5py = None


def learn(name, source):
    """Average each digit's images in one epoch; in the next, count the digits nearest to their own average."""
    sums, counts, right = np.zeros((10, 64)), np.zeros(10), 0
    batches = source.batch(100)
    for images, labels in batches.epoch(0):  # float32 [100, 64] and int64 [100]; 97 rows in the last batch
        np.add.at(sums, labels, images)
        np.add.at(counts, labels, 1)
    averages = sums / counts[:, None]
    for images, labels in batches.epoch(1):
        distances = ((images[:, None] - averages) ** 2).sum(axis=2)
        right += (distances.argmin(axis=1) == labels).sum()
    print(f"{name}: {right / len(source):.0%} of {len(source):,} digits right")


def main(folder):
    table = np.loadtxt("examples/data/digits.csv", delimiter=",")
    images, labels = table[:, :64].astype(np.float32), table[:, 64].astype(np.int64)
    np.save(folder / "images.npy", images)
    np.save(folder / "labels.npy", labels)
    learn("npy", pipeline.arrays((folder / "images.npy", folder / "labels.npy"), shuffle=True, seed=1))
    if h5py is None:
        return
    with h5py.File(folder / "digits.h5", "w") as file:
        file.create_dataset("images", data=images, chunks=(100, 64), compression="gzip")
        file.create_dataset("labels", data=labels, chunks=(100,))
    with h5py.File(folder / "digits.h5") as file:  # read chunk by chunk, each once per epoch
        learn("hdf5", pipeline.arrays((file["images"], file["labels"]), shuffle=True, seed=1))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        main(pathlib.Path(made))
