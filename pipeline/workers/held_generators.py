"""Random generators that a user's function holds: in globals, closures, defaults, arguments and attributes.

Containers and objects are searched one level deep.
"""

from __future__ import annotations

import dis
import functools
import itertools
import random
import sys
from collections.abc import Iterator
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

_MOST = 100  # values of a container, and functions called by one function

# Names in functions that set a generator's state for each example, or draw from one of `example_rng`.
_SEEDING = frozenset(
    ("seed", "manual_seed", "set_random_seed", "set_state", "setstate", "bit_generator", "example_rng")
)


class Held(NamedTuple):
    """A generator.

    Attributes:
        name: Its name in the user's program.
        generator: The generator.
    """

    name: str
    generator: Any

    def state(self) -> Any:
        """Return its state, for comparison."""
        if isinstance(self.generator, random.Random):
            return self.generator.getstate()
        if hasattr(self.generator, "bit_generator"):
            return repr(self.generator.bit_generator.state)
        found = self.generator.get_state()
        return found.numpy().tobytes() if hasattr(found, "numpy") else repr(found)


def held_generators(function: Any) -> list[Held]:
    """Return the generators that a function may draw from.

    Generators shared by the whole process are left out, and so are all if the function seeds a generator itself. Only
    exact types count, so the search runs none of the program's code.
    """
    kinds, found, codes = _kinds(), dict[int, Held](), list[CodeType]()
    for name, value in _references(function, codes):
        for of_part, part in itertools.chain(((name, value),), _parts(name, value)):
            if type(part) in (BuiltinFunctionType, MethodType):  # such as generator.normal
                part = part.__self__
            if type(part) in kinds and not _is_shared(part):
                found.setdefault(id(part), Held(of_part, part))
    if found and any(not _SEEDING.isdisjoint(_names(code)) for code in codes):
        return []
    return list(found.values())


def names_library(function: Any, library: str) -> bool:
    """Return whether a function, or one that it calls in its module, names a library or something in it."""
    codes = list[CodeType]()
    values = [value for _, value in _references(function, codes)]
    parts = [part for value in (function, *values) for _, part in (("", value), *_parts("", value))]
    if any(_is_in(_home(part), library) for part in parts):
        return True
    names = set().union(*(_names(code) for code in codes))
    top, _, attribute = library.partition(".")
    if attribute:  # such as np.random
        return attribute in names and (top in names or any(_home(part) == top for part in parts))
    imported = {each.argval for code in codes for each in dis.get_instructions(code) if each.opname == "IMPORT_NAME"}
    return any(_is_in(name, library) for name in imported)


def _is_in(name: str, library: str) -> bool:
    return name == library or name.startswith(f"{library}.")


def _home(value: Any) -> str:
    """Return the name of a module, or of the module that has a function or method."""
    if type(value) is ModuleType:
        return value.__name__
    if type(value) in (BuiltinFunctionType, MethodType) and type(value.__self__) is not ModuleType:
        return type(value.__self__).__module__
    return value.__module__ or "" if type(value) in (FunctionType, BuiltinFunctionType) else ""


def _kinds() -> tuple[type, ...]:
    """Return the classes of generators in the imported libraries."""
    found: list[type] = [random.Random]
    numpy: Any = sys.modules.get("numpy.random")
    if hasattr(numpy, "Generator"):  # missing while NumPy's is being imported
        found += [numpy.Generator, numpy.RandomState]
    torch: Any = sys.modules.get("torch")
    if hasattr(torch, "Generator"):
        found.append(torch.Generator)
    return tuple(found)


def _is_shared(generator: Any) -> bool:
    """Return whether it is a process's shared generator."""
    shared = (getattr(random, "_inst", None), getattr(sys.modules.get("numpy.random.mtrand"), "_rand", None))
    default = getattr(sys.modules.get("torch"), "default_generator", None)
    return any(generator is each for each in (*shared, default))


