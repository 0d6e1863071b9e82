"""Train a handwritten digit classifier with JAX, and continue after a kill.

    python examples/jax_training.py [STATE]

Each batch is spread over all JAX devices by rows. Needs `pip install jax`.
"""

import os
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

import pipeline
import pipeline.jax

EPOCHS = 10


def loss_of(weights, batch):
    chances = jax.nn.log_softmax(batch["image"] @ weights)
    return -jnp.take_along_axis(chances, batch["label"][:, None], axis=1).mean()


@jax.jit
def train_step(weights, batch):
    loss, slope = jax.value_and_grad(loss_of)(weights, batch)
    return weights - 0.5 * slope, loss


def main(path=None):
    digits = np.loadtxt(Path(__file__).parent / "data" / "digits.csv", np.float32, delimiter=",")
    rows = {"image": digits[:, :64] / 16, "label": digits[:, 64].astype(np.int32)}
    source = pipeline.arrays(rows, shuffle=True, seed=1)
    mesh = jax.sharding.Mesh(np.array(jax.devices()), ("data",))
    by_rows = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("data"))
    weights, epoch, loss = np.zeros((64, 10), np.float32), 0, 0.0
    with pipeline.jax.DataLoader(source.batch(128, drop_remainder=True), by_rows) as loader:
        if path and os.path.exists(path):
            saved = pipeline.load_state(path)
            weights, epoch, loss = np.array(saved["weights"], np.float32), saved["epoch"], saved["loss"]
            loader.load_state_dict(saved["input"])
        while epoch < EPOCHS:
            for batch in loader:
                weights, loss = train_step(weights, batch)
                if path:
                    saved = {"weights": np.asarray(weights).tolist(), "epoch": epoch, "loss": float(loss)}
                    pipeline.save_state(path, {**saved, "input": loader.state_dict()})
            print(f"epoch {epoch}: loss {loss:.4f}", flush=True)
            epoch += 1
    right = (rows["image"] @ np.asarray(weights)).argmax(axis=1) == rows["label"]
    print(f"{right.mean():.1%} right, weights {np.asarray(weights).sum(axis=0).round(3)[:3]}")


if __name__ == "__main__":
    main(*sys.argv[1:])
