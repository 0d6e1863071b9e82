"""Drop-ins: TensorFlow's names over queue-runner's machinery."""

from typing import Any

__all__ = ["input_state"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module '{__name__}' has no attribute {name!r}")
    from pipeline.compat.input.state import input_state  # a program that does without needs no graphs

    return input_state
