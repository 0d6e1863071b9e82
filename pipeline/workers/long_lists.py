"""Long lists of strings and numbers in functions: found, recognised while unchanged, and pickled apart from the rest.

pickle notes each string for references to it. For 128 MiB of strings in a list, which have none, that takes 0.4 s.
"""

from __future__ import annotations

import gc
import io
import itertools
import pickle
import struct
from collections.abc import Callable, Sequence
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

from pipeline._calls import all_of, same_items

_LONG = 4096  # items
_VISITED = 1000  # maximum number of objects to look at
_SAMPLE = 500  # items to look at for repeated strings

# Values that cannot change and refer to no others.
_PLAIN: frozenset[type] = frozenset({bytes, str, int, float, bool, complex, type(None)})

_CONTAINERS: tuple[Any, ...] = (list, tuple, dict, set, frozenset)
_WITHOUT_LISTS = (ModuleType, type, FunctionType, BuiltinFunctionType, bytes, str, int, float, type(None))


def sha1(data: bytes = b"") -> Any:
    """Return a SHA-1 object: twice as fast as blake2b on processors with instructions for it."""
    import hashlib  # 3 ms, as it loads OpenSSL; programs without processes do without it

    return hashlib.sha1(data, usedforsecurity=False)


def long_lists(value: Any) -> list[list[Any]]:
    """Return the long lists of strings and numbers in a function or object, as far as they are found quickly."""
    return [each for each in _lists(value) if _is_plain(each)]


def _lists(value: Any) -> list[list[Any]]:
    found: list[list[Any]] = []
    seen: dict[int, Any] = {}  # by id; their objects stay alive, as an id may be used again
    waiting = [value]
    while waiting and len(seen) < _VISITED:
        each = waiting.pop()
        if id(each) in seen:
            continue
        seen[id(each)] = each
        if type(each) is list and len(each) >= _LONG:
            found.append(each)
        elif not any(isinstance(each, kind) and kind.__len__(each) > _VISITED for kind in _CONTAINERS):
            waiting += [part for part in gc.get_referents(each) if not isinstance(part, _WITHOUT_LISTS)]
    return found


def _is_plain(items: list[Any]) -> bool:
    """Return whether all are strings and numbers, and strings seldom the same object, which is pickled once only."""
    if not all_of(items, _PLAIN):
        return False
    sample = [each for each in items[:: max(1, len(items) // _SAMPLE)] if isinstance(each, (bytes, str))]
    return 10 * len(set(map(id, sample))) >= 9 * len(sample)


class Snapshot:
    """A list's items at some time.

    Args:
        items: The list.

    Attributes:
        items: The list.
        kept: Its items.
        digest: Equal for lists with equal items.
    """

    def __init__(self, items: list[Any]) -> None:
        self.items, self.kept = items, tuple(items)
        made = sha1()
        self.dump(_Written(made.update))
        self.digest = made.digest()

    def is_of(self, items: list[Any]) -> bool:
        """Return whether this is the same list, unchanged."""
        return self.items is items and same_items(items, self.kept)

    def dump(self, file: Any) -> None:
        """Pickle the items into a file."""
        pickler = pickle.Pickler(file, 5)
        pickler.fast = True  # without the notes about strings
        pickler.dump(list(self.kept))


class Snapshots:
    """The snapshots of the last function that had long lists.

    Thread safety: every method may be called from any thread.
    """

    def __init__(self) -> None:
        self._last: list[Snapshot] = []

    def of(self, value: Any) -> list[Snapshot]:
        """Return a snapshot of each long list in a function: the last one if the list has not changed since."""
        last, found = self._last, []
        for items in _lists(value):
            known = next((each for each in last if each.is_of(items)), None)
            if known is not None or _is_plain(items):
                found.append(known or Snapshot(items))
        if found:
            self._last = found
        return found


class _Written:
    """A file that passes everything written to it to a function."""

    def __init__(self, take: Callable[[Any], object]) -> None:
        self.write = take


def dumped(snapshots: Sequence[Snapshot], rest: bytes) -> bytes:
    """Return a pickle with lists apart: their number, the end of each, the lists, and the rest."""
    ends = [8 * (1 + len(snapshots))]
    file = io.BytesIO(bytes(ends[0]))
    file.seek(ends[0])
    for each in snapshots:
        each.dump(file)
        ends.append(file.tell())
    file.write(rest)
    file.seek(0)
    file.write(struct.pack(f"={len(ends)}Q", len(snapshots), *ends[1:]))
    return file.getvalue()


def loaded(data: Any) -> Any:
    """Return what `dumped` has pickled.

    Args:
        data: Bytes, or another object with a buffer.

    Raises:
        Exception: It cannot be unpickled.
    """
    view = memoryview(data)
    (count,) = struct.unpack_from("=Q", view)
    ends = [8 * (1 + count), *struct.unpack_from(f"={count}Q", view, 8)]
    lists = [pickle.loads(view[begin:end]) for begin, end in itertools.pairwise(ends)]
    rest = view[ends[-1] :]
    if not lists:
        return pickle.loads(rest)
    unpickler = _Unpickler(io.BytesIO(rest))
    unpickler.lists = lists
    return unpickler.load()


class _Unpickler(pickle.Unpickler):
    lists: list[list[Any]]

    def persistent_load(self, number: Any) -> list[Any]:
        return self.lists[number]
