"""eye, diag, matrix_diag and other ops on diagonals."""

from __future__ import annotations

from typing import Any

import numpy as np

from pipeline.compat.graph import dtypes
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.shapes import unknown_shape
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.ops.arrays.filling import ones, zeros
from pipeline.compat.ops.arrays.joining import concat
from pipeline.compat.ops.making.opdef import check_rank_at_least, failing_at_run_time, tensor_op
from pipeline.compat.ops.math.arithmetic import minimum
from pipeline.compat.values.convert import convert_to_tensor
from pipeline.compat.values.static import constant_value
from pipeline.errors import invalid

_ALIGNS = ("LEFT_RIGHT", "RIGHT_LEFT", "LEFT_LEFT", "RIGHT_RIGHT")
_DIAG_TYPES = "(bfloat16,float16,float32,float64,int32,int64,complex64,complex128)"


def eye(
    num_rows: Any,
    num_columns: Any = None,
    batch_shape: Any = None,
    dtype: Any = dtypes.float32,
    name: str | None = None,
) -> Tensor:
    """Return an identity matrix, or a batch of them.

    Args:
        num_rows: An int, or int32 scalar.
        num_columns: The same type; `num_rows` by default.
        batch_shape: A list of ints or int32 vector: the leading axes.
        dtype: Of the elements.
        name: Name of the scope.

    Raises:
        TypeError: A size is not an integer.
    """
    with name_scope(name, default_name="eye", values=[num_rows, num_columns, batch_shape]):
        square = num_columns is None
        batch = [] if batch_shape is None else batch_shape
        columns = num_rows if num_columns is None else num_columns
        if isinstance(num_rows, Tensor) or isinstance(columns, Tensor):
            size: Any = minimum(num_rows, columns)
        else:
            if not all(isinstance(each, (int, np.integer)) for each in (num_rows, columns)):
                raise TypeError(
                    "Arguments `num_rows` and `num_columns` must be positive integer values. Received: "
                    f"num_rows={num_rows}, num_columns={columns}"
                )
            square = num_rows == columns
            size = min(num_rows, columns)
        shape: Any = None
        if isinstance(batch, Tensor) or isinstance(size, Tensor):
            batch = convert_to_tensor(batch, name="shape", dtype=dtypes.int32)
            diagonal: Any = concat((batch, [size]), axis=0)
            if not square:
                shape = concat((batch, [num_rows, columns]), axis=0)
        else:
            diagonal = [*batch, size]
            shape = [*batch, num_rows, columns]
        on = ones(diagonal, dtype=dtype)
        return matrix_diag(on) if square else matrix_set_diag(zeros(shape, dtype=dtype), on)


def diag(diagonal: Any, name: str | None = None) -> Tensor:
    """Return a tensor of twice the rank with `diagonal` on its diagonal and zeros elsewhere.

    Element [i, j] of `diagonal` goes to [i, j, i, j].
    """

    def rule(tensor: Tensor) -> Any:
        check_rank_at_least(tensor, 1)
        return tensor.shape.concatenate(tensor.shape)

    def kernel(value: Any) -> Any:
        return np.diag(value.reshape(-1)).reshape(value.shape * 2)

    return tensor_op("Diag", "diagonal:T" + _DIAG_TYPES, [diagonal], rule, kernel, name)


def matrix_band_part(input: Any, num_lower: Any, num_upper: Any, name: str | None = None) -> Tensor:
    """Return matrices with zeros outside a band around the main diagonal.

    The band has `num_lower` diagonals below the main one and `num_upper` above it; -1 keeps them all.
    """

    def rule(tensor: Tensor, lower: Tensor, upper: Tensor) -> Any:
        check_rank_at_least(tensor, 2)
        return tensor.shape

    def kernel(value: Any, lower: Any, upper: Any) -> Any:
        rows, columns = value.shape[-2:]
        below = int(lower) if lower >= 0 else rows
        above = int(upper) if upper >= 0 else columns
        if below > rows or above > columns:
            raise invalid(f"num_lower and num_upper must be at most the size: {below}, {above}, {rows}, {columns}")
        offset = np.arange(columns) - np.arange(rows)[:, None]
        return np.where((offset >= -below) & (offset <= above), value, np.zeros((), value.dtype))

    definition = "input:T num_lower:Tindex(int32,int64)=int64 num_upper:Tindex"
    return tensor_op("MatrixBandPart", definition, [input, num_lower, num_upper], rule, kernel, name)


