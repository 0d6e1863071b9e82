"""torch DataLoader attributes besides batches: `dataset`, `sampler` and `batch_sampler`, for frameworks.

With these, a framework that skips an epoch's first n batches, or takes over a loader's `dataset`, gets the loader's
own batches, and skips them without reading. Accelerate's `skip_first_batches` and Hugging Face's Trainer run torch's
DataLoader over `dataset` and the rest of `batch_sampler`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

from pipeline.adaptors.torch_epochs import TensorEpochs
from pipeline.adaptors.torch_tensors import torch
from pipeline.errors import FailedPreconditionError


class Batches(torch.utils.data.Dataset):  # type: ignore[misc]
    """A loader's dataset. It returns the batches named by the loader's `batch_sampler`.

    Args:
        epochs: The loader's epochs.
    """

    def __init__(self, epochs: TensorEpochs) -> None:
        self.epochs = epochs

    def __getitem__(self, ticket: Any) -> Any:
        if not isinstance(ticket, Ticket):
            text = f"{self!r} has batches in the loader's order and cannot be indexed: index your own data"
            raise TypeError(text)
        return ticket.batch()

    def __getitems__(self, tickets: Sequence[Any]) -> Any:
        (ticket,) = tickets if len(tickets) == 1 else (None,)
        return self[ticket]

    def __repr__(self) -> str:
        return f"<the dataset of {self.epochs!r}>"


class SizedBatches(Batches):
    """A loader's dataset, with a known number of examples.

    Args:
        epochs: The loader's epochs.
        count: Number of examples, over all processes.
    """

    def __init__(self, epochs: TensorEpochs, count: int) -> None:
        super().__init__(epochs)
        self._count = count

    def __len__(self) -> int:
        return self._count


class EpochSampler(torch.utils.data.distributed.DistributedSampler):  # type: ignore[misc]
    """A loader's sampler. The recipe chooses the order, and splits the batches among processes.

    Lightning calls it at each epoch's start, and does not replace the loader because this is a DistributedSampler.

    Args:
        epochs: The loader's epochs.
    """

    def __init__(self, epochs: TensorEpochs) -> None:
        self.epochs = epochs

    @property
    def rank(self) -> int:
        return self.epochs._shard()[0]

    @property
    def num_replicas(self) -> int:
        return self.epochs._shard()[1]

    def set_epoch(self, epoch: int) -> None:
        self.epochs.count_epoch(epoch)

    def __iter__(self) -> Iterator[Any]:
        raise FailedPreconditionError(None, None, f"{self.epochs!r} has no order of examples: iterate over the loader")

    def __len__(self) -> int:
        return len(self.epochs)


class BatchNumbers(torch.utils.data.BatchSampler):  # type: ignore[misc]
    """A loader's batch sampler: names an epoch's batches, from its beginning.

    Args:
        sampler: The loader's sampler, or Lightning's replacement.
        batch_size: Examples per batch; None if unknown.
        drop_last: True if a smaller last batch is dropped.
    """

    def __init__(self, sampler: Any, batch_size: int | None, drop_last: bool) -> None:
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last

    @property
    def fixed(self) -> bool:
        """True if Lightning wants the same order in each epoch, as `overfit_batches` does."""
        return isinstance(self.sampler, torch.utils.data.SequentialSampler)

    @property
    def epochs(self) -> TensorEpochs:
        """The loader's epochs."""
        found: TensorEpochs = self.sampler.data_source.epochs if self.fixed else self.sampler.epochs
        return found

    def set_epoch(self, epoch: int) -> None:
        self.epochs.set_epoch(epoch)

    def __iter__(self) -> Iterator[list[Ticket]]:
        course = Course(self.epochs)
        return ([Ticket(course, number)] for number in itertools.count())

    def __len__(self) -> int:
        return len(self.epochs)


class Course:
    """One pass over the batches named by a batch sampler.

    Args:
        epochs: The loader's epochs.
    """

    def __init__(self, epochs: TensorEpochs) -> None:
        self._epochs, self._at = epochs, 0
        self._batches: Any = None

    def batch(self, number: int) -> Any:
        """Return a batch by its number, above all earlier numbers. Batches in between are not made, at first.

        Raises:
            StopIteration: The epoch is over.
        """
        if self._batches is None:
            self._batches = self._epochs.from_start()
            if number:
                self._epochs.skip(number)
            self._at = number
        for _ in range(number - self._at):
            next(self._batches)
        self._at = number + 1
        return next(self._batches)


class Ticket:
    """A batch's name.

    Args:
        course: The pass it belongs to.
        number: Its index in it.
    """

    def __init__(self, course: Course, number: int) -> None:
        self._course, self._number = course, number

    def batch(self) -> Any:
        """Return the batch."""
        return self._course.batch(self._number)


def passed_on(batch: Any) -> Any:
    """Return a batch unchanged: a loader's `collate_fn`."""
    return batch
