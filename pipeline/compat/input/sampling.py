"""rejection_sample and stratified_sample from tf.contrib.training: batches of randomly kept examples.

An example is kept with a probability, as in `maybe_batch`. `stratified_sample` chooses the probabilities for the
requested class proportions in each batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pipeline.compat.graph import dtypes
from pipeline.compat.graph.scopes import control_dependencies, name_scope
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.input.batching import batch, maybe_batch
from pipeline.compat.input.components import as_components
from pipeline.compat.ops.arrays.filling import zeros_like
from pipeline.compat.ops.arrays.gathering import gather
from pipeline.compat.ops.arrays.identities import identity
from pipeline.compat.ops.arrays.masking import where_v2
from pipeline.compat.ops.arrays.sequences import one_hot
from pipeline.compat.ops.arrays.shaping import expand_dims, shape, squeeze
from pipeline.compat.ops.control.asserting import Assert
from pipeline.compat.ops.control.checks import (
    assert_equal,
    assert_less,
    assert_less_equal,
    assert_non_negative,
    assert_positive,
)
from pipeline.compat.ops.control.cond import cond
from pipeline.compat.ops.control.printing import Print
from pipeline.compat.ops.math.arithmetic import divide
from pipeline.compat.ops.math.casting import cast
from pipeline.compat.ops.math.comparing import equal, is_nan, less, logical_or, not_equal
from pipeline.compat.ops.math.reducing import reduce_all, reduce_max, reduce_sum
from pipeline.compat.ops.random.numbers import random_uniform
from pipeline.compat.ops.variables.scope import variable_scope
from pipeline.compat.ops.variables.variable import Variable
from pipeline.compat.values.convert import convert_to_tensor

# Initial count per class where proportions in the data are estimated.
_SEEN_BEFORE = 10
# Tolerance for probabilities to sum to one.
_TOLERANCE = 1e-6


def rejection_sample(
    tensors: Sequence[Any],
    accept_prob_fn: Callable[[list[Tensor]], Any],
    batch_size: Any,
    queue_threads: int = 1,
    enqueue_many: bool = False,
    prebatch_capacity: int = 16,
    prebatch_threads: int = 1,
    runtime_checks: bool = False,
    name: str | None = None,
) -> list[Tensor]:
    """Make batches of examples, each kept with its own probability.

    Args:
        tensors: One example's tensors; many examples with `enqueue_many`.
        accept_prob_fn: Takes one example as a list of tensors, and returns the probability to keep it.
        batch_size: Examples per batch.
        queue_threads: Threads filling the queue with kept examples.
        enqueue_many: Each tensor's first dimension counts examples.
        prebatch_capacity: With `enqueue_many`, the capacity of the queue that splits many examples.
        prebatch_threads: With `enqueue_many`, the threads filling it.
        runtime_checks: Check that the probability is from 0 to 1.
        name: Variable scope name.

    Returns:
        The batch, as a list.

    Raises:
        ValueError: With `enqueue_many`, the first dimensions differ or are missing.
    """
    with variable_scope(name, "rejection_sample", tensors):
        example = as_components(tensors)
        if enqueue_many:
            _check_rows(example, example[0])
            example = _single(example, prebatch_capacity, prebatch_threads)
        probability = accept_prob_fn(example)
        if runtime_checks:
            within = [assert_less_equal(0.0, probability), assert_less_equal(probability, 1.0)]
            probability = _after(within, probability, "prob_with_checks")
        return _kept(example, probability, batch_size, queue_threads)


def stratified_sample(
    tensors: Sequence[Any],
    labels: Any,
    target_probs: Any,
    batch_size: Any,
    init_probs: Any = None,
    enqueue_many: bool = False,
    queue_capacity: int = 16,
    threads_per_queue: int = 1,
    name: str | None = None,
) -> tuple[list[Tensor], Tensor]:
    """Make batches with given class proportions; overrepresented classes are dropped more often.

    Args:
        tensors: One example's tensors; many examples with `enqueue_many`.
        labels: The example's class, an integer; a vector with `enqueue_many`.
        target_probs: Each class's proportion in a batch; their sum is 1.
        batch_size: Examples per batch.
        init_probs: Each class's proportion in the data; None estimates them from the labels seen so far.
        enqueue_many: Each tensor's first dimension counts examples.
        queue_capacity: Capacity of the example queue.
        threads_per_queue: Threads filling this queue and the queue with kept examples.
        name: Scope name.

    Returns:
        The batch from `tensors`, as a list, and the batch from `labels`.

    Raises:
        TypeError: The labels are not integers.
        ValueError: Shapes do not fit, or are not known where they must be.
        InvalidArgumentError: At run time, if a label is not a class, proportions do not add up to 1, or a class missing
            from the data has a proportion.
    """
    with name_scope(name, "stratified_sample", [*tensors, labels]):
        examples, labels = as_components(tensors), convert_to_tensor(labels)
        wanted = convert_to_tensor(target_probs, dtype=dtypes.float32)
        if not enqueue_many:
            examples, labels = [expand_dims(each, 0) for each in examples], expand_dims(labels, 0)
        if init_probs is None:
            wanted.get_shape().assert_is_fully_defined()
            found = _shares_seen(labels, wanted.get_shape().num_elements())
        else:
            found = convert_to_tensor(init_probs, dtype=dtypes.float32)
        found, wanted = _checked_shares(found), _checked_shares(wanted)
        if found.get_shape().num_elements() != wanted.get_shape().num_elements():
            raise ValueError("Probability parameters must have the same length.")
        examples, labels = _checked_examples(examples, labels, wanted.get_shape().num_elements())
        accepted = _chances(found, wanted)
        *example, label = _single([*examples, labels], queue_capacity, threads_per_queue)
        *batches, classes = _kept([*example, label], gather(accepted, label), batch_size, threads_per_queue)
        return batches, classes


def _single(many: Sequence[Any], capacity: int, threads: int) -> list[Tensor]:
    """Return one example out of many."""
    batched = batch(many, 1, threads, capacity, enqueue_many=True)
    return [squeeze(each, [0]) for each in (batched if isinstance(batched, list) else [batched])]


def _kept(example: Sequence[Any], probability: Any, batch_size: Any, threads: int) -> list[Tensor]:
    """Return batches of the kept examples, as a list even for one tensor."""
    batches = maybe_batch(example, less(random_uniform([]), probability), batch_size, threads)
    return batches if isinstance(batches, list) else [batches]


def _after(checks: Sequence[Any], tensor: Any, name: str | None = None) -> Any:
    """Return the tensor once the checks have passed."""
    with control_dependencies(list(checks)):
        return identity(tensor, name=name)


def _check_rows(tensors: Sequence[Any], first: Any) -> None:
    """Raise ValueError unless all tensors may have as many rows as `first`."""
    for tensor in tensors:
        tensor.get_shape().with_rank_at_least(1)[0].assert_is_compatible_with(first.get_shape()[0])


def _shares_seen(labels: Tensor, classes: Any) -> Any:
    """Return each class's proportion among the labels seen so far, including these."""
    seen = Variable([_SEEN_BEFORE] * classes, trainable=False, name="class_count", dtype=dtypes.int64)
    # `+ 0` copies the count, because other threads change it.
    count: Any = seen.assign_add(reduce_sum(one_hot(labels, classes, dtype=dtypes.int64), 0)) + 0
    return cast(divide(count, reduce_sum(count)), dtypes.float32)


