"""Arrays as tensors of PyTorch and back, without a copy where both know the dtype."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.adaptors.structure import Change, mapping
from pipeline.dtypes import object_vector, strings_as_bytes
from pipeline.nest import ListParts, Nest, make_like, parts_of
from pipeline.sources.extras import needs

torch: Any = needs("torch", "pipeline.torch", "torch")

_PLAIN = (bool, int, float, complex, str, bytes)


def to_tensors(batch: Any) -> Any:
    """Return a batch with tensors instead of arrays, in the same structure.

    Tensors share the memory of writable arrays. Arrays that are read-only, byte-swapped or have negative strides are
    copied. Strings, objects and values that are not arrays stay as they are. bfloat16 and float8 of ml_dtypes become
    torch's types.

    Args:
        batch: Arrays in nested dicts, lists, tuples, named tuples and dataclasses, such as a batch or what a dequeue
            returns.

    Raises:
        TypeError: PyTorch has no such dtype; the message names the component.

    Examples:
        >>> pipeline.torch.to_tensors({"label": np.arange(3)})
        {'label': tensor([0, 1, 2])}
    """
    return mapping(batch, change_of)(batch)


def change_of(value: Any, name: str) -> Change:
    """What makes a tensor of a component like this one; see `mapping`."""
    if not isinstance(value, np.ndarray) or value.dtype.kind in "OSUT":
        return _itself
    convert = _conversion(value.dtype, name)
    whole = value.flags.writeable and value.dtype.isnative and min(value.strides, default=0) >= 0
    return convert if whole else lambda array: convert(np.array(array, array.dtype.newbyteorder("="), order="C"))


def _itself(value: Any) -> Any:
    return value


def _conversion(dtype: np.dtype[Any], name: str) -> Callable[[NDArray[Any]], Any]:
    native = dtype.newbyteorder("=")
    try:
        torch.from_numpy(np.empty(0, native))
    except TypeError:
        pass
    else:
        return torch.from_numpy  # type: ignore[no-any-return]
    same = getattr(torch, native.name, None)  # that of ml_dtypes, if it is known there
    if not isinstance(same, torch.dtype):
        where = f"component {name!r}" if name else "the batch"
        raise TypeError(
            f"{where} is of dtype {dtype.name}, which PyTorch does not have: convert it where it is made, such as by "
            f".astype({'np.int64' if dtype.kind in 'mM' else 'np.float32'}), or leave it out"
        )
    bits = np.dtype(f"u{native.itemsize}")
    return lambda array: torch.from_numpy(array.view(bits)).view(same)


def example_of(item: Any) -> Any:
    """Return what a Dataset gave with arrays in place of its tensors, in the same structure."""
    if parts_of(item) is None:
        return _array(item)
    nest = Nest(item, False)
    return nest.pack([_array(value) for value in nest.flatten(item)])


def block_of(batch: Any) -> Any:
    """Return what a torch DataLoader has made of several items as a block: its lists of plain values are columns."""
    if isinstance(batch, dict):
        return {key: block_of(value) for key, value in batch.items()}
    if isinstance(batch, tuple):
        return make_like(type(batch), [block_of(value) for value in batch])
    if not isinstance(batch, list):
        return _array(batch)
    if not all(isinstance(each, _PLAIN) for each in batch):
        return ListParts([block_of(value) for value in batch])
    strings = any(isinstance(each, (str, bytes)) for each in batch)
    return strings_as_bytes(object_vector(batch) if strings else np.array(batch), "a batch")


def _array(value: Any) -> Any:
    """A tensor as an array; anything else as it is."""
    if not isinstance(value, torch.Tensor):
        return value
    tensor = value.detach().cpu().resolve_conj().resolve_neg()
    try:
        return tensor.numpy()
    except TypeError:
        types = needs("ml_dtypes", "a tensor of bfloat16 or float8", "bfloat16")
        bits = {1: torch.uint8, 2: torch.uint16}[tensor.element_size()]
        return tensor.view(bits).numpy().view(getattr(types, str(tensor.dtype).removeprefix("torch.")))
