"""Message and Field: a protocol buffer message is a subclass of Message that is the table of its fields.

    class Point(Message):
        x = Scalar(1, INT64)
        y = Scalar(2, INT64)

Bytes, text, equality, copying and presence come from the table, by the one implementation here. The parts:
`wire.py` varints, tags and damaged bytes; `scalar_types.py` which values a scalar takes; `fields.py` each kind of
field; `containers.py` lists and maps; `text.py` quotes and braces; `example.py` and `tensor.py` TensorFlow's messages.

Names of `Message` with an underscore are for the files of this room: the names without belong to the fields.
"""

from __future__ import annotations

from typing import Any, ClassVar, Generic, TypeVar, overload

from pipeline.errors import invalid
from pipeline.proto.wire import LEN, WireError, fields

_T = TypeVar("_T")
_F = TypeVar("_F", bound="Field[Any]")
_M = TypeVar("_M", bound="Message")


class Field(Generic[_T]):
    """One field of a message. The message stores its value under the field's name.

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
        """Return an empty value owned by a message."""
        raise NotImplementedError

    def is_set(self, value: _T) -> bool:
        """Return whether a value that the message holds says anything."""
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


class _FromTable(type):
    """Collects the fields of a class, and lets its objects have no other attributes."""

    def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> _FromTable:
        body.setdefault("__slots__", ())
        made = super().__new__(cls, name, bases, body)
        table = sorted((each for each in body.values() if isinstance(each, Field)), key=lambda each: each.number)
        made.FIELDS = {each.name: each for each in table}  # type: ignore[attr-defined]
        for each in table:
            each.rivals = tuple(other.name for other in table if each.oneof == other.oneof != "" and other is not each)
        made._table = tuple((each.name, each) for each in table)  # type: ignore[attr-defined]
        made._by_number = {each.number: each for each in table}  # type: ignore[attr-defined]
        return made


class Message(metaclass=_FromTable):
    """A message. Objects may be read from any number of threads, and changed by one.

    Args:
        values: Values of fields, by name; messages are copied, and a dict stands for a message. None sets nothing.

    Raises:
        TypeError: A value has the wrong type, or has no name.
        ValueError: There is no such field, or a number does not fit it.

    Attributes:
        FIELDS: The fields by name, in the order of their numbers.
    """

    __slots__ = ("__weakref__", "_values", "_whole")
    _values: dict[str, Any]  # what was set or read, by name of the field
    _whole: tuple[Message, Field[Any]] | None  # the message this is a part of, as long as it is not set in it
    FIELDS: ClassVar[dict[str, Field[Any]]]
    _table: ClassVar[tuple[tuple[str, Field[Any]], ...]]  # the same, quicker to go through
    _by_number: ClassVar[dict[int, Field[Any]]]

    def __init__(self, *given: Any, **values: Any) -> None:
        if given:
            raise TypeError("No positional arguments allowed")
        _set_values(self, {})
        _set_whole(self, None)
        for name, value in values.items():
            field = self._field(name)
            if value is not None:
                field.give(self, value)

    def __setattr__(self, name: str, value: Any) -> None:
        try:
            object.__setattr__(self, name, value)
        except AttributeError:
            if name in self.FIELDS:
                raise
            raise AttributeError(self._unknown(name)) from None

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(self._unknown(name))

    def _unknown(self, name: str) -> str:
        return f'Protocol message {type(self).__name__} has no "{name}" field.'

    def _field(self, name: str) -> Field[Any]:
        try:
            return self.FIELDS[name]
        except KeyError:
            raise ValueError(self._unknown(name)) from None

    def _put(self, field: Field[Any], value: Any) -> None:
        """Set a field, which unsets the others of its oneof."""
        for name in field.rivals:
            if name in self._values:
                self._drop(name)
        self._values[field.name] = value
        self._changed()

    def _changed(self) -> None:
        """Count as set in the message that this is a part of."""
        if self._whole is not None:
            (whole, field), self._whole = self._whole, None
            whole._put(field, self)

    def _drop(self, name: str) -> None:
        value = self._values.pop(name, None)
        if isinstance(value, Message):
            value._whole = None  # a change of it is no longer one of this message

    def _set_fields(self) -> list[tuple[Field[Any], Any]]:
        values = self._values
        return [(field, values[name]) for name, field in self._table if name in values]

    def HasField(self, field_name: str) -> bool:
        """Return whether a field, or one of a oneof's, is set."""
        if any(each.oneof == field_name for each in self.FIELDS.values()):
            return self.WhichOneof(field_name) is not None
        field = self._field(field_name)
        if field_name not in self._values:
            return False
        value = self._values[field_name]
        return not isinstance(value, Message) or field.is_set(value)

    def WhichOneof(self, oneof_group: str) -> str | None:
        """Return which field in a oneof is set, or None.

        Raises:
            ValueError: There is no such oneof.
        """
        names = [name for name, each in self.FIELDS.items() if each.oneof == oneof_group]
        if not names:
            raise ValueError(f"{type(self).__name__} has no oneof {oneof_group!r}")
        return next((name for name in names if self.HasField(name)), None)

    def ListFields(self) -> list[tuple[Field[Any], Any]]:
        """Return the fields that say anything, by number: pairs of a descriptor (`name`, `number`) and a value."""
        return [(field, value) for field, value in self._set_fields() if field.is_set(value)]

    def ClearField(self, field_name: str) -> None:
        """Unset a field."""
        self._field(field_name)
        self._drop(field_name)

    def Clear(self) -> None:
        """Unset all fields."""
        for name in list(self._values):
            self._drop(name)

    def SetInParent(self) -> None:
        """Count as set in the message that this is a part of."""
        self._changed()

    def IsInitialized(self) -> bool:
        """Return True: no field has to be set."""
        return True

    def SerializeToString(self, deterministic: bool | None = None) -> bytes:
        """Return the message as bytes.

        Args:
            deterministic: Write the entries of maps sorted by key, not in the order in which they were added.
        """
        return self._pack(bool(deterministic))

    def ByteSize(self) -> int:
        """Return how many bytes the serialized message has."""
        return len(self._pack(False))

    @classmethod
    def FromString(cls: type[_M], serialized: bytes) -> _M:
        """Return a message from its bytes; unknown fields are skipped.

        Raises:
            InvalidArgumentError: The bytes are not such a message.
        """
        if not isinstance(serialized, (bytes, bytearray, memoryview)):
            raise TypeError(f"a serialized {cls.__name__} must be bytes, not {type(serialized).__name__}")
        message, data = cls(), bytes(serialized)
        try:
            message._read(data, 0, len(data))
        except (WireError, UnicodeDecodeError) as error:
            raise invalid(f"{len(data)} bytes are not a valid {cls.__name__}: {error}") from error
        return message

    def ParseFromString(self, serialized: bytes) -> int:
        """Become the message that the bytes are; return their number.

        Raises:
            InvalidArgumentError: The bytes are not such a message; nothing is changed.
        """
        self.CopyFrom(type(self).FromString(serialized))
        return len(serialized)

    def MergeFromString(self, serialized: bytes) -> int:
        """Add what the bytes say; return their number.

        Raises:
            InvalidArgumentError: The bytes are not such a message; nothing is changed.
        """
        self.MergeFrom(type(self).FromString(serialized))
        return len(serialized)

    def MergeFrom(self: _M, other: _M) -> None:
        """Add what another message of this kind says: lists grow, other fields are replaced.

        Raises:
            TypeError: The other message is of another class.
        """
        if type(other) is not type(self):
            raise TypeError(f"cannot merge a {type(other).__name__} into a {type(self).__name__}")
        for field, value in other._set_fields():
            if field.is_set(value):
                field.merge(self, value)

    def CopyFrom(self: _M, other: _M) -> None:
        """Become a copy of another message with this class.

        Raises:
            TypeError: The other message is of another class.
        """
        if other is not self:
            if type(other) is not type(self):
                raise TypeError(f"cannot copy a {type(other).__name__} to a {type(self).__name__}")
            self.Clear()
            self.MergeFrom(other)
            self._changed()

    def _pack(self, deterministic: bool) -> bytes:
        values = self._values
        return b"".join([field.pack(values[name], deterministic) for name, field in self._table if name in values])

    def _read(self, data: bytes, at: int, end: int) -> None:
        """Add the fields between two places; those of an unknown number or an unexpected wire type are skipped."""
        by_number = self._by_number
        for number, wire, begin, after in fields(data, at, end):
            field = by_number.get(number)
            if field is not None and wire in field.wires:
                field.read(self, data, wire, begin, after)

    def _lines(self) -> list[str]:
        """The message as lines of protocol buffer text."""
        return [line for field, value in self.ListFields() for line in field.lines(value)]

    def __repr__(self) -> str:
        return "".join(line + "\n" for line in self._lines())

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self._pack(True) == other._pack(True)

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled, (type(self), self._pack(False))


# Past `__setattr__`, which would make parsing an Example take 10 % longer.
_set_values, _set_whole = vars(Message)["_values"].__set__, vars(Message)["_whole"].__set__


def _unpickled(kind: type[_M], data: bytes) -> _M:
    return kind.FromString(data)
