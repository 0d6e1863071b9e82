"""recipe_key: what decides the elements of a recipe, as far as that can be known: options, seeds, files, functions."""

from __future__ import annotations

import contextlib
import functools
import json
import marshal
import os
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from pipeline._calls import all_of
from pipeline.files.identity import file_identity
from pipeline.stages.node import Node, nodes_of

_PLAIN = (bool, int, float, complex, str, bytes, type(None))
_FLAT: frozenset[type] = frozenset(_PLAIN)

# Files that are listed one by one, so that an error can name the one that differs; of more there is one digest.
_LISTED = 256

# How deep it looks into what functions refer to.
_DEPTH = 12


def key_of(node: Node) -> list[dict[str, Any]]:
    """Return what decides the elements of a recipe, as plain data: facts of each step, after those of its inputs.

    Raises:
        OpError: A file cannot be opened.
    """
    return json.loads(json.dumps([_facts(each) for each in nodes_of(node)], default=repr))  # type: ignore[no-any-return]


def _facts(node: Node) -> dict[str, Any]:
    seed, parts, functions = node.seed(), dict[str, str](), node.functions()
    for i, function in enumerate(functions):
        before = "" if len(functions) == 1 else f"number {i + 1}: "
        parts.update({before + name: text for name, text in _parts_of(function).items()})
    return {
        "kind": node.kind,
        "call": node.call(),
        "options": node.options(),
        "seed": None if seed is None or seed.drawn else list(seed.pair),
        "functions": parts,
        "files": _identities(node.files()),
        "data": [_digest(_bytes_of(each, 0, set())) for each in node.data()],
    }


def _identities(names: Sequence[str]) -> dict[str, Any]:
    found = {os.fsdecode(name): _identity(name) for name in names}
    if len(found) <= _LISTED:
        return found
    return {f"{len(found):,} files": _digest([json.dumps(found, sort_keys=True).encode()])}


def _identity(name: str) -> Any:
    try:
        status = os.stat(name)
    except (OSError, ValueError):  # as of a URL
        return file_identity(name, ends=False)
    return [status.st_size, status.st_mtime_ns]


def first_difference(saved: Any, here: Any) -> str | None:
    """Return how two keys differ; None if they do not."""
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
    import hashlib  # 3 ms, as it loads OpenSSL, for programs with a cache in a folder

    found = hashlib.blake2b(digest_size=16)
    for part in parts:
        found.update(b"%d:" % len(part))
        found.update(part)
    return found.hexdigest()


def _parts_of(function: Any) -> dict[str, str]:
    """Return what decides the results of a function, by name: digests, and plain values as "=" and their text.

    These are its code, defaults, closure, the globals it uses, and the functions of its module that it calls.
    """
    seen: set[int] = set()
    found: dict[str, str] = {}
    if not isinstance(function, types.FunctionType):
        found["the object"] = _digest(_bytes_of(function, 0, set()))
        return found
    waiting = [("", function)]
    while waiting:
        where, each = waiting.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        of = f"{where}, " if where else ""
        found[where or "the code"] = _digest(_of_code(each.__code__, 0, set()))
        if each.__defaults__ or each.__kwdefaults__:
            found[f"{of}the defaults"] = _digest(_bytes_of((each.__defaults__, each.__kwdefaults__), 0, set()))
        for name, value in _used(each):
            if isinstance(value, types.FunctionType):
                waiting.append((f"{name}()", value))
            else:
                found[f"{of}{name}"] = _text_or_digest(value)
    return found


def _text_or_digest(value: Any) -> str:
    if type(value) in _PLAIN and len(text := repr(value)) <= 60:
        return f"={text}"
    return _digest(_bytes_of(value, 0, set()))


