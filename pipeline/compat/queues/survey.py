"""Survey: what the threads that fill a queue take from, as the graph tells; and what of it cannot be gone back to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from pipeline.compat.graph.tensor import Operation, Tensor
from pipeline.compat.queues.effects import changes, decides, origin, varies, within
from pipeline.compat.queues.produced import Drawn, Producer
from pipeline.compat.queues.skipping import skipping
from pipeline.compat.session.phased_plan import PhasedPlan, in_any_order, is_source
from pipeline.compat.session.plan import Plan
from pipeline.compat.session.session import BaseSession
from pipeline.producers.numbered import digest


class Survey:
    """What decides the elements of a queue that threads fill in order.

    Args:
        sess: The session.
        queue: The operation of the queue.
        plans: What the threads do, of each kind once.

    Attributes:
        things: What they take from, in the order of the graph: each a `pipeline.pulls.Positioned`.
        reasons: Why there is no way back to a place in the input; empty if there is one.
        one_to_one: Each run stores one element.
        skip: Takes so many times as a run does, and drops what comes; None if that takes a run.
    """

    def __init__(self, sess: BaseSession, queue: Operation, plans: Sequence[PhasedPlan]) -> None:
        self._sess, self._queue, self._plans = sess, queue, plans
        self._found: dict[Operation, Any] = {}
        self._variables: dict[Operation, None] = {}
        self.reasons: list[str] = []
        for plan in plans:
            self._look_at(plan)
        taken = {op for plan in plans for op in plan.taken}
        for variable in self._variables:
            self._check_variable(variable, taken)
        if not self._found and not self.reasons:
            self.reasons.append("they take nothing from a producer, a reader or a random op")
        self.things = [self._found[op] for op in sorted(self._found, key=lambda op: op._id)]
        self.ops = {op for plan in plans for op in plan.ops}
        (first, *others) = plans
        self.one_to_one = not others and first.stores_one
        self.skip = skipping(sess, first, self._found) if self.one_to_one and not self.reasons else None

    def facts(self) -> dict[str, str]:
        """Digests of what else decides the elements: constants, and variables that nobody changes."""
        values = [value for plan in self._plans for _, value in sorted(plan.constants.items(), key=_by_name)]
        run = self._sess._plain_run
        held = [each.kernel(run).read() for each in self._variables if each not in self._found]  # type: ignore[misc]
        return {"constants": digest(list(map(_array, values))), "variables": digest(list(map(_array, held)))}

    def rival(self, ran: Iterable[Operation], others: Iterable[Operation]) -> str | None:
        """Return the name of an operation that takes from the same things, or fills the queue; None if there is none.

        Args:
            ran: What the program ran itself; it may take from the queue.
            others: What the threads of other queues run; they may fill things.
        """
        for ops, what in ((ran, ("QueueEnqueue", "QueueDequeue", "Reader")), (others, ("QueueDequeue", "ReaderRead"))):
            for op in ops:
                if op in self._found and hasattr(op.kernel, "position"):
                    return op.name
                if op.type.startswith(what) and any(self._is_own(op, each, ops is ran) for each in op.inputs):
                    return op.name
        return None

    def _is_own(self, op: Operation, tensor: Tensor, delivers: bool) -> bool:
        """Whether a tensor is a thing, or the queue; for `delivers` that may be dequeued from."""
        end = origin(tensor)
        if end is self._queue:
            return not (delivers and op.type.startswith("QueueDequeue"))
        return end in self._found and "Num" not in op.type

    def _look_at(self, plan: PhasedPlan) -> None:
        fed: set[Operation] = set()  # what depends on something that was taken
        for op in within(plan.ops):
            if is_source(op) or any(each in fed for each in (*(one.op for one in op.inputs), *op.control_inputs)):
                fed.add(op)
            if op.type.startswith("QueueEnqueue"):
                if origin(op.inputs[0]) is not self._queue:
                    self._refuse(op, "puts elements into another queue as well")
            else:
                self._classify(op, op in fed)

    def _classify(self, op: Operation, fed: bool) -> None:
        for tensor in op.inputs:
            if origin(tensor).type == "VariableV2":
                self._variables[origin(tensor)] = None
        if not varies(op) or in_any_order(op, fed) or changes(op):
            return
        if op.type.startswith("QueueDequeue"):
            self._take_from(op.inputs[0], op)
        elif op.type.startswith("ReaderRead"):
            self._read_from(op)
        elif hasattr(op.kernel, "position"):
            self._found.setdefault(op, Drawn(self._sess, op))
        elif op.type in ("PyFunc", "EagerPyFunc"):
            self._refuse(op, "is a function that takes nothing from a producer or reader: nobody knows where it is")
        elif not op.type.endswith(("Reader", "ReaderV2")):
            self._refuse(op, f"is a {op.type}: what it gives does not follow from the input alone")

    def _take_from(self, ref: Tensor, op: Operation) -> Producer | None:
        """Note that a queue is taken from."""
        queue = origin(ref)
        made = queue.graph._produced.get(queue.name)
        if made is None:
            kind = "which a batch function fills" if queue.name in queue.graph._in_order else "which no producer fills"
            self._refuse(op, f"takes from '{queue.name}', {kind}")
            return None
        if queue not in self._found:
            self._check_alone(queue)
            changing = next((each for each in Plan([made.rows]).ops if decides(each)), None)
            if changing is not None:
                self._refuse(changing, f"decides the rows of '{queue.name}', and may give others in another run")
            native = queue.kernel(self._sess._plain_run)  # type: ignore[misc]
            self._found[queue] = Producer(self._sess, queue.name, native, made)
        return self._found[queue]  # type: ignore[no-any-return]

    def _check_alone(self, queue: Operation) -> None:
        """Refuse a queue that another operation of the graph shares."""
        shared = queue.attrs.get("shared_name")
        if shared and any(
            each is not queue and each.attrs.get("shared_name") == shared for each in queue.graph.get_operations()
        ):
            self._refuse(queue, "shares its queue with other operations")

    def _read_from(self, op: Operation) -> None:
        """Note that a reader is read from."""
        ref, queue = op.inputs[:2]
        source = self._take_from(queue, op)
        maker = origin(ref)
        reader: Any = maker.kernel(self._sess._plain_run)  # type: ignore[misc]
        self._found[maker] = reader
        if source is not None:
            reader._note_source(source)  # by number it gives what the queue gives

    def _check_variable(self, variable: Operation, taken: set[Operation]) -> None:
        """Check that nobody changes a variable once it has its first value, or only what is taken in order."""
        changers = [op for op in variable.graph.get_operations() if changes(op) and origin(op.inputs[0]) is variable]
        others = [op for op in changers if op not in taken]
        first = [op for op in others if op.type == "Assign"][:1]
        others = [op for op in others if op not in first]
        if others:
            self._refuse(others[0], f"changes the variable '{variable.name}', which decides the elements")
        elif len(changers) > len(first):
            self._found[variable] = Counter(self._sess, variable)

    def _refuse(self, op: Operation, why: str) -> None:
        self.reasons.append(f"'{op.name}' {why}")


class Counter:
    """A variable that counts what is taken, as a `pipeline.pulls.Positioned`.

    Args:
        sess: The session.
        op: The variable.
    """

    columns = ("value",)

    def __init__(self, sess: BaseSession, op: Operation) -> None:
        self.name = op.name
        self._cell: Any = op.kernel(sess._plain_run)  # type: ignore[misc]

    def _facts(self) -> dict[str, Any]:
        return {"name": self.name, "kind": "VariableV2"}

    def _position(self) -> list[int]:
        return [int(self._cell.read())]

    def _go_to(self, position: Sequence[int]) -> None:
        self._cell.write(np.asarray(position[0], self._cell.read().dtype))

    def _no_state(self) -> str | None:
        value = self._cell.value
        if value is None or (np.ndim(value) == 0 and np.asarray(value).dtype.kind in "iu"):
            return None
        return f"the variable '{self.name}' changes with what is taken, and is no integer"


def _by_name(pair: tuple[Tensor, Any]) -> str:
    return pair[0].name


def _array(value: Any) -> Any:
    return np.array([value], object) if isinstance(value, bytes) else np.atleast_1d(value)
