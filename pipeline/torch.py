"""PyTorch: batches as tensors, and Datasets as sources. It needs `pip install torch`.

    dataset = source.shuffle(seed=1).batch(128)
    loader = pipeline.torch.DataLoader(dataset, device="cuda", pin_memory=True)
    for images, labels in loader:
        loss = train_step(images, labels)

See docs/torch.md.
"""

from pipeline.adaptors.stateful_loader import StatefulDataLoader
from pipeline.adaptors.stateful_samplers import StatefulDistributedSampler
from pipeline.adaptors.torch_dataset import dataset
from pipeline.adaptors.torch_epochs import shard
from pipeline.adaptors.torch_iterable import IterableDataset
from pipeline.adaptors.torch_loader import DataLoader
from pipeline.adaptors.torch_tensors import to_tensors

__all__ = [
    "DataLoader",
    "IterableDataset",
    "StatefulDataLoader",
    "StatefulDistributedSampler",
    "dataset",
    "shard",
    "to_tensors",
]
