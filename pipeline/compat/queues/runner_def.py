"""QueueRunnerDef: a protocol buffer describing a QueueRunner by its operation names."""

from __future__ import annotations

from typing import Any

from pipeline.compat.graph.scopes import get_default_graph
from pipeline.errors import OutOfRangeError, error_code_from_exception_type, exception_type_from_error_code
from pipeline.proto.fields import Scalar, Scalars
from pipeline.proto.message import Message
from pipeline.proto.scalar_types import STRING, Enumeration


def _code_name(code: int) -> str:
    kind = exception_type_from_error_code(code).__name__.removesuffix("Error")
    return "".join(f"_{each}" if each.isupper() else each.upper() for each in kind)[1:]


class QueueRunnerDef(Message):
    """Names of a runner's queue and operations, and the error codes that mean end of input."""

    queue_name = Scalar(1, STRING)
    enqueue_op_name = Scalars(2, STRING)
    close_op_name = Scalar(3, STRING)
    cancel_op_name = Scalar(4, STRING)
    queue_closed_exception_types = Scalars(5, Enumeration(_code_name))


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
