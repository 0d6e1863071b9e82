"""cast_node: the Cast operation, with C's rules for out-of-range values."""

from __future__ import annotations

from typing import Any

import numpy as np

from pipeline import errors
from pipeline.compat.graph.dtypes import DType
from pipeline.compat.graph.node import tensor_node
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.kernels.wrappers import Kernel, quiet


def _kernel(source: DType, target: DType) -> Kernel:
    """Return a kernel that casts as C does: rounds to 0, wraps integers, drops imaginary parts."""
    to = target.np
    if object in (source.np, to):
        if source is target:
            return lambda x: x

        def refuse(x: Any) -> Any:
            raise errors.UnimplementedError(None, None, f"Cast {source.name} to {target.name} is not supported")

        return refuse
    if source.is_complex and not target.is_complex:
        return quiet(lambda x: np.real(x).astype(to))
    if source.is_floating and to.kind in "iu" and to.itemsize < 4:
        # Through int32, as compiled C does. NumPy's vector code gives other results for out-of-range values.
        return quiet(lambda x: x.astype(np.int32).astype(to))
    return quiet(lambda x: x.astype(to))


def cast_node(x: Tensor, dtype: DType, name: str | None = None) -> Tensor:
    """Add a Cast from a tensor to a dtype, even if it has this dtype."""
    with name_scope(name, "Cast", [x]) as scope:
        source = x.dtype.base_dtype
        attrs = {"SrcT": source, "DstT": dtype, "Truncate": False}
        return tensor_node("Cast", [x], _kernel(source, dtype), dtype, x.shape, name=scope, attrs=attrs, rows=True)
