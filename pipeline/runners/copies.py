"""Copies of exceptions, for threads that raise the same one where no interpreter's lock keeps them apart."""

import copy
import sys
from typing import TypeVar

Error = TypeVar("Error", bound=BaseException)


def gil_enabled() -> bool:
    """Whether the interpreter's lock keeps threads apart now: a module that is imported may switch it on."""
    return bool(getattr(sys, "_is_gil_enabled", lambda: True)())


def twin(error: Error) -> Error:
    """Return an exception of the same class with the same arguments, attributes, cause and context, and no traceback.

    It is made as by `copy.copy`; where its class cannot make one so, without `__init__`.
    """
    kind = type(error)
    try:
        made = copy.copy(error)
    except Exception:
        made = error
    if made is error or type(made) is not kind:
        made = kind.__new__(kind, *error.args)
        made.args = error.args
        made.__dict__.update(error.__dict__)
    made.__cause__, made.__context__ = error.__cause__, error.__context__
    made.__suppress_context__ = error.__suppress_context__
    return made
