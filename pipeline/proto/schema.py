"""TensorFlow's messages as classes of the library protobuf, from `.proto` text and without protoc.

The descriptors are in a private pool. TensorFlow registers messages of the same names in protobuf's default pool, and a
program that imports both would fail there.
"""

from __future__ import annotations

import copyreg
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypeVar

try:
    from google.protobuf import __version__ as _version
    from google.protobuf.descriptor_pb2 import (
        DescriptorProto,
        EnumDescriptorProto,
        FieldDescriptorProto,
        FileDescriptorProto,
    )
    from google.protobuf.descriptor_pool import DescriptorPool
    from google.protobuf.message import DecodeError
    from google.protobuf.message import Message as _Message
    from google.protobuf.reflection import GeneratedProtocolMessageType
except ImportError as error:
    raise ImportError("messages such as Example and Summary need protobuf: pip install protobuf") from error
if tuple(map(int, _version.split(".")[:2])) < (4, 25):  # 4.22 crashes when a field gets a wrong message
    raise ImportError(f"messages such as Example need protobuf 4.25 or newer, not {_version}: pip install -U protobuf")

__all__ = ["DecodeError", "Message", "Schema"]

if TYPE_CHECKING:

    class _AnyName(type):
        def __getattr__(cls, name: str) -> Any: ...

    class Message(_Message, metaclass=_AnyName):
        """A message of which a type checker knows the methods, but not the fields."""

        def __getattr__(self, name: str) -> Any: ...
        def __setattr__(self, name: str, value: Any) -> None: ...

else:

    class Message:
        """Marks the classes for `Schema.message`, which replaces them by subclasses of protobuf's Message."""


_T = TypeVar("_T")
_POOL = DescriptorPool()
_TOKEN = re.compile(r"//.*|([\w.]+|-\d+|[{}<>=,;])")
_SCALARS = {
    name: FieldDescriptorProto.Type.Value(f"TYPE_{name.upper()}")
    for name in ("double", "float", "int64", "int32", "bool", "string", "bytes")
}
_OPTIONAL, _REPEATED = FieldDescriptorProto.LABEL_OPTIONAL, FieldDescriptorProto.LABEL_REPEATED


class Schema:
    """The messages and enums of one file in proto3.

    Args:
        name: The name of the file, without `.proto`.
        text: The declarations: messages, enums, oneofs, maps, and scalars in `_SCALARS`. No options, no services.
        imports: The schemas with the types of other files.
        package: The package of the types.
    """

    def __init__(self, name: str, text: str, *imports: Schema, package: str = "tensorflow") -> None:
        self._name = f"pipeline/{name}.proto"
        made = FileDescriptorProto(name=self._name, package=package, syntax="proto3")
        made.dependency.extend(each._name for each in imports)
        words = (found for found in _TOKEN.findall(text) if found)
        for kind in words:
            _declare(kind, made.message_type, made.enum_type, words, f".{package}.")
        _POOL.AddSerializedFile(made.SerializeToString())
        self._file = _POOL.FindFileByName(self._name)

    def message(self, declared: type[_T]) -> type[_T]:
        """Decorate a class: return protobuf's class for the message of that name, with the same docstring."""
        descriptor = self._file.message_types_by_name[declared.__name__]
        made: type[_T] = _class(descriptor, declared.__module__, "", declared.__doc__)
        return made


def _class(descriptor: Any, module: str, outer: str, doc: str | None) -> Any:
    name = outer + descriptor.name
    body = {each.name: _class(each, module, f"{name}.", None) for each in descriptor.nested_types}
    body |= {"DESCRIPTOR": descriptor, "__doc__": doc, "__module__": module, "__qualname__": name}
    made: Any = GeneratedProtocolMessageType(descriptor.name, (_Message,), body)
    copyreg.pickle(made, _reduced)  # protobuf looks for the classes of nested messages in its default pool
    return made


def _reduced(message: Any) -> tuple[Any, ...]:
    return _unpickled, (type(message), message.SerializeToString())


def _unpickled(kind: Any, data: bytes) -> Any:
    return kind.FromString(data)


def _declare(kind: str, messages: Any, enums: Any, words: Iterator[str], scope: str) -> None:
    """Add the message or the enum that begins with `kind` to the list for it."""
    if kind == "message":
        _read_message(messages.add(name=next(words)), words, scope)
    else:
        assert kind == "enum", kind
        _read_enum(enums.add(name=next(words)), words)


def _read_enum(made: EnumDescriptorProto, words: Iterator[str]) -> None:
    next(words)  # {
    while (name := next(words)) != "}":
        _, number, _ = next(words), next(words), next(words)  # = number ;
        made.value.add(name=name, number=int(number))


def _read_message(made: DescriptorProto, words: Iterator[str], scope: str) -> None:
    scope += f"{made.name}."
    oneof = None
    next(words)  # {
    while (word := next(words)) != "}" or oneof is not None:
        if word == "}":
            oneof = None
        elif word in ("message", "enum"):
            _declare(word, made.nested_type, made.enum_type, words, scope)
        elif word == "oneof":
            oneof = len(made.oneof_decl)
            made.oneof_decl.add(name=next(words))
            next(words)  # {
        else:
            _read_field(made, word, words, scope, oneof)


def _read_field(made: DescriptorProto, word: str, words: Iterator[str], scope: str, oneof: int | None) -> None:
    value = ""
    if word == "map":
        _, _, _, value, _ = (next(words) for _ in range(5))  # < string , value >
    kind = next(words) if word == "repeated" else word
    name, _, number, _ = (next(words) for _ in range(4))  # name = number ;
    field = made.field.add(name=name, number=int(number), label=_REPEATED if word in ("map", "repeated") else _OPTIONAL)
    if oneof is not None:
        field.oneof_index = oneof
    if value:
        kind = "".join(part.capitalize() for part in name.split("_")) + "Entry"
        entry = made.nested_type.add(name=kind)
        entry.options.map_entry = True
        _set_type(entry.field.add(name="key", number=1, label=_OPTIONAL), "string")
        _set_type(entry.field.add(name="value", number=2, label=_OPTIONAL), value)
        kind = f"{scope}{kind}"
    _set_type(field, kind)


def _set_type(field: FieldDescriptorProto, kind: str) -> None:
    if kind in _SCALARS:
        field.type = _SCALARS[kind]
    else:
        field.type_name = kind  # the pool finds out whether it is a message or an enum
