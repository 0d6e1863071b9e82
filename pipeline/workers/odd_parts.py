"""Find the unpicklable part in a function or object, for errors: "its attribute 'lock' is a threading.Lock"."""

from __future__ import annotations

import functools
import io
import pickle
from collections.abc import Iterator
from types import FunctionType, MethodType, ModuleType
from typing import Any

_DEEPEST = 8  # maximum depth below the function
_WIDEST = 1_000  # parts per object

# Public names for types with private names.
_NAMES = {
    "_thread.lock": "threading.Lock",
    "_thread.RLock": "threading.RLock",
    "builtins.generator": "generator",
}


def odd_part(value: Any) -> str | None:
    """Describe the innermost unpicklable part; None if there is none inside."""
    kind, path, found = "", "", value
    for _ in range(_DEEPEST):
        step = next((each for each in _parts(found) if _refused(each[2])), None)
        if step is None:
            break
        kind, path, found = kind or step[0], path + step[1], step[2]
    if not path:
        return None
    name = f"{type(found).__module__}.{type(found).__qualname__}"
    name = "open file" if isinstance(found, io.IOBase) else _NAMES.get(name, name.removeprefix("builtins."))
    article = "an" if name[0] in "aeiou" else "a"
    return f"its {kind} {path.removeprefix('.')!r} is {article} {name}"


def _refused(value: Any) -> bool:
    """Return whether neither pickle nor cloudpickle accepts a value; cloudpickle sends modules and all functions."""
    if isinstance(value, (ModuleType, type)):
        return False
    if isinstance(value, FunctionType):
        return any(_refused(part) for _, _, part in _parts(value))
    try:
        pickle.Pickler(io.BytesIO(), 5).dump(value)
    except Exception:
        return True
    return False


def _parts(value: Any) -> Iterator[tuple[str, str, Any]]:
    """Yield a value's parts, each with a word for it, and its notation after the value."""
    if isinstance(value, functools.partial):
        yield from (("argument", f".{i}", each) for i, each in enumerate(value.args))
        yield from (("argument", f".{name}", each) for name, each in value.keywords.items())
        yield "function", f".{getattr(value.func, '__name__', 'func')}", value.func
    elif isinstance(value, MethodType):
        yield from _parts(value.__self__)
    elif isinstance(value, FunctionType):
        for name, cell in zip(value.__code__.co_freevars, value.__closure__ or (), strict=True):
            try:
                yield "variable", f".{name}", cell.cell_contents
            except ValueError:  # an empty cell
                continue
        names = [name for name in value.__code__.co_names if name in value.__globals__]
        yield from (("variable", f".{name}", value.__globals__[name]) for name in names)
    elif isinstance(value, dict):
        yield from (("item", f"[{key!r:.40}]", each) for key, each in list(value.items())[:_WIDEST])
    elif isinstance(value, (list, tuple)):
        yield from (("item", f"[{i}]", each) for i, each in enumerate(value[:_WIDEST]))
    else:
        yield from (("attribute", f".{name}", each) for name, each in getattr(value, "__dict__", {}).items())
