"""Producers: queues filled by a queue runner with names, numbers or rows, epoch after epoch."""

from __future__ import annotations

from typing import Any

from pipeline.compat.graph import dtypes
from pipeline.compat.graph.graph_keys import GraphKeys
from pipeline.compat.graph.scopes import control_dependencies, name_scope
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.input.components import as_components
from pipeline.compat.input.fullness import summarize_fraction
from pipeline.compat.ops.arrays.gathering import gather
from pipeline.compat.ops.arrays.identities import identity
from pipeline.compat.ops.arrays.sequences import range as range_
from pipeline.compat.ops.arrays.shaping import shape, size
from pipeline.compat.ops.control.asserting import Assert
from pipeline.compat.ops.files.gfile import matching_files
from pipeline.compat.ops.math.comparing import greater
from pipeline.compat.ops.random.shuffle import random_shuffle
from pipeline.compat.ops.variables.variable import Variable
from pipeline.compat.queues.queues import FIFOQueue
from pipeline.compat.queues.runner import QueueRunner, add_queue_runner
from pipeline.compat.values.constants import constant
from pipeline.compat.values.convert import convert_to_tensor


def limit_epochs(tensor: Any, num_epochs: int | None = None, name: str | None = None) -> Any:
    """Make a tensor that equals `tensor` for `num_epochs` evaluations; after them it raises OutOfRangeError.

    Args:
        num_epochs: Number of evaluations, above 0; None returns `tensor` itself. A local variable `epochs` counts them.

    Raises:
        ValueError: `num_epochs` is not above 0.
    """
    if num_epochs is None:
        return tensor
    if num_epochs <= 0:
        raise ValueError(f"num_epochs must be > 0 not {num_epochs}.")
    with name_scope(name, "limit_epochs", [tensor]) as scope:
        epochs = Variable(
            constant(0, dtypes.int64), name="epochs", trainable=False, collections=[GraphKeys.LOCAL_VARIABLES]
        )
        with control_dependencies([epochs.count_up_to(num_epochs)]):
            return identity(tensor, name=scope)


_EMPTY = "string_input_producer requires a non-null input tensor"


def input_producer(
    input_tensor: Any,
    element_shape: Any = None,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    summary_name: str | None = None,
    name: str | None = None,
    cancel_op: Any = None,
) -> FIFOQueue:
    """Make a queue that a queue runner fills with a tensor's rows; running its op once makes one epoch.

    Args:
        input_tensor: The rows, with rank 1 or more and any dtype; the row count may be unknown.
        element_shape: Row shape, if the tensor does not have it.
        num_epochs: Number of epochs, counted by a local variable; None repeats forever.
        shuffle: Shuffle the rows again for each epoch.
        seed: Shuffle seed.
        capacity: Queue capacity, in rows.
        shared_name: The queue's shared name.
        summary_name: Name for a scalar summary of the fill level; None makes none.
        name: Name for the scope and the queue in it.
        cancel_op: Operation to run when the coordinator stops, instead of closing the queue.

    Raises:
        ValueError: The input is a scalar; the row shape is not fully known, or differs from `element_shape`;
            `num_epochs` is not above 0.
    """
    with name_scope(name, "input_producer", [input_tensor]):
        rows = convert_to_tensor(input_tensor, name="input_tensor")
        row_shape = rows.shape[1:].merge_with(element_shape)
        if not row_shape.is_fully_defined():
            raise ValueError(
                "Either `input_tensor` must have a fully defined shape or `element_shape` must be specified"
            )
        if shuffle:
            rows = random_shuffle(rows, seed=seed)
        rows = limit_epochs(rows, num_epochs)
        queue = FIFOQueue(
            capacity=capacity, dtypes=[rows.dtype.base_dtype], shapes=[row_shape], shared_name=shared_name, name=name
        )
        epoch = queue.enqueue_many([rows])
        add_queue_runner(QueueRunner(queue, [epoch], cancel_op=cancel_op))
        if summary_name is not None:
            summarize_fraction(summary_name, queue, capacity)
        return queue


def string_input_producer(
    string_tensor: Any,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
    cancel_op: Any = None,
) -> FIFOQueue:
    """Make a queue filled with strings by a queue runner; see `input_producer` for the arguments.

    Args:
        string_tensor: The strings, a vector. If it turns out to be empty, the runner fails with InvalidArgumentError.

    Raises:
        ValueError: `string_tensor` is an empty list, or its rank is not 1.
    """
    if not isinstance(string_tensor, Tensor) and not string_tensor:
        raise ValueError(_EMPTY)
    with name_scope(name, "input_producer", [string_tensor]) as scope:
        strings = convert_to_tensor(string_tensor, dtype=dtypes.string)
        with control_dependencies([Assert(greater(size(strings), 0), [_EMPTY])]):
            strings = identity(strings)
        return input_producer(
            strings,
            [],
            num_epochs,
            shuffle,
            seed,
            capacity,
            shared_name=shared_name,
            summary_name=_summary_name(capacity),
            name=scope,
            cancel_op=cancel_op,
        )


def range_input_producer(
    limit: Any,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
) -> FIFOQueue:
    """Make a queue filled with the integers below a limit by a queue runner; see `input_producer` for the arguments.

    Args:
        limit: A scalar; the integers have its dtype.
    """
    with name_scope(name, "input_producer", [limit]) as scope:
        return input_producer(
            range_(limit),
            [],
            num_epochs,
            shuffle,
            seed,
            capacity,
            shared_name=shared_name,
            summary_name=_summary_name(capacity),
            name=scope,
        )


def _summary_name(capacity: int) -> str:
    return f"fraction_of_{int(capacity)}_full"


def slice_input_producer(
    tensor_list: Any,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
) -> list[Any]:
    """Return row i from each tensor in a list, with the next i at each evaluation.

    Args:
        tensor_list: Tensors with rank 1 or more; the first one decides the row count.
        num_epochs, shuffle, seed, capacity, shared_name: For the index producer; see `input_producer`.
        name: Scope name.

    Returns:
        A list of tensors, one per tensor in `tensor_list`. A tensor with fewer rows raises InvalidArgumentError when it
        is evaluated at an index it lacks.

    Raises:
        ValueError: The list is empty.
    """
    with name_scope(name, "input_producer", tensor_list):
        tensors = as_components(tensor_list)
        if not tensors:
            raise ValueError("Expected at least one tensor in slice_input_producer().")
        sizes: Any = shape(tensors[0])
        indices = range_input_producer(sizes[0], num_epochs, shuffle, seed, capacity, shared_name)
        index = indices.dequeue()
        return [gather(tensor, index) for tensor in tensors]


def match_filenames_once(pattern: Any, name: str | None = None) -> Variable:
    """Make a local variable with the sorted names of files matching a pattern; its initializer finds them.

    Args:
        pattern: A string: a glob pattern, or a vector of patterns.

    Returns:
        A string variable with unknown shape; reading it before it is initialised raises FailedPreconditionError.
    """
    with name_scope(name, "matching_filenames", [pattern]) as scope:
        return Variable(
            name=scope,
            initial_value=matching_files(pattern),
            trainable=False,
            validate_shape=False,
            collections=[GraphKeys.LOCAL_VARIABLES],
        )
