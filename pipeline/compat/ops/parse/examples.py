"""parse_example and parse_single_example: serialised Examples to tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pipeline.compat.graph.dtypes import int64, string
from pipeline.compat.graph.node import node
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.shapes import TensorShape, as_shape
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.ops.making.inputs import fixed_input
from pipeline.compat.ops.making.text import at_most_rank, objects, one_or_all, text
from pipeline.compat.ops.parse.features import Asked, Defaults, default_tensor, scalar_serialized
from pipeline.compat.values.convert import convert_to_tensor
from pipeline.compat.values.sparse_tensor import SparseTensor
from pipeline.decode.example.features import FixedLenFeature, FixedLenSequenceFeature, VarLenFeature
from pipeline.decode.example.parse import block_values, single_values
from pipeline.errors import InvalidArgumentError, invalid, show

_KINDS = (VarLenFeature, FixedLenFeature, FixedLenSequenceFeature)
_UNKNOWN = "<unknown>"


def parse_single_example(
    serialized: Any, features: Mapping[str, Any], name: str | None = None, example_names: Any = None
) -> dict[str, Any]:
    """Parse one serialised Example.

    Args:
        serialized: A string scalar.
        features: A FixedLenFeature, FixedLenSequenceFeature or VarLenFeature per key.
        name: Scope name.
        example_names: Example name in error messages.

    Returns:
        One tensor per key with the feature's shape; a SparseTensor for a VarLenFeature.

    Raises:
        ValueError, TypeError: `features` is invalid.
        InvalidArgumentError: At run time, if the string is not an Example, or its features do not fit.
    """
    if features is None:
        raise ValueError("Invalid argument: features cannot be None.")
    if not features:
        raise ValueError("Invalid argument: features cannot be empty.")
    with name_scope(name, "ParseSingleExample", [serialized, example_names]):
        return parse_example(scalar_serialized(serialized), features, name, example_names)


def parse_example(
    serialized: Any, features: Mapping[str, Any], name: str | None = None, example_names: Any = None
) -> dict[str, Any]:
    """Parse a vector of serialised Examples, or a single one.

    Args:
        serialized: A string vector or scalar.
        features: A FixedLenFeature, FixedLenSequenceFeature or VarLenFeature per key.
        name: Scope name.
        example_names: Example names in error messages.

    Returns:
        One tensor [number of examples, *feature shape] per key, or a SparseTensor.

    Raises:
        ValueError, TypeError: `features` is invalid.
        InvalidArgumentError: At run time, if a string is not an Example, or its features do not fit.
    """
    if not features:
        raise ValueError(f"Argument `features` cannot be None or falsy. Got {features}")
    for feature in features.values():
        if isinstance(feature, FixedLenSequenceFeature) and not feature.allow_missing:
            raise ValueError("Unsupported: FixedLenSequenceFeature requires allow_missing to be True.")
    asked = Asked(features, _KINDS)
    with name_scope(name, "ParseExample", [serialized, example_names]):
        tensor = convert_to_tensor(serialized, name="serialized")
        defaults = [default_tensor(one) for one in asked.dense]
        with name_scope(name, "ParseExampleV2", [serialized]) as scope:
            outputs = _parse(tensor, [] if example_names is None else example_names, asked, defaults, scope)
    return dict(zip(asked.keys, sparse_and_dense(outputs, len(asked.sparse)), strict=True))


def sparse_and_dense(outputs: Sequence[Tensor], sparse: int) -> list[Any]:
    """Return the SparseTensors and the dense tensors from a parse op's outputs.

    The outputs begin with the indices of all sparse tensors, then all their values, then all their shapes.
    """
    parts = zip(outputs[:sparse], outputs[sparse : 2 * sparse], outputs[2 * sparse : 3 * sparse], strict=True)
    return [SparseTensor(*part) for part in parts] + list(outputs[3 * sparse :])


def _parse(tensor: Tensor, names: Any, asked: Asked, defaults: list[Tensor], scope: str) -> list[Tensor]:
    asked.check("sparse_types", "dense_defaults")
    tensor = at_most_rank(text(tensor, "serialized", "ParseExampleV2"), 1)
    keys = [keys_tensor(names, "names"), keys_tensor(list(asked.sparse), "sparse_keys")]
    keys += [keys_tensor([one.key for one in asked.dense], "dense_keys"), keys_tensor([], "ragged_keys")]
    given = [
        fixed_input("ParseExampleV2", "dense_defaults", value, one.dtype)
        for value, one in zip(defaults, asked.dense, strict=True)
    ]
    attrs = {
        "Tdense": [one.dtype for one in asked.dense],
        "num_sparse": len(asked.sparse),
        "sparse_types": list(asked.sparse.values()),
        "ragged_value_types": [],
        "ragged_split_types": [],
        "dense_shapes": [as_shape([None]).concatenate(one.shape) if one.rows else one.shape for one in asked.dense],
    }
    kernel = _Parse(asked, given)
    inputs = [tensor, *keys, *given]
    return node("ParseExampleV2", inputs, _outputs(asked, tensor.shape), kernel, scope, attrs, rows=kernel.rows).outputs


def keys_tensor(values: Any, argument: str) -> Tensor:
    """Return a parse op's input with keys or names."""
    return convert_to_tensor(objects([]) if isinstance(values, list) and not values else values, string, name=argument)


