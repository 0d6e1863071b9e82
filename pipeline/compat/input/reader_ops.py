"""Reader ops: read records, counters, save and restore the state."""

from __future__ import annotations

import functools
from collections import namedtuple
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.compat.graph import dtypes
from pipeline.compat.graph.node import node, tensor_node
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.tensor import Operation, Tensor
from pipeline.compat.ops.making.inputs import fixed_input
from pipeline.compat.ops.making.opdef import check_rank
from pipeline.dtypes import object_vector


class ReadOps:
    """One generation's reader ops: types end in "V2" if readers are resources, in "" if they are older."""

    def __init__(self, version: str) -> None:
        self._version = version
        self._pair = namedtuple(f"ReaderRead{version}", ["key", "value"])  # type: ignore[misc]
        self._block = namedtuple(f"ReaderReadUpTo{version}", ["keys", "values"])  # type: ignore[misc]

    def read(self, reader: Tensor, queue: Tensor, name: str | None) -> Any:
        """Read one record."""
        op_type = f"ReaderRead{self._version}"
        inputs = [reader, self._on_queue(queue, op_type)]
        string = (dtypes.string, ())
        operation = node(op_type, inputs, [string, string], _read, name=name, blocking=True)
        return self._pair(*operation.outputs)

    def read_up_to(self, reader: Tensor, queue: Tensor, num_records: Any, name: str | None) -> Any:
        """Read several records from one work item."""
        op_type = f"ReaderReadUpTo{self._version}"
        queue = self._on_queue(queue, op_type)
        with name_scope(name, op_type, [reader, queue, num_records]) as scope:
            wanted = fixed_input(op_type, "num_records", num_records, dtypes.int64)
            check_rank(wanted, 0)
            strings = (dtypes.string, (None,))
            operation = node(
                op_type, [reader, queue, wanted], [strings, strings], _read_up_to, name=scope, blocking=True
            )
            return self._block(*operation.outputs)

    def count(self, what: str, reader: Tensor, name: str | None) -> Tensor:
        """Read a counter: "NumRecordsProduced", "NumWorkUnitsCompleted" or "NumErrors"."""
        read = _COUNTERS[what]
        return tensor_node(
            f"Reader{what}{self._version}",
            [reader],
            lambda run, native: np.int64(read(native)),
            dtypes.int64,
            (),
            name=name,
            blocking=True,
        )

    def serialize_state(self, reader: Tensor, name: str | None) -> Tensor:
        """Save the state."""
        return tensor_node(
            f"ReaderSerializeState{self._version}",
            [reader],
            lambda run, native: native.serialize_state(),
            dtypes.string,
            (),
            name=name,
            blocking=True,
        )

    def restore_state(self, reader: Tensor, state: Any, name: str | None) -> Operation:
        """Restore a saved state."""
        op_type = f"ReaderRestoreState{self._version}"
        with name_scope(name, op_type, [reader, state]) as scope:
            saved = fixed_input(op_type, "state", state, dtypes.string)
            check_rank(saved, 0)
            return node(op_type, [reader, saved], [], _restore_state, name=scope, blocking=True)

    def reset(self, reader: Tensor, name: str | None) -> Operation:
        """Drop the current work item and set the counters to 0."""
        op_type = f"ReaderReset{self._version}"
        return node(op_type, [reader], [], lambda run, native: native.reset(), name=name, blocking=True)

    def _on_queue(self, queue: Tensor, op_type: str) -> Tensor:
        """Return the queue's handle in this generation's form."""
        if self._version:
            if queue.dtype.base_dtype is not dtypes.resource:
                raise TypeError(
                    f"Input 'queue_handle' of '{op_type}' Op has type {queue.dtype.name} that does not match expected "
                    "type of resource."
                )
            return queue
        return tensor_node("FakeQueue", [queue], lambda run, native: native, dtypes.string._as_ref, (2,), stateful=True)


@functools.cache
def read_ops(version: str) -> ReadOps:
    """Return the ops for "V2" or ""."""
    return ReadOps(version)


_COUNTERS: dict[str, Any] = {
    "NumErrors": lambda reader: reader.num_errors,
    "NumRecordsProduced": lambda reader: reader.num_records_produced(),
    "NumWorkUnitsCompleted": lambda reader: reader.num_work_units_completed(),
}


def _restore_state(run: Any, reader: Any, state: Any) -> None:
    reader.restore_state(state)


def _read(run: Any, reader: Any, queue: Any) -> tuple[bytes, bytes]:
    return reader.read(queue, timeout=run.remaining())  # type: ignore[no-any-return]


def _read_up_to(run: Any, reader: Any, queue: Any, wanted: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    keys, values = reader.read_up_to(queue, int(wanted), timeout=run.remaining())
    return object_vector(keys), object_vector(values)
