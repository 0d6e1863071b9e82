"""unique: the elements of a vector, each once."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pipeline.compat.graph import dtypes
from pipeline.compat.graph.dtypes import as_dtype
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.ops.making.opdef import check_rank, op
from pipeline.errors import invalid


class Unique(NamedTuple):
    """Unique elements `y`, and for each element its index in `y`."""

    y: Any
    idx: Any


def unique(x: Any, out_idx: Any = dtypes.int32, name: str | None = None) -> Unique:
    """Return the unique elements of a vector by first occurrence, and the index of each element among them."""
    dtype = as_dtype(out_idx)

    def rule(tensor: Tensor) -> Any:
        check_rank(tensor, 1)
        return [(tensor.dtype.base_dtype, (None,)), (dtype, tensor.shape)]

    def kernel(values: Any) -> Any:
        if np.ndim(values) != 1:
            raise invalid(f"unique expects a 1D vector, got shape {list(np.shape(values))}")
        places: dict[Any, int] = {}
        index = [places.setdefault(each, len(places)) for each in values.tolist()]
        made = np.empty(len(places), values.dtype)
        made[:] = list(places)
        return made, np.array(index, dtype.np)

    return Unique(*op("Unique", "x:T", [x], rule, kernel, name, {"out_idx": dtype}).outputs)
