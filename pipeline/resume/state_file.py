"""States in JSON files, written atomically, with a CRC to detect damage.

A file is one line of JSON and one line with its CRC:

    {"input":{"format":"queue-runner/state", ...},"step":7}
    crc32 1c291ca3
"""

from __future__ import annotations

import json
import os
import zlib
from typing import Any

from pipeline.diagnostics.wording import count
from pipeline.dtypes import local_path
from pipeline.errors import DataLossError, InvalidArgumentError
from pipeline.files.os_errors import os_error
from pipeline.files.regular import regular
from pipeline.files.replacing import replacing

Path = str | bytes | os.PathLike[str] | os.PathLike[bytes]

_MARK = b"crc32 "
_LAST_LINE = len(_MARK) + 9  # 8 digits and a line end

# Types that JSON preserves. Subclasses would be read back as these types.
_PLAIN = (str, int, float, bool, type(None))
# The wrapper for a value that JSON cannot preserve, by its base class.
_WRAPPERS = ((int, "int"), (float, "float"), (str, "str"), (dict, "dict"), ((list, tuple), "list"))
_KINDS = {"b": "bool", "i": "int", "u": "int", "f": "float", "U": "str"}  # for NumPy dtypes


def save_state(path: Path, state: Any) -> None:
    """Write a state to a file. After a kill or a power cut, the file is either old or new.

    The new file has the mode of the old one. A killed program may leave a file with the ending ".partial", which you
    can delete.

    Args:
        path: A local path. A symbolic link is kept, and its target is written.
        state: Your iterator's state, or a dict with it and your own data: dicts with str keys, lists, str, int,
            float, bool and None.

    Raises:
        TypeError: `state` contains something else; the message has its path, and an alternative.
        InvalidArgumentError: `state` contains itself, or is nested too deeply.
        FailedPreconditionError: `path` is not a regular file.
        OpError: The file cannot be written, such as a PermissionDeniedError. The old file is kept.

    Thread safety: the last call for a path wins.

    Examples:
        >>> batches = iter(pipeline.dataset(range(8)).batch(2))
        >>> next(batches).tolist()
        [0, 1]
        >>> pipeline.save_state("place.json", batches.state_dict())
        >>> with iter(pipeline.dataset(range(8)).batch(2)) as again:
        ...     again.load_state_dict(pipeline.load_state("place.json"))
        ...     next(again).tolist()
        [2, 3]
    """
    name = os.fsencode(local_path(path, "save_state: path"))
    target = os.path.realpath(name)
    data = _encoded(state)
    try:
        with replacing(target) as file:
            file.write(data + _last_line(data))
    except OSError as error:
        raise os_error(name, error) from error


def load_state(path: Path) -> Any:
    """Return the state saved in the file at `path` by `save_state`.

    Raises:
        NotFoundError: There is no such file.
        DataLossError: The file is cut or damaged, or was not written by `save_state`; the message names the cause.
        FailedPreconditionError: `path` is not a regular file.
        OpError: It cannot be read, such as a PermissionDeniedError.

    Thread safety: you may call it from any thread.

    Examples:
        >>> pipeline.save_state("place.json", {"epoch": 3})
        >>> pipeline.load_state("place.json")
        {'epoch': 3}
    """
    name = os.fsencode(local_path(path, "load_state: path"))
    try:
        with open(name, "rb", opener=regular("load_state", links=True)) as file:
            text = file.read()
    except OSError as error:
        raise os_error(name, error) from error
    data, last = text[:-_LAST_LINE], text[-_LAST_LINE:]
    if not text:
        raise _damaged(name, "the file is empty")
    if not last.startswith(_MARK) or not last.endswith(b"\n"):
        raise _damaged(
            name, f"it has {count(len(text), 'byte')} and no CRC line at the end: cut, or not written by save_state"
        )
    if last != _last_line(data):
        said, is_now = last[len(_MARK) : -1], _last_line(data)[len(_MARK) : -1]
        raise _damaged(name, f"its CRC-32 should be {said.decode('ascii', 'replace')} and is {is_now.decode()}")
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:  # a CRC line below something else
        raise _damaged(name, f"it is not JSON: {error}") from error


def _damaged(name: bytes, what: str) -> DataLossError:
    return DataLossError(None, None, f"{os.fsdecode(name)}; the state is damaged: {what}")


def _last_line(data: bytes) -> bytes:
    return _MARK + b"%08x\n" % zlib.crc32(data)


def _encoded(state: Any) -> bytes:
    try:
        _check(state, "state", [])
        # ASCII, so that file names that are not text survive; nan and inf occur in users' metrics.
        return json.dumps(state, separators=(",", ":")).encode("ascii") + b"\n"
    except RecursionError:
        raise InvalidArgumentError(None, None, "save_state: the state is nested too deeply") from None


def _check(value: Any, place: str, above: list[int]) -> None:
    """Raise an error with the path to any value that would not survive a round trip."""
    if type(value) in _PLAIN:
        return
    if type(value) not in (dict, list):
        raise TypeError(f"save_state: {place} is {_called(value)}, which would not load unchanged; {_advice(value)}")
    if id(value) in above:
        raise InvalidArgumentError(None, None, f"save_state: {place} is the {type(value).__name__} that contains it")
    above.append(id(value))
    for key, part in value.items() if type(value) is dict else enumerate(value):
        if type(value) is dict and type(key) is not str:
            raise TypeError(f"save_state: {place} has the key {key!r}, {_called(key)}; keys have to be str")
        _check(part, f"{place}[{key!r}]", above)
    above.pop()


def _called(value: Any) -> str:
    module, name = type(value).__module__, type(value).__qualname__
    full = name if module == "builtins" else f"{module}.{name}"
    return f"{'an' if full[0] in 'aeiou' else 'a'} {full}"


def _advice(value: Any) -> str:
    dtype = getattr(value, "dtype", None)
    kind = _KINDS.get(getattr(dtype, "kind", ""))
    if kind is not None and getattr(value, "shape", None) == ():
        return f"write {kind}(...) around it"
    if getattr(value, "shape", None):
        return "save arrays in a file of their own, such as by np.savez"
    near = next((name for types, name in _WRAPPERS if isinstance(value, types)), None)
    if near is not None:
        return f"write {near}(...) around it"
    return "allowed are dict, list, str, int, float, bool and None"
