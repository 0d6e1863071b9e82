"""A checksum over a state: a number that was changed by hand or by a bad disk would give other batches in silence."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

KEY, READ = "checksum", "read"
# Besides itself: how far threads have read ahead depends on time, so this has a checksum of its own.
_LEFT_OUT = {KEY, READ, "files"}


def as_text(value: Any) -> str | None:
    """Plain data as one text, whatever the order of keys; None for what JSON cannot hold."""
    try:
        return json.dumps(value, sort_keys=True, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError):  # the state of an object of the user may be anything
        return None


def checksum_of(state: Mapping[str, Any], steps: Sequence[str | None] | None = None) -> str | None:
    """Sixteen hex digits that depend on all of a state except what was read ahead; None for what JSON cannot hold.

    What formats change on the way does not count: the order of keys, lists that were tuples, keys that become text.

    Args:
        state: The state.
        steps: `as_text` of each step of its journal, if these are known: there are 15,000 for a pool of a million.
    """
    but = {key: value for key, value in state.items() if key not in _LEFT_OUT}
    try:
        but["journal"] = {**but["journal"], "steps": None}
        texts: list[Any] = [as_text(but)]
        texts += map(as_text, state["journal"]["steps"]) if steps is None else steps
    except (TypeError, KeyError):  # it was edited by hand
        return None
    return None if None in texts else _digest("\n".join(texts))


def with_checksum(state: dict[str, Any], elements: int, steps: Sequence[str | None] | None = None) -> dict[str, Any]:
    """A state with its checksum, None if it cannot have one, and with what was read ahead.

    Args:
        state: The state.
        elements: How many elements of the round are known to exist.
        steps: As for `checksum_of`.
    """
    read = {"elements": elements, "files": _files_checksum(state["files"], elements)}
    return {**state, READ: read, KEY: checksum_of(state, steps)}


def is_changed(state: Mapping[str, Any]) -> bool:
    """Whether a state is not what it was when its checksums were made; those of version 1 may have none."""
    if KEY in state and checksum_of(state) != state[KEY]:
        return True
    if READ not in state:
        return False
    read = state[READ]
    elements = read.get("elements") if isinstance(read, Mapping) else None
    return bool(read != {"elements": elements, "files": _files_checksum(state["files"], elements)})


def _files_checksum(files: Any, elements: Any) -> str:
    return _digest(as_text([files, elements]) or "")


def _digest(text: str) -> str:
    import hashlib  # 3 ms, as it loads OpenSSL, which a program that saves no state need not wait for

    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
