"""QueueRunnerDef: a protocol buffer describing a QueueRunner by its operation names."""

from __future__ import annotations

from typing import Any

from pipeline.compat.graph.scopes import get_default_graph
from pipeline.errors import OutOfRangeError, error_code_from_exception_type, exception_type_from_error_code
from pipeline.proto.schema import Message, Schema

_ERRORS = Schema(
    "error_codes",
    """
    enum Code {
        OK = 0; CANCELLED = 1; UNKNOWN = 2; INVALID_ARGUMENT = 3; DEADLINE_EXCEEDED = 4; NOT_FOUND = 5;
        ALREADY_EXISTS = 6; PERMISSION_DENIED = 7; RESOURCE_EXHAUSTED = 8; FAILED_PRECONDITION = 9; ABORTED = 10;
        OUT_OF_RANGE = 11; UNIMPLEMENTED = 12; INTERNAL = 13; UNAVAILABLE = 14; DATA_LOSS = 15; UNAUTHENTICATED = 16;
    }
    """,
    package="tensorflow.error",
)
_SCHEMA = Schema(
    "queue_runner",
    """
    message QueueRunnerDef {
        string queue_name = 1;
        repeated string enqueue_op_name = 2;
        string close_op_name = 3;
        string cancel_op_name = 4;
        repeated error.Code queue_closed_exception_types = 5;
    }
    """,
    _ERRORS,
)


@_SCHEMA.message
class QueueRunnerDef(Message):
    """Names of a runner's queue and operations, and the error codes that mean end of input."""


def definition(runner: Any, scope: str | None) -> QueueRunnerDef | None:
    """Return a runner's definition, with `scope` stripped from the names; None if its queue is not in that scope."""
    if scope is not None and not runner.queue.name.startswith(scope):
        return None
    return QueueRunnerDef(
        queue_name=_without(runner.queue.name, scope),
        enqueue_op_name=[_without(op.name, scope) for op in runner.enqueue_ops],
        close_op_name=_without(runner.close_op.name, scope),
        cancel_op_name=_without(runner.cancel_op.name, scope),
        queue_closed_exception_types=[
            error_code_from_exception_type(each) for each in runner.queue_closed_exception_types
        ],
    )


def elements(definition: QueueRunnerDef, scope: str | None) -> tuple[Any, list[Any], Any, Any, tuple[Any, ...]]:
    """Find the queue, operations and error classes named by a definition; KeyError for an unknown name."""
    find = get_default_graph().as_graph_element

    def named(name: str) -> Any:
        return find(f"{scope}/{name}" if scope else name)

    types = tuple(exception_type_from_error_code(code) for code in definition.queue_closed_exception_types)
    return (
        named(definition.queue_name),
        [named(name) for name in definition.enqueue_op_name],
        named(definition.close_op_name),
        named(definition.cancel_op_name),
        types or (OutOfRangeError,),
    )


def _without(name: str, scope: str | None) -> str:
    return name[len(scope.rstrip("/")) + 1 :] if scope and name.startswith(scope.rstrip("/") + "/") else name
