"""limit_epochs: a value with a limited number of evaluations."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from pipeline.locks import Lock
from pipeline.orders.epochs import EpochLimit
from pipeline.queues.base import QueueBase
from pipeline.runners.enqueue_ops import op_name


def limit_epochs(tensor: Any, num_epochs: int | None = None, name: str | None = None) -> Any:
    """Limit how often something is evaluated.

    Args:
        tensor: The value to evaluate. A callable without arguments is called; an iterator returns its next item, to one
            thread at a time; anything else, such as an array, is used as the value.
        num_epochs: Number of evaluations; None means no limit.
        name: The result's name, for thread names; by default that of `tensor`.

    Returns:
        A callable without arguments for evaluating `tensor`; after `num_epochs` evaluations each call raises
        OutOfRangeError. A failed evaluation counts. With None, `tensor` itself.

    Thread safety: any thread may call the result; several may do so at once if `tensor` is thread safe.

    Raises:
        ValueError: `num_epochs` is not above 0.
        TypeError: `num_epochs` is not an integer, or `tensor` is a queue.

    Examples:
        >>> twice = pipeline.limit_epochs(7, num_epochs=2)
        >>> twice(), twice()
        (7, 7)
        >>> try:
        ...     twice()
        ... except pipeline.errors.OutOfRangeError:
        ...     print("the end")
        the end
    """
    if num_epochs is None:
        return tensor
    limit = EpochLimit(num_epochs)
    evaluate = _evaluation(tensor)

    def limited() -> Any:
        limit.begin()
        return evaluate()

    limited.__qualname__ = name or (op_name(tensor) if callable(tensor) else "limit_epochs")
    return limited


def _evaluation(tensor: Any) -> Callable[[], Any]:
    if isinstance(tensor, QueueBase):
        raise TypeError(f"limit_epochs: '{tensor.name}' is a queue; to limit its elements, pass its dequeue method")
    if callable(tensor):
        return tensor  # type: ignore[no-any-return]
    if not isinstance(tensor, Iterator):
        return lambda: tensor
    lock, iterator = Lock(), tensor

    def next_item() -> Any:
        with lock:
            return next(iterator)

    return next_item
