"""limit_epochs: a tensor that can be evaluated only so many times, counted by a local variable."""

from __future__ import annotations

from typing import Any

from pipeline.compat.graph import dtypes
from pipeline.compat.graph.graph_keys import GraphKeys
from pipeline.compat.graph.scopes import control_dependencies, name_scope
from pipeline.compat.ops.arrays.identities import identity
from pipeline.compat.ops.variables.variable import Variable
from pipeline.compat.values.constants import constant


def limit_epochs(tensor: Any, num_epochs: int | None = None, name: str | None = None) -> Any:
    """Make a tensor that equals `tensor` for `num_epochs` evaluations; after them it raises OutOfRangeError.

    Args:
        num_epochs: How many evaluations, above 0; None returns `tensor` itself. A local variable `epochs` counts them.

    Raises:
        ValueError: `num_epochs` is not above 0.
    """
    if num_epochs is None:
        return tensor
    if num_epochs <= 0:
        raise ValueError(f"num_epochs must be > 0 not {num_epochs}.")
    with name_scope(name, "limit_epochs", [tensor]) as scope:
        epochs = Variable(
            constant(0, dtypes.int64), name="epochs", trainable=False, collections=[GraphKeys.LOCAL_VARIABLES]
        )
        with control_dependencies([epochs.count_up_to(num_epochs)]):
            return identity(tensor, name=scope)
