"""StatefulDataLoader of `pipeline.torch`: torchdata's constructor, behaviour and states."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from pipeline.adaptors.stateful_epochs import Epoch, EpochHere, EpochInWorkers, begun, indexes_of
from pipeline.adaptors.stateful_position import Position, position_of
from pipeline.adaptors.stateful_samplers import OwnBatchSampler, OwnRandomSampler
from pipeline.adaptors.torch_tensors import torch
from pipeline.dtypes import integer

T_co = TypeVar("T_co", covariant=True)


class StatefulDataLoader(torch.utils.data.DataLoader[T_co]):  # type: ignore[misc]
    """Load a PyTorch Dataset as torch's DataLoader does, and resume in the middle of an epoch.

    It replaces torchdata's StatefulDataLoader: arguments, behaviour and states are the same, and torchdata's saved
    states can be loaded. A map-style dataset resumes at the same cost at any batch: nothing is read again. An
    IterableDataset continues from its own or its iterator's state; without these its batches are made again and
    dropped. `shuffle=True` draws torchdata's orders, which differ with and without workers. For more speed, write a
    dataset of this package and use `DataLoader`.

    Thread safety: use it from one thread at a time.

    Attributes:
        snapshot_every_n_steps: As given.

    Examples:
        >>> data = torch.utils.data.TensorDataset(torch.arange(6))
        >>> loader = pipeline.torch.StatefulDataLoader(data, batch_size=2)
        >>> batches = iter(loader)
        >>> [x.tolist() for x in next(batches)]
        [[0, 1]]
        >>> state = loader.state_dict()
        >>> loader = pipeline.torch.StatefulDataLoader(data, batch_size=2)
        >>> loader.load_state_dict(state)
        >>> [x.tolist() for (x,) in loader]
        [[2, 3], [4, 5]]
    """

    def __init__(  # noqa: PLR0913
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Any = None,
        batch_sampler: Any = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], Any] | None = None,
        multiprocessing_context: Any = None,
        generator: Any = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
        snapshot_every_n_steps: int | None = 1,
    ) -> None:
        """Make a loader; nothing starts before the first batch or state.

        Args:
            dataset: A map-style Dataset or an IterableDataset. If it, its iterator or its sampler has `state_dict` and
                `load_state_dict`, its state is part of the loader's.
            batch_size, shuffle, sampler, batch_sampler, collate_fn, drop_last, generator: As for torch's DataLoader.
            num_workers, timeout, worker_init_fn, multiprocessing_context, prefetch_factor: As there.
            persistent_workers, pin_memory, pin_memory_device, in_order: As there.
            snapshot_every_n_steps: Number of batches between the workers' dataset states. On a resume, up to n - 1
                batches are made again. Datasets without a state are not affected. 0 and None: only at the start.

        Raises:
            ValueError, TypeError: As for torch's DataLoader; or `snapshot_every_n_steps` is negative.
        """
        every = integer(snapshot_every_n_steps or 0, "snapshot_every_n_steps")
        if every < 0:
            raise ValueError(f"snapshot_every_n_steps must be at least 0, got {every}")
        super().__init__(
            dataset,
            batch_size,
            shuffle,
            sampler,
            batch_sampler,
            num_workers,
            collate_fn,
            pin_memory,
            drop_last,
            timeout,
            worker_init_fn,
            multiprocessing_context,
            generator,
            prefetch_factor=prefetch_factor,
            persistent_workers=persistent_workers,
            pin_memory_device=pin_memory_device,
            in_order=in_order,
        )
        if shuffle and not isinstance(dataset, torch.utils.data.IterableDataset):
            sampler = OwnRandomSampler(dataset, generator)
            object.__setattr__(self, "sampler", sampler)  # torch's class forbids setting it now
        if batch_sampler is None and batch_size is not None:
            object.__setattr__(self, "batch_sampler", OwnBatchSampler(self.sampler, batch_size, drop_last))
        self.snapshot_every_n_steps = snapshot_every_n_steps
        self._epoch: Epoch | None = None
        self._position: Position | None = None  # from a loaded state
        self._early = False  # True if the epoch was begun for its state alone

    def __iter__(self) -> Iterator[Any]:
        """Begin an epoch, or continue a loaded state's.

        Raises:
            StateMismatchError: The state was saved with another number of workers, and their datasets have states.
        """
        if self._early and self._epoch is not None:
            self._early = False
        elif self._position is None and self.persistent_workers and isinstance(self._epoch, EpochInWorkers):
            self._epoch.begin_next(self._IterableDataset_len_called)
        else:
            self._epoch = self._opened()
        assert self._epoch is not None
        if self._epoch.finished and isinstance(self._epoch, EpochInWorkers):
            self._epoch.begin_next(self._IterableDataset_len_called)
        elif self._epoch.finished:
            self._epoch = self._opened()
        return self._epoch

    def _opened(self) -> Epoch:
        position, self._position, self._epoch = self._position, None, None
        alone = copy.copy(self)  # an epoch holding this loader would be a cycle, and its workers outlive both
        if position is not None:
            position.check(self.num_workers, isinstance(self.dataset, torch.utils.data.IterableDataset))
        if not self.num_workers:
            return EpochHere(alone, position)
        if position is not None and position.finished and not self.persistent_workers:
            begun(self)  # the ended epoch; the next one's workers start over, with the next seed
            indexes_of(self)
            indexes_of(self, position.main)
            position = None
        return EpochInWorkers(alone, position)

    def state_dict(self) -> dict[str, Any]:
        """Return the state after the last batch you got, including the dataset's and sampler's states.

        Before the first batch it begins the epoch, to get the datasets' states.
        """
        if self._epoch is None or self._position is not None:
            self._epoch = self._opened()
            self._early = True
        return self._epoch.position().state()

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Continue from a state: the next `iter` continues its epoch, or begins the next one if it had ended.

        Args:
            state_dict: A result of `state_dict`, also from torchdata's loader; an empty dict changes nothing.

        Raises:
            InvalidArgumentError: It is not a state.
        """
        position = position_of(state_dict) if state_dict else None
        epoch, self._epoch, self._early = self._epoch, None, False
        self._position = position
        if isinstance(epoch, EpochInWorkers):
            epoch.close()
