"""Convert other libraries' arrays to NumPy arrays, including tensors that PyTorch cannot convert."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline._calls import all_of
from pipeline.capabilities import Tensor
from pipeline.dtypes import refuse_missing

_NUMBERS = frozenset({bool, int, float, complex})


def numpy_of(value: Any) -> NDArray[Any]:
    """Return any array-like object as an array.

    PyTorch tensors lose their gradient; bfloat16 and float8 become ml_dtypes. A text list becomes an object array.

    Raises:
        ValueError: The items in a list differ in shape.
        InvalidArgumentError: It converts itself to a masked array with missing values.
        TypeError: A tensor is not a plain array on the CPU; the message shows what to write.
        ImportError: ml_dtypes is not installed.
    """
    if isinstance(value, (list, tuple)) and holds_text(value):
        return array_of_texts(value, "it")
    try:
        array = np.asanyarray(value)
        if type(array) is np.ndarray:
            return array
        refuse_missing(array, f"a {type(value).__name__}")
        return np.asarray(array)
    except (TypeError, RuntimeError):
        if not isinstance(value, Tensor):
            raise
    return _of_tensor(value)


def holds_text(value: Any) -> bool:
    """Return whether a list contains text at any depth."""
    if isinstance(value, (list, tuple)):
        return not all_of(value, _NUMBERS) and any(map(holds_text, value))
    return isinstance(value, (bytes, str))


def array_of_texts(value: Any, where: str) -> NDArray[Any]:
    """Return a text list as an object array; `where` names it in errors.

    NumPy's own text arrays drop trailing zeros, and need the longest text's memory for each text.

    Raises:
        ValueError: The items differ in shape.
        TypeError: It contains other values too, or both str and bytes.
    """
    strings = np.asarray(value, object)
    kinds = set(map(type, strings.flat))
    if kinds & {list, tuple, np.ndarray}:
        raise ValueError("its items differ in shape")
    texts = {_text_of(kind) for kind in kinds}
    if None in texts and all(issubclass(kind, (bytes, str, *_NUMBERS, np.generic)) for kind in kinds):
        raise TypeError(f"{where} is a list of strings and other values: {value!r:.60}")
    if {str, bytes} <= texts:
        raise TypeError(f"{where} is a list of str and bytes: {value!r:.60}; decode or encode some of them")
    return strings


def _text_of(kind: type) -> type | None:
    return str if issubclass(kind, str) else bytes if issubclass(kind, bytes) else None


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
        try:
            found: NDArray[Any] = plain.numpy()
        except TypeError:
            raise _no_dtype(tensor) from None
        return found
    try:
        import ml_dtypes
    except ImportError:
        text = f"tensors of {name} need ml_dtypes: pip install ml_dtypes; or write tensor.float()"
        raise ImportError(text) from None
    dtype = vars(ml_dtypes).get(name)
    if dtype is None:
        raise _no_dtype(tensor)
    bits = {1: torch.uint8, 2: torch.uint16}[plain.element_size()]
    same: NDArray[Any] = plain.view(bits).numpy().view(dtype)
    return same


def _no_dtype(tensor: Any) -> TypeError:
    """Return the error for a dtype only PyTorch has, mostly packed numbers without operations."""
    bits = "int16" if tensor.element_size() == 2 else "uint8"
    hint = "to(torch.complex64)" if tensor.is_complex() else f"view(torch.{bits}), which are its bits"
    return TypeError(f"a tensor of {tensor.dtype} is not an array of NumPy, nor of ml_dtypes: write tensor.{hint}")
