"""IterableDataset of `pipeline.torch`: batches for torch's own DataLoader, split among its workers."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from types import FrameType
from typing import Any

from pipeline.adaptors.rounds import round_of
from pipeline.adaptors.torch_epochs import TensorEpochs, as_in_parent, rank_of_process
from pipeline.adaptors.torch_tensors import torch
from pipeline.datasets.dataset import Dataset
from pipeline.datasets.share import Share, draw_seeds, further_share, is_share
from pipeline.dtypes import integer
from pipeline.errors import FailedPreconditionError, invalid
from pipeline.keywords import tells_keywords

# torch DataLoader's iterator over an IterableDataset, in its own process or in a worker.
_Fetcher = torch.utils.data._utils.fetch._IterableDatasetFetcher

# Number of epochs a worker draws from if `set_epoch` was not called.
_ROUNDS = 1 << 20


class IterableDataset(torch.utils.data.IterableDataset):  # type: ignore[misc]
    """Pass batches to torch's own DataLoader, with `batch_size=None`.

    Each worker of that DataLoader, and each `torch.distributed` process, runs the dataset for its part of the batches.
    A dataset that cannot be split raises a FailedPreconditionError, because every worker would read all of it. If your
    dataset has its own threads or processes, prefer this module's `DataLoader`.

    Each `iter` begins an epoch. Workers started for a single epoch draw the order from the seed set by torch's
    DataLoader. With several `torch.distributed` processes call `set_epoch`.

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
            data: A dataset of batches, or a function returning one. Workers not started by fork
                (multiprocessing_context="spawn" or "forkserver") get it by pickle.
            shard: True if workers and processes split the batches; False if your data has
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
        self._epoch: int | None = None  # set by `set_epoch`, until the epoch begins
        self._worker: Any = None  # the worker that made the loader
        self._loader: TensorEpochs | None = None
        self._parent: tuple[int, int] | None = None

    def set_epoch(self, epoch: int) -> None:
        """Set the next epoch, counted from 0; its orders are the same in all processes and runs."""
        self._epoch = integer(epoch, "epoch")

    def __iter__(self) -> Iterator[Any]:
        """Begin an epoch over this worker's shard.

        Raises:
            FailedPreconditionError: There are several workers or processes, and the input cannot be split among them.
            InvalidArgumentError: torch's DataLoader would batch the batches.
        """
        self._check_shares()
        _refuse_batching(sys._getframe(1))
        loader = self._here()
        batches = iter(loader)
        if self._epoch is not None:
            loader.set_epoch(self._epoch)
            self._epoch = None
        return batches

    def _check_shares(self) -> None:
        """Raise an error if Accelerate would split an already split input: half of the examples would be lost."""
        state = sys.modules.get("accelerate.state")
        if self._shared and state is not None and state.PartialState._shared_state and rank_of_process()[1] > 1:
            text = (
                "IterableDataset: Accelerate splits the datasets of torch's DataLoader between processes itself, and "
                "this one is already split. Pass pipeline.torch.DataLoader(dataset) to its prepare(), or shard=False"
            )
            raise FailedPreconditionError(None, None, text)

    def _here(self) -> TensorEpochs:
        """Return this process's loader."""
        worker = torch.utils.data.get_worker_info()
        if self._loader is None or worker is not self._worker:
            self._worker = worker
            self._loader = self._made(worker)
        return self._loader

    def _made(self, worker: Any) -> TensorEpochs:
        if self._parent is not None:
            as_in_parent(*self._parent)
        given = self._given if isinstance(self._given, Dataset) else self._given()
        here = round_of(given, "IterableDataset")
        data: Any = given
        if worker is not None and here.starts_over:  # a fork has copied its parent's state
            data = given.epoch((worker.seed - worker.id) % _ROUNDS if rank_of_process()[1] == 1 else 0)
        ranks = rank_of_process()[1]
        if given is self._given and worker is not None and self._shared and is_share(data):
            mine = Share(worker.id, worker.num_workers, True, ranks > 1)  # within this process's shard
            return TensorEpochs(further_share(data, mine), shard=False)
        loader = TensorEpochs(data, shard=self._shared)
        loader._alike = given is self._given and ranks == 1  # workers have copies of one dataset
        loader._equal = ranks > 1
        return loader

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_loader": None, "_worker": None, "_parent": rank_of_process()}

    def state_dict(self) -> dict[str, Any]:
        """As in `DataLoader`, for this process."""
        return self._here().state_dict()

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """As in `DataLoader`."""
        self._here().load_state_dict(state_dict)


def _refuse_batching(caller: FrameType) -> None:
    """Refuse a DataLoader that would stack batches, recognised by the code calling the dataset's `iter`."""
    fetcher = caller.f_locals.get("self")
    if not isinstance(fetcher, _Fetcher) or not fetcher.auto_collation:
        return
    if fetcher.collate_fn is torch.utils.data.default_collate:
        raise invalid(
            "IterableDataset gives batches, and torch's DataLoader would make batches of them: write "
            "DataLoader(dataset, batch_size=None)"
        )
