"""When a loop is deterministic: if it was asked to be."""

from __future__ import annotations

from typing import Any

from pipeline.batches.request import Request

_default: bool | None = None


def set_deterministic(deterministic: bool | None) -> None:
    """Set what `deterministic=None` of the batch functions means in this process.

    Args:
        deterministic: True or False for all loops made from now on; None lets each decide, as `batch` says.

    Raises:
        TypeError: It is something else.

    Thread safety: any thread may call it; loops that exist stay as they are.
    """
    global _default
    _default = _checked(deterministic)


def is_deterministic(request: Request) -> bool:
    """Whether the order of a loop is to depend on the input and the seeds alone."""
    asked = _checked(request.deterministic)
    needs = (
        "shard" if request.shard is not None else "fingerprint='content'" if request.fingerprint != "order" else None
    )
    if needs is not None:
        if asked is False:
            raise ValueError(f"{needs} needs a loop whose order is fixed: do not pass deterministic=False")
        return True
    if asked is None:
        asked = _default
    if asked is not None:
        return asked
    return False


def _checked(deterministic: Any) -> bool | None:
    if deterministic is not None and not isinstance(deterministic, bool):
        raise TypeError(f"deterministic must be True, False or None, got {deterministic!r:.80}")
    return deterministic
