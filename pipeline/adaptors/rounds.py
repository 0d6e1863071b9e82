"""Round: a loader's pass over its input: a dataset's epoch, or an iterator."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Protocol

from pipeline.datasets.dataset import Dataset
from pipeline.datasets.iterator import DatasetIterator
from pipeline.datasets.share import Share, cannot_share, share_of, why_one_pass
from pipeline.errors import FailedPreconditionError
from pipeline.logs import logger
from pipeline.sources.nodes import OfSource
from pipeline.sources.sequence import OfSequence
from pipeline.stages.groups import Batch
from pipeline.stages.node import Node

_log = logger("pipeline.batches")


class Round(Protocol):
    """One pass over a loader's input.

    Attributes:
        batches: The iterator over its batches.
        number: The epoch's index, from 0.
        starts_over: True if there are other epochs.
    """

    @property
    def batches(self) -> DatasetIterator[Any]: ...
    @property
    def number(self) -> int: ...
    @property
    def starts_over(self) -> bool: ...
    def warn_at_end(self) -> None:
        """Log a warning if the only epoch has ended."""

    def another(self, number: int | None = None) -> Round:
        """Return another epoch's round; None means the next epoch."""

    def share(self, which: Share) -> Round:
        """Return the round for one process's shard; this one must not have begun."""

    def skip(self, n: int) -> None:
        """Skip a new round's first batches."""

    def __len__(self) -> int: ...
    def load(self, state: Any, allow: Collection[str]) -> Round:
        """Return the round continuing from a state."""


def round_of(given: Any, name: str) -> Round:
    """Return the first round over a loader's input.

    Raises:
        TypeError: `given` is not a dataset with batches, nor an iterator over one.
    """
    if isinstance(given, DatasetIterator):
        return IteratorRound(given)
    what = f"{given!r:.80}"
    if isinstance(given, Dataset):
        kind = _kind_of_rows(given._node)
        if kind is None:
            return DatasetRound(given, given._epoch)
        what = f"single examples of {kind}: add .batch(n)"
    elif hasattr(type(given), "__getitem__"):  # such as a PyTorch Dataset
        of_torch = any(each.__module__.startswith("torch.utils.data") for each in type(given).__mro__)
        maker = "pipeline.torch.dataset" if of_torch else "pipeline.dataset"
        what = f"{what}: write {maker}(...).batch(batch_size)"
    text = "takes batches: a dataset such as source.batch(batch_size), or its iterator; not"
    raise TypeError(f"{name} {text} {what}")


def _kind_of_rows(node: Node) -> str | None:
    """Return the source's name if a recipe only selects and orders single examples; else None.

    The items of a list may be batches already, unless they are plain values.
    """
    while node.keeps_elements:
        (node,) = node.inputs
    if isinstance(node, OfSequence) and node.is_plain():
        return node.label()
    return node.kind if isinstance(node, OfSource) else None


def nominal_batch(dataset: Dataset[Any]) -> Batch | None:
    """Return a dataset's final batch step; None if a later step changes the batches or their number."""
    node = dataset._node
    while node.keeps_batches:
        (node,) = node.inputs
    return node if isinstance(node, Batch) else None


class DatasetRound:
    """A dataset's epoch.

    Args:
        dataset: The dataset.
        number: The epoch's index.
        shared: True if the dataset is already one process's shard.
    """

    def __init__(self, dataset: Dataset[Any], number: int, shared: bool = False) -> None:
        self._dataset, self.number, self._shared = dataset, number, shared
        self._why_one = why_one_pass(dataset)
        self.starts_over = self._why_one is None
        self.batches: DatasetIterator[Any] = DatasetIterator(dataset._node, number)

    def warn_at_end(self) -> None:
        if self._why_one is not None and self.batches._over:
            _log.warning("%r: there is only one epoch: %s", self._dataset, self._why_one)

    def another(self, number: int | None = None) -> DatasetRound:
        return DatasetRound(self._dataset, self.number + 1 if number is None else number, self._shared)

    def share(self, which: Share) -> Round:
        if self._shared or which.of == 1:
            return self
        if self.batches._begun:
            raise cannot_share(self._dataset, which, "it has begun to read before there were several processes")
        return DatasetRound(share_of(self._dataset, which), self.number, True)

    def skip(self, n: int) -> None:
        batch = nominal_batch(self._dataset)
        self.batches._skip(n, 1 if batch is None else batch.size)

    def __len__(self) -> int:
        return len(self._dataset)

    def __repr__(self) -> str:
        return repr(self._dataset)

    def load(self, state: Any, allow: Collection[str]) -> Round:
        number = state.get("epoch", self.number) if isinstance(state, dict) else self.number
        other = self if number == self.number and not self.batches._begun else self.another(number)
        other.batches.load_state_dict(state, allow=allow)
        return other


class IteratorRound:
    """A single epoch over an existing iterator."""

    starts_over = False

    def __init__(self, iterator: DatasetIterator[Any]) -> None:
        self.batches = iterator
        self.number = iterator.epoch

    def warn_at_end(self) -> None:
        if self.batches._over:
            _log.warning("%r: an iterator has only one epoch: pass the dataset", self.batches)

    def another(self, number: int | None = None) -> Round:
        raise FailedPreconditionError(None, None, f"{self.batches!r} has one epoch: pass the dataset")

    def share(self, which: Share) -> Round:
        if which.of == 1:
            return self
        raise cannot_share(self.batches, which, "an iterator reads all of it. Pass the dataset")

    def skip(self, n: int) -> None:
        self.batches._skip(n, 1)

    def __len__(self) -> int:
        raise TypeError("how many batches an iterator has left is not known: pass the dataset")

    def __repr__(self) -> str:
        return repr(self.batches)

    def load(self, state: Any, allow: Collection[str]) -> Round:
        self.batches.load_state_dict(state, allow=allow)
        return self
