"""One epoch of a StatefulDataLoader, with batches made by the caller, or by torch DataLoader workers."""

from __future__ import annotations

import collections
import contextlib
import itertools
import pickle
import warnings
from collections.abc import Iterator
from typing import Any

from pipeline.adaptors.stateful_fetch import (
    BEGIN,
    FETCH,
    SKIP,
    Fetcher,
    Made,
    Recipe,
    Ticket,
    WorkerDataset,
    WorkerStart,
    apart,
    same,
)
from pipeline.adaptors.stateful_pipes import hosts, share, shuffle_seed
from pipeline.adaptors.stateful_position import Position
from pipeline.adaptors.stateful_samplers import Indexes
from pipeline.adaptors.torch_tensors import torch
from pipeline.capabilities import Stateful
from pipeline.logs import logger

_log = logger("pipeline.batches")


class Epoch(Iterator[Any]):
    """An epoch's batches: the base class for both kinds.

    Args:
        loader: The loader.

    Attributes:
        finished: True if the caller has seen the end.
        yielded: Number of batches delivered.
    """

    _shuffles: int | None  # the seed for a DataPipe's shuffles

    def __init__(self, loader: Any) -> None:
        self.finished, self.yielded = False, 0
        self._loader, self._recipe = loader, recipe_of(loader)

    def __iter__(self) -> Epoch:
        return self

    def __len__(self) -> int:
        return len(self._loader)

    def __next__(self) -> Any:
        try:
            batch = self._next()
        except StopIteration:
            self.finished = True
            raise
        self.yielded += 1
        told = self._loader._IterableDataset_len_called
        if self._recipe.iterable and told is not None and self.yielded > told:
            several = "For multiprocessing data-loading, this could be caused by workers that each give all examples: "
            warnings.warn(
                f"Length of IterableDataset {self._recipe.dataset} was reported to be {told} (when accessing "
                f"len(dataloader)), but {self.yielded} samples have been fetched. "
                + (f"{several}see torch.utils.data.IterableDataset." if self._loader.num_workers else ""),
                stacklevel=2,
            )
        return batch

    def _next(self) -> Any:
        raise NotImplementedError

    def position(self) -> Position:
        """Return the epoch's position."""
        raise NotImplementedError

    def _skip(self, count: int, why: str = "") -> None:
        """Make some batches and drop them."""
        if why and count:
            _log.warning("%s: %s: the first %d batches are made again and dropped", self._loader, why, count)
        for _ in range(count):
            next(self)


_NO_STATE = "neither the dataset nor its iterator has state_dict and load_state_dict"


def recipe_of(loader: Any) -> Recipe:
    """Return a loader's settings for making batches."""
    iterable = isinstance(loader.dataset, torch.utils.data.IterableDataset)
    batched = loader.batch_sampler is not None
    return Recipe(loader.dataset, iterable, batched, loader.collate_fn, loader.drop_last)


def indexes_of(loader: Any, main: dict[str, Any] | None = None) -> Indexes:
    """Return the pass over a loader's sampler, from a state on."""
    return Indexes(loader.sampler if loader.batch_sampler is None else loader.batch_sampler, main)


def begun(loader: Any) -> tuple[Indexes, int, int | None]:
    """Begin a pass over a loader's sampler, and draw the workers' seed; return also that of a DataPipe's shuffles.

    Passes over torchdata's samplers draw their order as they begin, so these calls determine an epoch's order. With
    workers torch begins two passes, the second after the seed.
    """
    shuffles, indexes = shuffle_seed(loader), indexes_of(loader)
    return indexes, int(torch.empty((), dtype=torch.int64).random_(generator=loader.generator).item()), shuffles


