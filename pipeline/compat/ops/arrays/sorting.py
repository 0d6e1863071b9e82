"""top_k: the largest elements."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pipeline.compat.graph import dtypes
from pipeline.compat.graph.dtypes import as_dtype
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.ops.making.opdef import check_rank, check_rank_at_least, check_scalar, op
from pipeline.compat.values.static import constant_value
from pipeline.errors import invalid

_REALS = "(float32,float64,int32,uint8,int16,int8,int64,bfloat16,uint16,float16,uint32,uint64)"


class TopKV2(NamedTuple):
    """The largest elements and their indices."""

    values: Any
    indices: Any


def top_k(
    input: Any, k: Any = 1, sorted: bool = True, index_type: Any = dtypes.int32, name: str | None = None
) -> TopKV2:
    """Return the `k` largest elements along the last axis, largest first, and their indices.

    Of equal elements the one with the lower index comes first.

    Args:
        input: Any real dtype.
        k: An integer scalar.
        sorted: Not used: the result is always sorted.
        index_type: Dtype of the indices.
        name: Name of the op.

    Raises:
        ValueError: There are known to be fewer than `k` elements.
        InvalidArgumentError: There are fewer at run time.
    """
    place = as_dtype(index_type)

    def rule(tensor: Tensor, k: Tensor) -> Any:
        check_rank_at_least(tensor, 1)
        check_rank(k, 0)
        known, sizes = constant_value(k), tensor.shape.sizes
        if known is not None and int(known) < 0:
            raise ValueError(f"Need k >= 0, got {int(known)}")
        if sizes is None:
            return [(tensor.dtype.base_dtype, None), (place, None)]
        if known is not None and sizes[-1] is not None and sizes[-1] < int(known):
            raise ValueError(f"input must have last dimension >= k = {int(known)} but is {sizes[-1]}")
        shape = (*sizes[:-1], None if known is None else int(known))
        return [(tensor.dtype.base_dtype, shape), (place, shape)]

    def kernel(value: Any, k: Any) -> Any:
        check_scalar(k, "k must be scalar, got shape {}")
        value, count = np.asarray(value), int(k)
        if count < 0:
            raise invalid(f"Need k >= 0, got {count}")
        if not value.ndim:
            raise invalid("input must be >= 1-D, got shape []")
        if value.shape[-1] < count:
            raise invalid(f"input must have at least k columns. Had {value.shape[-1]}, needed {count}")
        # Sort the reversed array stably: reversing the result then puts equal elements in their old order.
        order = value.shape[-1] - 1 - np.argsort(value[..., ::-1], axis=-1, kind="stable")[..., ::-1][..., :count]
        return np.take_along_axis(value, order, -1), order.astype(place.np)

    definition = "input:T" + _REALS + " k:Tk(int16,int32,int64)=int32"
    attrs = {"sorted": bool(sorted), "index_type": place}
    return TopKV2(*op("TopKV2", definition, [input, k], rule, kernel, name, attrs).outputs)