def _used(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    """Yield what a function refers to, by name: its closure, and globals, functions of its own module only."""
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield name, cell.cell_contents
        except ValueError:  # nothing is in it yet
            continue
    for name in sorted(_names(function.__code__)):
        if name in function.__globals__:
            value = function.__globals__[name]
            if isinstance(value, types.FunctionType) and value.__module__ != function.__module__:
                yield name, f"{value.__module__}.{value.__qualname__}"
            else:
                yield name, value


def _names(code: types.CodeType) -> set[str]:
    found = set(code.co_names)
    for each in code.co_consts:
        if isinstance(each, types.CodeType):
            found |= _names(each)
    return found


def _bytes_of(value: Any, depth: int, seen: set[int]) -> Iterator[bytes]:
    """Yield what tells a value from others, in bytes that are the same in another process."""
    kind = type(value)
    yield f"{kind.__module__}.{kind.__qualname__}".encode()
    if kind in _PLAIN:
        yield repr(value).encode(errors="surrogatepass")
        return
    if id(value) in seen or depth > _DEPTH:
        return
    of_kind = next((parts for kinds, parts in _KINDS if isinstance(value, kinds)), _of_object)
    yield from of_kind(value, depth + 1, seen | {id(value)})  # of those around it, so that equal objects are equal


def _of_code(code: types.CodeType, depth: int, seen: set[int]) -> Iterator[bytes]:
    yield repr(sys.version_info[:2]).encode()  # each has other bytecode
    yield code.co_code
    yield getattr(code, "co_exceptiontable", b"")
    yield " ".join((*code.co_names, *code.co_varnames, *code.co_freevars)).encode()
    for each in code.co_consts:
        yield from _bytes_of(each, depth, seen)


def _of_function(function: types.FunctionType, depth: int, seen: set[int]) -> Iterator[bytes]:
    for name, text in _parts_of(function).items():
        yield f"{name} {text}".encode()


def _of_method(method: types.MethodType, depth: int, seen: set[int]) -> Iterator[bytes]:
    yield from _bytes_of(method.__func__, depth, seen)
    yield from _bytes_of(method.__self__, depth, seen)


def _of_partial(partial: Any, depth: int, seen: set[int]) -> Iterator[bytes]:
    yield from _bytes_of((partial.func, partial.args, partial.keywords), depth, seen)


def _of_array(array: Any, depth: int, seen: set[int]) -> Iterator[bytes]:
    yield f"{array.dtype.str} {array.shape}".encode()
    if array.dtype.hasobject:
        yield from _of_sequence(array.ravel().tolist(), depth, seen)
    else:
        yield np.ascontiguousarray(array).reshape(-1).view(np.uint8).tobytes() if array.dtype.itemsize else b""


def _of_sequence(values: Any, depth: int, seen: set[int]) -> Iterator[bytes]:
    yield str(len(values)).encode()
    if type(values) in (list, tuple) and all_of(values, _FLAT):
        yield marshal.dumps(values, 2)  # a version that does not tell one object from two equal ones
        return
    for each in values:
        yield from _bytes_of(each, depth, seen)


def _of_set(values: Any, depth: int, seen: set[int]) -> Iterator[bytes]:
    yield from sorted(b"".join(_bytes_of(each, depth, set(seen))) for each in values)


def _of_dict(values: Any, depth: int, seen: set[int]) -> Iterator[bytes]:
    for item in values.items():
        yield from _of_sequence(item, depth, seen)


def _of_name(value: Any, depth: int, seen: set[int]) -> Iterator[bytes]:
    """What is compiled, such as a function of a library, goes by its name."""
    yield f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', value.__name__)}".encode()
    owner = getattr(value, "__self__", None)
    if owner is not None and not isinstance(owner, types.ModuleType):
        yield from _bytes_of(owner, depth, seen)


def _of_class(kind: type, depth: int, seen: set[int]) -> Iterator[bytes]:
    for each in kind.__mro__[:-1]:
        yield f"{each.__module__}.{each.__qualname__}".encode()
        if each.__module__ == kind.__module__:
            for name, value in vars(each).items():
                yield from _of_member(name, value, depth, seen)


def _of_member(name: str, value: Any, depth: int, seen: set[int]) -> Iterator[bytes]:
    """A method, with the plain values and the code of the functions of its module that it uses; or a plain value."""
    function = getattr(value, "__func__", getattr(value, "fget", value))
    if isinstance(function, types.FunctionType):
        yield name.encode()
        yield from _of_code(function.__code__, depth, seen)
        for used, each in _used(function):
            if type(each) in _PLAIN:
                yield f"{used}={each!r}".encode(errors="surrogatepass")
            elif isinstance(each, types.FunctionType):
                yield from _of_code(each.__code__, depth, seen)
    elif type(value) in _PLAIN and name != "__firstlineno__":  # which moves as lines above it change
        yield f"{name}={value!r}".encode(errors="surrogatepass")


def _of_object(value: Any, depth: int, seen: set[int]) -> Iterator[bytes]:
    """The methods of an object, and what it holds."""
    yield from _of_class(type(value), depth, seen)
    if isinstance(getattr(value, "__name__", None), str):  # such as a ufunc of NumPy
        yield from _of_name(value, depth, seen)
    if hasattr(value, "__array__"):
        with contextlib.suppress(Exception):  # such as a tensor on another device
            yield from _of_array(np.asarray(value), depth, seen)
            return
    held: Any = getattr(value, "__dict__", None)
    if held is None:
        with contextlib.suppress(Exception):  # it cannot be pickled, and goes by its class
            held = dict(enumerate(value.__reduce_ex__(2)[1:]))
    for name, each in (held or {}).items():
        yield str(name).encode()
        yield from _bytes_of(each, depth, seen)


_KINDS: tuple[tuple[Any, Callable[[Any, int, set[int]], Iterator[bytes]]], ...] = (
    (types.FunctionType, _of_function),
    (types.MethodType, _of_method),
    (functools.partial, _of_partial),
    (types.CodeType, _of_code),
    (np.ndarray, _of_array),
    ((list, tuple), _of_sequence),
    ((set, frozenset), _of_set),
    (dict, _of_dict),
    ((types.ModuleType, types.BuiltinFunctionType), _of_name),
    (type, _of_class),
)
