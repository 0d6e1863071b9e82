"""Protocol buffer messages from a table of their fields: what summaries and events are made of."""

from __future__ import annotations

import struct
from typing import Any, ClassVar, NamedTuple

from pipeline.errors import invalid
from pipeline.proto.wire import (
    FIXED32,
    FIXED64,
    LEN,
    VARINT,
    WireError,
    fields,
    pack_varint,
    signed,
    unpack_varints,
    varint,
)


class Field(NamedTuple):
    """One field: its number, its kind, and whether it is a list.

    Args:
        number: The number on the wire.
        kind: "double", "float", "int", "bool", "string", "bytes", or the class of a message.
        many: A list of values; numbers are packed.
        oneof: Name of the group of which only one field is set; such a field is written even if it is zero.
    """

    number: int
    kind: Any
    many: bool = False
    oneof: str = ""


_DEFAULTS: dict[Any, Any] = {"double": 0.0, "float": 0.0, "int": 0, "bool": False, "string": "", "bytes": b""}
_FIXED = {"double": ("<d", FIXED64), "float": ("<f", FIXED32)}


class _Descriptor(NamedTuple):
    """What there is to know of a field."""

    name: str
    number: int


class _Repeated(list[Any]):
    """The list of a repeated message field."""

    def __init__(self, kind: Any) -> None:
        super().__init__()
        self._kind = kind

    def add(self, **values: Any) -> Any:
        """Append a new message, and return it."""
        self.append(self._kind(**values))
        return self[-1]


class Proto:
    """A message; subclasses list their fields. Objects are for one thread at a time.

    Args:
        values: Values of fields, by name.
    """

    FIELDS: ClassVar[dict[str, Field]] = {}

    def __init__(self, **values: Any) -> None:
        self.__dict__["_set"] = {}
        self.__dict__["_owner"] = None
        for name, value in values.items():
            field = self._field(name)
            if value is None:
                continue
            if field.many:
                getattr(self, name).extend(value)
            elif isinstance(field.kind, str):
                setattr(self, name, value)
            elif isinstance(value, dict):
                getattr(self, name).MergeFrom(field.kind(**value))
            else:
                getattr(self, name).CopyFrom(value)

    def _field(self, name: str) -> Field:
        try:
            return self.FIELDS[name]
        except KeyError:
            raise ValueError(f'Protocol message {type(self).__name__} has no "{name}" field.') from None

    def __getattr__(self, name: str) -> Any:
        field = self.FIELDS.get(name)
        if field is None:
            raise AttributeError(f"{type(self).__name__} has no field {name!r}")
        if name in self._set:
            return self._set[name]
        if field.many:
            self._set[name] = made = _Repeated(field.kind)
            return made
        if isinstance(field.kind, str):
            return _DEFAULTS[field.kind]
        # A message that counts as set as soon as something is set in it.
        made = field.kind()
        made.__dict__["_owner"] = self, name
        return made

    def __setattr__(self, name: str, value: Any) -> None:
        field = self.FIELDS.get(name)
        if field is None:
            raise AttributeError(f'Protocol message {type(self).__name__} has no "{name}" field.')
        if field.many or not isinstance(field.kind, str):
            raise AttributeError(f"Assignment not allowed to {name!r} of {type(self).__name__}")
        self._put(name, field, _checked(name, field.kind, value))

    def _put(self, name: str, field: Field, value: Any) -> None:
        if field.oneof:
            for other, each in self.FIELDS.items():
                if each.oneof == field.oneof and other != name:
                    self._set.pop(other, None)
        self._set[name] = value
        self._touch()

    def _touch(self) -> None:
        """Let the message that this is a part of know that it has it."""
        if self._owner is not None:
            (owner, name), self.__dict__["_owner"] = self._owner, None
            owner._put(name, owner.FIELDS[name], self)

    def HasField(self, name: str) -> bool:
        """Whether a field was set."""
        self._field(name)
        return name in self._set

    def IsInitialized(self) -> bool:
        """Whether all is there that must be: always."""
        return True

    def ListFields(self) -> list[tuple[Any, Any]]:
        """The fields that are not empty, by number: pairs of a descriptor (`name`, `number`) and a value."""
        found = sorted((field.number, name) for name, field in self.FIELDS.items())
        kept = [(_Descriptor(name, number), self._set[name]) for number, name in found if name in self._set]
        return [(each, value) for each, value in kept if _is_there(self.FIELDS[each.name], value)]

    def ClearField(self, name: str) -> None:
        """Make a field empty."""
        self._field(name)
        self._set.pop(name, None)

    def WhichOneof(self, group: str) -> str | None:
        """The name of the field of a group that is set."""
        return next((name for name, field in self.FIELDS.items() if field.oneof == group and name in self._set), None)

    def Clear(self) -> None:
        """Make all fields empty."""
        self._set.clear()

    def CopyFrom(self, other: Any) -> None:
        """Become a copy of another message of this kind."""
        if other is not self:
            self.Clear()
            self.MergeFrom(other)

    def MergeFrom(self, other: Any) -> None:
        """Add what another message of this kind says."""
        if type(other) is not type(self):
            raise TypeError(f"cannot merge a {type(other).__name__} into a {type(self).__name__}")
        self.MergeFromString(other.SerializeToString())
        self._touch()

    def SetInParent(self) -> None:
        """Count as set in the message that this is a part of."""
        self._touch()

    def SerializeToString(self) -> bytes:
        """The bytes of the message."""
        parts: list[bytes] = []
        for name, field in sorted(self.FIELDS.items(), key=lambda item: item[1].number):
            if name not in self._set:
                continue
            value = self._set[name]
            if not field.many:
                if field.oneof or not isinstance(field.kind, str) or value not in (0, "", b""):
                    parts.append(_written(field, value))
            elif field.kind in _FIXED and value:
                packed = struct.pack(f"<{len(value)}{_FIXED[field.kind][0][1]}", *value)
                parts.append(_block(field.number, packed))
            elif field.kind == "int" and value:
                parts.append(_block(field.number, b"".join(map(pack_varint, value))))
            else:
                parts += [_written(field, each) for each in value]
        return b"".join(parts)

    def ByteSize(self) -> int:
        """The number of bytes of the message."""
        return len(self.SerializeToString())

    @classmethod
    def FromString(cls, serialized: bytes) -> Any:
        """A message from its bytes; InvalidArgumentError if they are none."""
        message = cls()
        message.MergeFromString(serialized)
        return message

    def ParseFromString(self, serialized: bytes) -> int:
        """Become the message that the bytes are; returns their number."""
        self.Clear()
        return self.MergeFromString(serialized)

    def MergeFromString(self, serialized: bytes) -> int:
        """Add what the bytes say, unknown fields left out; returns their number.

        Raises:
            InvalidArgumentError: They are no message.
        """
        numbers = {field.number: name for name, field in self.FIELDS.items()}
        data = bytes(serialized)
        try:
            for number, kind, at, end in fields(data, 0, len(data)):
                if number in numbers:
                    name = numbers[number]
                    self._read(name, self.FIELDS[name], data, kind, at, end)
        except (WireError, UnicodeDecodeError, struct.error) as error:
            raise invalid(f"{len(data)} bytes are no {type(self).__name__}: {error}") from error
        return len(data)

    def _read(self, name: str, field: Field, data: bytes, kind: int, at: int, end: int) -> None:
        if not isinstance(field.kind, str):
            if field.many:
                getattr(self, name).append(field.kind.FromString(data[at:end]))
            else:
                part = getattr(self, name)
                part.MergeFromString(data[at:end])
                part._touch()
        elif field.many:
            getattr(self, name).extend(_several(field.kind, data, kind, at, end))
        else:
            self._put(name, field, _one(field.kind, data, at, end))

    def lines(self) -> list[str]:
        """The lines of the message as text."""
        found = []
        for name, field in self.FIELDS.items():
            value = self._set.get(name)
            if value is None or not _is_there(field, value):
                continue
            for each in value if field.many else [value]:
                if isinstance(each, Proto):
                    found += [f"{name} {{", *("  " + line for line in each.lines()), "}"]
                else:
                    found.append(f"{name}: {_text(each)}")
        return found

    def __repr__(self) -> str:
        return "".join(line + "\n" for line in self.lines())

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.SerializeToString() == other.SerializeToString()

    __hash__ = None  # type: ignore[assignment]


