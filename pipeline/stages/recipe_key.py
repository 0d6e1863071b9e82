"""recipe_key: the known influences on a recipe's elements: options, seeds, files, functions."""

from __future__ import annotations

import contextlib
import copyreg
import functools
import json
import marshal
import os
import pickle
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from pipeline._calls import all_of
from pipeline.errors import invalid
from pipeline.files.identity import LISTED, file_identity
from pipeline.stages.node import Node, nodes_of

_PLAIN = (bool, int, float, complex, str, bytes, type(None))
_FLAT: frozenset[type] = frozenset(_PLAIN)

# Up to this number, files are listed, so an error can name the changed one; otherwise there is one digest.
_LISTED = 256

# Maximum nesting of inspected values.
_DEPTH = 100


def key_of(node: Node) -> list[dict[str, Any]]:
    """Return the known influences on a recipe's elements as plain data: facts per step, after those for its inputs.

    Raises:
        OpError: A file cannot be opened.
    """
    return json.loads(json.dumps([_facts(each) for each in nodes_of(node)], default=repr))  # type: ignore[no-any-return]


def _facts(node: Node) -> dict[str, Any]:
    seed, parts, functions, walk = node.seed(), dict[str, str](), node.functions(), _Walk()
    for i, function in enumerate(functions):
        before = "" if len(functions) == 1 else f"number {i + 1}: "
        parts.update({before + name: text for name, text in _parts_of(function, walk).items()})
    return {
        "kind": node.kind,
        "call": node.call(),
        "options": node.options(),
        "seed": None if seed is None or seed.drawn else list(seed.pair),
        "functions": parts,
        "files": _identities(node.files()),
        "data": [_digest(_bytes_of(each, walk)) for each in node.data()],
    }


def _identities(names: Sequence[str]) -> dict[str, Any]:
    few = len(names) <= LISTED
    found = {os.fsdecode(name): _identity(name, few) for name in names}
    if len(found) <= _LISTED:
        return found
    return {f"{len(found):,} files": _digest([json.dumps(found, sort_keys=True).encode()])}


def _identity(name: str, ends: bool) -> Any:
    """Return a file's size and time; with its ends, as a copied file may have the time of the one that it replaces."""
    try:
        status = os.stat(name)
    except (OSError, ValueError):  # for example for a URL
        return file_identity(name, ends=False)
    return file_identity(name) if ends else [status.st_size, status.st_mtime_ns]


def first_difference(saved: Any, here: Any) -> str | None:
    """Return the difference between two keys; None if they are equal."""
    if [each["kind"] for each in saved] != [each["kind"] for each in here]:
        was, now = (" -> ".join(each["call"] for each in key) for key in (saved, here))
        return f"it was {was}, and is {now} now"
    found = (_difference(one, other) for one, other in zip(saved, here, strict=True))
    return next((each for each in found if each is not None), None)


_WORDS = {"options": "option {!r} of {}", "functions": "{} of the function of {}", "files": "file {!r} of {}"}


def _difference(was: Any, now: Any) -> str | None:
    for name, words in _WORDS.items():
        for key in [*was[name], *(each for each in now[name] if each not in was[name])]:
            one, other = was[name].get(key), now[name].get(key)
            if one != other:
                what = words.format(key, now["call"])
                known = name == "options" or all(str(each).startswith("=") or each is None for each in (one, other))
                return f"{what} was {_shown(one)}, and is {_shown(other)} now" if known else f"{what} has changed"
    for name in ("seed", "data"):
        if was[name] != now[name]:
            return f"the {name} of {now['call']} has changed"
    return None


def _shown(value: Any) -> str:
    if value is None:
        return "not there"
    return value[1:] if isinstance(value, str) and value.startswith("=") else f"{value!r:.80}"


def _digest(parts: Any) -> str:
    import hashlib  # imported lazily: loading OpenSSL costs 3 ms

    found = hashlib.blake2b(digest_size=16)
    for part in parts:
        found.update(b"%d:" % len(part))
        found.update(part)
    return found.hexdigest()


def _parts_of(function: Any, walk: _Walk) -> dict[str, str]:
    """Return the influences on a function's results, by name: digests, and plain values as "=" and their text.

    These are its code, defaults, attributes, closure, the globals it uses, and the functions it calls in its module.
    """
    seen: set[int] = set()
    found: dict[str, str] = {}
    if not isinstance(function, types.FunctionType):
        found["the object"] = _digest(_bytes_of(function, walk))
        return found
    waiting = [("", function)]
    while waiting:
        where, each = waiting.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        of = f"{where}, " if where else ""
        found[_free(where or "the code", found)] = _digest(_of_code(each.__code__, walk))
        if each.__defaults__ or each.__kwdefaults__:
            found[_free(f"{of}the defaults", found)] = _digest(
                _bytes_of((each.__defaults__, each.__kwdefaults__), walk)
            )
        for name, value in _used(each):
            if isinstance(value, types.FunctionType):
                waiting.append((f"{name}()", value))
            else:
                found[_free(f"{of}{name}", found)] = _text_or_digest(value, walk)
    return found


