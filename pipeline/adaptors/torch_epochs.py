"""TensorEpochs: epochs with batches as tensors, in host memory or on a device, split among processes."""

from __future__ import annotations

import sys
from typing import Any

from pipeline.adaptors.loader import Loader
from pipeline.adaptors.padding import padded, size_to_pad_to
from pipeline.adaptors.structure import mapped
from pipeline.adaptors.torch_tensors import tensor_of, torch
from pipeline.dtypes import truth
from pipeline.errors import FailedPreconditionError
from pipeline.logs import logger

_log = logger("pipeline.batches")

# The parent process's (rank, world size), if this worker received its dataset by pickle.
_of_parent: tuple[int, int] | None = None


def shard() -> tuple[int, int]:
    """Return (index, count): this process's part of the input, for arguments called `shard`.

    It counts the processes in an initialised `torch.distributed` group, and torch DataLoader workers. Without
    them it is (0, 1).

    Thread safety: you may call it from any thread.

    Examples:
        >>> pipeline.torch.shard()
        (0, 1)
        >>> source = pipeline.arrays(np.arange(10), shard=pipeline.torch.shard())
    """
    rank, world = rank_of_process()
    worker = torch.utils.data.get_worker_info()
    if worker is None:
        return rank, world
    return rank * worker.num_workers + worker.id, world * worker.num_workers


def rank_of_process() -> tuple[int, int]:
    """Return this process's (rank, world size); in a worker, its parent's."""
    if _of_parent is not None:
        return _of_parent
    distributed = torch.distributed
    if distributed.is_available() and distributed.is_initialized():
        return distributed.get_rank(), distributed.get_world_size()
    return 0, 1


def as_in_parent(rank: int, world: int) -> None:
    """Record the parent process's rank in a worker."""
    global _of_parent
    _of_parent = rank, world


class TensorEpochs(Loader):
    """Epochs of a dataset's batches as tensors: the iterator in a `pipeline.torch` DataLoader.

    Under Accelerate it takes one batch ahead, so `end_of_dataloader` is true while you have the last one.

    Args:
        data: A dataset of batches, or its iterator.
        device: Target device for the tensors; None leaves them in host memory.
        pin_memory: Copy tensors into page-locked memory.
        prefetch: Number of batches to copy to `device` ahead.
        shard: True if processes split the batches.
        fixed: True if each epoch repeats the first one.
        pad_last: True if all batches have the same number of rows, and all processes get the same number of batches.
            Each batch then comes with a mask.

    Attributes:
        remainder: Accelerate's name for the number of rows to keep at an epoch's end, if others are repeated. No row is
            repeated, so it is 0.
    """

    called = "DataLoader"
    remainder = 0

    def __init__(
        self,
        data: Any,
        device: Any = None,
        pin_memory: bool = False,
        prefetch: int = 1,
        shard: bool = True,
        fixed: bool = False,
        pad_last: bool = False,
    ) -> None:
        super().__init__(data, 0 if device is None else prefetch)
        self._options = (device, pin_memory, prefetch, shard)
        self._pads = truth(pad_last, "pad_last")
        self._size = size_to_pad_to(data) if pad_last else 0
        self.fixed = fixed
        self._shared = shard
        self._device: Any = None if device is None else _device_of(device)
        self._pins = bool(pin_memory) and torch.accelerator.is_available()
        if pin_memory and not self._pins:
            _log.warning("%r: pin_memory does nothing, as there is no accelerator", self)
        self._streams: Any = None if self._device is None else torch.get_device_module(self._device)
        self._stream = None if self._streams is None else _stream_of(self._streams, device)
        self._warned = False

    def again(self, fixed: bool) -> TensorEpochs:
        """Return others with the same input and options."""
        return TensorEpochs(self.data, *self._options, fixed, self._pads)

    def __reduce__(self) -> Any:
        return _restored, (self.seeded(), (*self._options, self.fixed, self._pads), self.state_if_begun())

    def _shard(self) -> tuple[int, int]:
        return shard() if self._shared else (0, 1)

    def _without_state(self, error: FailedPreconditionError) -> None:
        if not self._warned:
            self._warned = True
            _log.warning("%r: %s: this state begins the epoch again", self, error)

    # Conversion

    def _convert(self, batch: Any) -> Any:
        if not self._pads:
            return self._tensors(batch)
        batch, mask = padded(batch, self._size, self._round.batches._last_size() > 0)
        return self._tensors(batch), self._tensors(mask)

    def _tensors(self, batch: Any) -> Any:
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

    # Accelerate

    @property
    def end_of_dataloader(self) -> bool:
        """True if the epoch's last batch was handed out. Accelerate then ends gradient accumulation."""
        return self.at_end

    def _begin(self) -> None:
        super()._begin()
        gradients = _gradient_state()
        if gradients is not None:
            self._ahead = max(self._ahead, 1)
            gradients._remove_dataloader(self)
            gradients._add_dataloader(self)

    def _left(self, number: int) -> None:
        gradients = _gradient_state()
        if gradients is not None and number == self._iters:
            gradients._remove_dataloader(self)


def _gradient_state() -> Any:
    """Return Accelerate's state for epoch ends; None if it is not in use."""
    module = sys.modules.get("accelerate.state")
    return module.GradientState() if module is not None and module.GradientState._shared_state else None


def _restored(data: Any, options: tuple[Any, ...], state: Any) -> TensorEpochs:
    """Return the pickled epochs."""
    made = TensorEpochs(data, *options)
    if state is not None:
        made.load_state_dict(state)
    return made


def _device_of(device: Any) -> Any:
    """Return torch's device.

    Raises:
        RuntimeError: It has no such device.
    """
    try:
        return torch.device(device)
    except RuntimeError as error:
        if str(device).partition(":")[0].lower() == "gpu":
            raise RuntimeError(f"device={device!r}: write 'cuda'") from error
        raise


def _stream_of(module: Any, device: Any) -> Any:
    """Return a new stream.

    Args:
        module: torch's module for the device, such as `torch.cuda`.
        device: The device, as given.

    Raises:
        RuntimeError: There is no such device.
    """
    try:
        return module.Stream()
    except (RuntimeError, AssertionError) as error:  # torch's own texts name a driver or a dummy class
        if module is torch.cuda and not torch.cuda.is_available():
            raise RuntimeError(f"device={device!r}: this torch finds no CUDA device") from error
        raise


def _record(value: Any, stream: Any) -> None:
    if isinstance(value, torch.Tensor):
        value.record_stream(stream)
