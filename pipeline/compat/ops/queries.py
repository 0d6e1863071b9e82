"""Small functions: is it a tensor, what time is it, what is a value's fingerprint."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from pipeline.compat.graph import dtypes
from pipeline.compat.graph.dimensions import Dimension
from pipeline.compat.graph.dtypes import as_dtype
from pipeline.compat.graph.node import tensor_node
from pipeline.compat.graph.scopes import control_dependencies
from pipeline.compat.graph.shapes import as_shape
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.ops.making.elementwise import binary
from pipeline.compat.ops.making.opdef import tensor_op
from pipeline.compat.values.convert import convert_to_tensor
from pipeline.compat.values.sparse_tensor import IndexedSlices, SparseTensor

QUANTIZED_DTYPES = frozenset(
    as_dtype(f"{name}{suffix}")
    for name in ("qint8", "quint8", "qint32", "qint16", "quint16")
    for suffix in ("", "_ref")
)


def is_tensor(x: Any) -> bool:
    """Return whether it is a tensor, a sparse one, slices of one, or a variable."""
    from pipeline.compat.ops.variables.variable import Variable

    return isinstance(x, (Tensor, SparseTensor, IndexedSlices, Variable))


def dimension_at_index(shape: Any, index: int) -> Dimension:
    """Return a Dimension of a shape; an unknown one if the rank is not known."""
    dims = as_shape(shape).dims
    return Dimension(None) if dims is None else dims[index]


def timestamp(name: str | None = None) -> Tensor:
    """Return the seconds since 1970 as float64, at the time of the run."""
    return tensor_node("Timestamp", [], lambda run: np.float64(time.time()), dtypes.float64, [], name, stateful=True)


def fingerprint(data: Any, method: Any = "farmhash64", name: str | None = None) -> Tensor:
    """Return a fingerprint of each row, FarmHash of its bytes: uint8 [rows, 8]."""
    from pipeline.compat.kernels.hashing import fingerprint as farmhash

    def rule(data: Tensor, method: Tensor) -> Any:
        sizes = data.shape.sizes
        if sizes == ():
            raise ValueError("Shape must be at least rank 1 but is rank 0")
        return [None if sizes is None else sizes[0], 8]

    def row_bytes(row: Any) -> bytes:
        if isinstance(row, bytes):
            return row
        if row.dtype.kind != "O":
            return bytes(row.tobytes())
        # Strings of a row: the fingerprint of their fingerprints.
        return b"".join(farmhash(each).to_bytes(8, "little") for each in row.ravel())

    def kernel(data: Any, method: Any) -> Any:
        prints = b"".join(farmhash(row_bytes(row)).to_bytes(8, "little") for row in data)
        return np.frombuffer(prints, np.uint8).reshape(len(data), 8)

    return tensor_op("Fingerprint", "data:T method:string", [data, method], rule, kernel, name, dtype=dtypes.uint8)


nextafter_of = binary("NextAfter", np.nextafter, ("float64", "float32"), "", names=("x1", "x2"))


def nextafter(x1: Any, x2: Any, name: str | None = None) -> Tensor:
    """Return the next float after x1 in the direction of x2."""
    return nextafter_of(x1, x2, name)


@contextlib.contextmanager
def init_scope() -> Iterator[None]:
    """Make operations outside of the control dependencies around."""
    with control_dependencies(None):
        yield


def convert_to_tensor_or_indexed_slices(value: Any, dtype: Any = None, name: str | None = None) -> Any:
    """Return a tensor of the value; IndexedSlices as they are."""
    if isinstance(value, IndexedSlices):
        if dtype is not None and not as_dtype(dtype).is_compatible_with(value.dtype):
            raise ValueError(
                f"Incompatible tensor conversion requested to `dtype` {as_dtype(dtype).name} for `value` ({value}) "
                f"with dtype {value.dtype.name}"
            )
        return value
    return convert_to_tensor(value, dtype, name=name)
