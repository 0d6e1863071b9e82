"""The fields of a message: descriptors in the body of its class, each with its bytes, its text and how it is set."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, overload

from pipeline.proto.containers import MessageList, MessageMap, ScalarList, ScalarMap, accepted
from pipeline.proto.message import Field, Message
from pipeline.proto.scalar_types import STRING, ScalarType
from pipeline.proto.text import block, quoted
from pipeline.proto.wire import LEN, fields, pack_field

_M = TypeVar("_M", bound=Message)


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
