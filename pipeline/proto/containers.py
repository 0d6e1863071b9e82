"""Repeated fields of a message: lists of scalars, lists of messages, and maps.

The user changes them in place. Each tells the message that owns it, so that this counts as set.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, MutableMapping, MutableSequence
from typing import Any, Generic, TypeVar, overload

import numpy as np

from pipeline.proto.message import Message
from pipeline.proto.scalar_types import ScalarType, check_text

_T = TypeVar("_T")
_M = TypeVar("_M", bound=Message)


def accepted(kind: type[_M], given: Any, where: str) -> _M:
    """Return a field's value from the user: a message of that kind, or a dict of its fields."""
    if isinstance(given, dict):
        return kind(**given)
    if type(given) is not kind:
        raise TypeError(f"{where} must be a {kind.__name__}, not {type(given).__name__}")
    return given


class _List(MutableSequence[_T], Generic[_T]):
    """Base class of both kinds of lists.

    Attributes:
        items: The plain list inside.
    """

    def __init__(self, owner: Message) -> None:
        self.items: list[_T] = []
        self._owner = owner

    @overload
    def __getitem__(self, index: int) -> _T: ...
    @overload
    def __getitem__(self, index: slice) -> list[_T]: ...
    def __getitem__(self, index: int | slice) -> Any:
        return self.items[index]

    def __delitem__(self, index: int | slice) -> None:
        del self.items[index]
        self._owner._changed()

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[_T]:
        return iter(self.items)

    def __eq__(self, other: object) -> bool:
        return self.items == (other.items if isinstance(other, _List) else other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(self.items)


class ScalarList(_List[Any]):
    """The values of a repeated scalar field; each is checked when it is put in."""

    def __init__(self, owner: Message, kind: ScalarType) -> None:
        super().__init__(owner)
        self._kind = kind

    def __setitem__(self, index: Any, value: Any) -> None:
        self.items[index] = self._kind.check_all(value) if isinstance(index, slice) else self._kind.check(value)
        self._owner._changed()

    def insert(self, index: int, value: Any) -> None:
        """Insert a value before `index`."""
        self.items.insert(index, self._kind.check(value))
        self._owner._changed()

    def extend(self, values: Iterable[Any]) -> None:
        """Append values; none of them if one does not fit."""
        self.items.extend(self._kind.check_all(values))
        self._owner._changed()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return np.array(self.items, self._kind.dtype if dtype is None else dtype)


class MessageList(_List[_M]):
    """The messages of a repeated field; those put in are copied."""

    def __init__(self, owner: Message, kind: type[_M], name: str) -> None:
        super().__init__(owner)
        self._kind, self._name = kind, name

    def add(self, **values: Any) -> _M:
        """Append a new message with the given fields, and return it."""
        self.items.append(self._kind(**values))
        self._owner._changed()
        return self.items[-1]

    def insert(self, index: int, value: _M) -> None:
        """Insert a copy of a message before `index`."""
        copied = self._kind()
        copied.MergeFrom(accepted(self._kind, value, self._name))
        self.items.insert(index, copied)
        self._owner._changed()

    def __setitem__(self, index: Any, value: Any) -> None:
        raise TypeError(f"a {self._kind.__name__} cannot be assigned; change it in place")


class _Map(MutableMapping[str, _T], Generic[_T]):
    """Base class of both kinds of maps.

    Attributes:
        items_by_key: The plain dict inside.
    """

    def __init__(self, owner: Message, name: str) -> None:
        self.items_by_key: dict[str, _T] = {}
        self._owner, self._name = owner, name

    def __delitem__(self, key: str) -> None:
        del self.items_by_key[key]
        self._owner._changed()

    def __contains__(self, key: object) -> bool:
        return key in self.items_by_key

    def get(self, key: str, default: Any = None) -> Any:
        """Return the entry of that key, or the default; adds none."""
        return self.items_by_key.get(key, default)

    def __iter__(self) -> Iterator[str]:
        return iter(self.items_by_key)

    def __len__(self) -> int:
        return len(self.items_by_key)

    def __repr__(self) -> str:
        return repr(self.items_by_key)

    def put(self, key: str, value: _T) -> None:
        """Add an entry whose value is checked and copied already."""
        if not isinstance(key, str):
            raise TypeError(f"a key of {self._name} must be str, not {type(key).__name__} {key!r:.80}")
        check_text(key, f"a key of {self._name}")
        self.items_by_key[key] = value
        self._owner._changed()


class ScalarMap(_Map[Any]):
    """A map from names to scalars. Looking up a missing name adds it with the default value."""

    def __init__(self, owner: Message, kind: ScalarType, name: str) -> None:
        super().__init__(owner, name)
        self._kind = kind

    def __getitem__(self, key: str) -> Any:
        if key not in self.items_by_key:
            self.put(key, self._kind.default)
        return self.items_by_key[key]

    def __setitem__(self, key: str, value: Any) -> None:
        self.put(key, self._kind.check(value))


class MessageMap(_Map[_M]):
    """A map from names to messages. Looking up a missing name adds a message; assigning is an error, as in protobuf."""

    def __init__(self, owner: Message, kind: type[_M], name: str) -> None:
        super().__init__(owner, name)
        self._kind = kind

    def __getitem__(self, key: str) -> _M:
        if key not in self.items_by_key:
            self.put(key, self._kind())
        return self.items_by_key[key]

    def __setitem__(self, key: str, value: _M) -> None:
        name = self._kind.__name__
        raise ValueError(f"a {name} cannot be assigned; change it in place: [{key!r}].CopyFrom(...)")

    def get_or_create(self, key: str) -> _M:
        """Return the message of that name, added if it is missing."""
        return self[key]
