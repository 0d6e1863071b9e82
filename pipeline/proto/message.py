"""What the messages of tf.train.Example have in common: reading, writing, comparing, and lists of values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, MutableSequence
from typing import Any, TypeVar, overload

import numpy as np

from pipeline.errors import invalid
from pipeline.proto.lists import ListKind
from pipeline.proto.wire import WireError

_M = TypeVar("_M", bound="Message")


def block(field: str, lines: list[str]) -> list[str]:
    """A message within a message as text."""
    return [f"{field} {{", *("  " + line for line in lines), "}"]


def nothing() -> None:
    """What is called on a change where nobody needs to know."""


class Message:
    """What the parts of an Example have in common: reading, writing, merging, comparing.

    Objects may be read from any number of threads, and changed by one.
    """

    __slots__ = ("_changed",)

    def __new__(cls: type[_M], *given: Any, **named: Any) -> _M:
        if given:
            raise TypeError("No positional arguments allowed")
        for field in named:
            if not isinstance(getattr(cls, field, None), property):
                raise ValueError(f'Protocol message {cls.__name__} has no "{field}" field.')
        return super().__new__(cls)

    def __init__(self) -> None:
        self._changed: Callable[[], None] = nothing

    def SerializeToString(self, deterministic: bool | None = None) -> bytes:
        """Return the message as bytes.

        Args:
            deterministic: Write features in the order of their names, not in that in which they were added.
        """
        return self._pack(bool(deterministic))

    @classmethod
    def FromString(cls: type[_M], serialized: bytes) -> _M:
        """Return a message from its bytes; unknown fields are skipped.

        Raises:
            InvalidArgumentError: The bytes are no such message.
        """
        if not isinstance(serialized, (bytes, bytearray, memoryview)):
            raise TypeError(f"a serialized {cls.__name__} must be bytes, not {type(serialized).__name__}")
        message, data = cls(), bytes(serialized)
        try:
            message._merge(data, 0, len(data))
        except (WireError, UnicodeDecodeError) as error:
            raise invalid(f"{len(data)} bytes are no tf.train.{cls.__name__}: {error}") from error
        return message

    def ParseFromString(self, serialized: bytes) -> int:
        """Become the message that the bytes are; returns their number.

        Raises:
            InvalidArgumentError: The bytes are no such message; nothing is changed.
        """
        self.CopyFrom(type(self).FromString(serialized))
        return len(serialized)

    def MergeFromString(self, serialized: bytes) -> int:
        """Add what the bytes say; returns their number.

        Raises:
            InvalidArgumentError: The bytes are no such message; nothing is changed.
        """
        parsed = type(self).FromString(serialized)
        self.MergeFrom(parsed)
        return len(serialized)

    def MergeFrom(self: _M, other: _M) -> None:
        """Add what another message of this kind says."""
        if type(other) is not type(self):
            raise TypeError(f"cannot merge a {type(other).__name__} into a {type(self).__name__}")
        data = other._pack(False)
        self._merge(data, 0, len(data))

    def CopyFrom(self: _M, other: _M) -> None:
        """Become a copy of another message of this kind."""
        if other is not self:
            if type(other) is not type(self):
                raise TypeError(f"cannot copy a {type(other).__name__} to a {type(self).__name__}")
            self.Clear()
            self.MergeFrom(other)

    def IsInitialized(self) -> bool:
        """Return True: no field has to be there."""
        return True

    def ByteSize(self) -> int:
        """Return the number of bytes of the serialized message."""
        return len(self._pack(False))

    def Clear(self) -> None:
        """Become empty."""
        raise NotImplementedError

    def _pack(self, deterministic: bool) -> bytes:
        raise NotImplementedError

    def _merge(self, data: bytes, at: int, end: int) -> None:
        raise NotImplementedError

    def _lines(self) -> list[str]:
        """The lines of the message as protocol buffers' text."""
        raise NotImplementedError

    def __str__(self) -> str:
        return "".join(line + "\n" for line in self._lines())

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self._pack(True) == other._pack(True)

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled, (type(self), self._pack(False))

    def __deepcopy__(self: _M, memo: Any) -> _M:
        return self.FromString(self._pack(False))


def as_message(kind: type[_M], given: Any, field: str) -> _M:
    """Return what is given for a field: a message of a kind, or a dict of its fields."""
    if isinstance(given, dict):
        return kind(**given)
    if type(given) is not kind:
        raise TypeError(f"{field} must be a {kind.__name__}, not {type(given).__name__}")
    return given


def _unpickled(cls: type[Message], data: bytes) -> Message:
    return cls.FromString(data)


class Values(MutableSequence[Any]):
    """The values of a list: takes what fits it, and nothing else."""

    def __init__(self, kind: ListKind, owner: Message) -> None:
        self._kind = kind
        self._items: list[Any] = []
        self._owner = owner

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> list[Any]: ...
    def __getitem__(self, index: int | slice) -> Any:
        return self._items[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        self._items[index] = self._kind.check(value if isinstance(index, slice) else [value])[
            slice(None) if isinstance(index, slice) else 0
        ]
        self._owner._changed()

    def __delitem__(self, index: int | slice) -> None:
        del self._items[index]
        self._owner._changed()

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._items)

    def insert(self, index: int, value: Any) -> None:
        """Put a value before that of an index."""
        self._items.insert(index, self._kind.check([value])[0])
        self._owner._changed()

    def extend(self, values: Iterable[Any]) -> None:
        """Put values at the end; none of them if one does not fit."""
        self._items.extend(self._kind.check(values))
        self._owner._changed()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return np.array(self._items, self._kind.dtype if dtype is None else dtype)

    def __eq__(self, other: object) -> bool:
        return self._items == (other._items if isinstance(other, Values) else other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(self._items)
