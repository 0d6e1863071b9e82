"""sequence_mask, which TensorFlow too builds from other ops."""

from __future__ import annotations

from typing import Any

import numpy as np

from pipeline.compat.graph import dtypes
from pipeline.compat.graph.dtypes import as_dtype
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.ops.arrays import shaping
from pipeline.compat.ops.arrays.sequences import range_node
from pipeline.compat.ops.arrays.shaping import expand_dims
from pipeline.compat.ops.math.arithmetic import maximum
from pipeline.compat.ops.math.reducing import reduce_max
from pipeline.compat.values.casts import cast_node
from pipeline.compat.values.constants import constant
from pipeline.compat.values.convert import convert_to_tensor


def _all_axes(tensor: Tensor) -> Tensor:
    count = tensor.shape.ndims
    if count is not None:
        return constant(np.arange(count, dtype=np.int32))
    return range_node(0, shaping.rank(tensor), 1)


def sequence_mask(lengths: Any, maxlen: Any = None, dtype: Any = dtypes.bool, name: str | None = None) -> Tensor:
    """Return a row for each length: that many True (or ones), then False (or zeros).

    Args:
        lengths: Integers, any shape.
        maxlen: Length of the rows; the largest of `lengths` by default.
        dtype: Of the result.
        name: Name of the scope.

    Raises:
        ValueError: `maxlen` is not a scalar.
    """
    with name_scope(name, "SequenceMask", [lengths, maxlen]):
        lengths = convert_to_tensor(lengths)
        if maxlen is None:
            maxlen = reduce_max(lengths, _all_axes(lengths))
            maxlen = maximum(constant(0, maxlen.dtype.base_dtype), maxlen)
        else:
            maxlen = convert_to_tensor(maxlen)
        if maxlen.shape.ndims not in (None, 0):
            raise ValueError(
                f"Argument `maxlen` must be scalar for sequence_mask, received `maxlen` = {maxlen} with shape "
                f"'{maxlen.shape}' instead"
            )
        kind = maxlen.dtype.base_dtype
        numbers: Any = range_node(constant(0, kind), maxlen, constant(1, kind))
        made: Any = numbers < cast_node(expand_dims(lengths, -1), kind)
        if dtype is None or as_dtype(dtype).base_dtype is dtypes.bool:
            return made  # type: ignore[no-any-return]
        return cast_node(made, as_dtype(dtype))