def _bounds(k: Any) -> tuple[int, int]:
    both = np.ravel(k).tolist()
    if not both or len(both) > 2 or both[0] > both[-1]:
        raise ValueError("lower_diag_index must not be larger than upper_diag_index, and there can be only the two")
    return both[0], both[-1]


def _lengths(rows: int, columns: int, low: int, high: int) -> list[int]:
    """Return the lengths of the diagonals, from the highest to the lowest."""
    return [min(rows + min(at, 0), columns - max(at, 0)) for at in range(high, low - 1, -1)]


def _longest(rows: int, columns: int, low: int, high: int) -> int:
    return min(rows + min(high, 0), columns - max(low, 0))


def _offset(at: int, length: int, longest: int, align: str) -> int:
    """Return where a diagonal begins in its row of the packed form.

    `align` names two sides: that of the diagonals from the main one up, and that of those below it.
    """
    above, below = align.split("_")
    side = above if at >= 0 else below
    return longest - length if side == "RIGHT" else 0


def _check_align(align: str) -> None:
    if align not in _ALIGNS:
        allowed = ", ".join(f'"{each}"' for each in _ALIGNS)
        raise ValueError(f"Value for attr 'align' of \"{align}\" is not in the list of allowed values: {allowed}")


def _check_k(rows: int, columns: int, low: int, high: int) -> None:
    if not (-rows < low < columns or low == 0) or not (-rows < high < columns or high == 0):
        raise ValueError(f"diagonal index {low}, {high} is out of bounds for matrices of {rows} x {columns}")


def _set(made: Any, diagonal: Any, low: int, high: int, align: str) -> Any:
    """Write packed diagonals into the matrices `made`."""
    rows, columns = made.shape[-2:]
    longest = _longest(rows, columns, low, high)
    for row, (at, length) in enumerate(zip(range(high, low - 1, -1), _lengths(rows, columns, low, high), strict=True)):
        steps = np.arange(length)
        begin = _offset(at, length, longest, align)
        source = diagonal if low == high else diagonal[..., row, :]
        made[..., steps - min(at, 0), steps + max(at, 0)] = source[..., begin : begin + length]
    return made


def _matrix_sizes(shape: tuple[int | None, ...], k: Any, rows: int, columns: int) -> Any:
    """Return lowest and highest diagonal, rows and columns of the matrices that hold packed diagonals.

    A size of -1 is computed. ValueError if the sizes given do not fit.
    """
    low, high = _bounds(k)
    if low != high and shape[-2] is not None and shape[-2] != high - low + 1:
        raise ValueError(f"The number of diagonals {high - low + 1} does not match the diagonals given: {shape[-2]}")
    longest = shape[-1]
    if longest is None:
        return low, high, None, None
    least_rows, least_columns = longest - min(high, 0), longest + max(low, 0)
    if rows == -1 and columns == -1:
        rows = columns = max(least_rows, least_columns)
    rows = least_rows if rows == -1 else rows
    columns = least_columns if columns == -1 else columns
    if rows < least_rows or columns < least_columns or (rows != least_rows and columns != least_columns):
        raise ValueError(f"The number of rows or columns is not consistent with the diagonals: {rows} x {columns}")
    return low, high, rows, columns


