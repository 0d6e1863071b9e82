"""Round: one time through what a loader reads: an epoch of a dataset, or an iterator of one."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Protocol

from pipeline.datasets.dataset import Dataset
from pipeline.datasets.iterator import DatasetIterator
from pipeline.datasets.share import Share, cannot_share, share_of, why_one_pass
from pipeline.errors import FailedPreconditionError
from pipeline.logs import logger
from pipeline.sources.source import Source

_log = logger("pipeline.batches")


class Round(Protocol):
    """One time through the input of a loader.

    Attributes:
        batches: Gives the batches, and the end.
        number: How often the input was read before.
        starts_over: Whether there are other rounds.
    """

    @property
    def batches(self) -> DatasetIterator[Any]: ...
    @property
    def number(self) -> int: ...
    @property
    def starts_over(self) -> bool: ...
    def begun(self) -> bool:
        """Whether a batch was asked for, or it was closed."""

    def at_end(self) -> bool:
        """Whether there is no batch any more."""

    def go_on(self) -> None:
        """Begin again after the end, where that is all there is to do; say so if it cannot."""

    def another(self, number: int | None = None) -> Round:
        """Return another round; None: the next one."""

    def share(self, which: Share) -> Round:
        """Return a round like one that has not begun, for the share of one process."""

    def __len__(self) -> int: ...
    def state(self, behind: int) -> dict[str, Any]:
        """Return the state as of so many batches ago; FailedPreconditionError if there is none."""

    def load(self, state: Mapping[str, Any], allow: Collection[str]) -> Round:
        """Return the round to go on with."""

    def close(self) -> None:
        """End its threads."""


def round_of(given: Any, name: str) -> Round:
    """Return the first round of what a loader is given.

    Raises:
        TypeError: It is nothing that gives batches.
    """
    if isinstance(given, DatasetIterator):
        return IteratorRound(given)
    if isinstance(given, Dataset) and not isinstance(given, Source):
        return DatasetRound(given, given._epoch)
    what = f"{given!r:.80}"
    if isinstance(given, Source):
        what = f"the examples of {what} one by one: add .batch(batch_size)"
    elif hasattr(type(given), "__getitem__"):  # such as a Dataset of PyTorch
        what = f"{what}: write pipeline.dataset(...).batch(batch_size)"
    text = "takes batches: a dataset such as source.batch(batch_size), or its iterator; not"
    raise TypeError(f"{name} {text} {what}")


class DatasetRound:
    """An epoch of a dataset.

    Args:
        dataset: The dataset.
        number: Which epoch.
        seeds: Those of a loaded state, which later epochs keep.
        shared: Whether this is the share of one process.
    """

    def __init__(self, dataset: Dataset[Any], number: int, seeds: Any = None, shared: bool = False) -> None:
        self._dataset, self._number, self._shared = dataset, number, shared
        self._why_one = why_one_pass(dataset)
        self._iterator: DatasetIterator[Any] = DatasetIterator(dataset._node, number, seeds)

    @property
    def batches(self) -> DatasetIterator[Any]:
        return self._iterator

    @property
    def number(self) -> int:
        return self._number

    @property
    def starts_over(self) -> bool:
        return self._why_one is None

    def begun(self) -> bool:
        return self._iterator._begun

    def at_end(self) -> bool:
        return self._iterator._over

    def go_on(self) -> None:
        if self._why_one is not None and self._iterator._over:
            _log.warning("%r: there is no other epoch: %s", self._dataset, self._why_one)

    def another(self, number: int | None = None) -> DatasetRound:
        number = self._number + 1 if number is None else number
        return DatasetRound(self._dataset, number, self._iterator._seeds, self._shared)

    def share(self, which: Share) -> Round:
        if self._shared or which.of == 1:
            return self
        if self._iterator._begun:
            raise cannot_share(self._dataset, which, "it has begun to read before there were several processes")
        return DatasetRound(share_of(self._dataset, which), self._number, self._iterator._seeds, True)

    def __len__(self) -> int:
        return len(self._dataset)

    def __repr__(self) -> str:
        return repr(self._dataset)

    def state(self, behind: int) -> dict[str, Any]:
        return self._iterator.state_dict(behind=behind)

    def load(self, state: Mapping[str, Any], allow: Collection[str]) -> Round:
        number = state.get("epoch", self._number)
        other = self if number == self._number and not self._iterator._begun else self.another(number)
        other._iterator.load_state_dict(dict(state), allow=allow)
        return other

    def close(self) -> None:
        self._iterator.close()


class IteratorRound:
    """What is left of the iterator of a dataset; there is no other round."""

    starts_over = False

    def __init__(self, iterator: DatasetIterator[Any]) -> None:
        self.batches = iterator
        self.number = iterator.epoch

    def begun(self) -> bool:
        return self.batches._begun

    def at_end(self) -> bool:
        return self.batches._over

    def go_on(self) -> None:
        if self.batches._over:
            _log.warning("%r: there is no other epoch of an iterator: pass the dataset", self.batches)

    def another(self, number: int | None = None) -> Round:
        raise FailedPreconditionError(None, None, f"{self.batches!r} has one epoch: pass the dataset")

    def share(self, which: Share) -> Round:
        if which.of == 1:
            return self
        raise cannot_share(self.batches, which, "an iterator reads all of it. Pass the dataset")

    def __len__(self) -> int:
        raise TypeError("how many batches an iterator has left is not known: pass the dataset")

    def __repr__(self) -> str:
        return repr(self.batches)

    def state(self, behind: int) -> dict[str, Any]:
        return self.batches.state_dict(behind=behind)

    def load(self, state: Mapping[str, Any], allow: Collection[str]) -> Round:
        self.batches.load_state_dict(dict(state), allow=allow)
        return self

    def close(self) -> None:
        self.batches.close()
