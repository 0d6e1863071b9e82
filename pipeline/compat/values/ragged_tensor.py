"""RaggedTensor: rows of different lengths, and what they can be made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from pipeline.compat.graph import dtypes
from pipeline.compat.graph.dtypes import as_dtype
from pipeline.compat.graph.node import tensor_node
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.kernels import ragged
from pipeline.compat.values import ragged_making as making
from pipeline.compat.values.convert import convert_to_tensor, register_tensor_conversion_function
from pipeline.compat.values.ragged_rows import RaggedRows
from pipeline.compat.values.ragged_value import RaggedTensorValue
from pipeline.compat.values.sparse_tensor import SparseTensor, is_sparse


class RaggedTensor(RaggedRows):
    """Rows of different lengths.

    The rows lie one after the other in `values`; `row_splits` says where each begins. If `values` is a RaggedTensor
    itself, more than one dimension is ragged. Made by `RaggedTensor.from_row_splits` and its kin, `tf.ragged.constant`
    and string ops; a run returns a `tf.ragged.RaggedTensorValue` for it. Ops on tensors do not take it: give them its
    `flat_values` or `to_tensor()`, or apply them to the values of all rows by `tf.ragged.map_flat_values`.

    The factory methods take `values` as a tensor [nvals, ...] or a RaggedTensor, and partitions of int32 or int64. They
    check the rows in every run, with and without `validate`: InvalidArgumentError if these do not fit the values.

    Attributes:
        values: The values of all rows, a tensor [nvals, ...] or a RaggedTensor.
        row_splits: int32 or int64 [nrows + 1]: where each row begins among the values, and where the last one ends.
    """

    @classmethod
    def from_row_splits(cls, values: Any, row_splits: Any, name: str | None = None, validate: bool = True) -> Any:
        """Return a RaggedTensor of values and of where each row begins, and the last one ends."""
        if isinstance(row_splits, (list, tuple)) and not row_splits:
            raise ValueError("row_splits tensor may not be empty.")
        return cls._made("row_splits", "RowSplits", values, row_splits, 0, lambda each, _: each, name)

    @classmethod
    def from_row_lengths(cls, values: Any, row_lengths: Any, name: str | None = None, validate: bool = True) -> Any:
        """Return a RaggedTensor of values and of the length of each row."""
        kernel = lambda each, _: ragged.splits_of_lengths(each)  # noqa: E731
        return cls._made("row_lengths", "RowLengths", values, row_lengths, 1, kernel, name)

    @classmethod
    def from_row_starts(cls, values: Any, row_starts: Any, name: str | None = None, validate: bool = True) -> Any:
        """Return a RaggedTensor of values and of where each row begins."""
        return cls._made("row_starts", "RowStarts", values, row_starts, 1, np.append, name)

    @classmethod
    def from_row_limits(cls, values: Any, row_limits: Any, name: str | None = None, validate: bool = True) -> Any:
        """Return a RaggedTensor of values and of where each row ends."""
        return cls._made("row_limits", "RowLimits", values, row_limits, 1, lambda each, _: np.insert(each, 0, 0), name)

    @classmethod
    def _made(
        cls, source: str, kind: str, values: Any, given: Any, more: int, kernel: Callable[..., Any], name: str | None
    ) -> Any:
        """Make one of a partition that becomes splits by the kernel, which adds so many elements."""
        with name_scope(name, f"RaggedFrom{kind}"):
            values = as_ragged_or_tensor(values, name="values")
            part = making.partition(source, given, values)
            length = None if part.shape.ndims is None else part.shape.sizes[0]  # type: ignore[index]
            parts = [part, making.nvals(values, part.dtype)]
            return cls._of(
                values, making.splits(f"from_{source}", parts, kernel, None if length is None else length + more)
            )

    @classmethod
    def from_value_rowids(
        cls, values: Any, value_rowids: Any, nrows: Any = None, name: str | None = None, validate: bool = True
    ) -> Any:
        """Return a RaggedTensor of values and of the row of each, in ascending order.

        Args:
            values: The values of all rows.
            value_rowids: int32 or int64 [nvals].
            nrows: The number of rows; by default up to the last one that has a value.
            name: Name of the scope.
            validate: Ignored.
        """
        with name_scope(name, "RaggedFromValueRowIds"):
            values = as_ragged_or_tensor(values, name="values")
            part = making.partition("value_rowids", value_rowids, values)
            parts = [part, making.nvals(values, part.dtype)]
            if nrows is not None:
                parts.append(convert_to_tensor(nrows, part.dtype, name="nrows"))
            count = nrows + 1 if isinstance(nrows, int) else None
            return cls._of(values, making.splits("from_value_rowids", parts, ragged.splits_of_rowids, count))

    @classmethod
    def from_uniform_row_length(
        cls, values: Any, uniform_row_length: Any, nrows: Any = None, validate: bool = True, name: str | None = None
    ) -> Any:
        """Return a RaggedTensor of values of which each row has the same number.

        Args:
            values: The values of all rows.
            uniform_row_length: The length of the rows, an int or a scalar.
            nrows: The number of rows, needed only if their length is 0.
            validate: Ignored.
            name: Name of the scope.
        """
        with name_scope(name, "RaggedFromUniformRowLength"):
            values = as_ragged_or_tensor(values, name="values")
            hint = dtypes.int64 if isinstance(values, Tensor) else values.row_splits.dtype
            length = convert_to_tensor(uniform_row_length, preferred_dtype=hint, name="uniform_row_length")
            parts = [length, making.nvals(values, length.dtype)]
            if nrows is not None:
                parts.append(convert_to_tensor(nrows, length.dtype, name="nrows"))
            count = nrows + 1 if isinstance(nrows, int) else None
            splits = making.splits("from_uniform_row_length", parts, ragged.uniform_splits, count)
            return cls._of(values, splits, uniform_row_length if isinstance(uniform_row_length, int) else None)

    @classmethod
    def from_nested_row_splits(
        cls, flat_values: Any, nested_row_splits: Any, name: str | None = None, validate: bool = True
    ) -> Any:
        """Return a RaggedTensor of flat values and a list of row splits, from the outermost dimension on."""
        with name_scope(name, "RaggedFromNestedRowSplits"):
            return _nested(cls.from_row_splits, flat_values, nested_row_splits, "nested_row_splits")

    @classmethod
    def from_nested_row_lengths(
        cls, flat_values: Any, nested_row_lengths: Any, name: str | None = None, validate: bool = True
    ) -> Any:
        """Return a RaggedTensor of flat values and a list of row lengths, from the outermost dimension on."""
        with name_scope(name, "RaggedFromNestedRowLengths"):
            return _nested(cls.from_row_lengths, flat_values, nested_row_lengths, "nested_row_lengths")

    @classmethod
    def from_tensor(
        cls,
        tensor: Any,
        lengths: Any = None,
        padding: Any = None,
        ragged_rank: int = 1,
        name: str | None = None,
        row_splits_dtype: Any = dtypes.int64,
    ) -> Any:
        """Return a RaggedTensor of the rows of a tensor.

        Args:
            tensor: [nrows, ncols, ...]; its rank must be known.
            lengths: [nrows]: how much of each row to keep.
            padding: What to drop at the end of each row; not with `lengths`.
            ragged_rank: How many dimensions become ragged ones.
            name: Name of the scope.
            row_splits_dtype: int32 or int64.

        Raises:
            ValueError: Both `lengths` and `padding` are given; the rank is too low or unknown.
            TypeError: `ragged_rank` is no int.
        """
        dtype = making.as_splits_dtype(row_splits_dtype)
        if lengths is not None and padding is not None:
            raise ValueError("Specify argument `lengths` or `padding`, but not both.")
        if not isinstance(ragged_rank, int):
            raise TypeError(f"Argument `ragged_rank` must be an int. Received {ragged_rank}.")
        if ragged_rank <= 0:
            raise ValueError(f"Argument `ragged_rank` must be greater than 0. Received {ragged_rank}.")
        with name_scope(name, "RaggedFromTensor"):
            dense = convert_to_tensor(tensor, name="tensor")
            return making.from_tensor(cls, dense, lengths, padding, ragged_rank, dtype)

    @classmethod
    def from_sparse(cls, st_input: Any, name: str | None = None, row_splits_dtype: Any = dtypes.int64) -> Any:
        """Return a RaggedTensor of a sparse matrix whose rows have their elements at the first columns.

        Raises:
            TypeError: `st_input` is no SparseTensor.
            ValueError: Its rank is not 2.
            InvalidArgumentError: At run time: a row has a gap.
        """
        dtype = making.as_splits_dtype(row_splits_dtype)
        if not is_sparse(st_input):
            raise TypeError(
                f"Argument `st_input` must be of type SparseTensor, but is of type {type(st_input).__name__}."
            )
        with name_scope(name, "RaggedFromSparse"):
            given = SparseTensor.from_value(st_input)
            if given.dense_shape.shape.num_elements() != 2 and given.indices.shape[1] != 2:
                raise ValueError("rank(st_input) must be 2.")

            def kernel(indices: Any, shape: Any) -> Any:
                return ragged.splits_of_indices(indices, shape).astype(dtype.np)

            rows = given.shape.sizes[0] if given.shape.sizes else None
            count = [None if rows is None else rows + 1]
            return cls._of(
                given.values, tensor_node("RowSplits", [given.indices, given.dense_shape], kernel, dtype, count)
            )


def as_ragged_or_tensor(value: Any, dtype: Any = None, name: str | None = None) -> Any:
    """Return a RaggedTensor as it is, that of a RaggedTensorValue, and anything else as a tensor.

    Raises:
        ValueError: A RaggedTensor has another dtype than `dtype`.
    """
    if isinstance(value, RaggedTensorValue):
        flat = convert_to_tensor(value.flat_values, dtype, name="flat_values")
        return RaggedTensor.from_nested_row_splits(flat, value.nested_row_splits)
    if not isinstance(value, RaggedTensor):
        return convert_to_tensor(value, dtype, name=name)
    if dtype is not None and not as_dtype(dtype).is_compatible_with(value.dtype):
        raise ValueError(
            f"Tensor conversion requested dtype {as_dtype(dtype).name} for RaggedTensor with dtype {value.dtype.name}: "
            f"{value}."
        )
    return value


def _nested(make: Callable[..., Any], flat_values: Any, partitions: Any, argument: str) -> Any:
    if isinstance(partitions, Tensor):
        raise TypeError(f"Argument `{argument}` must be a list of Tensors. Received {partitions}.")
    made = flat_values
    for each in reversed(partitions):
        made = make(made, each)
    return made


def _no_operator(*operands: Any) -> NoReturn:
    _refuse(next(each for each in operands if isinstance(each, RaggedTensor)))


for _operator in ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor"]:
    setattr(RaggedTensor, f"__{_operator}__", _no_operator)
    setattr(RaggedTensor, f"__r{_operator}__", _no_operator)
for _operator in ["neg", "abs", "invert", "lt", "le", "gt", "ge"]:
    setattr(RaggedTensor, f"__{_operator}__", _no_operator)


def _refuse(value: Any, dtype: Any = None, name: str | None = None, as_ref: bool = False) -> NoReturn:
    raise TypeError(
        f"a {type(value).__name__} is used where a tensor is needed: take its `flat_values`, `to_tensor()` or "
        "`to_sparse()`, or apply the op to the values of all rows by `tf.ragged.map_flat_values`"
    )


register_tensor_conversion_function((RaggedTensor, RaggedTensorValue), _refuse)
