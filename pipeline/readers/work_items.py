"""Work items: the input that readers take from queues."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from pipeline.dtypes import as_bytes
from pipeline.errors import invalid


def one_string(value: Any) -> bytes:
    """Return the only string in a queue element, as bytes; InvalidArgumentError if it is something else."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        if len(value) != 1:
            raise invalid(f"Expected single component queue, got {len(value)} components")
        value = value[0]
    if isinstance(value, np.ndarray) and value.size == 1 and value.ndim <= 1:
        value = value.item()
    elif isinstance(value, np.ndarray) and value.dtype.kind in "OSU":
        raise invalid(f"Expected to dequeue a one-element string tensor, got shape {value.shape}")
    if not isinstance(value, (bytes, str, os.PathLike)):
        raise invalid(f"Expected queue with single string component, got {type(value).__name__}")
    return as_bytes(os.fspath(value), "the element of the queue")
