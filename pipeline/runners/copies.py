"""Copy exceptions, for threads that raise the same one without a GIL."""

import contextlib
import copy
import sys
from typing import Any, TypeVar

from pipeline.on_error import set_on

Error = TypeVar("Error", bound=BaseException)


def gil_enabled() -> bool:
    """Return whether the GIL is on now; an imported module may switch it on."""
    return bool(getattr(sys, "_is_gil_enabled", lambda: True)())


def twin(error: Error) -> Error:
    """Return an exception with the same class, arguments, attributes, cause and context, and no traceback.

    It is made as by `copy.copy`. That passes `args` to the class, whose signature may differ or which may change the
    text; then the copy is made without the class's own `__init__`. If neither works, return the exception itself.
    """
    made = error
    for make in (copy.copy, _made_alone):
        with contextlib.suppress(Exception):
            made = make(error)
            if made is not error and type(made) is type(error) and (made.args, str(made)) == (error.args, str(error)):
                break
    else:
        return error
    for name in ("__cause__", "__context__", "__suppress_context__"):
        set_on(made, name, getattr(error, name))
    return made


def _made_alone(error: Error) -> Error:
    """Return a copy made only by the built-in base class."""
    kind: Any = type(error)
    base = next(each for each in kind.__mro__ if each.__module__ == "builtins")
    args = base.__reduce__(error)[1]
    made: Error = base.__new__(kind, *args)
    base.__init__(made, *args)
    made.args = error.args
    made.__dict__.update(error.__dict__)
    return made
