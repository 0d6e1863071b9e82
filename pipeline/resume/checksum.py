"""A checksum over a state: a number that was changed by hand or by a bad disk would give other batches in silence."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

KEY = "checksum"
# Beside itself: which files are read ahead depends on time, and these are compared with what is there.
_LEFT_OUT = {KEY, "files"}


def checksum_of(state: Mapping[str, Any]) -> str | None:
    """Sixteen hex digits that depend on all of a state but its files; None for what JSON cannot hold.

    What formats change on the way does not count: the order of keys, lists that were tuples, keys that become text.
    """
    but = {key: value for key, value in state.items() if key not in _LEFT_OUT}
    try:
        text = json.dumps(but, sort_keys=True, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError):  # the state of an object of the user may be anything
        return None
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def with_checksum(state: dict[str, Any]) -> dict[str, Any]:
    """A state with its checksum, if it can have one."""
    checksum = checksum_of(state)
    return state if checksum is None else {**state, KEY: checksum}


def is_changed(state: Mapping[str, Any]) -> bool:
    """Whether a state is not what it was when its checksum was made; those of earlier versions may have none."""
    return KEY in state and checksum_of(state) != state[KEY]
