"""Arrays as PyTorch tensors and back, without a copy if both support the dtype."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.adaptors.refusals import place
from pipeline.adaptors.structure import mapped
from pipeline.dtypes import object_vector
from pipeline.foreign import numpy_of
from pipeline.nest import ListParts, Nest, make_like, parts_of
from pipeline.sources.extras import needs
from pipeline.sources.strings import as_objects

torch: Any = needs("torch", "pipeline.torch")

_PLAIN = (bool, int, float, complex, str, bytes)


def to_tensors(batch: Any) -> Any:
    """Return a batch with tensors instead of arrays, in the same structure.

    Tensors share memory with writable arrays. Arrays that are read-only, byte-swapped or have negative strides are
    copied. Strings, objects and other values stay unchanged. bfloat16 and float8 from ml_dtypes become torch's types.

    Args:
        batch: Arrays in nested dicts, lists, tuples, named tuples and dataclasses, such as a batch or a dequeue result.

    Raises:
        TypeError: PyTorch has no such dtype; the message names the component.

    Examples:
        >>> pipeline.torch.to_tensors({"label": np.arange(3)})
        {'label': tensor([0, 1, 2])}
    """
    return mapped(tensor_of, batch)


def tensor_of(value: Any, name: str) -> Any:
    """Return an array as a tensor; other values, and arrays with strings or objects, are returned unchanged.

    Args:
        value: A batch's component.
        name: Its name, for errors.

    Raises:
        TypeError: PyTorch has no such dtype.
    """
    if not isinstance(value, np.ndarray):
        return value
    if value.flags.writeable:
        try:
            return torch.from_numpy(value)
        except (TypeError, ValueError):  # another dtype, byte order or direction
            pass
    if value.dtype.kind in "OSUT":
        return value
    if not (value.flags.writeable and value.dtype.isnative and min(value.strides, default=0) >= 0):
        value = np.array(value, value.dtype.newbyteorder("="), order="C")
    convert = _conversion(value.dtype)
    if convert is None:
        number = "np.int64" if value.dtype.kind in "mM" else "np.float32"
        raise TypeError(
            f"{place(name)} is of dtype {value.dtype.name}, which PyTorch does not have: convert it where it is made, "
            f"such as by .astype({number}), or leave it out"
        )
    return convert(value)


@functools.lru_cache
def _conversion(dtype: np.dtype[Any]) -> Callable[[NDArray[Any]], Any] | None:
    """Return a function from arrays with a native dtype to tensors on the same memory; None if there is none."""
    try:
        torch.from_numpy(np.empty(0, dtype))
    except TypeError:
        pass
    else:
        return torch.from_numpy  # type: ignore[no-any-return]
    same = getattr(torch, dtype.name, None)  # the dtype from ml_dtypes, if torch has it
    if not isinstance(same, torch.dtype):
        return None
    bits = np.dtype(f"u{dtype.itemsize}")
    return lambda array: torch.from_numpy(array.view(bits)).view(same)


def example_of(item: Any) -> Any:
    """Replace the tensors in a Dataset's item by arrays, in the same structure."""
    if parts_of(item) is None:
        return _array(item)
    nest = Nest(item, False)
    return nest.pack([_array(value) for value in nest.flatten(item)])


def block_of(batch: Any) -> Any:
    """Return a torch DataLoader's batch as a block: its lists of plain values are columns."""
    if isinstance(batch, dict):
        return {key: block_of(value) for key, value in batch.items()}
    if isinstance(batch, tuple):
        return make_like(type(batch), [block_of(value) for value in batch])
    if not isinstance(batch, list):
        return _array(batch)
    if not all(isinstance(each, _PLAIN) for each in batch):
        return ListParts([block_of(value) for value in batch])
    strings = any(isinstance(each, (str, bytes)) for each in batch)
    return as_objects(object_vector(batch), "a batch") if strings else np.array(batch)


def _array(value: Any) -> Any:
    """Convert a tensor to an array; return anything else unchanged."""
    if not isinstance(value, torch.Tensor):
        return value
    return numpy_of(value.detach().cpu())
