"""op_error: a run's error for a failed operation, with the operation and the program line that made it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.errors import InvalidArgumentError, OpError, ResourceExhaustedError

if TYPE_CHECKING:
    from pipeline.compat.graph.tensor import Operation


def op_error(error: Exception, op: Operation) -> OpError:
    """Return `error` as an OpError for `op`; an error with an operation stays as it is."""
    if not isinstance(error, OpError):
        kind = ResourceExhaustedError if isinstance(error, MemoryError) else InvalidArgumentError
        cause, error = error, kind(None, None, str(error) or type(error).__name__)
        error.__cause__ = cause
    if error.op is None:
        error.op, error.definition = op, lambda: op.node_def
        file, line = op.made_at
        error.message = f"{error.message}\n\t [[node {op.name} (defined at {file}:{line}) ]]"
    return error
