"""rejection_sample and stratified_sample of tf.contrib.training: batches of examples that are kept at random.

An example is kept with a probability, as `maybe_batch` does it. `stratified_sample` chooses the probabilities so that
the classes of a batch have the shares that were asked for.
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

# How many examples of each class count as seen before the first one, where the shares in the data are estimated.
_SEEN_BEFORE = 10
# By how much probabilities may miss a sum of one.
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
    """Make batches of examples, each of which is kept with a probability of its own.

    Args:
        tensors: The tensors of an example; of many with `enqueue_many`.
        accept_prob_fn: Takes the list of tensors of one example, and returns the probability of keeping it.
        batch_size: Examples in a batch.
        queue_threads: Threads that fill the queue of kept examples.
        enqueue_many: The first dimension of each tensor counts examples.
        prebatch_capacity: With `enqueue_many`: the capacity of the queue that takes many examples apart.
        prebatch_threads: With `enqueue_many`: the threads that fill it.
        runtime_checks: Check that the probability is from 0 to 1.
        name: Name of the variable scope.

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
    """Make batches in which the classes have given shares; examples of the other classes are dropped more often.

    Args:
        tensors: The tensors of an example; of many with `enqueue_many`.
        labels: The class of the example, an integer; a vector with `enqueue_many`.
        target_probs: The share of each class in a batch; their sum is 1.
        batch_size: Examples in a batch.
        init_probs: The share of each class in the data; None estimates them from the labels seen so far.
        enqueue_many: The first dimension of each tensor counts examples.
        queue_capacity: Capacity of the queue of examples.
        threads_per_queue: Threads that fill this queue, and that of kept examples.
        name: Name of the scope.

    Returns:
        The batch of `tensors`, as a list, and the batch of `labels`.

    Raises:
        TypeError: The labels are not integers.
        ValueError: Shapes do not fit, or are not known where they must be.
        InvalidArgumentError: At run time: a label is not a class, shares do not add up to 1, or a class that the data
            lacks has a share.
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
    """One example of many."""
    batched = batch(many, 1, threads, capacity, enqueue_many=True)
    return [squeeze(each, [0]) for each in (batched if isinstance(batched, list) else [batched])]


def _kept(example: Sequence[Any], probability: Any, batch_size: Any, threads: int) -> list[Tensor]:
    """Batches of the examples that are kept, as a list also of one tensor."""
    batches = maybe_batch(example, less(random_uniform([]), probability), batch_size, threads)
    return batches if isinstance(batches, list) else [batches]


def _after(checks: Sequence[Any], tensor: Any, name: str | None = None) -> Any:
    """The tensor, once the checks have passed."""
    with control_dependencies(list(checks)):
        return identity(tensor, name=name)


def _check_rows(tensors: Sequence[Any], first: Any) -> None:
    """ValueError unless all tensors may hold as many rows as `first`."""
    for tensor in tensors:
        tensor.get_shape().with_rank_at_least(1)[0].assert_is_compatible_with(first.get_shape()[0])


def _shares_seen(labels: Tensor, classes: Any) -> Any:
    """The share of each class among the labels seen so far, these included."""
    seen = Variable([_SEEN_BEFORE] * classes, trainable=False, name="class_count", dtype=dtypes.int64)
    # `+ 0` copies the count, which other threads change.
    count: Any = seen.assign_add(reduce_sum(one_hot(labels, classes, dtype=dtypes.int64), 0)) + 0
    return cast(divide(count, reduce_sum(count)), dtypes.float32)


def _checked_shares(shares: Any) -> Any:
    """The shares, once they are known not to be negative and to add up to 1."""
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
    """Examples and labels, once they are as many and each label is a class."""
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
    """The chance of each class to be kept: the share wanted over that found, the largest chance being 1."""
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