def _free(name: str, found: dict[str, str]) -> str:
    """Return a free name, because two functions may have the same name."""
    return name if name not in found else f"{name} ({len(found)})"


def _text_or_digest(value: Any, walk: _Walk) -> str:
    if type(value) in _PLAIN and len(text := repr(value)) <= 60:
        return f"={text}"
    return _digest(_bytes_of(value, walk))


def _used(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    """Yield a function's references by name: its attributes, closure and globals, and plain values in modules.

    Functions in other modules are represented by their names.
    """
    yield from vars(function).items()
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield name, cell.cell_contents
        except ValueError:  # nothing is in it yet
            continue
    names = sorted(_names(function.__code__))
    for name in names:
        if name in function.__globals__:
            value = function.__globals__[name]
            if isinstance(value, types.FunctionType) and value.__module__ != function.__module__:
                yield name, f"{value.__module__}.{value.__qualname__}"
            else:
                yield name, value
            if isinstance(value, types.ModuleType):
                held = vars(value)
                yield from ((f"{name}.{each}", held[each]) for each in names if type(held.get(each, held)) in _PLAIN)


def _names(code: types.CodeType) -> set[str]:
    found = set(code.co_names)
    for each in code.co_consts:
        if isinstance(each, types.CodeType):
            found |= _names(each)
    return found


class _Walk:
    """The objects visited between a function and its references.

    Attributes:
        around: The containers around a value.
        known: Functions, classes and other objects, and their digests.
    """

    def __init__(self) -> None:
        self.around: set[int] = set()
        self.known: dict[int, tuple[Any, bytes]] = {}


def _bytes_of(value: Any, walk: _Walk) -> Iterator[bytes]:
    """Yield bytes that identify a value and are the same in other processes."""
    kind = type(value)
    yield f"{kind.__module__}.{kind.__qualname__}".encode()
    if kind in _PLAIN:
        yield repr(value).encode(errors="surrogatepass")
        return
    if id(value) in walk.around:
        return
    if len(walk.around) > _DEPTH:
        yield _pickled(value)
        return
    found = next((parts for kinds, parts in _KINDS if isinstance(value, kinds)), _of_object)
    if isinstance(value, (types.FunctionType, type)) and _is_library(value.__module__):
        found = _of_name
    if found in _CONTAINERS and kind.__module__ not in _LIBRARIES:  # containers may have attributes too
        found = _of_object
    if found in _CONTAINERS:
        walk.around.add(id(value))
        yield from found(value, walk)
        walk.around.discard(id(value))
        return
    if id(value) not in walk.known:
        walk.known[id(value)] = value, b""  # a reference to itself
        walk.around.add(id(value))
        walk.known[id(value)] = value, _digest(found(value, walk)).encode()
        walk.around.discard(id(value))
    yield walk.known[id(value)][1]


@functools.cache
def _is_library(module: str) -> bool:
    """Return whether a module is represented by its name: Python's, this package's, or another installed one."""
    first = module.partition(".")[0]
    file = getattr(sys.modules.get(module), "__file__", None) or ""
    return first in sys.stdlib_module_names or first == __name__.partition(".")[0] or "-packages" in file


def _pickled(value: Any) -> bytes:
    """Return the pickled bytes of a value nested too deeply to inspect."""
    try:
        return pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    except Exception as error:
        kind = type(value).__qualname__
        text = f"cache: a function refers to a {kind} within {_DEPTH} other values, which cannot be pickled"
        raise invalid(f"{text}: give the function less, or cache without a folder") from error


def _of_code(code: types.CodeType, walk: _Walk) -> Iterator[bytes]:
    yield repr(sys.version_info[:2]).encode()  # bytecode differs between versions
    yield code.co_code
    yield getattr(code, "co_exceptiontable", b"")
    yield " ".join((*code.co_names, *code.co_varnames, *code.co_freevars)).encode()
    for each in code.co_consts:
        yield from _bytes_of(each, walk)


def _of_function(function: types.FunctionType, walk: _Walk) -> Iterator[bytes]:
    for name, text in _parts_of(function, walk).items():
        yield f"{name} {text}".encode()


def _of_method(method: types.MethodType, walk: _Walk) -> Iterator[bytes]:
    yield from _bytes_of(method.__func__, walk)
    yield from _bytes_of(method.__self__, walk)


def _of_partial(partial: Any, walk: _Walk) -> Iterator[bytes]:
    yield from _bytes_of((partial.func, partial.args, partial.keywords), walk)


def _of_array(array: Any, walk: _Walk) -> Iterator[bytes]:
    yield f"{array.dtype.str} {array.shape}".encode()
    if array.dtype.hasobject:
        yield from _of_sequence(array.ravel().tolist(), walk)
    else:
        yield np.ascontiguousarray(array).reshape(-1).view(np.uint8).tobytes() if array.dtype.itemsize else b""


def _of_sequence(values: Any, walk: _Walk) -> Iterator[bytes]:
    yield str(len(values)).encode()
    if type(values) in (list, tuple) and all_of(values, _FLAT):
        yield marshal.dumps(values, 2)  # version 2 ignores object identity
        return
    for each in values:
        yield from _bytes_of(each, walk)


def _of_set(values: Any, walk: _Walk) -> Iterator[bytes]:
    yield from sorted(b"".join(_bytes_of(each, walk)) for each in values)


def _of_dict(values: Any, walk: _Walk) -> Iterator[bytes]:
    for item in values.items():
        yield from _of_sequence(item, walk)


def _of_name(value: Any, walk: _Walk) -> Iterator[bytes]:
    """Yield a compiled function's name, such as a library's."""
    yield f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', value.__name__)}".encode()
    wrapped = getattr(value, "__wrapped__", None)  # for example functools.lru_cache's
    if wrapped is not None:
        yield from _bytes_of(wrapped, walk)
    owner = getattr(value, "__self__", None)
    if owner is not None and not isinstance(owner, types.ModuleType):
        yield from _bytes_of(owner, walk)


def _of_class(kind: type, walk: _Walk) -> Iterator[bytes]:
    if type(kind).__module__ == kind.__module__:
        yield from _bytes_of(type(kind), walk)
    for each in kind.__mro__[:-1]:
        yield f"{each.__module__}.{each.__qualname__}".encode()
        if each.__module__ == kind.__module__:
            for name, value in vars(each).items():
                yield from _of_member(name, value, walk)


def _of_member(name: str, value: Any, walk: _Walk) -> Iterator[bytes]:
    """Yield a method's bytes, or those of another value not generated by Python."""
    if name == "__annotate_func__":  # of Python 3.14: it refers to all attributes, with those added by pickle
        return
    name_of = next((each for kind, each in _WRAPPED.items() if isinstance(value, kind)), None)
    function = value if name_of is None else getattr(value, name_of)
    if isinstance(function, types.FunctionType) or not (name in _MADE or name.startswith("__")):
        yield name.encode()
        yield from _bytes_of(function, walk)


def _of_object(value: Any, walk: _Walk) -> Iterator[bytes]:
    """Yield bytes for an object's methods and its contents, as copied by `copy`."""
    yield from _bytes_of(type(value), walk)
    if isinstance(getattr(value, "__name__", None), str):  # such as a NumPy ufunc
        yield from _of_name(value, walk)
    if hasattr(value, "__array__"):
        with contextlib.suppress(Exception):  # such as a tensor on another device
            yield from _of_array(np.asarray(value), walk)
            return
    for each in _held(value):
        yield from _bytes_of(each, walk)


def _held(value: Any) -> list[Any]:
    reduce = copyreg.dispatch_table.get(type(value))
    try:
        made: Any = value.__reduce_ex__(2) if reduce is None else reduce(value)
    except Exception:  # not copyable: use its class and attributes
        return [getattr(value, "__dict__", None)]
    if isinstance(made, str):
        return [made]
    function, arguments, state, items, pairs = (*made, None, None, None)[:5]
    return [function, arguments, state, list(items or ()), list(pairs or ())]


# Function wrappers in classes, and the attribute with the function.
_WRAPPED = {staticmethod: "__func__", classmethod: "__func__", property: "fget", functools.cached_property: "func"}

# Attributes that Python adds to classes.
_MADE = {"_abc_impl", "_is_protocol", "_is_runtime_protocol"}

# Modules whose containers have no attributes.
_LIBRARIES = {"builtins", "numpy", "collections"}

_KINDS: tuple[tuple[Any, Callable[[Any, _Walk], Iterator[bytes]]], ...] = (
    (types.FunctionType, _of_function),
    (types.MethodType, _of_method),
    ((functools.partial, functools.partialmethod), _of_partial),
    (types.CodeType, _of_code),
    (np.ndarray, _of_array),
    ((list, tuple), _of_sequence),
    ((set, frozenset), _of_set),
    (dict, _of_dict),
    ((types.ModuleType, types.BuiltinFunctionType), _of_name),
    (type, _of_class),
)

_CONTAINERS = {_of_array, _of_sequence, _of_set, _of_dict, _of_code}
