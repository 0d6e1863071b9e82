"""DataLoader of `pipeline.torch`: a torch DataLoader over a dataset's batches."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from pipeline.adaptors.rounds import nominal_batch
from pipeline.adaptors.torch_epochs import TensorEpochs
from pipeline.adaptors.torch_face import Batches, BatchNumbers, EpochSampler, SizedBatches, passed_on
from pipeline.adaptors.torch_tensors import torch
from pipeline.capabilities import WrapsBatchSampler
from pipeline.datasets.dataset import Dataset
from pipeline.datasets.iterator import DatasetIterator
from pipeline.keywords import unknown_keywords
from pipeline.stages.index import ENDLESS

if TYPE_CHECKING:
    from pipeline.reports.report import Report

Self = TypeVar("Self", bound="DataLoader[Any]")
T_co = TypeVar("T_co", covariant=True)

_OWN = ("dataset", "device", "pin_memory", "prefetch", "shard", "pad_last")


class DataLoader(torch.utils.data.DataLoader[T_co]):  # type: ignore[misc]
    """Load a dataset's batches as PyTorch tensors.

    It is a `torch.utils.data.DataLoader`, so training frameworks accept it.

    Each `iter` begins the next epoch: epoch i is `dataset.epoch(i)`, with its
    own order. The threads and processes of your dataset prepare the batches, as set by
    `map(..., workers=)` and `prefetch`. Tensors share memory with their batch;
    see `to_tensors` for dtypes.

    In a `torch.distributed` group each process gets an equal, disjoint part of
    the batches. Write the same dataset with seeds in every process.

    `state_dict` describes the last batch you received, and works with
    `torch.distributed.checkpoint`. With `ordered=False` or a replay
    buffer, a state begins the epoch again and logs a warning; iterators and
    open files raise. Pickling keeps the state too.

    Thread safety: use it from one thread at a time.

    Attributes:
        dataset: The batches, for frameworks; its `len` is the number of examples, if known.
        batch_size: Examples per batch; None if the dataset does not end with `batch`.
        drop_last: True if a smaller last batch is dropped.
        sampler, batch_sampler: For frameworks to set the epoch or skip batches.
        num_workers: Always 0: the dataset has its own workers.

    Examples:
        >>> data = pipeline.arrays((np.zeros((6, 2)), np.arange(6))).batch(4)
        >>> for images, labels in pipeline.torch.DataLoader(data):
        ...     print(tuple(images.shape), labels.tolist())
        (4, 2) [0, 1, 2, 3]
        (2, 2) [4, 5]
    """

    def __init__(
        self,
        dataset: Dataset[Any] | DatasetIterator[Any],
        *,
        device: Any = None,
        pin_memory: bool = False,
        prefetch: int = 1,
        shard: bool = True,
        pad_last: bool = False,
        **others: Any,
    ) -> None:
        """Make a loader; it starts with the first batch.

        Args:
            dataset: A dataset of batches, such as `source.batch(128)`; or its iterator, for one epoch.
            device: Target device for the tensors, such as "cuda"; None leaves them in host memory. An accelerator
                copies each batch in its own stream, while you work on the previous one.
            pin_memory: Copy tensors into page-locked memory, for faster copies to an accelerator. Without an
                accelerator it only logs a warning.
            prefetch: Number of batches to copy to `device` ahead, default 1.
            shard: Split the batches among processes; False if your data is one process's part already.
            pad_last: For validation on every example. Each element is (batch, mask): all processes get the
                same number of batches, all batches have the same number of rows, and the mask, a bool tensor, is True
                for real rows. The last row is repeated as padding; a process without a last batch gets a copy of
                another's.
            others: torch's other options, such as `batch_size` and `num_workers`, raise an error with the
                replacement. Frameworks that copy a loader pass its `batch_sampler`.

        Raises:
            TypeError: `dataset` has no batches, such as a source; or there is another option.
            ValueError: `prefetch` is negative or above 64; or `pad_last=True` without a final `batch(n)`.
            RuntimeError: There is no such device.
        """
        numbers = _made_again(others)
        fixed = numbers is not None and numbers.fixed
        if isinstance(dataset, Batches):
            epochs = dataset.epochs.again(fixed)
        else:
            epochs = TensorEpochs(dataset, device, pin_memory, prefetch, shard, fixed, pad_last)
        batch = nominal_batch(epochs.data) if isinstance(epochs.data, Dataset) else None
        size, drops = (None, False) if batch is None else (batch.size, batch.drop_remainder)
        count = None if batch is None else batch.inputs[0].length()
        super().__init__(
            Batches(epochs) if count in (None, ENDLESS) else SizedBatches(epochs, count),
            batch_sampler=BatchNumbers(EpochSampler(epochs), size, drops),
            collate_fn=passed_on,
            pin_memory=bool(pin_memory),
        )
        self._epochs = epochs
        # After the constructor torch's class forbids setting these.
        told = {"sampler": self.batch_sampler.sampler, "batch_size": size, "drop_last": drops}
        if numbers is not None:
            told["batch_sampler"] = others["batch_sampler"]
        for name, value in told.items():
            object.__setattr__(self, name, value)

    @property
    def loop(self) -> Any:
        """The iterator over the epoch's batches; with several processes, over this process's shard."""
        return self._epochs.loop

    def report(self) -> Report:
        """Return the epoch's bottlenecks, as the iterator's `report` does."""
        return self._epochs.report()

    def __len__(self) -> int:
        """Return the number of batches per epoch; TypeError if unknown."""
        return len(self._epochs)

    def __bool__(self) -> bool:
        return True  # always: the number of batches may be unknown

    def __repr__(self) -> str:
        return repr(self._epochs)

    def __iter__(self) -> Iterator[Any]:
        """Begin an epoch.

        Raises:
            FailedPreconditionError: There are several processes, and the input cannot be split among them.
        """
        return iter(self._epochs)

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch for the next `iter`, counted from 0; does nothing within an epoch.

        The loader counts epochs anyway. Call this if your program counts them too: `iter` then begins the named epoch,
        continues it after you loaded a state from its middle, and is empty after you loaded a state from its end.
        """
        self._epochs.set_epoch(epoch)

    def close(self) -> None:
        """Stop the dataset's threads; does nothing the second time.

        Raises:
            Exception: As for the iterator's `close`.
        """
        self._epochs.close()

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def state_dict(self, *, behind: int = 0) -> dict[str, Any]:
        """Return the state after the last batch you got: a dict of the same few keys each time, with plain values.

        Save it together with the model.

        Args:
            behind: Go back this many batches, for batches you took but have not trained on yet: at most 64, less
                the batches on their way to the device.

        Raises:
            FailedPreconditionError: A source cannot be rewound.
            TypeError, ValueError: `behind` is not an integer, or there were fewer batches.
        """
        return self._epochs.state_dict(behind=behind)

    def load_state_dict(self, state_dict: Mapping[str, Any], *, allow: Collection[str] = ()) -> None:
        """Continue from a state: the next `iter` continues its epoch, or begins the next one if its loop had ended.

        Args:
            state_dict: A result of `state_dict` from a loader over an equal dataset.
            allow: Differences to accept; see `DatasetIterator.load_state_dict`. The number of processes sharing a
                dataset may differ.

        Raises:
            StateMismatchError: It was saved by another dataset, or over other files.
            InvalidArgumentError: It is not a state.
            FailedPreconditionError: The input has begun, and its source cannot be read again.
        """
        self._epochs.load_state_dict(state_dict, allow=allow)

    # Accelerate

    _is_accelerate_prepared = True  # each process reads its part already
    use_stateful_dataloader = True  # save_state and load_state include the loader

    @property
    def end_of_dataloader(self) -> bool:
        """True if you have the epoch's last batch, for Accelerate."""
        return self._epochs.end_of_dataloader

    @property
    def remainder(self) -> int:
        """Rows that count in the last batch, for Accelerate; 0 for all."""
        return self._epochs.remainder


def _made_again(others: dict[str, Any]) -> BatchNumbers | None:
    """Return the batch sampler if a framework recreates the loader with these options; else None.

    Raises:
        TypeError: There are options the dataset has, or unknown ones.
    """
    numbers: Any = others.get("batch_sampler")
    while isinstance(numbers, WrapsBatchSampler):
        numbers = numbers._batch_sampler
    found = numbers if isinstance(numbers, BatchNumbers) else None
    if found is not None:  # these come with it
        expected = {"batch_sampler": others["batch_sampler"], "collate_fn": passed_on, "sampler": None}
        expected |= {"shuffle": False, "batch_size": 1, "drop_last": False}
        others = {name: value for name, value in others.items() if name not in expected or value != expected[name]}
    if others:
        raise unknown_keywords("DataLoader.__init__", list(others), _OWN)
    return found
