"""Every state's header: its format, its version, and the queue-runner version that saved it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pipeline import __version__
from pipeline.errors import invalid

# Formats of 0.2, with other states for batch functions and for TensorFlow 1 programs.
_OLD_FORMATS = ("queue-runner/state", "queue-runner/input-state")


def check_form(state: Any, form: str, version: int, made_by: str) -> None:
    """Check an object's state format and version.

    Args:
        state: The argument of `load_state_dict`.
        form: The format.
        version: The version of the format.
        made_by: The function that returns these states, for the error.

    Raises:
        TypeError: It is not a dict.
        InvalidArgumentError: It is another dict, or has another version.
    """
    if not isinstance(state, dict):
        raise TypeError(f"load_state_dict: the state must be what state_dict returned, a dict, not {state!r:.80}")
    here = __version__
    if state.get("format") in _OLD_FORMATS or (state.get("format") == form and state.get("version") != version):
        later = isinstance(state.get("version"), int) and state["version"] > version
        saved = f"queue-runner {state['made_by']}" if "made_by" in state else "another version of queue-runner"
        hint = "update queue-runner" if later else f"finish the run with {saved}, or start it again"
        which = f"version {state.get('version')!r:.40} of states"
        raise invalid(f"load_state_dict: {saved} saved this state, and {here} cannot load it ({which}): {hint}")
    if state.get("format") != form:
        keys = ", ".join(map(repr, state)) or "none"
        refuse_whole(state, form, "iterator")
        raise invalid(
            f"load_state_dict: this dict is not what {made_by} returned: its keys are {keys:.80}. Of a whole "
            'checkpoint, pass the part with that state, such as checkpoint["input"]'
        )


def refuse_whole(state: object, form: str, what: str) -> None:
    """Raise InvalidArgumentError for a whole checkpoint with a state in it.

    Args:
        state: The argument of `load_state_dict`.
        form: The format of the state.
        what: The owner of the state, for the error.
    """
    part = _part_with(state, form) if isinstance(state, Mapping) else None
    if part is not None and isinstance(state, Mapping):
        keys = ", ".join(map(repr, state))
        raise invalid(
            f"load_state_dict: this is a whole checkpoint (its keys are {keys:.80}), not the {what}'s state in it: "
            f"pass checkpoint{part}"
        )


def _part_with(checkpoint: Mapping[Any, Any], form: str, depth: int = 3) -> str | None:
    """Return how to get the first state in a checkpoint, such as `["loader"]`; None if there is none."""
    for key, value in checkpoint.items() if depth else ():
        if isinstance(value, Mapping):
            inner = "" if value.get("format") == form else _part_with(value, form, depth - 1)
            if inner is not None:
                return f"[{key!r:.80}]{inner}"
    return None