class EpochHere(Epoch):
    """The caller makes the batches.

    Args:
        loader: The loader.
        position: Position to continue from; None for the beginning.
    """

    def __init__(self, loader: Any, position: Position | None) -> None:
        super().__init__(loader)
        again = position is not None and self._recipe.iterable and position.stateless
        start = None if again else position
        self._indexes, _, drawn = begun(loader)
        self._shuffles = drawn if position is None else position.main.get("_shared_seed", drawn)
        share(self._recipe.dataset, hosts())
        if start is not None:
            self._indexes = indexes_of(loader, start.main)
            if loader.generator is not None:  # as in the saved epoch after its pass began, for the next epoch's order
                torch.empty((), dtype=torch.int64).random_(generator=loader.generator)
        worker = start.workers[0] if start is not None and not start.stateless else None
        self._fetcher = Fetcher(self._recipe, worker, self._shuffles)
        self._pins = bool(loader.pin_memory) and torch.accelerator.is_available()
        if start is not None:
            self.yielded = start.step
        if position is not None and not position.finished:
            self._skip(position.step + position.since - self.yielded, _NO_STATE if again else "")
        self.finished = position is not None and position.finished

    def _next(self) -> Any:
        batch = self._fetcher.fetch(next(self._indexes))
        return torch.utils.data._utils.pin_memory.pin_memory(batch) if self._pins else batch

    def position(self) -> Position:
        main = {
            **self._indexes.state(),
            "_IterableDataset_len_called": self._loader._IterableDataset_len_called,
            "_shared_seed": self._shuffles,
        }
        return apart(Position(main, [self._fetcher.state()], 0, self.yielded, 0, -1, self.finished))  # type: ignore[no-any-return]


class _Plan:
    """An epoch's tickets, with their sampler states.

    Args:
        indexes: The pass over the sampler.
        workers: Number of workers.
        first: Index of the worker for the next batch.
        every: Number of batches between two snapshots of all states; 0 for none.
        always: True if states are known after every batch.
        ahead: Maximum number of batches made ahead.
        shuffles: The seed for a DataPipe's shuffles; None for other datasets.
    """

    def __init__(
        self,
        indexes: Indexes,
        workers: int,
        first: int,
        every: int,
        always: bool,
        ahead: int,
        shuffles: int | None,
    ) -> None:
        self._indexes, self._workers, self._first, self._shuffles = indexes, workers, first, shuffles
        self._every, self._always, self._ahead = every, always, ahead
        self.ended: set[int] = set()  # workers whose datasets have ended
        self.mains: dict[int, dict[str, Any]] = {}  # by batch number: the sampler's state after it
        self.yielded = 0

    def tickets(self) -> Iterator[Ticket]:
        """Yield the workers' tickets, in turn."""
        yield from [Ticket(BEGIN, index=self._shuffles)] * self._workers + [Ticket(SKIP)] * self._first
        for number in itertools.count():
            if len(self.ended) == self._workers:
                return
            try:
                index = next(self._indexes)
            except StopIteration:
                return
            wanted = self._wants()
            if wanted:
                self.mains[number] = self._indexes.state()
            yield Ticket(FETCH, number, index, wanted)

    def _wants(self) -> bool:
        """Return True if a snapshot may need the state after the next batch."""
        if self._always or not self._every:
            return self._always
        return self.yielded % self._every + 1 + self._ahead + self._workers >= self._every


class _Tickets:
    """The sampler for torch's loader: the current plan's tickets."""

    plan: _Plan

    def __iter__(self) -> Iterator[Ticket]:
        return self.plan.tickets()


class _Inner(torch.utils.data.DataLoader):  # type: ignore[misc]
    """torch's loader; its workers make batches from tickets."""

    def check_worker_number_rationality(self) -> None:
        """Do nothing: the user's loader has warned."""


