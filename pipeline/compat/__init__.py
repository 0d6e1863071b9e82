"""Drop-ins: TensorFlow's names over queue-runner's machinery."""

from importlib import import_module
from typing import Any

VERSION = "1.15.0"  # of TensorFlow


def __getattr__(name: str) -> Any:
    if name == "v1":  # imported lazily: it takes time
        return import_module(f"{__name__}.v1")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}: TensorFlow's names are in {__name__}.v1")
