"""Every state's header: its format, its version, and the queue-runner version that saved it."""

from __future__ import annotations

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
        raise invalid(
            f"load_state_dict: this dict is not what {made_by} returned: its keys are {keys:.80}. If it is part of "
            'a checkpoint, pass that part, such as checkpoint["input"]'
        )
