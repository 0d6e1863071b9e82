"""The Cast node and its kernel."""

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
    """Return the kernel that casts as C does: towards 0, modulo the integer's range, imaginary parts dropped."""
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
        # By way of int32, as compilers do; NumPy's vector code differs for what is out of range.
        return quiet(lambda x: x.astype(np.int32).astype(to))
    return quiet(lambda x: x.astype(to))


def cast_node(x: Tensor, dtype: DType, name: str | None = None) -> Tensor:
    """Make the node Cast of a tensor, even if it has that dtype already."""
    with name_scope(name, "Cast") as scope:
        source = x.dtype.base_dtype
        attrs = {"SrcT": source, "DstT": dtype, "Truncate": False}
        return tensor_node("Cast", [x], _kernel(source, dtype), dtype, x.shape, name=scope, attrs=attrs, rows=True)