class EpochInWorkers(Epoch):
    """Batches made by torch DataLoader workers.

    Args:
        loader: The loader.
        position: Position to continue from; None for the beginning.
    """

    def __init__(self, loader: Any, position: Position | None) -> None:
        super().__init__(loader)
        self._count = loader.num_workers
        again = position is not None and self._recipe.iterable and position.stateless
        start = None if again else position
        _, drawn, shuffles = begun(loader)
        self._base_seed = drawn if position is None else position.main.get("_base_seed", drawn)
        self._shuffles = shuffles if position is None else position.main.get("_shared_seed", shuffles)
        states = None
        if start is not None and start.num_workers == self._count:
            states = [pickle.dumps(each) for each in start.workers]
        dataset = WorkerDataset(self._recipe, states)
        self._tickets = _Tickets()
        self._inner = _Inner(
            dataset,
            sampler=self._tickets,
            batch_size=None,
            collate_fn=same,
            num_workers=self._count,
            pin_memory=loader.pin_memory,
            timeout=loader.timeout,
            worker_init_fn=WorkerStart(loader.worker_init_fn, self._base_seed, dataset, hosts()),
            multiprocessing_context=loader.multiprocessing_context,
            generator=torch.Generator(),
            prefetch_factor=loader.prefetch_factor,
            persistent_workers=loader.persistent_workers,
            in_order=loader.in_order,
        )
        shuffle_seed(loader)  # torch draws another one, for nothing
        self._begin(start)
        if position is not None and not (again and position.finished):
            self._skip(position.step + position.since - self.yielded, _NO_STATE if again else "")
        self.finished = position is not None and position.finished

    def begin_next(self, length: int | None) -> None:
        """Begin the next epoch with the same workers.

        Args:
            length: What `len` of the user's loader has returned; None if it was not called.
        """
        self._loader._IterableDataset_len_called = length
        self._shuffles = shuffle_seed(self._loader)
        self._begin(None)

    def _begin(self, start: Position | None) -> None:
        loader, every = self._loader, self._loader.snapshot_every_n_steps or 0
        always = not self._recipe.iterable and not isinstance(self._recipe.dataset, Stateful)
        self._every = 1 if always else every
        indexes = indexes_of(loader)
        if start is not None:
            indexes = indexes_of(loader, start.main)
        main = indexes.state()
        first = 0 if start is None or not start.num_workers else (start.last + 1) % self._count
        self.finished, self.yielded = False, 0 if start is None else start.step
        ahead = self._count * loader.prefetch_factor
        self._plan = _Plan(indexes, self._count, first, every, always, ahead, self._shuffles)
        self._plan.yielded = self.yielded
        self._tickets.plan = self._plan
        self._states: list[Any] = [None] * self._count
        self._early: collections.deque[Made] = collections.deque()  # arrived before all workers had begun
        self._received, self._highest = 0, -1
        self._batches = iter(self._inner)
        while None in self._states:
            self._note(next(self._batches))
        self._last = first - 1 if start is None or start.num_workers != self._count else start.last
        self._take_snapshot(main)

    def _note(self, made: Made) -> None:
        if made.number >= 0:
            self._early.append(made)
        elif made.state is not None:
            self._states[made.worker] = made.state

    def _next(self) -> Any:
        while True:
            try:
                made = self._early.popleft() if self._early else next(self._batches)
            except StopIteration:
                if self._recipe.iterable and self._every:
                    self._take_snapshot(self._main)
                raise
            except Exception:
                self._received += 1
                raise
            if made.state is not None:
                self._states[made.worker] = made.state
            if made.number < 0:
                continue
            self._received, self._highest = self._received + 1, max(self._highest, made.number)
            if made.ended:
                self._plan.ended.add(made.worker)
                continue
            self._last = made.worker
            self._count_one(made.number)
            return made.data

    def _count_one(self, number: int) -> None:
        """Count a batch; take a snapshot if it is due, and no earlier batch is missing."""
        self._plan.yielded += 1
        main = self._plan.mains.pop(number, None)
        complete = self._received == self._highest + 1
        if self._every and self._plan.yielded % self._every == 0 and main is not None and complete:
            self._take_snapshot(main)
        if not self._loader.in_order:
            return
        for earlier in [each for each in self._plan.mains if each < number]:
            del self._plan.mains[earlier]

    def _take_snapshot(self, main: dict[str, Any]) -> None:
        self._main = main
        self._snapshot = (self._plan.yielded, self._last, tuple(self._states))

    def position(self) -> Position:
        step, last, states = self._snapshot
        main = {
            **self._main,
            "_IterableDataset_len_called": self._loader._IterableDataset_len_called,
            "_shared_seed": self._shuffles,
            "_base_seed": self._base_seed,
        }
        workers = [pickle.loads(each) for each in states]
        return Position(apart(main), workers, self._count, step, self.yielded - step, last, self.finished)

    def close(self) -> None:
        """End the workers."""
        with contextlib.suppress(AttributeError):
            self._inner._iterator._shutdown_workers()
