"""eye and diag: matrices with given diagonals."""

from __future__ import annotations

from typing import Any

import numpy as np

from pipeline.compat.graph import dtypes
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.ops.arrays.filling import ones, zeros
from pipeline.compat.ops.arrays.joining import concat
from pipeline.compat.ops.making.opdef import check_rank_at_least, tensor_op
from pipeline.compat.ops.math.arithmetic import minimum
from pipeline.compat.values.convert import convert_to_tensor

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
        return _on_square(on) if square else _on_diagonal(zeros(shape, dtype=dtype), on)


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


_ALIGN = {"align": b"RIGHT_LEFT"}


def _on_square(diagonal: Tensor) -> Tensor:
    """Return square matrices with these main diagonals and zeros elsewhere."""

    def rule(tensor: Tensor, *_: Tensor) -> Any:
        return None if tensor.shape.sizes is None else (*tensor.shape.sizes, tensor.shape.sizes[-1])

    def kernel(value: Any, *_: Any) -> Any:
        made = np.zeros((*value.shape, value.shape[-1]), value.dtype)
        made[..., np.arange(value.shape[-1]), np.arange(value.shape[-1])] = value
        return made

    definition = "diagonal:T k:int32 num_rows:int32 num_cols:int32 padding_value:T"
    padding = False if diagonal.dtype == dtypes.bool else 0
    return tensor_op("MatrixDiagV3", definition, [diagonal, 0, -1, -1, padding], rule, kernel, "diag", _ALIGN)


def _on_diagonal(matrices: Tensor, diagonal: Tensor) -> Tensor:
    """Return the matrices with their main diagonals replaced."""

    def kernel(value: Any, diagonal: Any, _: Any) -> Any:
        made, places = np.array(value), np.arange(min(value.shape[-2:]))
        made[..., places, places] = diagonal
        return made

    values = [matrices, diagonal, 0]
    definition = "input:T diagonal:T k:int32"
    return tensor_op("MatrixSetDiagV3", definition, values, lambda x, *_: x.shape, kernel, "set_diag", _ALIGN)