def _is_there(field: Field, value: Any) -> bool:
    """Whether a field that was set is not empty again."""
    return bool(value) if field.many else bool(field.oneof) or not isinstance(field.kind, str) or bool(value)


def _checked(name: str, kind: str, value: Any) -> Any:
    try:
        if kind in ("double", "float"):
            return struct.unpack(_FIXED[kind][0], struct.pack(_FIXED[kind][0], value))[0]
        if kind == "int":
            return value.__index__()
        if kind == "bool":
            return bool(value)
        if kind == "string":
            return value.decode() if isinstance(value, bytes) else "" + value
        return bytes(memoryview(value))
    except (TypeError, AttributeError, struct.error) as error:
        raise TypeError(f"{value!r:.80} has type {type(value).__name__}, but {name} is a {kind}") from error
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")  # a float that is too large


def _block(number: int, data: bytes) -> bytes:
    return pack_varint(number << 3 | LEN) + pack_varint(len(data)) + data


def _written(field: Field, value: Any) -> bytes:
    if not isinstance(field.kind, str):
        return _block(field.number, value.SerializeToString())
    if field.kind in _FIXED:
        letter, wire = _FIXED[field.kind]
        return pack_varint(field.number << 3 | wire) + struct.pack(letter, value)
    if field.kind in ("int", "bool"):
        return pack_varint(field.number << 3 | VARINT) + pack_varint(int(value))
    return _block(field.number, value.encode() if isinstance(value, str) else value)


def _one(kind: str, data: bytes, at: int, end: int) -> Any:
    if kind in _FIXED:
        return struct.unpack(_FIXED[kind][0], data[at:end])[0]
    if kind in ("int", "bool"):
        value = signed(varint(data, at, end)[0])
        return bool(value) if kind == "bool" else value
    return data[at:end].decode() if kind == "string" else data[at:end]


def _several(kind: str, data: bytes, wire: int, at: int, end: int) -> list[Any]:
    if wire == LEN and kind in _FIXED:
        letter = _FIXED[kind][0]
        return [each[0] for each in struct.iter_unpack(letter, data[at:end])]
    if wire == LEN and kind == "int":
        return list(unpack_varints(data, at, end).tolist())
    return [_one(kind, data, at, end)]


def _text(value: Any) -> str:
    if isinstance(value, (str, bytes)):
        from pipeline.proto.text import escaped

        return f'"{escaped(value.encode() if isinstance(value, str) else value)}"'
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:g}" if isinstance(value, float) else str(value)
