"""match_filenames_once: a local variable that holds file names, found when it is initialised."""

from __future__ import annotations

from typing import Any

from pipeline.compat.graph.graph_keys import GraphKeys
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.ops.files.gfile import matching_files
from pipeline.compat.ops.variables.variable import Variable


def match_filenames_once(pattern: Any, name: str | None = None) -> Variable:
    """Make a local variable that holds the sorted names of the files that match a pattern; its initializer finds them.

    Args:
        pattern: A glob pattern or a vector of them, string.

    Returns:
        A string variable of unknown shape; reading it before it is initialised raises FailedPreconditionError.
    """
    with name_scope(name, "matching_filenames", [pattern]) as scope:
        return Variable(
            name=scope,
            initial_value=matching_files(pattern),
            trainable=False,
            validate_shape=False,
            collections=[GraphKeys.LOCAL_VARIABLES],
        )
