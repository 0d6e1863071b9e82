"""Train a handwritten digit classifier with Keras, with any backend.

    KERAS_BACKEND=jax python examples/keras_training.py

Needs `pip install keras` and a backend: JAX, TensorFlow or PyTorch.
"""

import os
from pathlib import Path

os.environ.setdefault("KERAS_BACKEND", "jax")

import keras
import numpy as np

import pipeline
import pipeline.keras


def shifted(example):
    """Return the image moved by a pixel to either side, or not at all; the same in every run."""
    move = int(pipeline.example_rng().integers(-1, 2))
    return {"image": np.roll(example["image"], move, axis=1), "digit": example["digit"]}


def main():
    digits = np.loadtxt(Path(__file__).parent / "data" / "digits.csv", np.float32, delimiter=",")
    rows = {"image": digits[:, :64].reshape(-1, 8, 8, 1) / 16, "digit": digits[:, 64].astype(np.int32)}
    apart = np.arange(len(digits)) % 6 == 0
    known = pipeline.arrays({name: values[~apart] for name, values in rows.items()}, shuffle=True, seed=1)
    others = pipeline.arrays({name: values[apart] for name, values in rows.items()})
    train = known.map(shifted, workers=2).batch(64, drop_remainder=True).prefetch(2)
    keras.utils.set_random_seed(3)
    layers = [keras.layers.Conv2D(16, 3, activation="relu"), keras.layers.Flatten(), keras.layers.Dense(10)]
    model = keras.Sequential(layers)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(0.005), loss, metrics=["accuracy"])
    columns = {"x": "image", "y": "digit"}
    tested = pipeline.keras.PyDataset(others, batch_size=64, **columns)
    model.fit(pipeline.keras.PyDataset(train, **columns), validation_data=tested, epochs=8, verbose=2)
    print(f"{model.evaluate(tested, verbose=0, return_dict=True)['accuracy']:.1%} right")


if __name__ == "__main__":
    main()
