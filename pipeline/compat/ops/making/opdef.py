"""Make ops from one-line input definitions, a shape rule and a kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from pipeline.compat.graph import dtypes
from pipeline.compat.graph.dtypes import DType
from pipeline.compat.graph.node import node
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.tensor import Operation, Tensor
from pipeline.compat.ops.making.inputs import check_allowed, first_input, fixed_input, list_input, next_input
from pipeline.errors import invalid, show

INDEX = "(int32,int64)"
INDEX_32 = "(int32,int64)=int32"


class _Input(NamedTuple):
    name: str
    attr: str
    fixed: DType | None
    allowed: tuple[str, ...] | None
    default: DType | None
    many: bool


_parsed: dict[str, list[_Input]] = {}
_FIXED = ("uint8", "int32", "int64", "bool", "float32", "string")


def _parse(definition: str) -> list[_Input]:
    found = []
    for token in definition.split():
        name, _, kind = token.partition(":")
        many = kind.startswith("*")
        attr, _, rest = kind.lstrip("*").partition("(")
        allowed, _, default = rest.partition(")")
        found.append(
            _Input(
                name,
                attr,
                getattr(dtypes, attr) if attr in _FIXED else None,
                tuple(allowed.split(",")) if allowed else None,
                getattr(dtypes, default[1:]) if default else None,
                many,
            )
        )
    return found


def convert_inputs(op_type: str, definition: str, values: Sequence[Any]) -> tuple[list[Any], dict[str, Any]]:
    """Return the tensors for an op's inputs, and the attributes derived from them.

    Args:
        op_type: The op's type, for messages.
        definition: The inputs as `name:attribute(allowed,dtypes)=default`; `name:int32` for a fixed dtype and
            `name:*attribute` for a list. The first input with an attribute sets its dtype.
        values: The caller's value for each input.

    Raises:
        TypeError: A value's dtype is not accepted by the op.
    """
    parsed = _parsed.get(definition)
    if parsed is None:
        parsed = _parsed[definition] = _parse(definition)
    attrs: dict[str, Any] = {}
    origin: dict[str, str] = {}
    tensors: list[Any] = []
    for one, value in zip(parsed, values, strict=True):
        known = attrs.get(one.attr)
        if one.many:
            made = _list(op_type, one, value, known or one.fixed)
            tensors.append(made)
            attrs["N"] = len(made)
            if one.fixed is None:
                attrs[one.attr] = made[0].dtype.base_dtype
        elif one.fixed is not None:
            tensors.append(fixed_input(op_type, one.name, value, one.fixed))
        elif known is not None:
            tensors.append(next_input(op_type, one.name, value, known, origin[one.attr]))
        else:
            tensors.append(first_input(one.name, value, one.allowed, one.default))
            attrs[one.attr] = tensors[-1].dtype.base_dtype
            origin[one.attr] = one.name
    return tensors, attrs


def _list(op_type: str, one: _Input, values: Any, dtype: DType | None) -> list[Tensor]:
    if dtype is None:
        return list_input(op_type, one.name, values, one.allowed)
    if not isinstance(values, (list, tuple)):
        raise TypeError(f"Expected list for '{one.name}' argument to '{op_type}' Op, not {values!r}.")
    made = [fixed_input(op_type, f"{one.name}_{index}", value, dtype) for index, value in enumerate(values)]
    if one.allowed is not None:
        check_allowed(one.name, dtype, one.allowed)
    return made


def check_scalar(value: Any, text: str) -> None:
    """Raise InvalidArgumentError with `text`, its `{}` replaced by the shape, if a value is not a scalar."""
    if getattr(value, "ndim", 0):
        raise invalid(text.format(show(value.shape)))


def array(value: Any) -> Any:
    """Return a value as an array. A single string becomes an object, because NumPy would drop its trailing zeros."""
    if value.__class__ is bytes:
        made = np.empty((), object)
        made[()] = value
        return made
    return np.asarray(value)


def _with_strings(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Return the kernel for values with plain bytes instead of an array for a single string."""

    def plain(value: Any) -> Any:
        # Indexing with () returns the string from an array without axes, and any other array as is.
        return value[()] if isinstance(value, np.ndarray) and value.dtype.kind == "O" else value

    def on_strings(*values: Any) -> Any:
        made = kernel(*map(array, values))
        return [plain(each) for each in made] if isinstance(made, (list, tuple)) else plain(made)

    return on_strings


