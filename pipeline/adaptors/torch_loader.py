"""DataLoader and IterableDataset of `pipeline.torch`: batches as tensors, shared out to processes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from types import SimpleNamespace
from typing import Any

from pipeline.adaptors.loader import Loader
from pipeline.adaptors.rounds import round_of
from pipeline.adaptors.structure import mapped
from pipeline.adaptors.torch_tensors import tensor_of, torch
from pipeline.datasets.dataset import Dataset
from pipeline.datasets.iterator import DatasetIterator
from pipeline.datasets.share import Share, draw_seeds, further_share, is_share
from pipeline.dtypes import integer
from pipeline.errors import FailedPreconditionError
from pipeline.keywords import tells_keywords
from pipeline.logs import logger

# Rounds of a dataset in a worker that was not told the epoch: some of so many.
_ROUNDS = 1 << 20

_log = logger("pipeline.batches")

# (rank, world size) of the process that started this worker, if the worker got its dataset by pickle.
_of_parent: tuple[int, int] | None = None


def shard() -> tuple[int, int]:
    """Return (index, count): this process's part of the input, for arguments called `shard`.

    It counts the processes of an initialised `torch.distributed` group, and the workers of a torch DataLoader. Without
    them it is (0, 1).

    Thread safety: you may call it from any thread.

    Examples:
        >>> pipeline.torch.shard()
        (0, 1)
        >>> source = pipeline.arrays(np.arange(10), shard=pipeline.torch.shard())
    """
    rank, world = _rank()
    worker = torch.utils.data.get_worker_info()
    if worker is None:
        return rank, world
    return rank * worker.num_workers + worker.id, world * worker.num_workers


def _rank() -> tuple[int, int]:
    if _of_parent is not None:
        return _of_parent
    distributed = torch.distributed
    if distributed.is_available() and distributed.is_initialized():
        return distributed.get_rank(), distributed.get_world_size()
    return 0, 1


class DataLoader(Loader):
    """Give a dataset's batches as PyTorch tensors.

    Each `iter` begins the next epoch: epoch i is `dataset.epoch(i)`, with its
    own order. Your dataset's threads and processes prepare the batches, as
    `map(..., workers=)` and `prefetch` say. Tensors share their batch's memory;
    see `to_tensors` for dtypes.

    In a `torch.distributed` group each process gets an equal, disjoint part of
    the batches. Write the same dataset with seeds in every process.

    `state_dict` describes the last batch you got, and works with
    `torch.distributed.checkpoint`. If your dataset cannot be rewound, a state
    begins its epoch again, and a warning says so.

    Thread safety: use it from one thread at a time.

    Examples:
        >>> data = pipeline.arrays((np.zeros((6, 2)), np.arange(6))).batch(4)
        >>> for images, labels in pipeline.torch.DataLoader(data):
        ...     print(tuple(images.shape), labels.tolist())
        (4, 2) [0, 1, 2, 3]
        (2, 2) [4, 5]
    """

    @tells_keywords
    def __init__(
        self,
        data: Dataset[Any] | DatasetIterator[Any],
        *,
        device: Any = None,
        pin_memory: bool = False,
        prefetch: int = 1,
        shard: bool = True,
    ) -> None:
        """Make a loader; nothing starts before the first batch.

        Args:
            data: A dataset of batches, such as `source.batch(128)`; or its iterator, for one epoch.
            device: Where to copy tensors, such as "cuda"; None leaves them in host memory. An accelerator copies each
                batch in its own stream, while you work on the one before.
            pin_memory: Copy tensors into page-locked memory, which an accelerator copies from faster. Without an
                accelerator it only logs a warning.
            prefetch: How many batches to copy to `device` ahead.
            shard: Whether processes split the batches; False if your data is one process's part already.

        Raises:
            TypeError: `data` gives no batches, such as a source.
            ValueError: `prefetch` is negative or above 64.
            RuntimeError: There is no such device.
        """
        super().__init__(data, 0 if device is None else prefetch)
        self._shared = shard
        self._device: Any = None if device is None else torch.device(device)
        self._pins = bool(pin_memory) and torch.accelerator.is_available()
        if pin_memory and not self._pins:
            _log.warning("%r: pin_memory does nothing, as there is no accelerator", self)
        self._streams: Any = None if self._device is None else torch.get_device_module(self._device)
        self._stream = None if self._streams is None else self._streams.Stream()
        self._warned = False

    @property
    def batch_sampler(self) -> SimpleNamespace:
        """For Lightning, which tells the sampler in this place which epoch begins; see `set_epoch`."""
        return SimpleNamespace(sampler=self)

    def _shard(self) -> tuple[int, int]:
        return shard() if self._shared else (0, 1)

    def _without_state(self, error: FailedPreconditionError) -> None:
        if not self._warned:
            self._warned = True
            _log.warning("%r: %s: this state begins the epoch again", self, error)

    def _convert(self, batch: Any) -> Any:
        if self._streams is None:
            return mapped(self._pinned if self._pins else tensor_of, batch)
        with self._streams.stream(self._stream):
            return mapped(self._copied, batch)

    def _pinned(self, value: Any, name: str) -> Any:
        """Return a component as a tensor, in page-locked memory if it should be there."""
        tensor = tensor_of(value, name)
        return tensor.pin_memory() if self._pins and isinstance(tensor, torch.Tensor) else tensor

    def _copied(self, value: Any, name: str) -> Any:
        """Return a component as a tensor on the device."""
        tensor = self._pinned(value, name)
        return tensor.to(self._device, non_blocking=True) if isinstance(tensor, torch.Tensor) else tensor

    def _given(self, batch: Any) -> Any:
        """Make the caller's work wait for the copy of the batch, and keep its memory until that work is done."""
        if self._streams is None:
            return batch
        stream = self._streams.current_stream()
        stream.wait_stream(self._stream)
        if self._device.type != "cpu":
            mapped(lambda value, name: _record(value, stream), batch)
        return batch


