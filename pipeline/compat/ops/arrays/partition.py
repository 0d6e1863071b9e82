"""dynamic_partition: rows that go to one of several tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.ops.making.opdef import check_rank_at_least, op
from pipeline.errors import invalid


def dynamic_partition(data: Any, partitions: Any, num_partitions: int, name: str | None = None) -> list[Tensor]:
    """Split `data` into `num_partitions` tensors: each element goes to the tensor that `partitions` names.

    Args:
        data: Any dtype.
        partitions: int32; its shape is that of the leading axes of `data`.
        num_partitions: How many tensors to return.
        name: Name of the op.

    Raises:
        ValueError: The shapes do not fit.
        InvalidArgumentError: A number is out of range, at run time.
    """
    count = int(num_partitions)
    if count < 1:
        raise ValueError(f"Attr 'num_partitions' of 'DynamicPartition' Op passed {count} less than minimum 1.")

    def rule(data: Tensor, partitions: Tensor) -> Any:
        shape: Any = None
        axes = partitions.shape.ndims
        if data.shape.sizes is not None and axes is not None:
            check_rank_at_least(data, axes)
            for a, b in zip(data.shape.sizes[:axes], partitions.shape.sizes or (), strict=True):
                if None not in (a, b) and a != b:
                    raise ValueError(f"Dimensions must be equal, but are {a} and {b}")
            shape = (None, *data.shape.sizes[axes:])
        return [(data.dtype.base_dtype, shape)] * count

    def kernel(data: Any, partitions: Any) -> Any:
        partitions = np.asarray(partitions)
        if data.shape[: partitions.ndim] != partitions.shape:
            left, right = (str(list(each)).replace(" ", "") for each in (data.shape, partitions.shape))
            text = f"got data.shape = {left}, partitions.shape = {right}"
            raise invalid(f"data.shape must start with partitions.shape, {text}")
        wrong = (partitions < 0) | (partitions >= count)
        if wrong.any():
            at = tuple(np.argwhere(wrong)[0])
            raise invalid(f"partitions[{','.join(map(str, at))}] = {partitions[at]} is not in [0, {count})")
        made = [data[partitions == number] for number in range(count)]
        return made if count > 1 else made[0]

    definition = "data:T partitions:int32"
    attrs = {"num_partitions": count}
    return op("DynamicPartition", definition, [data, partitions], rule, kernel, name, attrs).outputs
