"""tf.train.Example and its parts: what a TFRecord file of TensorFlow's holds, without the protobuf package."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from typing import Any, ClassVar, TypeVar

from pipeline.proto.lists import LISTS, ListKind, quoted
from pipeline.proto.message import Message, Values, as_message, block, nothing
from pipeline.proto.wire import LEN, fields, pack_field

_M = TypeVar("_M", bound=Message)


class _List(Message):
    __slots__ = ("_value",)
    _kind: ClassVar[ListKind]

    def __init__(self, *, value: Iterable[Any] | None = ()) -> None:
        super().__init__()
        self._value = Values(self._kind, self)
        self._value._items = self._kind.check(() if value is None else value)

    @property
    def value(self) -> Values:
        """The values; change them in place."""
        return self._value

    def Clear(self) -> None:
        """Take out all values."""
        self._value.clear()

    def _pack(self, deterministic: bool) -> bytes:
        return self._kind.pack(self._value._items)

    def _merge(self, data: bytes, at: int, end: int) -> None:
        values = self._kind.read(data, at, end)
        self._value._items.extend(values if isinstance(values, list) else values.tolist())
        self._changed()

    def _lines(self) -> list[str]:
        return [f"value: {self._kind.text(value)}" for value in self._value]

    def __repr__(self) -> str:
        return f"{type(self).__name__}(value={self._value!r})"


class BytesList(_List):
    """A list of byte strings: `BytesList(value=[b"..."])`."""

    __slots__ = ()
    _kind = LISTS[1]


class FloatList(_List):
    """A list of float32 numbers: `FloatList(value=[0.5, 1])`."""

    __slots__ = ()
    _kind = LISTS[2]


class Int64List(_List):
    """A list of int64 numbers: `Int64List(value=[1, 2])`."""

    __slots__ = ()
    _kind = LISTS[3]


_KINDS: dict[int, type[_List]] = {1: BytesList, 2: FloatList, 3: Int64List}


class Feature(Message):
    """One list of values: `Feature(int64_list=Int64List(value=[1]))`; given several, the last one counts."""

    __slots__ = ("_lists", "_number")

    def __init__(
        self,
        *,
        bytes_list: BytesList | None = None,
        float_list: FloatList | None = None,
        int64_list: Int64List | None = None,
    ) -> None:
        super().__init__()
        self._number = 0  # of the field that is set, or 0
        self._lists: dict[int, _List] = {}
        for number, given in ((1, bytes_list), (2, float_list), (3, int64_list)):
            if given is not None:
                self._list(number).CopyFrom(as_message(_KINDS[number], given, LISTS[number].field))
                self._choose(number)

    @property
    def bytes_list(self) -> BytesList:
        """The list of byte strings; it becomes the feature's when it is changed."""
        return self._list(1)  # type: ignore[return-value]

    @property
    def float_list(self) -> FloatList:
        """The list of float32 numbers; it becomes the feature's when it is changed."""
        return self._list(2)  # type: ignore[return-value]

    @property
    def int64_list(self) -> Int64List:
        """The list of int64 numbers; it becomes the feature's when it is changed."""
        return self._list(3)  # type: ignore[return-value]

    def WhichOneof(self, oneof_group: str) -> str | None:
        """Return "bytes_list", "float_list" or "int64_list", or None if none is set, for the group "kind"."""
        if oneof_group != "kind":
            raise ValueError(f"Feature has no oneof {oneof_group!r}; there is 'kind'")
        return LISTS[self._number].field if self._number else None

    def HasField(self, field_name: str) -> bool:
        """Return whether "bytes_list", "float_list" or "int64_list" is the list that is set."""
        if field_name not in ("kind", *(kind.field for kind in LISTS.values())):
            raise ValueError(f"Feature has no field {field_name!r}")
        return self._number > 0 and field_name in ("kind", LISTS[self._number].field)

    def Clear(self) -> None:
        """Have no list."""
        self._number, self._lists = 0, {}

    def _list(self, number: int) -> _List:
        if number not in self._lists:
            made = self._lists[number] = _KINDS[number]()
            made._changed = lambda: self._choose(number)
        return self._lists[number]

    def _choose(self, number: int) -> None:
        for other in self._lists.keys() - {number}:
            self._lists.pop(other)._changed = nothing
        self._number = number

    def _pack(self, deterministic: bool) -> bytes:
        return pack_field(self._number, self._lists[self._number]._pack(deterministic)) if self._number else b""

    def _merge(self, data: bytes, at: int, end: int) -> None:
        for number, kind, begin, after in fields(data, at, end):
            if number in _KINDS and kind == LEN:
                self._list(number)._merge(data, begin, after)

    def _lines(self) -> list[str]:
        return block(LISTS[self._number].field, self._lists[self._number]._lines()) if self._number else []

    def __repr__(self) -> str:
        field = LISTS[self._number].field if self._number else ""
        return f"Feature({field}={self._lists[self._number]!r})" if field else "Feature()"