def _record(value: Any, stream: Any) -> None:
    if isinstance(value, torch.Tensor):
        value.record_stream(stream)


class IterableDataset(torch.utils.data.IterableDataset):  # type: ignore[misc]
    """Give a dataset's batches to torch's own DataLoader, which needs `batch_size=None`.

    Each worker of that DataLoader, and each `torch.distributed` process, runs the dataset for its part of the batches.
    A dataset that cannot be split raises a FailedPreconditionError, because every worker would read all of it. If your
    dataset has its own threads or processes, prefer `DataLoader` of this module.

    Each `iter` begins an epoch. Workers that live for one epoch draw the order from the seed torch's DataLoader gives
    them. With several `torch.distributed` processes call `set_epoch`.

    Thread safety: use it from one thread at a time.

    Examples:
        >>> import torch
        >>> data = pipeline.arrays(np.arange(6)).batch(2)
        >>> loader = torch.utils.data.DataLoader(pipeline.torch.IterableDataset(data), batch_size=None)
        >>> [batch.tolist() for batch in loader]
        [[0, 1], [2, 3], [4, 5]]
    """

    @tells_keywords
    def __init__(self, data: Dataset[Any] | Callable[[], Any], *, shard: bool = True) -> None:
        """Make a dataset; nothing starts before the first batch.

        Args:
            data: A dataset of batches, or a function that makes one. Workers that are not forked
                (multiprocessing_context="spawn" or "forkserver") get it by pickle.
            shard: Whether workers and processes split the batches; False if your data has
                `shard=pipeline.torch.shard()` already.

        Raises:
            TypeError: `data` is none of these.
        """
        if isinstance(data, Dataset):
            round_of(data, "IterableDataset")
        elif not callable(data):
            text = "IterableDataset takes a dataset of batches, or a function that makes one, not"
            raise TypeError(f"{text} {data!r:.80}")
        if isinstance(data, Dataset):
            draw_seeds(data)  # before there are workers: each would draw its own
        self._given = data
        self._shared = shard
        self._check_shares()
        self._epoch: int | None = None  # that was set since the last one began
        self._worker: Any = None  # in which the loader was made
        self._loader: DataLoader | None = None
        self._parent: tuple[int, int] | None = None

    def set_epoch(self, epoch: int) -> None:
        """Say which epoch comes next, counted from 0: its random orders are the same in all processes and runs."""
        self._epoch = integer(epoch, "epoch")

    def __iter__(self) -> Iterator[Any]:
        """Begin an epoch, of this worker's share.

        Raises:
            FailedPreconditionError: There are several workers or processes, and they cannot share the input.
        """
        self._check_shares()
        loader = self._here()
        batches = iter(loader)
        if self._epoch is not None:
            loader.set_epoch(self._epoch)
            self._epoch = None
        return batches

    def _check_shares(self) -> None:
        """Refuse where Accelerate would share out what is one share already: half of the examples would be lost."""
        state = sys.modules.get("accelerate.state")
        if self._shared and state is not None and state.PartialState._shared_state and _rank()[1] > 1:
            text = (
                "IterableDataset: Accelerate shares out the datasets of torch's DataLoader itself, and this one is "
                "shared out already. Pass pipeline.torch.DataLoader(dataset) to its prepare(), or shard=False here"
            )
            raise FailedPreconditionError(None, None, text)

    def _here(self) -> DataLoader:
        """The loader of this process."""
        worker = torch.utils.data.get_worker_info()
        if self._loader is None or worker is not self._worker:
            self._worker = worker
            self._loader = self._made(worker)
        return self._loader

    def _made(self, worker: Any) -> DataLoader:
        global _of_parent
        if self._parent is not None:
            _of_parent = self._parent
        given = self._given if isinstance(self._given, Dataset) else self._given()
        here = round_of(given, "IterableDataset")
        data: Any = given
        if worker is not None and here.starts_over:  # a fork has copied what its parent had begun
            data = given.epoch((worker.seed - worker.id) % _ROUNDS if _rank()[1] == 1 else 0)
        ranks = _rank()[1]
        if given is self._given and worker is not None and self._shared and is_share(data):
            mine = Share(worker.id, worker.num_workers, True, ranks > 1)  # of this process's share
            return DataLoader(further_share(data, mine), shard=False)
        loader = DataLoader(data, shard=self._shared)
        loader._alike = given is self._given and ranks == 1  # workers have copies of one dataset
        loader._equal = ranks > 1
        return loader

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_loader": None, "_worker": None, "_parent": _rank()}

    def state_dict(self) -> dict[str, Any]:
        """As that of `DataLoader`: of what runs in this process."""
        return self._here().state_dict()

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """As that of `DataLoader`."""
        self._here().load_state_dict(state_dict)