def _outputs(asked: Asked, serialized: TensorShape) -> list[tuple[Any, Any]]:
    rank = None if serialized.ndims is None else serialized.ndims + 1
    sparse = len(asked.sparse)
    outputs: list[tuple[Any, Any]] = [(int64, [None, rank])] * sparse
    outputs += [(dtype, [None]) for dtype in asked.sparse.values()]
    outputs += [(int64, [rank])] * sparse
    for one in asked.dense:
        row = as_shape([None]).concatenate(one.shape) if one.rows else one.shape
        outputs.append((one.dtype, serialized.concatenate(row)))
    return outputs


class _Parse:
    """The ParseExampleV2 kernel: parses one Example or a block."""

    def __init__(self, asked: Asked, defaults: list[Tensor]) -> None:
        self._sparse = len(asked.sparse)
        self._only_fixed = not asked.sparse and not any(one.rows for one in asked.dense)
        self._defaults = Defaults(asked, defaults)

    def __call__(self, serialized: Any, names: Any, *keys_and_defaults: Any) -> Any:
        wanted = self._defaults.wanted(keys_and_defaults[3:])
        if isinstance(serialized, bytes):
            values = single_values(serialized, wanted, None)
            sparse = [_sparse_parts(value) for value in values[: self._sparse]]
            return self._in_order(sparse, values[self._sparse :])
        if serialized.ndim > 1:
            raise invalid(f"Expected serialized to be a scalar or vector, got shape: {show(serialized.shape)}")
        called = [_UNKNOWN] * len(serialized)
        if np.size(names):
            if np.shape(names) != serialized.shape:
                raise invalid(
                    f"Expected names have the same shape as serialized: name.shape={show(np.shape(names))}, "
                    f"serialized.shape={show(serialized.shape)}"
                )
            called = [one.decode(errors="replace") for one in names.tolist()]
        values = block_values(serialized.tolist(), wanted, called)
        return self._in_order(values[: self._sparse], values[self._sparse :])

    def _in_order(self, sparse: Sequence[Any], dense: list[Any]) -> Any:
        return one_or_all([one[i] for i in range(3) for one in sparse] + dense)

    def rows(self, is_row: Sequence[bool], serialized: Any, names: Any, *keys_and_defaults: Any) -> Any:
        """Parse a block of single Examples; None (run per Example) unless all features have a fixed shape."""
        if not self._only_fixed or not is_row[0] or any(is_row[1:]) or serialized.ndim != 1 or np.size(names):
            return None
        try:
            return self(serialized, names, *keys_and_defaults)
        except InvalidArgumentError:  # run per Example for a single Example's error text
            return None


def _sparse_parts(values: Any) -> tuple[Any, Any, Any]:
    """Return a vector's indices, values and shape as a sparse tensor."""
    if isinstance(values, list):
        values = objects(values)
    return np.arange(len(values), dtype=np.int64)[:, None], values, np.array([len(values)], np.int64)
