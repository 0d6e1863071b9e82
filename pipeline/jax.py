"""JAX: batches of a loop on its devices. It needs `pip install 'queue-runner[jax]'`.

    loader = pipeline.jax.DataLoader(pipeline.shuffle_batch(source, 128), sharding)
    for images, labels in loader:
        state, loss = train_step(state, images, labels)

See docs/jax.md.
"""

from pipeline.adaptors.jax_loader import DataLoader

__all__ = ["DataLoader"]
