"""States as JSON bytes, for frameworks that expect bytes."""

from __future__ import annotations

import json
from typing import Any

from pipeline.errors import invalid


def bytes_of_state(state: Any) -> bytes:
    """Return a state as JSON."""
    return json.dumps(state).encode()


def state_of_bytes(state: bytes) -> Any:
    """Return the state written by `bytes_of_state`.

    Raises:
        TypeError: It is not bytes.
        InvalidArgumentError: It is damaged.
    """
    if not isinstance(state, (bytes, bytearray)):
        raise TypeError(f"set_state: expected the bytes that get_state returned, got {state!r:.80}")
    try:
        return json.loads(state)
    except ValueError as error:
        raise invalid(f"set_state: the state is damaged: {error}") from error
