"""finish: what becomes of strings and of rows of varying length when a batch is handed out."""

from __future__ import annotations

import codecs
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline._batch import concatenate, pad
from pipeline.dtypes import object_vector


def finisher(ragged: str | None, encoding: str | None) -> Callable[[Any], Any] | None:
    """Return what is done to each component of a batch; None if that is nothing.

    Args:
        ragged: What becomes of a component whose rows are arrays: "pad" or "row_splits"; None leaves them.
        encoding: Of bytes, which become str; None leaves them.

    Raises:
        ValueError: `ragged` is something else, or there is no such encoding.
        TypeError: `encoding` is not a str.
    """
    if ragged not in (None, "pad", "row_splits"):
        raise ValueError(f"ragged must be 'pad', 'row_splits' or None, got {ragged!r:.80}")
    if encoding is not None:
        if not isinstance(encoding, str):
            raise TypeError(f"encoding must be the name of one, such as 'utf-8', got {encoding!r:.80}")
        try:
            codecs.lookup(encoding)
        except LookupError:
            raise ValueError(f"encoding: there is no {encoding!r:.80}") from None
    if ragged is None and encoding is None:
        return None

    def finished(component: Any) -> Any:
        rows = ragged is not None and _holds_arrays(component)
        parts = _joined(component, ragged == "pad") if rows else (component,)
        texts = [part if encoding is None else _decoded(part, encoding) for part in parts]
        return texts[0] if len(texts) == 1 else tuple(texts)

    return finished


def _holds_arrays(component: Any) -> bool:
    if not component.dtype.hasobject or component.ndim != 1 or not len(component):
        return False
    return isinstance(component[0], np.ndarray)


def _joined(rows: NDArray[Any], padded: bool) -> tuple[Any, ...]:
    """The rows as one padded array; or their values, one row after the other, and where each begins."""
    arrays = rows.tolist()
    if padded:
        return (pad(arrays, b"" if any(_holds_bytes(each) for each in arrays) else 0),)
    splits = np.zeros(len(arrays) + 1, np.int64)
    np.cumsum([len(each) for each in arrays], out=splits[1:])
    return concatenate(arrays), splits


def _holds_bytes(array: NDArray[Any]) -> bool:
    return array.dtype.hasobject and array.size > 0 and isinstance(array.flat[0], bytes)


def _decoded(array: Any, encoding: str) -> Any:
    if not _holds_bytes(array):
        return array
    texts = [each.decode(encoding) if isinstance(each, bytes) else each for each in array.reshape(-1).tolist()]
    return object_vector(texts).reshape(array.shape)
