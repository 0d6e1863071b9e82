"""RaggedRows: what a RaggedTensor holds, and what can be asked of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np

from pipeline.compat.graph import dtypes
from pipeline.compat.graph.dtypes import DType, as_dtype
from pipeline.compat.graph.node import node, tensor_node
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.shapes import TensorShape, as_shape
from pipeline.compat.graph.tensor import Operation, Tensor
from pipeline.compat.kernels import ragged
from pipeline.compat.values.casts import cast_node
from pipeline.compat.values.constants import constant
from pipeline.compat.values.convert import convert_to_tensor
from pipeline.compat.values.ragged_index import getitem
from pipeline.compat.values.ragged_making import as_splits_dtype
from pipeline.compat.values.sparse_tensor import SparseTensor
from pipeline.compat.values.static import constant_value_as_shape


class RaggedRows:
    """What RaggedTensor is without its factory methods."""

    __array_ufunc__ = None  # so that NumPy does not apply an operator to this object as if it were a number

    values: Any
    row_splits: Tensor
    _row_length: int | None  # of all rows, if they are known to be equally long

    def __init__(self, values: Any, row_splits: Any) -> None:
        raise ValueError(
            "RaggedTensor constructor is private; please use one of the factory methods instead (e.g., "
            "RaggedTensor.from_row_lengths())"
        )

    @classmethod
    def _of(cls, values: Any, row_splits: Tensor, row_length: int | None = None) -> Any:
        """Make one of parts that are known to fit."""
        made = object.__new__(cls)
        made.values, made.row_splits, made._row_length = values, row_splits, row_length
        return made

    @property
    def dtype(self) -> DType:
        """The DType of the values."""
        return self.values.dtype  # type: ignore[no-any-return]

    @property
    def graph(self) -> Any:
        """The graph that the tensors are in."""
        return self.row_splits.graph

    @property
    def shape(self) -> TensorShape:
        """What is known of the shape: None for ragged dimensions, unless their rows are equally long."""
        splits = self.row_splits.shape.sizes
        nrows = None if not splits or splits[0] is None else splits[0] - 1
        return TensorShape([nrows, self._row_length]).concatenate(self.values.shape[1:])

    def get_shape(self) -> TensorShape:
        """Return what is known of the shape."""
        return self.shape

    @property
    def ragged_rank(self) -> int:
        """The number of ragged dimensions."""
        return len(self.nested_row_splits)

    @property
    def flat_values(self) -> Tensor:
        """The innermost values, a tensor."""
        return self.values if isinstance(self.values, Tensor) else self.values.flat_values

    @property
    def nested_row_splits(self) -> tuple[Tensor, ...]:
        """The row splits of all ragged dimensions, from the outermost one on."""
        return (self.row_splits, *(() if isinstance(self.values, Tensor) else self.values.nested_row_splits))

    def _nested_lengths(self) -> tuple[int | None, ...]:
        return (self._row_length, *(() if isinstance(self.values, Tensor) else self.values._nested_lengths()))

    @property
    def uniform_row_length(self) -> Tensor | None:
        """The length of all rows, a constant, if they are known to be equally long."""
        return None if self._row_length is None else constant(self._row_length, self.row_splits.dtype)

    def with_values(self, new_values: Any) -> Any:
        """Return a RaggedTensor with the same rows and other values, as many as before.

        Raises:
            ValueError: The sizes are known to differ, or the row splits of ragged values have another dtype.
        """
        values = new_values if isinstance(new_values, RaggedRows) else convert_to_tensor(new_values, name="values")
        values.shape.with_rank_at_least(1)
        self.values.shape[:1].assert_is_compatible_with(values.shape[:1])
        if isinstance(values, RaggedRows) and values.row_splits.dtype != self.row_splits.dtype:
            raise ValueError(
                "self and new_values have mismatched row_splits dtypes; use RaggedTensor.with_row_splits_dtype() to "
                "convert them to compatible dtypes."
            )
        return self._of(values, self.row_splits, self._row_length)

    def with_flat_values(self, new_values: Any) -> Any:
        """Return a RaggedTensor with the same rows and other flat values, as many as before."""
        return self.with_values(
            new_values if isinstance(self.values, Tensor) else self.values.with_flat_values(new_values)
        )

    def with_row_splits_dtype(self, dtype: Any) -> Any:
        """Return the same with row splits of int32 or int64."""
        wanted = as_splits_dtype(dtype)
        if self.row_splits.dtype == wanted:
            return self
        values = self.values if isinstance(self.values, Tensor) else self.values.with_row_splits_dtype(wanted)
        return self._of(values, cast_node(self.row_splits, wanted), self._row_length)

    def _of_splits(self, kind: str, kernel: Any, size: int | None, name: str | None) -> Tensor:
        """Make a vector of int32 or int64 out of the row splits."""
        with name_scope(name, f"Ragged{kind}"):
            return tensor_node(kind, [self.row_splits], kernel, self.row_splits.dtype, [size])

    def value_rowids(self, name: str | None = None) -> Tensor:
        """Return the row of each value."""
        return self._of_splits("ValueRowIds", ragged.rowids, None, name)

    def nested_value_rowids(self, name: str | None = None) -> tuple[Tensor, ...]:
        """Return the row of each value for all ragged dimensions, from the outermost one on."""
        with name_scope(name, "RaggedNestedValueRowIds"):
            inner = () if isinstance(self.values, Tensor) else self.values.nested_value_rowids()
            return (self.value_rowids(), *inner)

    def nrows(self, out_type: Any = None, name: str | None = None) -> Tensor:
        """Return the number of rows, of the dtype of the row splits unless `out_type` is given."""
        dtype = self.row_splits.dtype if out_type is None else as_dtype(out_type)
        number = dtype.np.type
        with name_scope(name, "RaggedNRows"):
            return tensor_node("NRows", [self.row_splits], lambda splits: number(len(splits) - 1), dtype, [])

    def row_starts(self, name: str | None = None) -> Tensor:
        """Return where each row begins among the values."""
        return self._of_splits("RowStarts", lambda splits: splits[:-1], self.shape.sizes[0], name)  # type: ignore[index]

    def row_limits(self, name: str | None = None) -> Tensor:
        """Return where each row ends among the values."""
        return self._of_splits("RowLimits", lambda splits: splits[1:], self.shape.sizes[0], name)  # type: ignore[index]

    def row_lengths(self, axis: int = 1, name: str | None = None) -> Any:
        """Return the length of each row.

        Args:
            axis: The dimension whose rows they are: 1 for the outermost ones. For an inner one the lengths are ragged.
            name: Name of the scope.

        Raises:
            ValueError: There is no such dimension.
        """
        rank = self.shape.ndims
        if axis < 0 and rank is None:
            raise ValueError("the rank is not known, so axis must not be negative")
        if rank is not None and not -rank <= axis < rank:
            raise ValueError(f"axis={axis} out of bounds: expected {-rank}<=axis<{rank}")
        axis = axis + (rank or 0) if axis < 0 else axis
        if axis == 0:
            return self.nrows(name=name)
        if axis == 1:
            return self._of_splits("RowLengths", np.diff, self.shape.sizes[0], name)  # type: ignore[index]
        if isinstance(self.values, RaggedRows):
            return self.with_values(self.values.row_lengths(axis - 1))
        number, known = self.row_splits.dtype, self.values.shape[: axis - 1]

        def kernel(values: Any) -> Any:
            return np.full(values.shape[: axis - 1], values.shape[axis - 1], number.np)

        with name_scope(name, "RaggedRowLengths"):
            return self.with_values(tensor_node("RowLengths", [self.values], kernel, number, known))

    def nested_row_lengths(self, name: str | None = None) -> tuple[Tensor, ...]:
        """Return the row lengths of all ragged dimensions, from the outermost one on."""
        with name_scope(name, "RaggedNestedRowLengths"):
            inner = () if isinstance(self.values, Tensor) else self.values.nested_row_lengths()
            return (self.row_lengths(), *inner)

    def bounding_shape(self, axis: Any = None, name: str | None = None, out_type: Any = None) -> Tensor:
        """Return the shape of the smallest dense tensor that holds this one.

        Args:
            axis: Only this dimension or these, an int or a list; None for all.
            name: Name of the scope.
            out_type: int32 or int64; by default that of the row splits.
        """
        dtype = self.row_splits.dtype if out_type is None else as_dtype(out_type)

        def kernel(*values: Any) -> Any:
            found = ragged.bounding_shape(values[:-1], values[-1]).astype(dtype.np)
            return found if axis is None else found[axis]

        size = self.shape.ndims if axis is None else np.size(axis)
        with name_scope(name, "RaggedBoundingBox"):
            inputs = [*self.nested_row_splits, self.flat_values]
            return tensor_node("BoundingShape", inputs, kernel, dtype, [] if isinstance(axis, int) else [size])

    def to_tensor(self, default_value: Any = None, name: str | None = None, shape: Any = None) -> Tensor:
        """Return the dense tensor, with `default_value` where a row has no value.

        Args:
            default_value: A scalar, or what can be broadcast to one flat value; 0, "" or False by default.
            name: Name of the scope.
            shape: The shape: longer rows are cut off. A shape, list or tensor of integers; None or -1 for the size that
                is needed.

        Raises:
            InvalidArgumentError: At run time: the shape has another rank, or the default another shape.
        """
        with name_scope(name, "RaggedToTensor"):
            flat = self.flat_values
            kind = flat.dtype.base_dtype
            default = convert_to_tensor(_zero(kind) if default_value is None else default_value, kind, "default_value")
            if isinstance(shape, (list, tuple)) and any(isinstance(each, Tensor) for each in shape):
                shape = convert_to_tensor(list(shape))
            inputs, known = [*self.nested_row_splits, flat, default], self.shape
            if isinstance(shape, Tensor):
                inputs, known = [*inputs, shape], constant_value_as_shape(shape)
            else:
                known = _wanted(as_shape(shape), known)
                sizes = as_shape(shape).sizes or ()
            count = len(self.nested_row_splits)

            def kernel(*values: Any) -> Any:
                wanted = sizes if len(values) == count + 2 else np.ravel(values[-1]).tolist()
                return ragged.dense(values[:count], values[count], values[count + 1], wanted)

            return tensor_node("RaggedTensorToTensor", inputs, kernel, kind, known)

    def to_sparse(self, name: str | None = None) -> SparseTensor:
        """Return the same as a SparseTensor."""
        with name_scope(name, "RaggedToSparse"):
            flat, rank = self.flat_values, self.shape.ndims
            outputs = [(dtypes.int64, [None, rank]), (flat.dtype.base_dtype, [None]), (dtypes.int64, [rank])]
            made = node(
                "RaggedTensorToSparse",
                [*self.nested_row_splits, flat],
                outputs,
                lambda *values: ragged.sparse(values[:-1], values[-1]),
            )
            return SparseTensor(*made.outputs)

    def consumers(self) -> list[Operation]:
        """Return the operations that take one of the tensors."""
        found = [op for part in (*self.nested_row_splits, self.flat_values) for op in part.consumers()]
        return list(dict.fromkeys(found))

    def to_list(self) -> NoReturn:
        """Raise ValueError: only a RaggedTensorValue, which a run returns, has the rows as lists."""
        raise ValueError("to_list can only be used in eager mode: a run returns a RaggedTensorValue, which has it")

    def __getitem__(self, key: Any) -> Any:
        """Return a row, a slice of the rows, or, with several keys, parts of these.

        An inner ragged dimension takes slices only: `rt[:, :2]`. Positions may be scalar tensors.

        Raises:
            TypeError: A position is no integer.
        ValueError: A position for an inner ragged dimension, or one that is no scalar.
            InvalidArgumentError: At run time: there is no such row; ValueError if that is known before.
        """
        return getitem(self, key)

    def __iter__(self) -> Iterator[Any]:
        raise TypeError("iterating over a `tf.RaggedTensor` is not allowed: it has no value in a graph")

    def __len__(self) -> NoReturn:
        raise TypeError("len is not well defined for a `tf.RaggedTensor`; call `x.nrows()`")

    def __bool__(self) -> NoReturn:
        raise TypeError("using a `tf.RaggedTensor` as a Python `bool` is not allowed: it has no value in a graph")

    def __repr__(self) -> str:
        return f"tf.RaggedTensor(values={self.values}, row_splits={self.row_splits})"


def _zero(dtype: DType) -> Any:
    return b"" if dtype is dtypes.string else dtype.np.type(0)


def _wanted(shape: TensorShape, known: TensorShape) -> TensorShape:
    """Return a requested shape with its unknown sizes taken from what is known."""
    if shape.sizes is None or known.sizes is None:
        return known
    return TensorShape([b if a is None else a for a, b in zip(shape.sizes, known.sizes, strict=False)])