def _checked_shares(shares: Any) -> Any:
    """Return the proportions once they are known to be non-negative and to add up to 1."""
    shares.get_shape().assert_is_fully_defined()
    shares.get_shape().assert_has_rank(1)
    total: Any = reduce_sum(shares)
    return _after(
        [
            assert_non_negative(shares),
            assert_less(total, 1.0 + _TOLERANCE),
            assert_less(1.0 - _TOLERANCE, total),
        ],
        shares,
    )


def _checked_examples(examples: Sequence[Any], labels: Tensor, classes: Any) -> tuple[list[Tensor], Tensor]:
    """Return examples and labels once their counts are equal and each label is a class."""
    labels.get_shape().assert_has_rank(1)
    _check_rows(examples, labels)
    if not labels.dtype.is_integer:
        raise TypeError(f"labels must be integers, the numbers of classes; got {labels.dtype.name}")
    count: Any = shape(labels)[0]  # type: ignore[index]
    some = assert_positive(count)
    checked = [_after([some, assert_equal(shape(each)[0], count)], each) for each in examples]  # type: ignore[index]
    of_class = [some, assert_non_negative(labels), assert_less(labels, cast(classes, labels.dtype))]
    return checked, _after(of_class, labels)


def _chances(found: Any, wanted: Any) -> Any:
    """Return each class's probability to be kept: wanted over found proportion, scaled to a maximum of 1."""
    possible = Assert(
        reduce_all(logical_or(not_equal(found, 0), equal(wanted, 0))),
        ["All classes with zero initial probability must also have zero target probability: ", found, wanted],
    )
    found = _after([possible], found)
    ratio = divide(wanted, found)
    ratio = where_v2(is_nan(ratio), zeros_like(ratio), ratio)
    chances: Any = divide(ratio, reduce_max(ratio))
    dropped = reduce_sum((1 - chances) * found)
    message = "Proportion of examples rejected by sampler is high."
    return cond(less(dropped, 0.5), lambda: chances, lambda: Print(chances, [chances], message=message, first_n=10))
