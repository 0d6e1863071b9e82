"""JAX: batches on its devices. It needs `pip install jax`.

    loader = pipeline.jax.DataLoader(source.shuffle(seed=1).batch(128), sharding)
    for images, labels in loader:
        state, loss = train_step(state, images, labels)

See docs/jax.md.
"""

from pipeline.adaptors.jax_loader import DataLoader

__all__ = ["DataLoader"]
