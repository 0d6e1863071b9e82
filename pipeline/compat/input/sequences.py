"""batch_sequences_with_states from tf.contrib.training: batches of segments, with states passed between them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pipeline.compat.graph import dtypes
from pipeline.compat.graph.node import node, tensor_node
from pipeline.compat.graph.scopes import get_default_graph, name_scope
from pipeline.compat.graph.shapes import TensorShape
from pipeline.compat.graph.tensor import Operation, Tensor
from pipeline.compat.kernels.segments import Segments, Sparse, batch_of
from pipeline.compat.ops.arrays.shaping import shape
from pipeline.compat.ops.math.casting import cast
from pipeline.compat.ops.random.numbers import random_uniform
from pipeline.compat.ops.strings.elements import as_string
from pipeline.compat.ops.strings.splitting import join
from pipeline.compat.ops.summaries.summary import scalar
from pipeline.compat.queues.runner import QueueRunner, add_queue_runner
from pipeline.compat.values.convert import convert_to_tensor
from pipeline.compat.values.sparse_tensor import SparseTensor, is_sparse
from pipeline.compat.values.static import get_static_value
from pipeline.errors import CancelledError, OutOfRangeError


def batch_sequences_with_states(
    input_key: Any,
    input_sequences: dict[str, Any],
    input_context: dict[str, Any],
    input_length: Any,
    initial_states: dict[str, Any],
    num_unroll: int,
    batch_size: Any,
    num_threads: int = 3,
    capacity: int = 1000,
    allow_small_batch: bool = True,
    pad: bool = True,
    make_keys_unique: bool = False,
    make_keys_unique_seed: int | None = None,
    name: str | None = None,
) -> NextQueuedSequenceBatch:
    """Cut each example into segments with `num_unroll` steps, and batch segments from different examples.

    A segment follows in a later batch than its predecessor, once `save_state` has set all its states.

    Args:
        input_key: The example's key, a string; unique among unfinished examples.
        input_sequences: Tensors or SparseTensors by name, with time as the first axis.
        input_context: Tensors or SparseTensors by name, for all segments in the example.
        input_length: The example's steps, an int32 scalar; None uses the length of the sequences, with `pad`.
        initial_states: The first segment's states, by name.
        num_unroll: Steps per segment.
        batch_size: Segments per batch, an int or an int32 scalar.
        num_threads: Threads that evaluate examples.
        capacity: Maximum number of unfinished examples, at least `batch_size`.
        allow_small_batch: At the end of input, make smaller batches.
        pad: Pad the last segment with zeros; without it, its length must be right.
        make_keys_unique: Append a random number to each key.
        make_keys_unique_seed: Seed for these numbers.
        name: Scope name.

    Raises:
        TypeError: An argument has the wrong type.
        ValueError: A name has a colon; a shape is unknown; there are no sequences or states; `capacity` is too small.
        InvalidArgumentError: At run time, in the threads, if an example's lengths do not fit.
    """
    _check_names("sequences", input_sequences)
    _check_names("context", input_context)
    _check_names("initial_states", initial_states)
    if not isinstance(num_unroll, (int, np.integer)):
        raise ValueError(f"Unsupported num_unroll expected int, got: {num_unroll}")
    if input_length is None and not pad:
        raise ValueError("input_length is needed with pad=False; with pad=True, None is the length of the sequences")
    given = [*input_sequences.values(), *input_context.values(), *initial_states.values()]
    with name_scope(name, "batch_sequences_with_states", given) as scope:
        if make_keys_unique:
            number = random_uniform((), minval=0, maxval=100000000, dtype=dtypes.int32, seed=make_keys_unique_seed)
            input_key = join([input_key, as_string(number)])
        size = convert_to_tensor(batch_size, dtype=dtypes.int32, name="batch_size")
        known = get_static_value(size)
        if known is not None and capacity < known:
            raise ValueError(f"capacity {capacity} needs to be >= batch_size {known}")
        store = _Store(scope, input_sequences, input_context, initial_states, int(num_unroll), capacity, pad)
        insert = store.insert(input_key, input_length)
        scalar(f"queue/{store.name}/ready_segment_batches_", cast(store.ready(), dtypes.float32))
        add_queue_runner(
            QueueRunner(store, [insert] * num_threads, queue_closed_exception_types=(OutOfRangeError, CancelledError))
        )
        return NextQueuedSequenceBatch(store, size, allow_small_batch)


class NextQueuedSequenceBatch:
    """A batch of segments, returned by `batch_sequences_with_states`.

    Attributes:
        key: Each segment's key: "00001_of_00003:" and the example's key.
        next_key: The next segment's key; "STOP:" and the example's key after the last one.
        sequence: Each segment's index in its example.
        sequence_count: Segment count of the example.
        length: Steps per segment, without padding.
        total_length: Steps in the whole example.
        insertion_index: Increasing numbers per example.
        batch_size: Number of segments.
        sequences: Tensors [batch_size, num_unroll, ...] by name.
        context: Tensors [batch_size, ...] by name.
    """

    def __init__(self, store: _Store, size: Tensor, fewer: bool) -> None:
        self._store = store
        (
            self.insertion_index,
            self.key,
            self.next_key,
            self.sequence,
            self.sequence_count,
            self.length,
            self.total_length,
            *parts,
        ) = store.take(size, fewer)
        self.batch_size: Any = shape(self.length)[0]  # type: ignore[index]
        rows = iter(parts)
        self.sequences, self.context, self._states = (
            {name: _restored(one, rows) for name, one in group.items()} for group in store.parts
        )

    def state(self, state_name: str) -> Any:
        """Return a state for each segment: the initial one, or the value from `save_state`."""
        return self._states[state_name]

    def save_state(self, state_name: str, value: Any, name: str | None = None) -> Operation:
        """Return an operation that sets a state for the following segments; run it with each batch.

        Raises:
            KeyError: The state does not exist.
        """
        if state_name not in self._states:
            raise KeyError(f"state was not declared: {state_name}")
        with name_scope(name, "InputQueueingStateSaver_SaveState", [value]):
            value = convert_to_tensor(value, dtype=self._states[state_name].dtype, name=f"convert_{state_name}")
            value.get_shape().assert_is_compatible_with(self._states[state_name].get_shape())
            return self._store.save(list(self._states).index(state_name), self.next_key, value)


class _Store:
    """Each session's segments, and the operations on them: insert, take, save and close."""

    def __init__(
        self,
        scope: str,
        sequences: dict[str, Any],
        context: dict[str, Any],
        states: dict[str, Any],
        steps: int,
        capacity: int,
        pad: bool,
    ) -> None:
        self.name = scope.rstrip("/")
        self._steps, self._key = steps, ("segments", get_default_graph()._container, self.name)
        # Sequences, context and states by name.
        self.parts = [
            {name: _shaped(what, name, group[name], first) for name in sorted(group)}
            for what, group, first in (("sequence", sequences, 1), ("context", context, 0), ("state", states, 0))
        ]
        counts = list(map(len, self.parts))
        self._states = counts[2]
        self._make = lambda: Segments(capacity, steps, counts[2], pad)

    def _node(self, op_type: str, inputs: Sequence[Tensor], outputs: Any, kernel: Any, blocking: bool = False) -> Any:
        key, make = self._key, self._make
        with_store = lambda run, *values: kernel(run, run.state(key, make), *values)  # noqa: E731
        return node(op_type, inputs, outputs, with_store, stateful=True, blocking=blocking)

    def insert(self, key: Any, length: Any) -> Operation:
        """Return an operation that adds an example."""
        inputs = [convert_to_tensor(key, dtype=dtypes.string, name="key")]
        inputs[0].get_shape().assert_has_rank(0)
        if length is not None:
            inputs.append(convert_to_tensor(length, dtype=dtypes.int32, name="length"))
            inputs[1].get_shape().assert_has_rank(0)
        first = len(inputs)
        kinds = [[is_sparse(one) for one in group.values()] for group in self.parts]
        for group in self.parts:
            for one in group.values():
                inputs += [one.indices, one.values, one.dense_shape] if is_sparse(one) else [one]

        def kernel(run: Any, held: Segments, *values: Any) -> None:
            rest = iter(values[first:])
            parts = [
                [Sparse(next(rest), next(rest), next(rest)) if kind else next(rest) for kind in group]
                for group in kinds
            ]
            held.insert(run, values[0], int(values[1]) if first == 2 else None, tuple(parts))  # type: ignore[arg-type]

        return self._node("SegmentsInsert", inputs, [], kernel, blocking=True)  # type: ignore[no-any-return]

    def take(self, size: Tensor, fewer: bool) -> list[Tensor]:
        """Return a batch's tensors."""
        known = get_static_value(size)
        rows = None if fewer or known is None else int(known)
        outputs: list[Any] = [(dtypes.int64, [rows]), (dtypes.string, [rows]), (dtypes.string, [rows])]
        outputs += [(dtypes.int32, [rows])] * 4
        for number, group in enumerate(self.parts):
            for one in group.values():
                outputs += self._outputs(one, rows, number == 0)
        states = self._states

        def kernel(run: Any, held: Segments, count: Any) -> Any:
            return batch_of(held.take(run, int(count), fewer), states)

        return self._node("SegmentsTake", [size], outputs, kernel, blocking=True).outputs  # type: ignore[no-any-return]

    def _outputs(self, one: Any, rows: int | None, timed: bool) -> list[Any]:
        """Return dtypes and shapes for a batch part."""
        if is_sparse(one):
            rank = one.get_shape().ndims
            rank = None if rank is None else rank + 1
            return [(dtypes.int64, [None, rank]), (one.values.dtype.base_dtype, [None]), (dtypes.int64, [rank])]
        sizes = one.get_shape().as_list()
        return [(one.dtype.base_dtype, [rows, self._steps, *sizes[1:]] if timed else [rows, *sizes])]

    def save(self, number: int, keys: Tensor, values: Tensor) -> Operation:
        """Return an operation that sets a state."""
        kernel = lambda run, held, keys, values: held.save(number, keys, values)  # noqa: E731
        return self._node("SegmentsSaveState", [keys, values], [], kernel)  # type: ignore[no-any-return]

    def ready(self) -> Tensor:
        """Return the number of ready segments."""
        key, make = self._key, self._make
        kernel = lambda run: np.int32(len(run.state(key, make)))  # noqa: E731
        return tensor_node("SegmentsReady", [], kernel, dtypes.int32, (), stateful=True)

    def close(self, cancel_pending_enqueues: bool = False, name: str | None = None) -> Operation:
        """Return an operation that ends the input."""
        with name_scope(name, "SegmentsClose"):
            return self._node(  # type: ignore[no-any-return]
                "SegmentsClose", [], [], lambda run, held: held.close(cancel_pending_enqueues)
            )


