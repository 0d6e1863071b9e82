"""placeholder and placeholder_with_default: tensors with values fed to a run."""

from __future__ import annotations

from typing import Any, NoReturn

from pipeline.compat.graph.dtypes import DType, as_dtype
from pipeline.compat.graph.node import tensor_node
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.shapes import TensorShape, as_shape
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.values.convert import convert_to_tensor
from pipeline.errors import invalid, show

# Dtype names in messages from TensorFlow's runtime.
_RUNTIME_NAMES = {"float32": "float", "float64": "double", "float16": "half"}


def placeholder(dtype: Any, shape: Any = None, name: str | None = None) -> Tensor:
    """Return a tensor to be fed in every run that needs it.

    Args:
        dtype: The value's DType.
        shape: The shape values must be compatible with; None accepts any shape.
        name: The operation's name, "Placeholder" by default.
    """
    kind, known = as_dtype(dtype), as_shape(shape)
    attrs = {"dtype": kind, "shape": known}
    tensor = tensor_node("Placeholder", (), None, kind, known, name, attrs=attrs, stateful=True)

    def kernel(run: Any) -> NoReturn:
        raise invalid(
            f"You must feed a value for placeholder tensor '{tensor.op.name}' with dtype {runtime_name(kind)}"
            f"{_shape_text(known)}"
        )

    tensor.op.kernel = kernel
    return tensor


def placeholder_with_default(input: Any, shape: Any, name: str | None = None) -> Tensor:
    """Return a tensor that may be fed, and otherwise has the value of `input`.

    Args:
        input: The default.
        shape: The shape values must be compatible with.
        name: The operation's name, "PlaceholderWithDefault" by default.
    """
    with name_scope(name, "PlaceholderWithDefault") as scope:
        default = convert_to_tensor(input, name="input")
        known = as_shape(shape)
        known.assert_is_compatible_with(default.shape)
        attrs = {"dtype": default.dtype.base_dtype, "shape": known}
        dtype = default.dtype.base_dtype
        return tensor_node(
            "PlaceholderWithDefault", [default], _pass_on, dtype, known, scope, attrs=attrs, stateful=True
        )


def _pass_on(run: Any, value: Any) -> Any:
    return value


def runtime_name(dtype: DType) -> str:
    """Return a dtype's name in runtime messages: float, double, half; the other names are the usual ones."""
    name = dtype.base_dtype.name
    return _RUNTIME_NAMES.get(name, name)


def _shape_text(shape: TensorShape) -> str:
    if not shape.sizes:
        return ""  # unknown, or a scalar
    return f" and shape {show(shape.sizes)}"
