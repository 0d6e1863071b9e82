"""Limits of padding: a block in which one example has very many values is rejected before memory runs out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pipeline.errors import ResourceExhaustedError
from pipeline.files.limits import MAX_RECORD_BYTES

# A padded array may have more bytes than that if at least this part of it are values.
LEAST_PART = 1 / 16


def check_padding(name: str, counts: NDArray[np.int64], size: int) -> None:
    """Check the share of padding in an array above 1 GiB.

    Args:
        name: The feature.
        counts: Number per example.
        size: The bytes of one.

    Raises:
        ResourceExhaustedError: It does; `record` is the index of the longest example.
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