def _check_names(what: str, given: Any) -> None:
    if not isinstance(given, dict):
        raise TypeError(f"{what} must be a dictionary, got: {given!r:.80}")
    for name in given:
        if not isinstance(name, str):
            raise TypeError(f"{what} key must be string: {name}")
        if ":" in name:
            raise ValueError(f"{what} key may not have a colon: '{name}'")
    if not given and what != "context":
        raise ValueError(f"{what} may not be empty: at least one is required")


def _shaped(what: str, name: str, given: Any, first: int) -> Any:
    """Return a name's tensor; ValueError if it has unknown sizes other than time."""
    if is_sparse(given):
        return given if isinstance(given, SparseTensor) else SparseTensor.from_value(given)
    tensor = convert_to_tensor(given, name=f"{what}_{name}")
    known: TensorShape = tensor.get_shape()
    if known.ndims is None or known.ndims < first or not known[first:].is_fully_defined():
        after = " after the first dimension" if first else ""
        raise ValueError(f"Shape for {what} {name} is not fully defined{after}: {known}")
    return tensor


def _restored(given: Any, rows: Any) -> Any:
    """Return an input's outputs in the batch: one, or three for a sparse input."""
    if not is_sparse(given):
        return next(rows)
    return SparseTensor(next(rows), next(rows), next(rows))
