"""The fields of a message: descriptors in the body of its class, each with its bytes, its text and how it is set."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from pipeline.proto.containers import MessageList, MessageMap, ScalarList, ScalarMap, accepted
from pipeline.proto.scalar_types import STRING, ScalarType
from pipeline.proto.text import block, quoted
from pipeline.proto.wire import LEN, fields, pack_field

if TYPE_CHECKING:
    from pipeline.proto.message import Message

_T = TypeVar("_T")
_F = TypeVar("_F", bound="Field[Any]")
_M = TypeVar("_M", bound="Message")


class Field(Generic[_T]):
    """One field of a message. What it holds lies in the message, under the field's name.

    Attributes:
        name: Its name, that of the class attribute.
        number: Its number on the wire.
        oneof: The group of which at most one field is set, or "".
        rivals: The names of the other fields of that group.
        wires: The wire types in which its values come.
    """

    name = ""
    rivals: tuple[str, ...] = ()
    wires: tuple[int, ...] = (LEN,)

    def __init__(self, number: int, oneof: str = "") -> None:
        self.number, self.oneof = number, oneof

    def __set_name__(self, owner: Any, name: str) -> None:
        self.name = name

    @overload
    def __get__(self: _F, message: None, owner: Any) -> _F: ...
    @overload
    def __get__(self, message: Message, owner: Any) -> _T: ...
    def __get__(self, message: Message | None, owner: Any) -> Any:
        if message is None:
            return self
        found = message._values.get(self.name)
        # Two threads that read a field for the first time must get the same object.
        return message._values.setdefault(self.name, self.made(message)) if found is None else found

    def __set__(self, message: Message, value: Any) -> None:
        raise AttributeError(f"Assignment not allowed to {self.name!r} of {type(message).__name__}; change it in place")

    def made(self, message: Message) -> _T:
        """Return an empty value that belongs to a message."""
        raise NotImplementedError

    def is_set(self, value: _T) -> bool:
        """Whether a value that the message holds says anything."""
        return bool(value)

    def give(self, message: Message, value: Any) -> None:
        """Set the field to what the user gives to the constructor."""
        raise NotImplementedError

    def merge(self, message: Message, value: _T) -> None:
        """Add a copy of the value of another message."""
        raise NotImplementedError

    def pack(self, value: _T, deterministic: bool) -> bytes:
        """Return a value with its tag, nothing if it says nothing."""
        raise NotImplementedError

    def read(self, message: Message, data: bytes, wire: int, at: int, end: int) -> None:
        """Add the value between two places."""
        raise NotImplementedError

    def lines(self, value: _T) -> list[str]:
        """Return a value as lines of text."""
        raise NotImplementedError


class Scalar(Field[Any]):
    """A single number, string or bytes; written unless it is zero or empty, in a oneof even then."""

    def __init__(self, number: int, kind: ScalarType, oneof: str = "") -> None:
        super().__init__(number, oneof)
        self._kind = kind
        self.wires = (kind.wire,)

    @overload
    def __get__(self, message: None, owner: Any) -> Scalar: ...
    @overload
    def __get__(self, message: Message, owner: Any) -> Any: ...
    def __get__(self, message: Message | None, owner: Any) -> Any:
        return self if message is None else message._values.get(self.name, self._kind.default)

    def __set__(self, message: Message, value: Any) -> None:
        message._put(self, self._kind.check(value))

    def is_set(self, value: Any) -> bool:
        return bool(self.oneof) or bool(value)

    def give(self, message: Message, value: Any) -> None:
        message._put(self, self._kind.check(value))

    def merge(self, message: Message, value: Any) -> None:
        message._put(self, value)

    def pack(self, value: Any, deterministic: bool) -> bytes:
        return self._kind.pack(self.number, value) if value or self.oneof else b""

    def read(self, message: Message, data: bytes, wire: int, at: int, end: int) -> None:
        message._put(self, self._kind.read(data, at, end))

    def lines(self, value: Any) -> list[str]:
        return [f"{self.name}: {self._kind.text(value)}"]


class Scalars(Field[ScalarList]):
    """A list of numbers, strings or bytes."""

    def __init__(self, number: int, kind: ScalarType) -> None:
        super().__init__(number)
        self._kind = kind
        self.wires = (LEN, kind.wire)

    def made(self, message: Message) -> ScalarList:
        return ScalarList(message, self._kind)

    def give(self, message: Message, value: Any) -> None:
        self.__get__(message, None).extend(value)

    def merge(self, message: Message, value: ScalarList) -> None:
        self.__get__(message, None).items.extend(value.items)
        message._changed()

    def pack(self, value: ScalarList, deterministic: bool) -> bytes:
        return self._kind.pack_all(self.number, value.items) if value.items else b""

    def read(self, message: Message, data: bytes, wire: int, at: int, end: int) -> None:
        self.__get__(message, None).items.extend(self._kind.read_all(data, wire, at, end))

    def lines(self, value: ScalarList) -> list[str]:
        return [f"{self.name}: {self._kind.text(each)}" for each in value.items]


class MessageField(Field[_M]):
    """A message within the message. Reading it sets nothing; it counts as set once something in it is."""

    def __init__(self, number: int, kind: type[_M], oneof: str = "") -> None:
        super().__init__(number, oneof)
        self._kind = kind

    def made(self, message: Message) -> _M:
        part = self._kind()
        part._whole = message, self
        return part

    def is_set(self, value: _M) -> bool:
        return value._whole is None

    def give(self, message: Message, value: Any) -> None:
        part = self.__get__(message, None)
        part.MergeFrom(accepted(self._kind, value, self.name))
        part._changed()

    merge = give

    def pack(self, value: _M, deterministic: bool) -> bytes:
        return pack_field(self.number, value._pack(deterministic)) if value._whole is None else b""

    def read(self, message: Message, data: bytes, wire: int, at: int, end: int) -> None:
        part = self.__get__(message, None)
        part._read(data, at, end)
        if part._whole is not None:
            part._changed()

    def lines(self, value: _M) -> list[str]:
        return block(self.name, value._lines())


class MessageListField(Field[MessageList[_M]]):
    """A list of messages."""

    def __init__(self, number: int, kind: type[_M]) -> None:
        super().__init__(number)
        self._kind = kind

    def made(self, message: Message) -> MessageList[_M]:
        return MessageList(message, self._kind, self.name)

    def give(self, message: Message, value: Any) -> None:
        self.__get__(message, None).extend(value)

    merge = give

    def pack(self, value: MessageList[_M], deterministic: bool) -> bytes:
        return b"".join([pack_field(self.number, each._pack(deterministic)) for each in value.items])

    def read(self, message: Message, data: bytes, wire: int, at: int, end: int) -> None:
        self.__get__(message, None).add()._read(data, at, end)

    def lines(self, value: MessageList[_M]) -> list[str]:
        return [line for each in value.items for line in block(self.name, each._lines())]


class PartMap(Field[MessageMap[_M]]):
    """A map from names to messages; on the wire a list of messages with a key (1) and a value (2)."""

    def __init__(self, number: int, kind: type[_M]) -> None:
        super().__init__(number)
        self._kind = kind

    def made(self, message: Message) -> MessageMap[_M]:
        return MessageMap(message, self._kind, self.name)

    def give(self, message: Message, value: Mapping[str, Any]) -> None:
        entries = self.__get__(message, None)
        for key, each in value.items():
            copied = self._kind()
            copied.MergeFrom(accepted(self._kind, each, f"{self.name}[{key!r}]"))
            entries.put(key, copied)

    merge = give

    def pack(self, value: MessageMap[_M], deterministic: bool) -> bytes:
        items = value.items_by_key.items()
        return b"".join(
            [
                pack_field(self.number, pack_field(1, key.encode()) + pack_field(2, each._pack(deterministic)))
                for key, each in (sorted(items, key=_key) if deterministic else items)
            ]
        )

    def read(self, message: Message, data: bytes, wire: int, at: int, end: int) -> None:
        key, value = "", self._kind()
        for number, kind, begin, after in fields(data, at, end):
            if number == 1 and kind == LEN:
                key = data[begin:after].decode()
            elif number == 2 and kind == LEN:
                value._read(data, begin, after)
        self.__get__(message, None).put(key, value)

    def lines(self, value: MessageMap[_M]) -> list[str]:
        return [
            line
            for key, each in sorted(value.items_by_key.items(), key=_key)
            for line in block(self.name, [f"key: {quoted(key.encode())}", *block("value", each._lines())])
        ]


class ScalarMapField(Field[ScalarMap]):
    """A map from names to numbers; on the wire as a `PartMap` is."""

    def __init__(self, number: int, kind: ScalarType) -> None:
        super().__init__(number)
        self._kind = kind

    def made(self, message: Message) -> ScalarMap:
        return ScalarMap(message, self._kind, self.name)

    def give(self, message: Message, value: Mapping[str, Any]) -> None:
        self.__get__(message, None).update(value)

    merge = give

    def pack(self, value: ScalarMap, deterministic: bool) -> bytes:
        entries = sorted(value.items()) if deterministic else value.items()
        return b"".join(
            [pack_field(self.number, STRING.pack(1, key) + self._kind.pack(2, each)) for key, each in entries]
        )

    def read(self, message: Message, data: bytes, wire: int, at: int, end: int) -> None:
        key, value = "", self._kind.default
        for number, kind, begin, after in fields(data, at, end):
            if number == 1 and kind == LEN:
                key = STRING.read(data, begin, after)
            elif number == 2 and kind == self._kind.wire:
                value = self._kind.read(data, begin, after)
        self.__get__(message, None).put(key, value)

    def lines(self, value: ScalarMap) -> list[str]:
        return [
            line
            for key, each in sorted(value.items())
            for line in block(self.name, [f"key: {quoted(key.encode())}", f"value: {self._kind.text(each)}"])
        ]


def _key(entry: tuple[str, Any]) -> str:
    return entry[0]
