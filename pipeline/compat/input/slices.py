"""slice_input_producer: one row of each of several tensors, at an index from a range producer."""

from __future__ import annotations

from typing import Any

from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.input.components import as_components
from pipeline.compat.input.producers import range_input_producer
from pipeline.compat.ops.arrays.gathering import gather
from pipeline.compat.ops.arrays.shaping import shape


def slice_input_producer(
    tensor_list: Any,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
) -> list[Any]:
    """Make tensors that are row i of each tensor in a list, with the next i at each evaluation.

    Args:
        tensor_list: The tensors, of rank 1 or more; the first one decides how many rows there are.
        num_epochs, shuffle, seed, capacity, shared_name: For the producer of the indices; see `input_producer`.
        name: Name of the scope.

    Returns:
        A list of tensors, one for each of `tensor_list`. A tensor with fewer rows raises InvalidArgumentError when it
        is evaluated at an index that it lacks.

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
