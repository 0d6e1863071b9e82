"""Samplers for StatefulDataLoader: their state counts the indexes delivered, so a resume reads no item again."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from pipeline.adaptors.torch_tensors import torch
from pipeline.capabilities import Stateful

# An IterableDataset's sampler, without an order.
ENDLESS: Any = torch.utils.data.dataloader._InfiniteConstantSampler

_Random: Any = torch.utils.data.RandomSampler
_Batch: Any = torch.utils.data.BatchSampler
_Distributed: Any = torch.utils.data.distributed.DistributedSampler


class OwnRandomSampler(_Random):  # type: ignore[misc]
    """torch's RandomSampler with its own generator; its passes have a state.

    Args:
        data: The dataset; only its length matters.
        generator: Draws the orders; None for one seeded by torch's global generator.
    """

    def __init__(self, data: Any, generator: Any = None) -> None:
        if generator is None:
            generator = torch.Generator()
            generator.manual_seed(int(torch.empty((), dtype=torch.int64).random_().item()))
        super().__init__(data, generator=generator)

    def __iter__(self) -> Iterator[int]:
        return _Order(self)


class _Order(Iterator[int]):
    """One pass of an OwnRandomSampler."""

    def __init__(self, sampler: OwnRandomSampler) -> None:
        self._sampler = sampler
        self._begin()

    def _begin(self) -> None:
        self._before = self._sampler.generator.get_state()
        count = len(self._sampler.data_source)
        self._order = torch.randperm(count, generator=self._sampler.generator).tolist()
        self._given = 0

    def __next__(self) -> int:
        if self._given == len(self._order):
            raise StopIteration
        self._given += 1
        return int(self._order[self._given - 1])

    def state_dict(self) -> dict[str, Any]:
        return {"yielded": self._given, "generator": self._before}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._sampler.generator.set_state(state["generator"])
        self._begin()
        self._given = state["yielded"]


class OwnBatchSampler(_Batch):  # type: ignore[misc]
    """torch's BatchSampler; its passes have a state."""

    def __iter__(self) -> Iterator[list[int]]:
        return _Groups(self)


class _Groups(Iterator[list[int]]):
    """One pass of an OwnBatchSampler."""

    def __init__(self, batches: OwnBatchSampler) -> None:
        self._sampler, self._size, self._drops = batches.sampler, batches.batch_size, batches.drop_last
        self._numbers = iter(self._sampler)
        self._given = 0

    def __next__(self) -> list[int]:
        found = list(itertools.islice(self._numbers, self._size))
        self._given += len(found)
        if not found or (self._drops and len(found) < self._size):
            raise StopIteration
        return found

    def state_dict(self) -> dict[str, Any]:
        state: dict[str, Any] = {"samples_yielded": self._given}
        if isinstance(self._sampler, Stateful):
            state["sampler_state"] = self._sampler.state_dict()
        if isinstance(self._numbers, Stateful):
            state["sampler_iter_state"] = self._numbers.state_dict()
        return state

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._given = state["samples_yielded"]
        if "sampler_state" in state:
            self._sampler.load_state_dict(state["sampler_state"])
        self._numbers = iter(self._sampler)
        if "sampler_iter_state" in state:
            self._numbers.load_state_dict(state["sampler_iter_state"])
        elif not isinstance(self._sampler, Stateful) and not isinstance(self._sampler, ENDLESS):
            next(itertools.islice(self._numbers, self._given, self._given), None)


class StatefulDistributedSampler(_Distributed):  # type: ignore[misc]
    """torch's DistributedSampler with a state, like torchdata's.

    Thread safety: use it from one thread at a time.

    Attributes:
        yielded: Number of indexes delivered in the current pass.

    Examples:
        >>> data = torch.arange(10)
        >>> sampler = pipeline.torch.StatefulDistributedSampler(data, num_replicas=2, rank=0, shuffle=False)
        >>> list(sampler)
        [0, 2, 4, 6, 8]
    """

    def __init__(
        self,
        dataset: Any,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        """Make a sampler; see torch's DistributedSampler for the arguments."""
        super().__init__(dataset, num_replicas, rank, shuffle, seed, drop_last)
        self.yielded = 0
        self.next_yielded: int | None = None

    def __iter__(self) -> Iterator[int]:
        self.yielded, self.next_yielded = self.next_yielded or 0, None
        for number in itertools.islice(super().__iter__(), self.yielded, None):
            self.yielded += 1
            yield number

    def state_dict(self) -> dict[str, Any]:
        """Return the epoch, and the number of indexes delivered in the current pass."""
        return {"yielded": self.yielded, "epoch": self.epoch}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Set the epoch, and begin the next pass after the saved indexes; ValueError if it is not a state.

        States of torchdata 0.11 have no epoch; the sampler then keeps its own.
        """
        if not state_dict.get("yielded", -1) >= 0:
            raise ValueError(f"load_state_dict: expected {{'yielded': a number}}, got {state_dict!r:.80}")
        self.set_epoch(state_dict.get("epoch", self.epoch))
        self.next_yielded = state_dict["yielded"]


class Indexes(Iterator[Any]):
    """One pass over a loader's sampler, with a state.

    Args:
        sampler: The sampler, or batch sampler.
        state: The state to continue from; None for the beginning.
    """

    def __init__(self, sampler: Any, state: dict[str, Any] | None = None) -> None:
        self._sampler, self._given = sampler, 0
        self._indexes = iter(sampler)
        if state is None:
            return
        self._given = state["_sampler_iter_yielded"]
        if isinstance(sampler, Stateful) or isinstance(self._indexes, Stateful):
            if isinstance(sampler, Stateful):
                sampler.load_state_dict(state["_index_sampler_state"])
                self._indexes = iter(self._sampler)
            if state["_sampler_iter_state"] is not None and isinstance(self._indexes, Stateful):
                self._indexes.load_state_dict(state["_sampler_iter_state"])
        elif not isinstance(sampler, ENDLESS):
            self._indexes = itertools.islice(self._indexes, self._given, None)

    def __next__(self) -> Any:
        index = next(self._indexes)
        self._given += 1
        return index

    def state(self) -> dict[str, Any]:
        """Return the state, with torchdata's names."""
        sampler, indexes = self._sampler, self._indexes
        return {
            "_index_sampler_state": sampler.state_dict() if isinstance(sampler, Stateful) else None,
            "_sampler_iter_state": indexes.state_dict() if isinstance(indexes, Stateful) else None,
            "_sampler_iter_yielded": self._given,
        }
