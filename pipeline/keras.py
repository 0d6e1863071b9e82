"""Keras: batches for `fit`. It needs `pip install keras` and a Keras backend.

    model.fit(pipeline.keras.PyDataset(source.shuffle(seed=1).batch(128)), epochs=2)

See docs/keras.md.
"""

from pipeline.adaptors.keras_dataset import PyDataset

__all__ = ["PyDataset"]