def _references(function: Any, codes: list[CodeType]) -> Iterator[tuple[str, Any]]:
    """Yield the values a function refers to, by name, and those of the functions it calls in its module.

    The code of these functions is added to `codes`.
    """
    waiting, seen = [function], set[int]()
    while waiting and len(seen) < _MOST:
        each = waiting.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        if isinstance(each, functools.partial):
            yield from ((f"argument {i}", value) for i, value in enumerate(each.args))
            yield from each.keywords.items()
            waiting.append(each.func)
        elif isinstance(each, MethodType):
            yield from _of_method(each.__self__, each.__func__, waiting)
        elif isinstance(each, FunctionType):
            codes.append(each.__code__)
            for name, value in _of_function(each):
                yield name, value
                if type(value) is FunctionType and value.__module__ == each.__module__:
                    waiting.append(value)
        elif not isinstance(each, (type, BuiltinFunctionType, ModuleType)):
            yield from _of_method(each, type(each).__call__, waiting)


def _of_function(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """Yield a function's attributes, closure, defaults and globals."""
    code = function.__code__
    yield from vars(function).items()
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield name, cell.cell_contents
        except ValueError:  # nothing is in it yet
            continue
    defaults = function.__defaults__ or ()
    yield from zip(code.co_varnames[code.co_argcount - len(defaults) : code.co_argcount], defaults, strict=True)
    yield from (function.__kwdefaults__ or {}).items()
    names = _globals(code)
    yield from ((name, function.__globals__[name]) for name in names if name in function.__globals__)


def _of_method(owner: Any, function: Any, waiting: list[Any]) -> Iterator[tuple[str, Any]]:
    """Yield the attributes of an object that one of its methods uses, and the methods that it calls."""
    if _is_known(owner):
        return
    held, methods, seen = _attributes(owner), [function], set[str]()
    while methods:
        method = methods.pop()
        if not isinstance(method, FunctionType):
            continue
        waiting.append(method)
        for name in _names(method.__code__) - seen:
            seen.add(name)
            if name in held:
                yield f"self.{name}", held[name]
            methods.append(next((vars(kind)[name] for kind in type(owner).__mro__ if name in vars(kind)), None))


def _parts(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield a container's values, or an object's attributes."""
    kind = type(value)
    if kind is dict:
        if len(value) <= _MOST:
            yield from (
                (f"{name}[{key!r:.40}]" if type(key) in (str, int) else name, value[key]) for key in list(value)
            )
    elif kind in (list, tuple):
        yield from ((f"{name}[{i}]", each) for i, each in enumerate(value[:_MOST]))
    elif not issubclass(kind, (type, ModuleType, FunctionType, MethodType)) and not _is_known(value):
        yield from ((f"{name}.{key}", each) for key, each in _attributes(value).items())


def _attributes(value: Any) -> dict[str, Any]:
    """Return a copy of an object's attributes, without running its code."""
    try:
        found = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return {}
    return dict(found) if type(found) is dict and len(found) <= _MOST else {}


def _is_known(value: Any) -> bool:
    """Return whether an object's attributes say nothing: it is ours, or its class decides about its copies."""
    kind = type(value)
    if kind.__module__.partition(".")[0] in ("pipeline", "builtins"):
        return True
    return any(name in vars(each) for each in kind.__mro__[:-1] for name in ("__getstate__", "__setstate__"))


def _names(code: CodeType) -> set[str]:
    """Return the names in a function's code and in the functions within it."""
    inner = (_names(each) for each in code.co_consts if isinstance(each, CodeType))
    return set(code.co_names).union(*inner)


@functools.lru_cache(maxsize=256)
def _globals(code: CodeType) -> tuple[str, ...]:
    """Return the names of globals that a function's code reads; `co_names` has attributes too."""
    inner = (name for each in code.co_consts if isinstance(each, CodeType) for name in _globals(each))
    own = (each.argval for each in dis.get_instructions(code) if each.opname in ("LOAD_GLOBAL", "LOAD_NAME"))
    return tuple(dict.fromkeys((*own, *inner)))
