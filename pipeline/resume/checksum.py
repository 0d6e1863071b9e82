"""A checksum over a state: a number that was changed by hand or by a bad disk would give other batches in silence."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

KEY = "checksum"
# Beside itself: which files are read ahead depends on time, and these are compared with what is there.
_LEFT_OUT = {KEY, "files"}


def as_text(value: Any) -> str | None:
    """Plain data as one text, whatever the order of keys; None for what JSON cannot hold."""
    try:
        return json.dumps(value, sort_keys=True, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError):  # the state of an object of the user may be anything
        return None


def checksum_of(state: Mapping[str, Any], steps: Sequence[str | None] | None = None) -> str | None:
    """Sixteen hex digits that depend on all of a state but its files; None for what JSON cannot hold.

    What formats change on the way does not count: the order of keys, lists that were tuples, keys that become text.

    Args:
        state: The state.
        steps: `as_text` of each step of its journal, if these are known: there are 15,000 for a pool of a million.
    """
    import hashlib  # 3 ms, as it loads OpenSSL, which a program that saves no state need not wait for

    but = {key: value for key, value in state.items() if key not in _LEFT_OUT}
    try:
        but["journal"] = {**but["journal"], "steps": None}
        texts: list[Any] = [as_text(but)]
        texts += map(as_text, state["journal"]["steps"]) if steps is None else steps
    except (TypeError, KeyError):  # it was edited by hand
        return None
    return None if None in texts else hashlib.blake2b("\n".join(texts).encode(), digest_size=8).hexdigest()


def with_checksum(state: dict[str, Any], steps: Sequence[str | None] | None = None) -> dict[str, Any]:
    """A state with its checksum, if it can have one; see `checksum_of`."""
    checksum = checksum_of(state, steps)
    return state if checksum is None else {**state, KEY: checksum}


def is_changed(state: Mapping[str, Any]) -> bool:
    """Whether a state is not what it was when its checksum was made; those of earlier versions may have none."""
    return KEY in state and checksum_of(state) != state[KEY]
