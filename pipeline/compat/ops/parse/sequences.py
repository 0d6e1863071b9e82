"""parse_single_sequence_example: a serialised SequenceExample to tensors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pipeline.compat.graph.dtypes import bool as bool_
from pipeline.compat.graph.dtypes import int64
from pipeline.compat.graph.node import node
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.shapes import TensorShape, as_shape
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.ops.making.inputs import check_allowed, fixed_input
from pipeline.compat.ops.making.text import at_most_rank, text
from pipeline.compat.ops.parse.examples import keys_tensor, sparse_and_dense
from pipeline.compat.ops.parse.features import TYPES, Asked, Defaults, default_tensor, scalar_serialized
from pipeline.compat.ops.parse.sequence_values import Sequences
from pipeline.compat.values.convert import convert_to_tensor
from pipeline.decode.example.features import FixedLenFeature, FixedLenSequenceFeature, VarLenFeature

_OP = "ParseSequenceExampleV2"
_Features = Mapping[str, Any]


def parse_single_sequence_example(
    serialized: Any,
    context_features: _Features | None = None,
    sequence_features: _Features | None = None,
    example_name: Any = None,
    name: str | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Parse one serialised SequenceExample.

    Args:
        serialized: A string scalar.
        context_features: A FixedLenFeature or VarLenFeature per key.
        sequence_features: A FixedLenSequenceFeature or VarLenFeature per key.
        example_name: Example name in error messages.
        name: Scope name.

    Returns:
        Two dicts of tensors and SparseTensors: the context, and the feature lists with steps as their first axis.

    Raises:
        ValueError, TypeError: The features are invalid.
        InvalidArgumentError: At run time, if the string is not a SequenceExample, or its features do not fit.
    """
    if not (context_features or sequence_features):
        raise ValueError("Both context_features and sequence_features are None, but at least one should have values.")
    context, steps = _asked(context_features, sequence_features)
    with name_scope(name, "ParseSingleSequenceExample", [serialized, example_name]):
        with name_scope(name, "ParseSingleExample", [serialized, example_name]):
            tensor = scalar_serialized(serialized)
        return _parse(tensor, example_name, context, steps, name)


def _asked(context_features: _Features | None, sequence_features: _Features | None) -> tuple[Asked, Asked]:
    return Asked(context_features, (VarLenFeature, FixedLenFeature)), Asked(
        sequence_features, (VarLenFeature, FixedLenSequenceFeature)
    )


def _parse(
    serialized: Any, name_of_example: Any, context: Asked, steps: Asked, name: str | None
) -> tuple[dict[str, Any], dict[str, Any]]:
    with name_scope(name, "ParseSequenceExample", [serialized]):
        for one in steps.dense:
            if one.default is not None:
                raise ValueError(f"Value feature_list.dense_defaults[{one.key}] must be None")
        tensor = convert_to_tensor(serialized, name="serialized")
        defaults = [default_tensor(one) for one in context.dense]
        with name_scope(name, _OP, [serialized]) as scope:
            outputs = _node(tensor, [] if name_of_example is None else name_of_example, context, steps, defaults, scope)
    split = 3 * len(context.sparse) + len(context.dense)
    lists = split + 3 * len(steps.sparse) + len(steps.dense)
    return (
        dict(zip(context.keys, sparse_and_dense(outputs[:split], len(context.sparse)), strict=True)),
        dict(zip(steps.keys, sparse_and_dense(outputs[split:lists], len(steps.sparse)), strict=True)),
    )


def _node(
    serialized: Tensor, names: Any, context: Asked, steps: Asked, defaults: list[Tensor], scope: str
) -> list[Tensor]:
    context.check("context_sparse_types", "context_dense_defaults")
    for one in steps.dense:
        check_allowed("feature_list_dense_types", one.dtype, TYPES)
        if not one.shape.is_fully_defined():
            raise ValueError(f"Shape {one.shape} is not fully defined")
    for dtype in steps.sparse.values():
        check_allowed("feature_list_sparse_types", dtype, TYPES)
    tensor = at_most_rank(text(serialized, "serialized", _OP), 1)
    inputs = [tensor, keys_tensor(names, "debug_name")]
    for prefix, asked in (("context", context), ("feature_list", steps)):
        inputs.append(keys_tensor(list(asked.sparse), f"{prefix}_sparse_keys"))
        inputs.append(keys_tensor([one.key for one in asked.dense], f"{prefix}_dense_keys"))
        inputs.append(keys_tensor([], f"{prefix}_ragged_keys"))
    missing = [one.allow_missing for one in steps.dense]
    inputs.append(convert_to_tensor(missing, bool_, name="feature_list_dense_missing_assumed_empty"))
    given = [
        fixed_input(_OP, "context_dense_defaults", value, one.dtype)
        for value, one in zip(defaults, context.dense, strict=True)
    ]
    attrs = {
        "Ncontext_sparse": len(context.sparse),
        "Nfeature_list_sparse": len(steps.sparse),
        "Nfeature_list_dense": len(steps.dense),
        "context_sparse_types": list(context.sparse.values()),
        "Tcontext_dense": [one.dtype for one in context.dense],
        "feature_list_sparse_types": list(steps.sparse.values()),
        "feature_list_dense_types": [one.dtype for one in steps.dense],
        "context_dense_shapes": [one.shape for one in context.dense],
        "feature_list_dense_shapes": [one.shape for one in steps.dense],
    }
    kernel = Sequences(context, steps, Defaults(context, given))
    return node(_OP, [*inputs, *given], _outputs(context, steps, tensor.shape), kernel, scope, attrs).outputs


def _outputs(context: Asked, steps: Asked, serialized: TensorShape) -> list[tuple[Any, Any]]:
    outputs: list[tuple[Any, Any]] = []
    for asked, extra in ((context, 1), (steps, 2)):
        rank = None if serialized.ndims is None else serialized.ndims + extra
        outputs += [(int64, [None, rank])] * len(asked.sparse)
        outputs += [(dtype, [None]) for dtype in asked.sparse.values()]
        outputs += [(int64, [rank])] * len(asked.sparse)
        for one in asked.dense:
            row = as_shape([None]).concatenate(one.shape) if asked is steps else one.shape
            outputs.append((one.dtype, serialized.concatenate(row)))
    return outputs + [(int64, serialized)] * len(steps.dense)