def _rows_with_strings(rows: Callable[..., Any]) -> Callable[..., Any]:
    return lambda is_row, *values: rows(is_row, *map(array, values))


def _brief(tensor: Tensor) -> str:
    sizes = tensor.shape.sizes
    return "<unknown>" if sizes is None else show(sizes)


def op(
    op_type: str,
    definition: str,
    values: Sequence[Any],
    rule: Callable[..., Any],
    kernel: Callable[..., Any],
    name: str | None = None,
    attrs: dict[str, Any] | None = None,
    rows: Any = None,
) -> Operation:
    """Add an operation to the graph.

    Args:
        op_type: Its type, and its name by default.
        definition: Its inputs; see `convert_inputs`.
        values: The caller's values for them.
        rule: Computes a list of (dtype, shape), one per output, from the tensors; ValueError if they do not fit.
        kernel: Computes the value, or a list of values. Here strings are always arrays.
        name: The name.
        attrs: Attributes besides the dtypes.
        rows: Kernel for row blocks.

    Raises:
        TypeError: An input's dtype is not accepted by the op.
        ValueError: The shapes do not fit.
    """
    with name_scope(name, op_type, values) as scope:
        tensors, found = convert_inputs(op_type, definition, values)
        if attrs:
            found.update(attrs)
        flat: list[Tensor] = []
        for each in tensors:
            flat.extend(each if isinstance(each, list) else [each])
        try:
            outputs = rule(*tensors)
        except ValueError as error:
            raise ValueError(
                f"{error} for '{scope.rstrip('/')}' (op: '{op_type}') with input shapes: "
                f"{', '.join(map(_brief, flat))}."
            ) from None
        if any(tensor.dtype.np.kind == "O" for tensor in flat):
            kernel = _with_strings(kernel)
            if rows is not None and rows is not True:
                rows = _rows_with_strings(rows)
        return node(op_type, flat, outputs, kernel, name=scope, attrs=found, rows=rows)


def tensor_op(
    op_type: str,
    definition: str,
    values: Sequence[Any],
    rule: Callable[..., Any],
    kernel: Callable[..., Any],
    name: str | None = None,
    attrs: dict[str, Any] | None = None,
    rows: Any = None,
    dtype: DType | None = None,
) -> Tensor:
    """Add an operation with one output; arguments as in `op`.

    The rule returns only the output's shape; its dtype is the first input's unless `dtype` is given.
    """

    def outputs(*tensors: Any) -> list[tuple[DType, Any]]:
        first = tensors[0][0] if isinstance(tensors[0], list) else tensors[0]
        return [(dtype or first.dtype.base_dtype, rule(*tensors))]

    return op(op_type, definition, values, outputs, kernel, name, attrs, rows).outputs[0]


def failing_at_run_time(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a kernel that computes `function` and turns its ValueError into an InvalidArgumentError."""

    def kernel(*values: Any) -> Any:
        try:
            return function(*values)
        except ValueError as error:
            raise invalid(str(error)) from None

    return kernel


def same_shape(tensor: Tensor, *_: Any) -> Any:
    """Return the first input's shape: the rule for ops that keep it."""
    return tensor.shape


def check_rank(tensor: Tensor, rank: int) -> None:
    """Raise ValueError if the tensor is known to have another rank."""
    if tensor.shape.ndims not in (None, rank):
        raise ValueError(f"Shape must be rank {rank} but is rank {tensor.shape.ndims}")


def check_rank_at_least(tensor: Tensor, rank: int) -> None:
    """Raise ValueError if the tensor is known to have a lower rank."""
    if tensor.shape.ndims is not None and tensor.shape.ndims < rank:
        raise ValueError(f"Shape must be at least rank {rank} but is rank {tensor.shape.ndims}")
