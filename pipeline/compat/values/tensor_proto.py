"""make_tensor_proto and make_ndarray: values as TensorProto messages and back."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pipeline.compat.graph.dtypes import DType, as_dtype
from pipeline.compat.values.constants import to_array
from pipeline.proto.tensor import TensorProto, shape_message

# The field of single values for a dtype. Those of other dtypes are always in `tensor_content`.
_FIELDS = {
    "float16": "half_val",
    "bfloat16": "half_val",
    "float32": "float_val",
    "float64": "double_val",
    "int8": "int_val",
    "int16": "int_val",
    "int32": "int_val",
    "uint8": "int_val",
    "uint16": "int_val",
    "int64": "int64_val",
    "bool": "bool_val",
    "string": "string_val",
}
_BITS = ("float16", "bfloat16")
# Of these TensorFlow writes several values one by one as well.
_NEVER_CONTENT = ("string", "bool", "bfloat16", "uint16")


def make_tensor_proto(
    values: Any, dtype: Any = None, shape: Any = None, verify_shape: bool = False, allow_broadcast: bool = False
) -> TensorProto:
    """Return a TensorProto of a Python value or a NumPy array.

    Args:
        values: A number, str, bytes, an array, or nested lists of these; a TensorProto is returned as it is.
        dtype: Its DType; without one as for `constant`.
        shape: Its shape. If there are fewer values, the last one is repeated.
        verify_shape: Raise TypeError if the values do not have that shape.
        allow_broadcast: Let only a single value be repeated; for other values raise TypeError.

    Raises:
        TypeError, ValueError: As `constant`.
    """
    if allow_broadcast and verify_shape:
        raise ValueError("allow_broadcast and verify_shape are not both allowed.")
    if isinstance(values, TensorProto):
        return values
    wanted = None if dtype is None else as_dtype(dtype).base_dtype
    sizes = None if shape is None else tuple(int(each) for each in shape)
    if sizes is not None and not math.prod(sizes) and not isinstance(values, (np.ndarray, np.generic)):
        values = np.empty(sizes, np.float32 if wanted is None else wanted.np)
    array = to_array(values, wanted)
    if sizes is None:
        sizes = array.shape
    _check_size(array, sizes, verify_shape, allow_broadcast)
    found = as_dtype(array.dtype) if wanted is None else wanted
    made = TensorProto(dtype=found.as_datatype_enum, tensor_shape=shape_message(list(sizes)))
    _fill(made, array, math.prod(sizes), found)
    return made


def _check_size(array: Any, sizes: tuple[int, ...], verify: bool, broadcast: bool) -> None:
    single = array.shape in ((), (1,))
    count = math.prod(sizes)
    if (verify and array.shape != sizes) or (broadcast and not single and array.size != count):
        raise TypeError(f"Expected Tensor's shape: {sizes}, but got {array.shape}.")
    if not broadcast and array.size > count:
        raise ValueError(f"Too many elements provided. Takes at most {count:d}, but got {array.size:d}.")


def _fill(made: TensorProto, array: Any, count: int, dtype: DType) -> None:
    field = _FIELDS.get(dtype.name)
    if field is None or (array.size == count > 1 and dtype.name not in _NEVER_CONTENT):
        if field is None and array.size < count:
            array = np.concatenate([array.ravel(), np.repeat(array.ravel()[-1:], count - array.size)])
        made.tensor_content = np.ascontiguousarray(array).tobytes()
        return
    flat = np.ascontiguousarray(array).reshape(-1)
    getattr(made, field).extend((flat.view(np.uint16) if dtype.name in _BITS else flat).tolist())


def make_ndarray(tensor: TensorProto) -> np.ndarray[Any, Any]:
    """Return the value of a TensorProto as a NumPy array; strings as an object array of bytes.

    Raises:
        TypeError: The message has no dtype that NumPy has.
        ValueError: Its values do not fit its shape.
    """
    dtype = as_dtype(tensor.dtype)
    shape = [each.size for each in tensor.tensor_shape.dim]
    count = math.prod(shape)
    if tensor.tensor_content:
        return np.frombuffer(tensor.tensor_content, dtype.np).copy().reshape(shape)
    field = _FIELDS.get(dtype.name)
    if field is None:
        if dtype.is_numpy_compatible and not count:
            return np.zeros(shape, dtype.np)
        raise TypeError(f"Unsupported tensor type: {tensor.dtype}: its values have to be in `tensor_content`.")
    values = list(getattr(tensor, field))
    if len(values) < count:
        values += (values[-1:] or [b"" if dtype.name == "string" else 0]) * (count - len(values))
    if dtype.name == "string":
        made = np.empty(len(values), object)
        made[:] = values
        return made.reshape(shape)
    if dtype.name in _BITS:
        return np.array(values, np.uint16).view(dtype.np).reshape(shape)
    return np.array(values, dtype.np).reshape(shape)
