"""as_string: values written as C's printf writes them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pipeline.compat.core.convert import convert_to_tensor
from pipeline.compat.core.dtypes import string
from pipeline.compat.core.graph import name_scope
from pipeline.compat.core.node import tensor_node
from pipeline.compat.core.tensor import Tensor
from pipeline.compat.ops.text import bad, encoded, objects, scalar_or


def as_string(
    input: Any,
    precision: int = -1,
    scientific: bool = False,
    shortest: bool = False,
    width: int = -1,
    fill: str = "",
    name: str | None = None,
) -> Tensor:
    """Each value as text.

    Args:
        input: Numbers, booleans or strings.
        precision: Digits after the point, for floats.
        scientific: Write floats with an exponent.
        shortest: Write floats as `%g` does.
        width: At least so many characters.
        fill: What stands before a short text: "0", " " or "+"; "-" puts it to the left.
        name: The op's name.

    Returns:
        Strings of the input's shape.

    Raises:
        InvalidArgumentError: When run: the settings do not fit together or do not fit the dtype.
    """
    with name_scope(name, "AsString") as scope:
        tensor = convert_to_tensor(input, name="input")
        dtype = tensor.dtype.base_dtype
        flag = encoded(fill).decode()

        def checked() -> str:
            """The format of the dtype."""
            if scientific and shortest:
                raise bad("Cannot select both scientific and shortest notation")
            if len(flag) > 1:
                raise bad(f'Fill string must be one or fewer characters: "{flag}"')
            if flag not in ("", " ", "+", "-", "0", "#"):
                raise bad(f'Fill argument not supported: "{flag}"')
            if not (dtype.is_floating or dtype.is_complex or dtype == string):
                if scientific or shortest:
                    raise bad(f"scientific and shortest format not supported for datatype {dtype.name}")
                if precision >= 0:
                    raise bad(f"precision not supported for datatype {dtype.name}")
            form = "%" + flag
            if width > -1:
                form += str(width)
            if precision > -1:
                form += f".{precision}"
            if dtype.is_floating or dtype.is_complex:
                return form + ("e" if scientific else "g" if shortest else "f")
            return form + ("s" if dtype == string else "d")

        def kernel(values: Any) -> Any:
            form = checked()
            array = np.asarray(values, dtype.np)
            return scalar_or(
                objects([_written(one, form, width) for one in array.ravel().tolist()]).reshape(array.shape)
            )

        attrs = {"precision": precision, "scientific": scientific, "shortest": shortest, "width": width, "fill": flag}
        return tensor_node("AsString", [tensor], kernel, string, tensor.shape, name=scope, attrs=attrs, rows=True)


def _written(value: Any, form: str, width: int) -> bytes:
    if isinstance(value, bool):
        return b"true" if value else b"false"
    if isinstance(value, bytes):
        return form.encode() % value if width > -1 else value
    if isinstance(value, complex):
        return b"(" + _written(value.real, form, width) + b"," + _written(value.imag, form, width) + b")"
    if isinstance(value, float) and not math.isfinite(value):
        form = form.replace("%0", "%")
        if "#" in form:
            form = form.replace("#", "")
    return (form % float(value) if form[-1] != "d" else form % value).encode()