def matrix_diag(
    diagonal: Any,
    name: str | None = "diag",
    k: Any = 0,
    num_rows: Any = -1,
    num_cols: Any = -1,
    padding_value: Any = 0,
    align: str = "RIGHT_LEFT",
) -> Tensor:
    """Return matrices with given diagonals.

    Args:
        diagonal: The last axis holds the elements of a diagonal. With several diagonals, the axis before it holds
            them from the highest to the lowest.
        name: Name of the op.
        k: Number of the diagonal, 0 for the main one, positive above it; or those of the lowest and the highest.
        num_rows: Size of the matrices; -1 for the smallest that holds the diagonals.
        num_cols: See `num_rows`.
        padding_value: What the other elements are.
        align: The sides to which diagonals shorter than the longest are moved, above and below the main one.
    """
    _check_align(align)
    if getattr(diagonal, "dtype", None) == dtypes.bool:
        padding_value = bool(padding_value)

    def rule(tensor: Tensor, *rest: Tensor) -> Any:
        check_rank_at_least(tensor, 1)
        known = [constant_value(each) for each in rest[:3]]
        shape = tensor.shape.sizes
        if shape is None:
            return None
        if known[0] is None:
            return None
        if any(each is None for each in known):
            low, high = _bounds(known[0])
            return (*shape[: -1 if low == high else -2], None, None)
        low, high, rows, columns = _matrix_sizes(shape, known[0], int(known[1]), int(known[2]))
        return (*shape[: -1 if low == high else -2], rows, columns)

    def kernel(value: Any, k: Any, rows: Any, columns: Any, padding: Any) -> Any:
        low, high, height, width = _matrix_sizes(value.shape, k, int(rows), int(columns))
        lead = value.shape[: -1 if low == high else -2]
        return _set(np.full((*lead, height, width), padding, value.dtype), value, low, high, align)

    definition = "diagonal:T k:int32 num_rows:int32 num_cols:int32 padding_value:T"
    values = [diagonal, k, num_rows, num_cols, padding_value]
    return tensor_op(
        "MatrixDiagV3", definition, values, rule, failing_at_run_time(kernel), name, {"align": align.encode()}
    )


def matrix_set_diag(
    input: Any, diagonal: Any, name: str | None = "set_diag", k: Any = 0, align: str = "RIGHT_LEFT"
) -> Tensor:
    """Return the matrices with some diagonals replaced; arguments as in `matrix_diag`."""
    _check_align(align)

    def rule(tensor: Tensor, diagonal: Tensor, k: Tensor) -> Any:
        check_rank_at_least(tensor, 2)
        check_rank_at_least(diagonal, 1)
        known = constant_value(k)
        if known is not None and tensor.shape.sizes is not None:
            low, high = _bounds(known)
            rank, wanted = diagonal.shape.ndims, len(tensor.shape.sizes) - (low == high)
            if rank is not None and rank != wanted:
                raise ValueError(f"Shape must be rank {wanted} but is rank {rank}")
            rows, columns = tensor.shape.sizes[-2:]
            if rows is not None and columns is not None:
                _check_k(rows, columns, low, high)
        if tensor.shape.sizes is None and diagonal.shape.ndims is not None and known is not None:
            return unknown_shape(diagonal.shape.ndims + _single(known))
        return tensor.shape

    def kernel(value: Any, diagonal: Any, k: Any) -> Any:
        low, high = _bounds(k)
        rows, columns = value.shape[-2:]
        _check_k(rows, columns, low, high)
        longest = _longest(rows, columns, low, high)
        wanted = (*value.shape[:-2], longest) if low == high else (*value.shape[:-2], high - low + 1, longest)
        if diagonal.shape != wanted:
            raise ValueError(f"Expected diagonal of shape {list(wanted)}, got {list(diagonal.shape)}")
        return _set(np.array(value), diagonal, low, high, align)

    definition = "input:T diagonal:T k:int32"
    values = [input, diagonal, k]
    return tensor_op(
        "MatrixSetDiagV3", definition, values, rule, failing_at_run_time(kernel), name, {"align": align.encode()}
    )


def _single(k: Any) -> int:
    """1 if `k` names a single diagonal, else 0."""
    low, high = _bounds(k)
    return int(low == high)
