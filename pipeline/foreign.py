"""Arrays of other libraries as arrays of NumPy, also tensors of PyTorch that PyTorch itself does not convert."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.capabilities import Tensor


def numpy_of(value: Any) -> NDArray[Any]:
    """Return anything that NumPy makes an array of as an array.

    Tensors of PyTorch lose their gradient. Those of bfloat16 and float8 get the dtypes of ml_dtypes.

    Raises:
        TypeError: A tensor is no plain array on the CPU; the message says what to write.
        ImportError: ml_dtypes is not installed.
    """
    try:
        return np.asarray(value)
    except (TypeError, RuntimeError):
        if not isinstance(value, Tensor):
            raise
    return _of_tensor(value)


def _of_tensor(tensor: Any) -> NDArray[Any]:
    torch: Any = sys.modules["torch"]
    if tensor.is_nested:
        raise TypeError("a nested tensor has rows of several shapes: write tensor.unbind(), which is a tuple of them")
    if tensor.layout is not torch.strided:
        raise TypeError(f"a tensor of layout {tensor.layout} is not an array: write tensor.to_dense()")
    if tensor.is_quantized:
        raise TypeError("a quantized tensor is not an array: write tensor.dequantize(), or tensor.int_repr()")
    if tensor.device.type != "cpu":
        hint = "it has no values" if tensor.device.type == "meta" else "write tensor.cpu()"
        raise TypeError(f"a tensor on the device {tensor.device} is not an array of NumPy: {hint}")
    plain = tensor.detach().resolve_conj().resolve_neg()
    name = str(tensor.dtype).removeprefix("torch.")
    if not name.startswith(("bfloat", "float8", "float4")):
        found: NDArray[Any] = plain.numpy()
        return found
    try:
        import ml_dtypes
    except ImportError:
        text = f"tensors of {name} need ml_dtypes: pip install ml_dtypes; or write tensor.float()"
        raise ImportError(text) from None
    dtype = vars(ml_dtypes).get(name)
    if dtype is None:
        raise TypeError(f"a tensor of {tensor.dtype} is not an array of NumPy, nor of ml_dtypes: write tensor.float()")
    bits = {1: torch.uint8, 2: torch.uint16}[plain.element_size()]
    same: NDArray[Any] = plain.view(bits).numpy().view(dtype)
    return same
