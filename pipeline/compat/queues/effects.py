"""Effects: what operations depend on besides their inputs, and where queues, readers and variables come from."""

from __future__ import annotations

from collections.abc import Iterable

from pipeline.compat.graph.tensor import Operation, Tensor
from pipeline.compat.session.phased_plan import in_any_order

# They hand on what they are given, a queue or a variable too.
_PASS_ON = frozenset(["Identity", "Switch", "RefSwitch", "Merge", "RefMerge", "Enter", "RefEnter", "FakeQueue"])
# Stateful only in that a run must not skip them, or within one run.
_HARMLESS = _PASS_ON | {
    "While",
    "Exit",
    "RefExit",
    "NextIteration",
    "RefNextIteration",
    "LoopCond",
    "NoOp",
    "HashTableV2",
}


def origin(tensor: Tensor) -> Operation:
    """The operation that a queue, a reader or a variable comes from."""
    op = tensor.op
    while op.type in _PASS_ON or changes(op):
        op = op.inputs[0].op
    return op


def within(ops: Iterable[Operation]) -> list[Operation]:
    """The operations, with those within loops."""
    found = list(ops)
    for op in found:  # which grows
        if op.type == "While":
            found += sorted(op.attrs["ops"], key=lambda each: each._id)
    return found


def varies(op: Operation) -> bool:
    """Whether an operation may give something else each time."""
    return op.stateful and op.type not in _HARMLESS and not op.type.startswith("TensorArray")


def decides(op: Operation) -> bool:
    """Whether an operation decides rows in another way than by variables and files, whose names are compared."""
    return varies(op) and op.type != "MatchingFiles" and not in_any_order(op, False)


def changes(op: Operation) -> bool:
    """Whether an operation changes a variable."""
    return bool(op.ref_inputs) and op.type not in _HARMLESS and op.type != "IsVariableInitialized"
