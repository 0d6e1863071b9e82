"""The public API: names in `pipeline` and `pipeline.errors`, with their arguments and members.

`python tests/support/public_api.py` writes tests/public_api.txt again. A removed or changed line breaks programs, so
CHANGELOG.md needs a note with the fix.
"""

import inspect
import types
from pathlib import Path

import pipeline

LISTED = Path(__file__).parents[1] / "public_api.txt"
PLAIN = (bool, int, float, str, bytes, type(None))


def listing():
    """Return a line for each name, sorted."""
    lines = []
    for name in [*pipeline.__all__, "testing"]:
        lines += _lines(f"pipeline.{name}", getattr(pipeline, name))
    return sorted(lines)


def _lines(path, thing):
    if thing is pipeline.queues:  # its names are the names in `pipeline`
        return [f"{path}.{name}" for name in thing.__all__]
    if isinstance(thing, types.ModuleType):
        return [line for name in thing.__all__ for line in _lines(f"{path}.{name}", getattr(thing, name))]
    if not inspect.isclass(thing):
        return [path + _arguments(thing)]
    if hasattr(thing, "DESCRIPTOR"):  # a message, whose methods are protobuf's
        return [path, *(f"{path}.{field.name}" for field in thing.DESCRIPTOR.fields)]
    lines = [path + _arguments(thing)]
    for name in dir(thing):
        home = next(each for each in thing.__mro__ if name in vars(each))
        member = getattr(thing, name)
        listed = callable(member) or inspect.isdatadescriptor(member)
        if listed and not name.startswith("_") and home.__module__.startswith("pipeline"):
            lines.append(f"{path}.{name}{_arguments(member) if callable(member) else ''}")
    return lines


def _arguments(thing):
    """Return names and defaults, without annotations, because Python versions write these differently."""
    if not callable(thing):
        return ""
    try:
        signature = inspect.signature(thing)
    except ValueError:  # some builtins have no signature
        return "(...)"
    parameters = [_plain(each) for name, each in signature.parameters.items() if name != "self"]
    return str(inspect.Signature(parameters))


def _plain(parameter):
    default = parameter.default
    if default is not parameter.empty and not isinstance(default, PLAIN):
        default = _Shown(default)
    return parameter.replace(annotation=parameter.empty, default=default)


class _Shown:
    """A default shown by its name or type, because its repr may contain an address."""

    def __init__(self, value):
        self._name = getattr(value, "__qualname__", None) or f"<{type(value).__qualname__}>"
        if value == () or value == []:
            self._name = repr(value)

    def __repr__(self):
        return self._name


if __name__ == "__main__":
    LISTED.write_text("\n".join(listing()) + "\n")