class MessageMap(MutableMapping[str, _M]):
    """Messages by name. Looking for one that is not there makes it; assigning is not possible, as in TensorFlow."""

    def __init__(self, kind: type[_M]) -> None:
        self._kind = kind
        self._messages: dict[str, _M] = {}

    def __getitem__(self, key: str) -> _M:
        if not isinstance(key, str):
            raise TypeError(f"the name of a feature must be str, not {type(key).__name__} {key!r:.80}")
        if key not in self._messages:
            self._messages[key] = self._kind()
        return self._messages[key]

    def __setitem__(self, key: str, value: _M) -> None:
        name = self._kind.__name__
        raise ValueError(f"a {name} cannot be assigned; change it in place: [{key!r}].CopyFrom(...)")

    def __delitem__(self, key: str) -> None:
        del self._messages[key]

    def __contains__(self, key: object) -> bool:
        return key in self._messages

    def get(self, key: str, default: Any = None) -> Any:
        """Return the message of that name, or the default; makes none."""
        return self._messages.get(key, default)

    def get_or_create(self, key: str) -> _M:
        """Return the message of that name, made if it is not there."""
        return self[key]

    def copy_in(self, given: Mapping[str, _M] | None, field: str) -> None:
        """Take copies of the messages that a caller gives."""
        for key, message in (given or {}).items():
            if not isinstance(message, self._kind):
                raise TypeError(f"{field}[{key!r}] must be a {self._kind.__name__}, not {type(message).__name__}")
            self[key].CopyFrom(message)

    def pack(self, deterministic: bool) -> bytes:
        """Return the entries as fields of number 1."""
        items = self._messages.items()
        return b"".join(
            pack_field(1, pack_field(1, key.encode()) + pack_field(2, message._pack(deterministic)))
            for key, message in (sorted(items) if deterministic else items)
        )

    def merge(self, data: bytes, at: int, end: int) -> None:
        """Add the entries that the bytes say; one of a name that is there takes its place."""
        for number, kind, begin, after in fields(data, at, end):
            if number == 1 and kind == LEN:
                key, message = "", self._kind()
                for inner, inner_kind, start, stop in fields(data, begin, after):
                    if inner == 1 and inner_kind == LEN:
                        key = data[start:stop].decode()
                    elif inner == 2 and inner_kind == LEN:
                        message._merge(data, start, stop)
                self._messages[key] = message

    def lines(self, field: str) -> list[str]:
        """Return the entries as protocol buffers' text has them."""
        return [
            line
            for key, message in sorted(self._messages.items())
            for line in block(field, [f"key: {quoted(key.encode())}", *block("value", message._lines())])
        ]

    def __iter__(self) -> Iterator[str]:
        return iter(self._messages)

    def __len__(self) -> int:
        return len(self._messages)

    def __repr__(self) -> str:
        return repr(self._messages)


class Features(Message):
    """Features by name: `Features(feature={"label": Feature(...)})`."""

    __slots__ = ("_feature",)

    def __init__(self, *, feature: Mapping[str, Feature] | None = None) -> None:
        super().__init__()
        self._feature = MessageMap(Feature)
        self._feature.copy_in(feature, "feature")

    @property
    def feature(self) -> MessageMap[Feature]:
        """The features; change them in place."""
        return self._feature

    def Clear(self) -> None:
        """Have no features."""
        self._feature.clear()

    def _pack(self, deterministic: bool) -> bytes:
        return self._feature.pack(deterministic)

    def _merge(self, data: bytes, at: int, end: int) -> None:
        self._feature.merge(data, at, end)

    def _lines(self) -> list[str]:
        return self._feature.lines("feature")

    def __repr__(self) -> str:
        return f"Features(feature={self._feature!r})"


class Example(Message):
    """An example: `Example(features=Features(feature={"label": Feature(int64_list=Int64List(value=[1]))}))`."""

    __slots__ = ("_features", "_given")

    def __init__(self, *, features: Features | None = None) -> None:
        super().__init__()
        self._features = Features()
        self._given = False  # even features without any are written then
        if features is not None:
            self._features.CopyFrom(as_message(Features, features, "features"))
            self._given = True

    @property
    def features(self) -> Features:
        """The features; change them in place."""
        return self._features

    def HasField(self, field_name: str) -> bool:
        """Return whether "features" is set."""
        if field_name != "features":
            raise ValueError(f"Example has no field {field_name!r}")
        return self._given or len(self._features.feature) > 0

    def Clear(self) -> None:
        """Have no features."""
        self._features.Clear()
        self._given = False

    def _pack(self, deterministic: bool) -> bytes:
        return pack_field(1, self._features._pack(deterministic)) if self.HasField("features") else b""

    def _merge(self, data: bytes, at: int, end: int) -> None:
        for number, kind, begin, after in fields(data, at, end):
            if number == 1 and kind == LEN:
                self._features._merge(data, begin, after)
                self._given = True

    def _lines(self) -> list[str]:
        return block("features", self._features._lines()) if self.HasField("features") else []

    def __repr__(self) -> str:
        return f"Example(features={self._features!r})"
