"""SparseTensor and IndexedSlices: values made from several tensors."""

from __future__ import annotations

from typing import Any, NamedTuple

from pipeline.compat.graph import dtypes
from pipeline.compat.graph.default_session import session_for
from pipeline.compat.graph.dtypes import DType
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.shapes import TensorShape, as_shape
from pipeline.compat.graph.tensor import Operation, Tensor
from pipeline.compat.values.convert import convert_to_tensor
from pipeline.decode.example.sparse_value import SparseTensorValue


class SparseTensor:
    """A tensor that stores only its non-zero elements.

    Args:
        indices: int64 [N, rank]: each element's index.
        values: [N]: the elements.
        dense_shape: int64 [rank]: the whole tensor's shape.

    Raises:
        ValueError: The static shapes do not fit together.
    """

    def __init__(self, indices: Any, values: Any, dense_shape: Any) -> None:
        with name_scope(None, "SparseTensor", [indices, values, dense_shape]):
            self._indices = convert_to_tensor(indices, dtypes.int64, name="indices")
            self._values = convert_to_tensor(values, name="values")
            self._dense_shape = convert_to_tensor(dense_shape, dtypes.int64, name="dense_shape")
        from pipeline.compat.values.static import static_shape  # sessions use the class, but few make one

        self._dense_shape_default = static_shape(self._dense_shape)
        indices_shape = self._indices.shape.with_rank(2)
        values_shape = self._values.shape.with_rank(1)
        rank_shape = self._dense_shape.shape.with_rank(1)
        indices_shape[0].assert_is_compatible_with(values_shape[0])
        indices_shape[1].assert_is_compatible_with(rank_shape[0])

    @classmethod
    def from_value(cls, sparse_tensor_value: Any) -> SparseTensor:
        """Return a SparseTensor for a SparseTensorValue; a SparseTensor as is."""
        given = sparse_tensor_value
        if isinstance(given, SparseTensor):
            return given
        if not isinstance(given, SparseTensorValue):
            raise TypeError(
                f"Argument `sparse_tensor_value`={given!r:.80} is neither a SparseTensor nor SparseTensorValue"
            )
        return cls(given.indices, given.values, given.dense_shape)

    @property
    def indices(self) -> Tensor:
        """int64 [N, rank]: each element's index."""
        return self._indices

    @property
    def values(self) -> Tensor:
        """[N]: the elements."""
        return self._values

    @property
    def dense_shape(self) -> Tensor:
        """int64 [rank]: the whole tensor's shape."""
        return self._dense_shape

    @property
    def shape(self) -> TensorShape:
        """The whole tensor's static shape, as far as it is known."""
        return self._dense_shape_default

    def get_shape(self) -> TensorShape:
        """Return the whole tensor's static shape, as far as it is known."""
        return self._dense_shape_default

    def set_shape(self, shape: Any) -> None:
        """Merge a shape into the static shape; ValueError if they contradict."""
        self._dense_shape_default = self._dense_shape_default.merge_with(as_shape(shape))

    def with_values(self, new_values: Any) -> SparseTensor:
        """Return a SparseTensor with the same indices and other values."""
        return SparseTensor(self._indices, new_values, self._dense_shape)

    def consumers(self) -> list[Operation]:
        """Return the operations with any of these tensors as an input."""
        found = [op for part in (self._indices, self._values, self._dense_shape) for op in part.consumers()]
        return list(dict.fromkeys(found))

    @property
    def op(self) -> Operation:
        """The operation that makes the values."""
        return self._values.op

    @property
    def name(self) -> str:
        """Name of the values."""
        return self._values.name

    @property
    def dtype(self) -> DType:
        """DType of the values."""
        return self._values.dtype

    @property
    def graph(self) -> Any:
        """Graph of the tensors."""
        return self._indices.graph

    def eval(self, feed_dict: Any = None, session: Any = None) -> SparseTensorValue:
        """Return the value, computed in `session` or in the default session."""
        value: SparseTensorValue = session_for(session, self.graph, "evaluate tensor", "eval").run(self, feed_dict)
        return value

    def __repr__(self) -> str:
        return f"SparseTensor(indices={self._indices}, values={self._values}, dense_shape={self._dense_shape})"


class IndexedSlices:
    """Some rows from a tensor, with their indices.

    Args:
        values: [N, ...]: the rows.
        indices: [N]: each row's index.
        dense_shape: The whole tensor's shape, or None.
    """

    def __init__(self, values: Any, indices: Any, dense_shape: Any = None) -> None:
        self.values, self.indices, self.dense_shape = values, indices, dense_shape

    @property
    def op(self) -> Operation:
        """The operation that makes the values."""
        return self.values.op  # type: ignore[no-any-return]

    @property
    def name(self) -> str:
        """Name of the values."""
        return self.values.name  # type: ignore[no-any-return]

    @property
    def dtype(self) -> DType:
        """DType of the values."""
        return self.values.dtype  # type: ignore[no-any-return]

    @property
    def graph(self) -> Any:
        """Graph of the tensors."""
        return self.values.graph

    def __repr__(self) -> str:
        return f"IndexedSlices(indices={self.indices}, values={self.values}, dense_shape={self.dense_shape})"


class IndexedSlicesValue(NamedTuple):
    """A run's result for IndexedSlices."""

    values: Any
    indices: Any
    dense_shape: Any


def is_sparse(value: Any) -> bool:
    """Return whether `value` is a SparseTensor or a SparseTensorValue."""
    return isinstance(value, (SparseTensor, SparseTensorValue))
