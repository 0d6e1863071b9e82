"""keep_input: which examples the batch functions keep."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.batches.source import first_row
from pipeline.errors import invalid

Verdict = Any  # True, False, or an array of bools, one for each row of a block


class KeepInput:
    """The argument `keep_input` of a batch function, checked.

    Args:
        given: A bool; an array of bools, one for each row of every block; or a callable that is asked about each
            example (or block) and returns one of these.
        many: The source gives blocks.

    Raises:
        ValueError: It has too many dimensions.
        TypeError: It is not made of bools.

    Attributes:
        all, none: Every example is kept; none is.
        asks: It is a callable, so examples must come one by one.
    """

    def __init__(self, given: Any, many: bool) -> None:
        self._many = many
        self.asks = callable(given) and not isinstance(given, (np.ndarray, np.generic))
        self._ask: Callable[[Any], Any] | None = given if self.asks else None
        self._fixed = None if self.asks else _verdict(given, many)
        self.all = self._fixed is True
        self.none = self._fixed is False

    def verdict(self, example: Any, many: bool) -> Verdict:
        """What to keep of an example, or of a block; of a source of examples it has only one, which is asked about."""
        if self._ask is None:
            return self._fixed
        asked = example if many == self._many else first_row(example)
        return _verdict(self._ask(asked), self._many)


def kept_rows(components: Sequence[Any], mask: NDArray[np.bool_]) -> list[Any]:
    """The rows of a block where the mask is True, in order.

    Raises:
        InvalidArgumentError: The mask has another length than the block.
    """
    return [_rows(component, mask) for component in components]


def _rows(component: Any, mask: NDArray[np.bool_]) -> Any:
    rows: Any = component if isinstance(component, (list, tuple)) else np.asarray(component)
    shape = (len(rows),) if isinstance(rows, (list, tuple)) else rows.shape
    if shape[:1] != mask.shape:
        raise invalid(
            "data.shape must start with partitions.shape, "
            f"got data.shape = {list(shape)}, partitions.shape = {list(mask.shape)}: keep_input has another length "
            "than the block"
        )
    return list(itertools.compress(rows, mask)) if isinstance(rows, (list, tuple)) else rows[mask]


def _verdict(value: Any, many: bool) -> Verdict:
    if value is True or value is False:
        return value
    array = np.asarray(value)
    if array.dtype.kind in "iu" and ((array == 0) | (array == 1)).all():
        array = array.astype(np.bool_)
    if array.dtype.kind != "b" and array.size:
        raise TypeError(f"`keep_input` must be a bool or an array of bools, got {value!r:.80}")
    if array.ndim > 1:
        raise ValueError(f"`keep_input` must be 0 or 1 dimensions, got an array of shape {array.shape}.")
    if array.ndim == 1:
        if not many:
            raise ValueError("`keep_input` cannot be a vector when `enqueue_many=False`.")
        return array.astype(np.bool_)
    return bool(array)
