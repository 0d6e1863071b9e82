"""What every state begins with: its format, its version and who made it."""

from __future__ import annotations

from typing import Any

from pipeline.errors import invalid


def check_form(state: Any, form: str, version: int, made_by: str) -> None:
    """Check that something is a state of a format, of a version that is known.

    Args:
        state: What was given to `load_state_dict`.
        form: The format.
        version: The latest version that is known.
        made_by: What returns such states, for the error.

    Raises:
        TypeError: It is no dict.
        InvalidArgumentError: It is another dict, or of a later version.
    """
    if not isinstance(state, dict):
        raise TypeError(f"load_state_dict: the state must be what state_dict returned, a dict, not {state!r:.80}")
    if state.get("format") != form:
        keys = ", ".join(map(repr, state)) or "none"
        raise invalid(
            f"load_state_dict: this dict is not what {made_by} returned: its keys are {keys:.80}. If it is part of "
            'a checkpoint, pass that part, such as checkpoint["input"]'
        )
    if not isinstance(state.get("version"), int) or not 0 < state["version"] <= version:
        raise invalid(
            f"load_state_dict: the state has version {state.get('version')}, of queue-runner {state.get('made_by')}; "
            f"this one reads versions up to {version}"
        )
