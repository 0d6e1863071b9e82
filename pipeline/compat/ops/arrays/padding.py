"""pad: with a constant, or with the tensor's own elements mirrored."""

from __future__ import annotations

from typing import Any

import numpy as np

from pipeline.compat.graph.shapes import unknown_shape
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.kernels.wrappers import once_a_shape
from pipeline.compat.ops.making.opdef import INDEX_32, array, check_rank, tensor_op
from pipeline.compat.values.static import constant_value
from pipeline.errors import invalid


def _padded(tensor: Tensor, paddings: Tensor, *_: Any) -> Any:
    check_rank(paddings, 2)
    pairs = paddings.shape.sizes
    if pairs is not None and pairs[1] not in (None, 2):
        raise ValueError(f"Dimension must be 2 but is {pairs[1]}")
    sizes = tensor.shape.sizes
    known = constant_value(paddings)
    if known is None:
        rank = len(sizes) if sizes is not None else pairs[0] if pairs is not None else None
        return unknown_shape(rank)
    if sizes is None:
        return unknown_shape(len(known))
    if len(known) != len(sizes):
        raise ValueError(f"Shape must be rank {len(known)} but is rank {len(sizes)}")
    if np.any(np.asarray(known) < 0):
        raise ValueError("Paddings must be non-negative")
    return [
        None if size is None else size + int(before) + int(after)
        for size, (before, after) in zip(sizes, known, strict=True)
    ]


def _pairs(value: Any, paddings: Any) -> list[tuple[int, int]]:
    pairs = np.asarray(paddings)
    if pairs.shape != (np.ndim(value), 2):
        raise invalid(
            f"The first dimension of paddings must be the rank of inputs {list(pairs.shape)} {list(np.shape(value))}"
        )
    found = [(before, after) for before, after in pairs.tolist()]
    if any(before < 0 or after < 0 for before, after in found):
        raise invalid(f"Paddings must be non-negative: {pairs.tolist()}")
    return found


def _pad_with(value: Any, pairs: list[tuple[int, int]], filler: Any) -> Any:
    value = np.asarray(value)
    shape = [before + size + after for size, (before, after) in zip(value.shape, pairs, strict=True)]
    made = np.empty(shape, value.dtype)
    made[...] = filler
    inner = tuple(slice(before, before + size) for size, (before, _) in zip(value.shape, pairs, strict=True))
    made[inner] = value
    return made


def _filler(value: Any) -> Any:
    return b"" if value.dtype == object else 0


def _pad(value: Any, paddings: Any) -> Any:
    value = np.asarray(value)
    pairs = _pairs(value, paddings)
    if not any(map(any, pairs)):
        return value
    return _pad_with(value, pairs, _filler(value))


def _known_pairs(shape: tuple[int, ...], paddings: Any) -> list[tuple[int, int]]:
    pairs = [(before, after) for before, after in paddings.tolist()]
    return pairs if any(map(any, pairs)) else []


def _follow_pairs(value: Any, pairs: list[tuple[int, int]]) -> Any:
    return _pad_with(value, pairs, _filler(value)) if pairs else value


_quick_pad = once_a_shape(_pad, _known_pairs, _follow_pairs)


def _pad_rows(is_row: tuple[bool, ...], value: Any, paddings: Any) -> Any:
    if is_row != (True, False) or np.size(paddings) != 2 * (value.ndim - 1):
        return None
    return _pad_with(value, [(0, 0), *np.asarray(paddings).tolist()], _filler(value))


def _pad_v2(value: Any, paddings: Any, filler: Any) -> Any:
    if np.ndim(array(filler)):
        raise invalid(f"constant_values must be a scalar. Found: {list(np.shape(filler))}")
    return _pad_with(value, _pairs(value, paddings), array(filler)[()])


def _mirror(reflect: int) -> Any:
    def kernel(value: Any, paddings: Any) -> Any:
        pairs = _pairs(value, paddings)
        for axis, (size, (before, after)) in enumerate(zip(np.shape(value), pairs, strict=True)):
            if max(before, after) > size - reflect:
                limit = "less than" if reflect else "no greater than"
                raise invalid(
                    f"paddings must be {limit} the dimension size: {before}, {after} not {limit} {size} (axis {axis})"
                )
        return np.pad(value, pairs, mode="reflect" if reflect else "symmetric")

    return kernel


def _is_zero(value: Any) -> bool:
    if isinstance(value, Tensor) or np.ndim(value):
        return False
    return bool(value == np.zeros_like(value))


def pad(
    tensor: Any, paddings: Any, mode: str = "CONSTANT", name: str | None = None, constant_values: Any = 0
) -> Tensor:
    """Return a tensor with elements added before and after its own along each axis.

    Args:
        tensor: Any dtype.
        paddings: int32 or int64, one row (before, after) per axis.
        mode: "CONSTANT", "REFLECT" (mirrored about the first and last element) or "SYMMETRIC" (mirrored with them).
        name: Name of the op.
        constant_values: The element to pad with, for mode "CONSTANT".

    Raises:
        ValueError: The mode is invalid, or `paddings` is known not to fit.
    """
    kind = mode.upper()
    definition = "input:T paddings:Tpaddings" + INDEX_32
    if kind == "CONSTANT" and _is_zero(constant_values):
        made = tensor_op("Pad", definition, [tensor, paddings], _padded, _quick_pad, name, rows=_pad_rows)
    elif kind == "CONSTANT":
        definition += " constant_values:T"
        made = tensor_op("PadV2", definition, [tensor, paddings, constant_values], _padded, _pad_v2, name)
    elif kind in ("REFLECT", "SYMMETRIC"):
        kernel = _mirror(kind == "REFLECT")
        made = tensor_op("MirrorPad", definition, [tensor, paddings], _padded, kernel, name, {"mode": kind.encode()})
    else:
        raise ValueError(
            'Value of argument `mode` expected to be one of "CONSTANT", "REFLECT", or "SYMMETRIC". '
            f"Received `mode` = {mode}"
        )
    _refine(made, paddings)
    return made


def _refine(made: Tensor, paddings: Any) -> None:
    """Set the static size of each axis with known paddings, even if the paddings of other axes are unknown."""
    pairs = _known(made.op.inputs[1] if isinstance(paddings, Tensor) else paddings)
    sizes = made.op.inputs[0].shape.sizes
    if sizes is None or pairs is None or made.shape.is_fully_defined():
        return
    made.set_shape(
        [
            None if size is None or pair is None or any(each is None for each in pair) else size + int(sum(pair))
            for size, pair in zip(sizes, pairs, strict=False)
        ]
    )


def _known(paddings: Any) -> Any:
    """Return the paddings as nested lists, with None for unknown values."""
    if isinstance(paddings, Tensor):
        value = constant_value(paddings)
        if value is None and paddings.op.type == "Pack" and not paddings.op.attrs["axis"]:
            return [_known(each) for each in paddings.op.inputs]
        return value
    if isinstance(paddings, (list, tuple)):
        return [_known(each) for each in paddings]
    return paddings
