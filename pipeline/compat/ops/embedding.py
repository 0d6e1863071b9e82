"""Rows of a table looked up by their numbers."""

from __future__ import annotations

from typing import Any

from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.values.convert import convert_to_tensor


def embedding_lookup(
    params: Any,
    ids: Any,
    partition_strategy: str = "mod",
    name: str | None = None,
    validate_indices: bool = True,
    max_norm: Any = None,
) -> Any:
    """Return the rows of a table that have the given numbers.

    Args:
        params: The table, or a list of parts of it.
        ids: Integers of any shape.
        partition_strategy: How rows are spread over the parts: "mod" (by turns) or "div" (in runs).
        name: Name of the ops.
        validate_indices: Taken, and without effect: all are checked.
        max_norm: The largest norm that a row keeps; larger ones are scaled down.

    Raises:
        ValueError: There are no parts, or the strategy is neither.
        InvalidArgumentError: There is no such row.
    """
    from pipeline.compat.ops.arrays.gathering import gather
    from pipeline.compat.ops.arrays.identities import identity

    parts = list(params) if isinstance(params, (list, tuple)) else [params]
    if not parts:
        raise ValueError("params should not be empty")
    if partition_strategy not in ("mod", "div"):
        raise ValueError(f"Unrecognized partition strategy: {partition_strategy}.")
    with name_scope(name, "embedding_lookup") as scope:
        tables = [convert_to_tensor(part, name="params") for part in parts]
        ids = convert_to_tensor(ids, name="ids")
        if len(tables) == 1:
            return identity(_clipped(gather(tables[0], ids, name=scope), ids, max_norm))
        return _clipped(gather(_joined(tables, partition_strategy), ids, name=scope), ids, max_norm)


def _clipped(rows: Any, ids: Any, max_norm: Any) -> Any:
    from pipeline.compat.ops.math.clipping import clip_by_norm

    if max_norm is None:
        return rows
    return clip_by_norm(rows, max_norm, axes=list(range(ids.shape.ndims or 0, rows.shape.ndims)))


def _joined(tables: list[Any], strategy: str) -> Any:
    """Return one table of the parts; of different numbers of rows, the first parts have more."""
    import numpy as np

    from pipeline.compat.graph.node import tensor_node

    def kernel(*parts: Any) -> Any:
        if strategy == "div":
            return np.concatenate(parts)
        whole = np.empty((sum(len(part) for part in parts), *parts[0].shape[1:]), parts[0].dtype)
        for index, part in enumerate(parts):
            whole[index :: len(parts)] = part
        return whole

    inner = tables[0].shape.sizes
    shape = None if inner is None else (None, *inner[1:])
    return tensor_node("JoinPartitions", tables, kernel, tables[0].dtype.base_dtype, shape)
