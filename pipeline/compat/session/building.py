"""PlanBuilder: turns the operations needed by some fetches into a plan's steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pipeline.compat.graph.tensor import Operation, Tensor
from pipeline.compat.session.steps import MERGES, SWITCHES, KernelStep, checked_cell, value_of


def needed(fetches: list[Tensor | Operation], fed: set[Tensor]) -> list[Operation]:
    """Return operations needed by the fetches in creation order, but each after its inputs and control inputs."""
    given = {each.op for each in fed if each.op.type == "Placeholder"}
    seen: set[Operation] = set()
    waiting = [each if isinstance(each, Operation) else each.op for each in fetches if each not in fed]
    while waiting:
        op = waiting.pop()
        if op in seen:
            continue
        seen.add(op)
        waiting += [each.op for each in op.inputs if each not in fed]
        # A fetch that depends only on a fed placeholder waits for nothing.
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
    """Sort a graph's operations if one was made to depend on a later one."""
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


# These pass on a variable's memory, not a copy, so their consumers see later assignments. This is why
# `tf.identity(variable)` after an assignment returns the new value in TensorFlow.
_PASS_MEMORY_ON = frozenset(["Identity", "Switch", "Merge"])


class PlanBuilder:
    """Builds the steps for one plan. A place is an index into a run's list of values.

    Args:
        fetches: Tensors to compute, and operations to run.
        fed: Tensors fed to each run.
        folded: Results for operations that depend on constants alone; shared by a session's plans, and extended.

    Attributes:
        values: The initial value at each place: constants, or None for values computed by a run.
        steps: The steps, each after its dependencies.
        fed_places: Each fed tensor's place.
        fetch_places: Each fetch's place.
        late_reads: Fetched variables, as places and operations; they are read after the last step.
        constants: Tensors known before a run.
        warnings_off: True if kernels rely on NumPy's warnings being off around all steps.
    """

    def __init__(
        self, fetches: Sequence[Tensor | Operation], fed: Sequence[Tensor], folded: dict[Operation, Any]
    ) -> None:
        self.values: list[Any] = []
        self.steps: list[KernelStep] = []
        self.late_reads: list[tuple[int, Operation]] = []
        self.warnings_off = False
        self._places: dict[Tensor, int] = {}
        self._place_of_nothing: int | None = None  # for fetched operations, whose value is None
        self._depths: dict[Operation, int] = {}  # number of branches around an operation's outputs
        self._may_be_cell: dict[Tensor, bool] = {}
        self.fed_places = [self._place(each) for each in fed]
        ops = needed(list(fetches), set(fed))
        known = self._fold(ops, set(fed), folded)
        self._is_known: Callable[[Tensor], bool] = lambda tensor: tensor.op in known and tensor not in fed
        for op in ops:
            if op not in known:
                self._add(op)
        self.fetch_places = [self._fetch(each) for each in fetches]
        self.constants = {tensor: self.values[place] for tensor, place in self._places.items() if tensor.op in known}
        self._forget_unused()

    def _place(self, tensor: Tensor) -> int:
        place = self._places.get(tensor)
        if place is None:
            place = self._places[tensor] = self._new_place()
        return place

    def _new_place(self) -> int:
        self.values.append(None)
        return len(self.values) - 1

    # Constants

    def _fold(self, ops: list[Operation], fed: set[Tensor], folded: dict[Operation, Any]) -> set[Operation]:
        """Compute operations that depend on constants alone, and return them. The run reports their errors."""
        known: set[Operation] = set()
        for op in ops:
            if not _may_fold(op) or any(each.op not in known or each in fed for each in op.inputs):
                continue
            if op in folded:
                result = folded[op]
            else:
                try:
                    result = op.kernel(*[self.values[self._place(each)] for each in op.inputs])  # type: ignore[misc]
                except Exception:
                    continue
                folded[op] = result = _read_only(result)
            known.add(op)
            for tensor, value in zip(op.outputs, (result,) if len(op.outputs) == 1 else result, strict=True):
                if tensor not in fed:
                    self.values[self._place(tensor)] = value
        # Other plans reuse only the inputs of steps, not intermediate values.
        used = {each.op for op in ops if op not in known for each in op.inputs}
        for op in known - used:
            folded.pop(op, None)
        return known

    def _forget_unused(self) -> None:
        used = {place for step in self.steps for place in step.inputs}.union(self.fetch_places)
        self.values = [value if i in used else None for i, value in enumerate(self.values)]

    # Steps

    def _add(self, op: Operation) -> None:
        if op.kernel is None:
            raise TypeError(f"Operation '{op.name}' of type {op.type} cannot be run.")
        before = [each.op for each in op.inputs] + op.control_inputs
        depth = max((self._depths.get(each, 0) for each in before), default=0)
        merges = op.type in MERGES
        guarded = merges or depth > 0
        self._depths[op] = depth + 1 if op.type in SWITCHES else max(depth - 1, 0) if merges else depth
        inputs = tuple(self._input(op, i, each, guarded) for i, each in enumerate(op.inputs))
        places = tuple(self._place(each) for each in op.outputs)
        outputs = places[0] if len(places) == 1 else places
        kernel, inputs = self._with_constants(op, inputs)
        # Turning NumPy's warnings off costs 2 us, so the plan does it once for all steps.
        bare = getattr(kernel, "bare", None)
        self.warnings_off |= bare is not None
        kernel = bare or kernel
        if op.type == "Identity" and self._is_cell(op.inputs[0]):
            kernel = checked_cell
        given = getattr(op.kernel, "given", None)
        self.steps.append(KernelStep(kernel, op.stateful, inputs, outputs, op, guarded, given=given))

    def _with_constants(self, op: Operation, inputs: tuple[int, ...]) -> tuple[Any, tuple[int, ...]]:
        """Return the kernel and its inputs, or a faster kernel for the inputs that are not constant."""
        make = getattr(op.kernel, "known", None)
        if make is None:
            return op.kernel, inputs
        values = [self.values[self._places[each]] if self._is_known(each) else None for each in op.inputs]
        made = make(*values)
        if made is None:
            return op.kernel, inputs
        return made, tuple(place for place, value in zip(inputs, values, strict=True) if value is None)

    def _input(self, op: Operation, index: int, tensor: Tensor, guarded: bool) -> int:
        """Return an input's place; a variable is read in its own step, which fails if it has no value."""
        place = self._place(tensor)
        if index in op.ref_inputs or op.type in _PASS_MEMORY_ON or not self._is_cell(tensor):
            return place
        value_place = self._new_place()
        self.steps.append(KernelStep(value_of, False, (place,), value_place, op, guarded))
        return value_place

    def _fetch(self, element: Tensor | Operation) -> int:
        if isinstance(element, Operation):
            if self._place_of_nothing is None:
                self._place_of_nothing = self._new_place()
            return self._place_of_nothing
        place = self._place(element)
        if self._is_cell(element):
            self.late_reads.append((place, element.op))
        return place

    def _is_cell(self, tensor: Tensor) -> bool:
        """Return whether a tensor's value may be a variable's Cell."""
        known = self._may_be_cell
        if tensor not in known:
            found, seen, waiting = False, {tensor}, [tensor]
            while waiting and not found:
                each = waiting.pop()
                found = known.get(each, each.dtype._is_ref_dtype or each.op.type == "Captured")
                if not found and each not in known and each.op.type in _PASS_MEMORY_ON:
                    waiting += [one for one in each.op.inputs if one not in seen]
                    seen.update(each.op.inputs)
            known[tensor] = found
        return known[tensor]


def _may_fold(op: Operation) -> bool:
    """Return whether an operation's outputs depend on its inputs alone."""
    return not (
        op.stateful or op.kernel is None or not op.outputs or op.control_inputs or op.type in ("Switch", "Merge")
    )


def _read_only(result: Any) -> Any:
    for each in result if isinstance(result, (list, tuple)) else (result,):
        if getattr(each, "ndim", 0) and each.flags.writeable:
            each.flags.writeable = False
    return result
