"""complex, real, imag and conj: complex numbers and their parts."""

from __future__ import annotations

from typing import Any

import numpy as np

from pipeline.compat.graph import dtypes
from pipeline.compat.graph.node import tensor_node
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.kernels.wrappers import Kernel
from pipeline.compat.ops.arrays.filling import zeros_like
from pipeline.compat.ops.making.elementwise import binary_node
from pipeline.compat.values.convert import convert_to_tensor


def _part(op_type: str, kernel: Kernel, x: Tensor, scope: str) -> Tensor:
    dtype = x.dtype.real_dtype
    attrs = {"T": x.dtype.base_dtype, "Tout": dtype}
    return tensor_node(op_type, [x], kernel, dtype, x.shape, name=scope, attrs=attrs, rows=True)


def complex(real: Any, imag: Any, name: str | None = None) -> Tensor:
    """Return the complex numbers with these parts, both float32 or both float64; else TypeError."""
    real = convert_to_tensor(real, name="real")
    imag = convert_to_tensor(imag, name="imag")
    with name_scope(name, "Complex", [real, imag]) as scope:
        kinds = (real.dtype.base_dtype, imag.dtype.base_dtype)
        if kinds == (dtypes.float64, dtypes.float64):
            result = dtypes.complex128
        elif kinds == (dtypes.float32, dtypes.float32):
            result = dtypes.complex64
        else:
            raise TypeError(
                f"The `real` and `imag` components have incorrect types: {real.dtype.name} {imag.dtype.name}. "
                "They must be both float32 or both float64."
            )

        def kernel(x: Any, y: Any) -> Any:
            made = np.empty(np.broadcast_shapes(np.shape(x), np.shape(y)), result.np)
            made.real, made.imag = x, y
            return made[()] if made.ndim == 0 else made

        return binary_node("Complex", real, imag, kernel, scope, result)


def real(input: Any, name: str | None = None) -> Tensor:
    """Return the real part. A real tensor is returned as it is."""
    with name_scope(name, "Real", [input]) as scope:
        x = convert_to_tensor(input, name="input")
        if x.dtype.is_complex:
            return _part("Real", lambda value: np.real(value).copy(), x, scope)
        if x.dtype.np.kind == "O" or x.dtype.is_bool:
            raise TypeError(f"input must be a numeric tensor, but got tensor with dtype {x.dtype}")
        return x


def imag(input: Any, name: str | None = None) -> Tensor:
    """Return the imaginary part, which is zero for a real tensor."""
    with name_scope(name, "Imag", [input]) as scope:
        x = convert_to_tensor(input, name="input")
        if x.dtype.is_complex:
            return _part("Imag", lambda value: np.imag(value).copy(), x, scope)
        return zeros_like(x)


def conj(x: Any, name: str | None = None) -> Tensor:
    """Return the complex conjugate. A real tensor is returned as it is. TypeError if x is not numeric."""
    if isinstance(x, Tensor) and (x.dtype.is_floating or x.dtype.is_integer):
        return x
    with name_scope(name, "Conj", [x]) as scope:
        x = convert_to_tensor(x, name="x")
        dtype = x.dtype.base_dtype
        if dtype.is_complex:
            return tensor_node("Conj", [x], np.conj, dtype, x.shape, name=scope, attrs={"T": dtype}, rows=True)
        if dtype.is_floating or dtype.is_integer:
            return x  # type: ignore[no-any-return]
        raise TypeError(f"Expected numeric or variant tensor, got dtype {x.dtype!r}.")
