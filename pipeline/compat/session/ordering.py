"""The operations that some fetches need, each after those it depends on."""

from __future__ import annotations

from pipeline.compat.graph.tensor import Operation, Tensor


def needed(fetches: list[Tensor | Operation], fed: set[Tensor]) -> list[Operation]:
    """Return the operations that the fetches need, each after its inputs and control inputs; else as they were made."""
    given = {each.op for each in fed if each.op.type == "Placeholder"}
    seen: set[Operation] = set()
    waiting = [each if isinstance(each, Operation) else each.op for each in fetches if each not in fed]
    while waiting:
        op = waiting.pop()
        if op in seen:
            continue
        seen.add(op)
        waiting += [each.op for each in op.inputs if each not in fed]
        # Who waits for a placeholder waits for nothing if it is fed.
        waiting += [each for each in op.control_inputs if each not in given]
    ops = sorted(seen, key=lambda op: op._id)
    done: set[Operation] = set()
    for op in ops:
        if any(each.op in seen and each.op not in done for each in op.inputs if each not in fed) or any(
            each not in done and each not in given for each in op.control_inputs
        ):
            return _depth_first(ops, fed, given)
        done.add(op)
    return ops


def _depth_first(ops: list[Operation], fed: set[Tensor], given: set[Operation]) -> list[Operation]:
    """Sort the operations of a graph in which one was made to depend on a later one."""
    order: dict[Operation, None] = {}
    for root in ops:
        path = [(root, False)]
        while path:
            op, ready = path.pop()
            if ready:
                order[op] = None
            elif op not in order:
                path.append((op, True))
                before = [each.op for each in op.inputs if each not in fed]
                before += [each for each in op.control_inputs if each not in given]
                path += [(each, False) for each in before if each not in order]
    return list(order)
