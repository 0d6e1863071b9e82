"""Padding limits: reject a block with one very long example before memory runs out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pipeline.errors import ResourceExhaustedError
from pipeline.files.limits import MAX_RECORD_BYTES

# A padded array may have more bytes if at least this fraction holds values.
LEAST_PART = 1 / 16


def check_padding(name: str, counts: NDArray[np.int64], size: int) -> None:
    """Check how much padding an array above 1 GiB has.

    Args:
        name: The feature.
        counts: Value count per example.
        size: Bytes per value.

    Raises:
        ResourceExhaustedError: There is too much padding; `record` is the longest example's index.
    """
    most, values = int(counts.max(initial=0)), int(counts.sum())
    padded = len(counts) * most
    if padded * size <= MAX_RECORD_BYTES or values >= padded * LEAST_PART:
        return
    longest = int(counts.argmax())
    text = (
        f"'{name}' of {len(counts):,} examples would be padded to {most:,} values each, as example {longest} has: "
        f"{padded * size:,} bytes, of which {values / padded:.2%} are not padding. "
        "Parse fewer examples at a time, or use a VarLenFeature"
    )
    error = ResourceExhaustedError(None, None, text)
    vars(error)["record"] = longest
    raise error
