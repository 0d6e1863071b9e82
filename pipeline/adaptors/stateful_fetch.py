"""Fetcher: makes a StatefulDataLoader's batches, in the caller or in torch DataLoader workers."""

from __future__ import annotations

import copy
import pickle
import random
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from pipeline.adaptors.stateful_pipes import seed_shuffles, share
from pipeline.adaptors.torch_tensors import torch
from pipeline.capabilities import GivesSeveral, Stateful

# Ticket kinds for torch DataLoader workers.
BEGIN, SKIP, FETCH = range(3)


class Recipe(NamedTuple):
    """The settings for making batches.

    Attributes:
        dataset: The dataset.
        iterable: True if it is an IterableDataset.
        batched: True if examples are put into batches.
        collate: Makes a batch from a list of examples, or an element from one example if not batched.
        drop_last: True if a smaller last batch is dropped.
    """

    dataset: Any
    iterable: bool
    batched: bool
    collate: Callable[[Any], Any]
    drop_last: bool


class Fetcher:
    """Makes batches. Its state is the dataset's, or its iterator's.

    Args:
        recipe: The settings.
        state: The state to continue from; None for the beginning of an epoch.
        seed: The seed for a DataPipe's shuffles; None for other datasets.
    """

    def __init__(self, recipe: Recipe, state: dict[str, Any] | None, seed: int | None) -> None:
        self._recipe, dataset = recipe, recipe.dataset
        seed_shuffles(dataset, seed)
        if state is not None and state["dataset_state"] is not None and isinstance(dataset, Stateful):
            dataset.load_state_dict(state["dataset_state"])
        self._examples = iter(dataset) if recipe.iterable else None
        self._several = isinstance(dataset, GivesSeveral)
        self.ended = False
        found = None if state is None or state["fetcher_state"] is None else state["fetcher_state"]
        if found is not None and found["dataset_iter_state"] is not None and isinstance(self._examples, Stateful):
            self._examples.load_state_dict(found["dataset_iter_state"])

    @property
    def stateful(self) -> bool:
        """True if the dataset or its iterator has a state."""
        return isinstance(self._recipe.dataset, Stateful) or isinstance(self._examples, Stateful)

    def fetch(self, index: Any) -> Any:
        """Return the batch or element for an index; StopIteration if an IterableDataset has ended."""
        recipe = self._recipe
        if recipe.iterable:
            return recipe.collate(self._taken(index))
        if not recipe.batched:
            return recipe.collate(recipe.dataset[index])
        dataset = recipe.dataset
        if self._several:
            return recipe.collate(dataset.__getitems__(index))
        return recipe.collate([dataset[number] for number in index])

    def _taken(self, index: Any) -> Any:
        if not self._recipe.batched:
            return next(self._examples)  # type: ignore[arg-type]
        if self.ended:
            raise StopIteration
        found: list[Any] = []
        for _ in index:
            try:
                found.append(next(self._examples))  # type: ignore[arg-type]
            except StopIteration:
                self.ended = True
                break
        if not found or (self._recipe.drop_last and len(found) < len(index)):
            raise StopIteration
        return found

    def state(self) -> dict[str, Any]:
        """Return the state, with torchdata's names for its parts."""
        dataset, examples = self._recipe.dataset, self._examples
        apart = isinstance(dataset, Stateful) and examples is not dataset
        fetcher = None
        if self._recipe.iterable:
            own = examples.state_dict() if isinstance(examples, Stateful) else None
            fetcher = {"dataset_iter_state": own, "fetcher_ended": self.ended}
        return {"fetcher_state": fetcher, "dataset_state": dataset.state_dict() if apart else None}


def apart(state: Any) -> Any:
    """Deep-copy a state."""
    return copy.deepcopy(state)


class Ticket(NamedTuple):
    """A request to a worker.

    Attributes:
        what: BEGIN, SKIP or FETCH.
        number: The batch's index in the epoch.
        index: The sampler's index or list of indexes; for BEGIN the seed for a DataPipe's shuffles.
        snapshot: True if the worker sends its state after the batch.
    """

    what: int
    number: int = -1
    index: Any = None
    snapshot: bool = True


class Made:
    """A worker's answer to a ticket.

    Args:
        worker: The worker's index.
        number: The ticket's number.
        data: The batch; None if there is none.
        state: The pickled state after it; None if it was not requested, or has not changed.
        ended: True if the worker's dataset has ended.
    """

    def __init__(self, worker: int, number: int, data: Any, state: bytes | None, ended: bool = False) -> None:
        self.worker, self.number, self.data, self.state, self.ended = worker, number, data, state, ended

    def pin_memory(self, device: Any = None) -> Made:
        """Copy the batch into page-locked memory; torch calls it."""
        self.data = torch.utils.data._utils.pin_memory.pin_memory(self.data, device)
        return self


class WorkerDataset(torch.utils.data.Dataset):  # type: ignore[misc]
    """The dataset in torch's workers: its items are the answers to tickets.

    Args:
        recipe: The settings.
        states: Each worker's state to continue from, pickled; None for a beginning.
    """

    def __init__(self, recipe: Recipe, states: list[bytes] | None) -> None:
        self.recipe, self._states = recipe, states
        self._fetcher: Fetcher | None = None
        self._sent: bytes | None = None

    def __len__(self) -> int:
        return 0  # the loader's sampler decides the length

    def __getitem__(self, ticket: Ticket) -> Made:
        worker = torch.utils.data.get_worker_info().id
        if ticket.what == SKIP:
            return Made(worker, ticket.number, None, None)
        if ticket.what == BEGIN:
            states, self._states, self._sent = self._states, None, None
            state = None if states is None else pickle.loads(states[worker])
            self._fetcher = Fetcher(self.recipe, state, ticket.index)
            return Made(worker, ticket.number, None, self._state(worker))
        assert self._fetcher is not None
        try:
            data = self._fetcher.fetch(ticket.index)
        except StopIteration:
            if not self.recipe.iterable:
                raise
            self._fetcher.ended = True
            return Made(worker, ticket.number, None, self._state(worker), ended=True)
        return Made(worker, ticket.number, data, self._state(worker) if ticket.snapshot else None)

    def _state(self, worker: int) -> bytes | None:
        """Return the pickled state; None if it was the last one sent."""
        assert self._fetcher is not None
        state = pickle.dumps({"worker_id": worker, **self._fetcher.state()})
        if state == self._sent:
            return None
        self._sent = state
        return state


class WorkerStart:
    """The first call in a worker: sets the saved state's seed, and gives torch the user's dataset.

    Args:
        init: The user's `worker_init_fn`.
        base_seed: The seed for all workers.
        dataset: The user's dataset.
        hosts: The number of hosts, and the index of this one.
    """

    def __init__(
        self, init: Callable[[int], Any] | None, base_seed: int, dataset: WorkerDataset, hosts: tuple[int, int]
    ) -> None:
        self._init, self._base_seed, self._dataset, self._hosts = init, base_seed, dataset, hosts

    def __call__(self, worker: int) -> None:
        info, seed = torch.utils.data.get_worker_info(), self._base_seed + worker
        for name, value in (("dataset", info.dataset.recipe.dataset), ("seed", seed)):
            object.__setattr__(info, name, value)  # torch's class forbids setting them
        random.seed(seed)
        torch.manual_seed(seed)
        np.random.seed(torch.utils.data._utils.worker._generate_state(self._base_seed, worker))
        share(info.dataset, self._hosts, worker, info.num_workers)
        if self._init is not None:
            self._init(worker)


def same(made: Made) -> Made:
    """Return its argument: the `collate_fn` for torch's loader."""
    return made
