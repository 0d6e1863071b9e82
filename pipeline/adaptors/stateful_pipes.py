"""torch's DataPipes in a StatefulDataLoader: the seed of their shuffles, and each worker's share."""

from __future__ import annotations

from typing import Any

from pipeline.adaptors.torch_tensors import torch


def shuffle_seed(loader: Any) -> int | None:
    """Draw the seed for a DataPipe's shuffles, the same on all hosts; None for other datasets."""
    if not isinstance(loader.dataset, torch.utils.data.IterDataPipe):
        return None
    several = torch.distributed.is_available() and torch.distributed.is_initialized()
    group = torch.distributed.new_group(backend="gloo") if several else None
    return int(torch.utils.data.dataloader._share_dist_seed(loader.generator, group))


def seed_shuffles(dataset: Any, seed: int | None) -> None:
    """Set the seed for a DataPipe's shuffles."""
    if seed is not None:
        generator = torch.Generator()
        generator.manual_seed(seed)
        torch.utils.data.graph_settings.apply_random_seed(dataset, generator)


def hosts() -> tuple[int, int]:
    """Return the number of processes that torch.distributed has, and the index of this one."""
    found: tuple[int, int] = torch.utils.data.dataloader._get_distributed_settings()
    return found


def share(dataset: Any, hosts: tuple[int, int], worker: int = 0, workers: int = 1) -> None:
    """Give a DataPipe's `sharding_filter` its part, by host and worker, as torch does; other datasets have none."""
    if isinstance(dataset, (torch.utils.data.IterDataPipe, torch.utils.data.MapDataPipe)):
        count, host = hosts
        torch.utils.data.graph_settings.apply_sharding(dataset, workers * count, worker * count + host)
