"""Pad a batch's rows to the longest, a multiple or a given length, on the right or on the left."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pipeline._batch import pad
from pipeline.errors import invalid


class PadTo(NamedTuple):
    """The target length for padded rows, along their first dimension.

    Attributes:
        multiple: Divisor of the target length.
        length: The target length; None for the batch's longest row.
        left: True if padding precedes the row.
    """

    multiple: int = 1
    length: int | None = None
    left: bool = False

    @property
    def widens(self) -> bool:
        """True if rows may become longer than the longest."""
        return self.multiple > 1 or self.length is not None

    def padded(self, arrays: list[Any], fill: Any) -> Any:
        """Return arrays with rank 1 or more as one array, each padded.

        Raises:
            InvalidArgumentError, TypeError: As in `pipeline.pad`; or an array is too long (its index is in `odd`).
        """
        first = arrays[0]
        if self == TO_LONGEST or any(each.dtype != first.dtype or each.ndim != first.ndim for each in arrays):
            return pad(arrays, fill)
        lengths = [len(each) for each in arrays]
        width = -(-max(lengths) // self.multiple) * self.multiple if self.length is None else self.length
        if max(lengths) > width:
            error = invalid(f"a row has length {max(lengths):,}, and pad_to= is {width:,}")
            vars(error)["odd"] = lengths.index(max(lengths))
            raise error
        filler = pad([np.zeros(0, first.dtype), np.zeros(1, first.dtype)], fill)[0, 0]  # if the dtype can hold it
        others = np.max([each.shape[1:] for each in arrays], axis=0).astype(int)
        made = np.full((len(arrays), width, *others), filler, first.dtype)
        for row, array, length in zip(made, arrays, lengths, strict=True):
            at = width - length if self.left else 0
            row[(slice(at, at + length), *map(slice, array.shape[1:]))] = array
        return made


TO_LONGEST = PadTo()
