"""Matrices: inverse, determinant, equations, and factors. Leading axes are those of a batch."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pipeline import errors
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.ops.making.opdef import check_rank_at_least, op, tensor_op
from pipeline.compat.values.convert import convert_to_tensor

_TYPES = "(float64,float32,float16,complex64,complex128)"


class Qr(NamedTuple):
    """An orthogonal and an upper triangular matrix."""

    q: Any
    r: Any


def _square(tensor: Tensor, *_: Any) -> Any:
    check_rank_at_least(tensor, 2)
    sizes = tensor.shape.sizes
    if sizes is None:
        return None
    if None not in sizes[-2:] and sizes[-1] != sizes[-2]:
        raise ValueError(f"Dimensions must be equal, but are {sizes[-2]} and {sizes[-1]}")
    side = sizes[-1] if sizes[-2] is None else sizes[-2]
    return (*sizes[:-2], side, side)


def _checked(value: Any) -> Any:
    if np.ndim(value) < 2 or value.shape[-1] != value.shape[-2]:
        text = f"Input matrix must be square, got {list(np.shape(value))}"
        raise errors.InvalidArgumentError(None, None, text)
    # NumPy has no kernels for halves.
    return value.astype(np.float32) if value.dtype.itemsize == 2 else value


def _adjoint(value: Any) -> Any:
    return np.conj(np.swapaxes(value, -1, -2))


def _invertible(function: Any, *values: Any) -> Any:
    try:
        found = function(*values)
    except np.linalg.LinAlgError:
        found = None
    if found is None or not np.all(np.isfinite(found)):
        raise errors.InvalidArgumentError(None, None, "Input is not invertible.")
    return found


def matrix_inverse(input: Any, adjoint: bool = False, name: str | None = None) -> Tensor:
    """Return the inverse of square matrices, or that of their adjoints; InvalidArgumentError if there is none."""

    def kernel(value: Any) -> Any:
        matrix = _checked(value)
        found = _invertible(np.linalg.inv, _adjoint(matrix) if adjoint else matrix)
        return found.astype(value.dtype, copy=False)

    return tensor_op("MatrixInverse", "input:T" + _TYPES, [input], _square, kernel, name, {"adjoint": bool(adjoint)})


def matrix_determinant(input: Any, name: str | None = None) -> Tensor:
    """Return the determinants of square matrices."""

    def rule(tensor: Tensor) -> Any:
        sizes = _square(tensor)
        return None if sizes is None else sizes[:-2]

    def kernel(value: Any) -> Any:
        return np.asarray(np.linalg.det(_checked(value)), value.dtype)

    return tensor_op("MatrixDeterminant", "input:T" + _TYPES, [input], rule, kernel, name)


def _of_columns(matrix: Tensor, rhs: Tensor) -> Any:
    sizes, columns = _square(matrix), rhs.shape.sizes
    check_rank_at_least(rhs, 2)
    if sizes is None or columns is None:
        return None
    if None not in (sizes[-1], columns[-2]) and sizes[-1] != columns[-2]:
        raise ValueError(f"Dimensions must be equal, but are {sizes[-1]} and {columns[-2]}")
    return (*sizes[:-1], columns[-1])


def matrix_solve(matrix: Any, rhs: Any, adjoint: bool = False, name: str | None = None) -> Tensor:
    """Return x with matrix @ x = rhs, for square matrices; InvalidArgumentError if they are not invertible."""

    def kernel(matrix: Any, rhs: Any) -> Any:
        left = _checked(matrix)
        found = _invertible(np.linalg.solve, _adjoint(left) if adjoint else left, rhs.astype(left.dtype, copy=False))
        return found.astype(rhs.dtype, copy=False)

    definition = f"matrix:T{_TYPES} rhs:T"
    return tensor_op("MatrixSolve", definition, [matrix, rhs], _of_columns, kernel, name, {"adjoint": bool(adjoint)})


def matrix_triangular_solve(
    matrix: Any, rhs: Any, lower: bool = True, adjoint: bool = False, name: str | None = None
) -> Tensor:
    """As `matrix_solve`, for triangular matrices: what is beyond the diagonal is not looked at."""

    def kernel(matrix: Any, rhs: Any) -> Any:
        left = np.tril(_checked(matrix)) if lower else np.triu(_checked(matrix))
        found = _invertible(np.linalg.solve, _adjoint(left) if adjoint else left, rhs.astype(left.dtype, copy=False))
        return found.astype(rhs.dtype, copy=False)

    attrs = {"lower": bool(lower), "adjoint": bool(adjoint)}
    with name_scope(name, "triangular_solve", [matrix, rhs]):
        definition = f"matrix:T{_TYPES} rhs:T"
        return tensor_op("MatrixTriangularSolve", definition, [matrix, rhs], _of_columns, kernel, None, attrs)


def _cholesky(value: Any) -> Any:
    matrix = _checked(value)
    found = np.empty_like(matrix)
    for place in np.ndindex(matrix.shape[:-2]):
        try:
            found[place] = np.linalg.cholesky(matrix[place])
        except np.linalg.LinAlgError:
            # TensorFlow does not stop either.
            found[place] = np.tril(np.full(matrix.shape[-2:], np.nan, matrix.dtype))
    return found.astype(value.dtype, copy=False)


def cholesky(input: Any, name: str | None = None) -> Tensor:
    """Return the lower triangular l with l @ adjoint(l) = input; NaN where the matrix is not positive definite."""
    return tensor_op("Cholesky", "input:T" + _TYPES, [input], _square, _cholesky, name)


def qr(input: Any, full_matrices: bool = False, name: str | None = None) -> Qr:
    """Return the factors q (orthogonal) and r (upper triangular) of matrices."""

    def rule(tensor: Tensor) -> Any:
        check_rank_at_least(tensor, 2)
        sizes, dtype = tensor.shape.sizes, tensor.dtype.base_dtype
        if sizes is None:
            return [(dtype, None)] * 2
        *batch, m, n = sizes
        short = None if m is None or n is None else min(m, n)
        k = m if full_matrices else short
        return [(dtype, (*batch, m, k)), (dtype, (*batch, k, n))]

    def kernel(value: Any) -> Any:
        q, r = np.linalg.qr(value, "complete" if full_matrices else "reduced")
        return q.astype(value.dtype, copy=False), r.astype(value.dtype, copy=False)

    attrs = {"full_matrices": bool(full_matrices)}
    return Qr(*op("Qr", "input:T" + _TYPES, [input], rule, kernel, name, attrs).outputs)


def svd(tensor: Any, full_matrices: bool = False, compute_uv: bool = True, name: str | None = None) -> Any:
    """Return the singular values of matrices, and u and v with matrix = u @ diag(s) @ adjoint(v).

    The signs of u and v are open: they may be others than TensorFlow's.
    """

    def rule(tensor: Tensor) -> Any:
        check_rank_at_least(tensor, 2)
        sizes, dtype = tensor.shape.sizes, tensor.dtype.base_dtype
        real = dtype.real_dtype
        if sizes is None:
            return [(real, None), (dtype, None), (dtype, None)]
        *batch, m, n = sizes
        short = None if m is None or n is None else min(m, n)
        if not compute_uv:
            return [(real, (*batch, short)), (dtype, (0,)), (dtype, (0,))]
        left, right = (m, n) if full_matrices else (short, short)
        return [(real, (*batch, short)), (dtype, (*batch, m, left)), (dtype, (*batch, n, right))]

    def kernel(value: Any) -> Any:
        if not compute_uv:
            none = np.empty(0, value.dtype)
            return np.linalg.svd(value, compute_uv=False), none, none
        u, s, adjoint_v = np.linalg.svd(value, full_matrices=full_matrices)
        return s, u, _adjoint(adjoint_v)

    attrs = {"compute_uv": bool(compute_uv), "full_matrices": bool(full_matrices)}
    definition = "input:T(float64,float32,complex64,complex128)"
    s, u, v = op("Svd", definition, [tensor], rule, kernel, name, attrs).outputs
    return (s, u, v) if compute_uv else s


def _eigen(tensor: Any, compute_v: bool, name: str | None) -> list[Tensor]:
    def rule(tensor: Tensor) -> Any:
        sizes, dtype = _square(tensor), tensor.dtype.base_dtype
        values = None if sizes is None else sizes[:-1]
        return [(dtype, values), (dtype, sizes if compute_v else (0,))]

    def kernel(value: Any) -> Any:
        values, vectors = np.linalg.eigh(_checked(value))
        return values.astype(value.dtype), vectors if compute_v else np.empty(0, value.dtype)

    definition = "input:T(float64,float32,complex64,complex128)"
    return op("SelfAdjointEigV2", definition, [tensor], rule, kernel, name, {"compute_v": compute_v}).outputs


def self_adjoint_eig(tensor: Any, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Return the eigenvalues, in ascending order, and eigenvectors (as columns) of symmetric matrices."""
    values, vectors = _eigen(tensor, True, name)
    return values, vectors


def self_adjoint_eigvals(tensor: Any, name: str | None = None) -> Tensor:
    """Return the eigenvalues of symmetric matrices, in ascending order."""
    return _eigen(tensor, False, name)[0]


def adjoint(matrix: Any, name: str | None = None) -> Tensor:
    """Return the conjugate transposes of matrices."""
    from pipeline.compat.ops.arrays.arranging import matrix_transpose

    with name_scope(name, "adjoint", [matrix]):
        return matrix_transpose(convert_to_tensor(matrix, name="matrix"), conjugate=True)
