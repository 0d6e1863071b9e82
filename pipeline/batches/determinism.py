"""set_deterministic: the meaning of deterministic=None in this process."""

from __future__ import annotations

from typing import Any

_default: bool | None = None


def set_deterministic(deterministic: bool | None) -> None:
    """Set the meaning of the batch functions' `deterministic=None` in this process.

    Args:
        deterministic: True or False for all later calls; None for the default of `batch`.

    Raises:
        TypeError: It is something else.

    Thread safety: any thread may call it; existing iterators do not change.

    Examples:
        >>> pipeline.set_deterministic(True)
        >>> with pipeline.shuffle_batch(range(6), 3, min_after_dequeue=2, seed=1) as batches:
        ...     first = next(batches).tolist()
        >>> with pipeline.shuffle_batch(range(6), 3, min_after_dequeue=2, seed=1) as batches:
        ...     first == next(batches).tolist()
        True
        >>> pipeline.set_deterministic(None)
    """
    global _default
    _default = _checked(deterministic)


def is_deterministic(asked: Any) -> bool:
    """Return whether the order may depend only on the input and the seeds, for a requested setting."""
    checked = _checked(asked)
    return bool(_default if checked is None else checked)


def _checked(deterministic: Any) -> bool | None:
    if deterministic is not None and not isinstance(deterministic, bool):
        raise TypeError(f"deterministic must be True, False or None, got {deterministic!r:.80}")
    return deterministic
