"""Nest: an example's structure from dicts, tuples, dataclasses and lists; its values as a flat list, and back."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from pipeline._calls import all_of
from pipeline.dtypes import refuse_missing
from pipeline.foreign import numpy_of

_PLAIN = (bool, int, float, complex, str, bytes, type(None))
_PLAIN_TYPES: frozenset[type] = frozenset(_PLAIN)


class ListValue(list[Any]):
    """A list as one value in an example. A batch keeps it unchanged, in an object array.

    Wrap lists with varying lengths that contain dicts or lists, such as your chats' messages. Other lists become
    arrays, or part of the structure. Sources return lists of structs or lists this way.

    Examples:
        >>> chats = [
        ...     {"messages": pipeline.ListValue([{"role": "user", "content": "Hello"}])},
        ...     {"messages": pipeline.ListValue([])},
        ... ]
        >>> [batch] = pipeline.dataset(chats).batch(2)
        >>> batch["messages"].tolist()
        [[{'role': 'user', 'content': 'Hello'}], []]
    """


_ARRAY = frozenset({np.ndarray})


class ListParts(list[Any]):
    """A list that is part of a block's structure, where other lists are columns."""


class TupleParts(tuple[Any, ...]):
    """A tuple that is part of a block's structure, where a tuple with plain values, or lists of them, is a column."""


def is_nested(value: Any, many: bool) -> bool:
    """Return whether a value inside an example has a structure: a dict, tuple or dataclass, or a list containing these.

    A list with plain Python values is an array not made yet. In blocks every list is an array with the rows, and so is
    a tuple with plain values.
    """
    if type(value) is np.ndarray:
        return False
    if isinstance(value, dict):
        return True
    if isinstance(value, tuple):
        return not many or isinstance(value, TupleParts) or hasattr(value, "_make") or not all(map(_is_plain, value))
    if isinstance(value, list):
        if isinstance(value, ListValue):
            return False
        return isinstance(value, ListParts) or (not many and not all(map(_is_plain, value)))
    return is_dataclass(value)


def is_dataclass(value: Any) -> bool:
    """Return whether this is a dataclass instance other than an array (Zarr's arrays are dataclasses)."""
    kind = type(value)
    return hasattr(kind, "__dataclass_fields__") and not hasattr(kind, "__array__")


def make_like(kind: type[Any], parts: Sequence[Any]) -> Any:
    """Make a named tuple from a class; a plain tuple or list for all other tuples and lists."""
    return maker_of(kind)(parts)


def maker_of(kind: type[Any]) -> Callable[[Sequence[Any]], Any]:
    """Return a function like `make_like` for one class, for repeated use."""
    return getattr(kind, "_make", tuple if issubclass(kind, tuple) else list)


def parts_of(value: Any) -> Sequence[Any] | None:
    """Return the direct items of a dict, list, tuple or dataclass; None for other values."""
    if isinstance(value, dict):
        return list(value.values())
    if isinstance(value, (list, tuple)):
        return None if isinstance(value, ListValue) else value
    return [getattr(value, field.name) for field in dataclasses.fields(value)] if is_dataclass(value) else None


def has_nested(example: Any, many: bool) -> bool:
    """Return whether an example or block is more than a dict, list or tuple with plain values."""
    return is_dataclass(example) or any(is_nested(part, many) for part in parts_of(example) or ())


def holds_arrays(block: Any) -> bool:
    """Return whether this is a dict of NumPy arrays, such as a wide table, where each batch checks every column."""
    return type(block) is dict and _ARRAY.issuperset(map(type, block.values()))


def holds_rows(block: Any) -> bool:
    """Return whether this is a tuple of NumPy columns, such as a block with examples and labels."""
    return type(block) is TupleParts and all_of(block, _ARRAY)


def map_values(function: Callable[[Any], Any], block: Any) -> Any:
    """Apply a function to each value of an example or block, and keep its structure."""
    if isinstance(block, dict) and (holds_arrays(block) or not has_nested(block, True)):
        return {key: function(value) for key, value in block.items()}
    if isinstance(block, np.ndarray) or parts_of(block) is None:
        return function(block)
    if holds_rows(block):
        return TupleParts([function(value) for value in block])
    nest = Nest(block, True)
    return nest.pack([function(value) for value in nest.flatten(block)], True)


def length(example: Any) -> int:
    """Count a block's examples; 1 if its components have no length."""
    component = next(iter(parts_of(example) or [example]))
    if component is not example and is_nested(component, True):
        return length(component)
    try:
        return len(component)
    except TypeError:
        return 1


# Types of single values: no part can be missing.
_WHOLE: frozenset[type] = frozenset({np.ndarray, *_PLAIN, *np.sctypeDict.values()})


def refuse_missing_in(example: Any, what: str, many: bool = False) -> None:
    """Raise InvalidArgumentError for masked values and nulls in an example or block; `what` names it.

    An array takes 0.1 us, a dict or tuple with arrays 0.3 us, a list of 128 dicts 30 us.
    """
    kind = type(example)
    if kind in _WHOLE or (kind is dict and all_of(example.values(), _WHOLE)):
        return
    if (kind is tuple or kind is list) and all_of(example, _WHOLE):
        return
    if _is_whole(example):
        return
    if not is_nested(example, many):
        refuse_missing(example, what)
        return
    nest = Nest(example, many)
    for name, value in zip(nest.names, nest.flatten(example), strict=True):
        refuse_missing(value, f"component {name!r} of {what}")


def _is_whole(value: Any) -> bool:
    """Return whether all values in a structure are `_WHOLE`, without a Nest, because it takes 50 us."""
    if type(value) in _WHOLE or type(value) is ListValue:
        return True
    parts = value.values() if type(value) is dict else value if isinstance(value, (list, tuple)) else None
    return parts is not None and (all_of(parts, _WHOLE) or all(map(_is_whole, parts)))


class Nest:
    """A nested value's structure, by the rules in TensorFlow's `nest`: dict values are sorted by key.

    Packing restores lists, dicts, tuples and named tuples with their class. Dataclasses are restored too; their fields
    are set without calling `__init__`.

    Attributes:
        names: The path to each value, such as "image/size/0".

    Args:
        value: A dict, list, tuple or dataclass.
        many: True for a block.
    """

    def __init__(self, value: Any, many: bool) -> None:
        self._kind: type[Any] = type(value)
        if isinstance(value, (list, tuple)) and not hasattr(value, "_make"):
            self._kind = list if isinstance(value, list) else tuple
        self._keys: list[Any] = []
        self._order: list[Any] = []  # the dict's keys in the given order
        if isinstance(value, dict):
            self._keys, self._order = sorted(value, key=str), list(value)
            self._kind = dict
        elif is_dataclass(value):
            self._keys = [field.name for field in dataclasses.fields(value)]
        else:
            self._keys = list(getattr(value, "_fields", range(len(value))))
        self._children = [Nest(part, many) if is_nested(part, many) else None for part in self._parts(value)]
        self.names = [
            name for key, child in zip(self._keys, self._children, strict=True) for name in _names(key, child)
        ]

    def flatten(self, value: Any) -> list[Any]:
        """Return another example's values; ValueError if it has another structure."""
        flat: list[Any] = []
        for part, child in zip(self._parts(value), self._children, strict=True):
            if child is None:
                flat.append(part)
            else:
                flat.extend(child.flatten(part))
        return flat

    def pack(self, values: Sequence[Any], many: bool = False) -> Any:
        """Put values into the structure, as many as `flatten` returns; `many`: they are a block's columns."""
        return self._pack(iter(values), many)

    def __eq__(self, other: object) -> bool:
        """Return whether another structure is equal, ignoring the order of dict keys."""
        if not isinstance(other, Nest):
            return False
        return (self._kind, self._keys, self._children) == (other._kind, other._keys, other._children)

    def __hash__(self) -> int:
        return hash((self._kind, *self.names))

    def __repr__(self) -> str:
        parts = zip(map(_printed, self._keys), self._children, strict=True)
        inner = ", ".join(f"{key}: {child or '*'}" for key, child in parts)
        return f"{self._kind.__name__}({inner})"

    def _pack(self, values: Iterator[Any], many: bool) -> Any:
        parts = [next(values) if child is None else child._pack(values, many) for child in self._children]
        if self._kind is dict:
            made = dict(zip(self._keys, parts, strict=True))
            return made if self._order == self._keys else {key: made[key] for key in self._order}
        if not issubclass(self._kind, (list, tuple)):
            example = object.__new__(self._kind)
            for key, part in zip(self._keys, parts, strict=True):
                object.__setattr__(example, key, part)  # it may be frozen
            return example
        if many and self._kind in (list, tuple):
            return ListParts(parts) if issubclass(self._kind, list) else TupleParts(parts)
        return make_like(self._kind, parts)

    def _parts(self, value: Any) -> list[Any]:
        """Return a value's direct items; ValueError if they differ from the first value's."""
        if self._kind is dict:
            if isinstance(value, dict) and value.keys() == set(self._keys):
                return [value[key] for key in self._keys]
        elif issubclass(self._kind, (list, tuple)):
            # A function may alternate between lists and tuples, as it may without nesting.
            if isinstance(value, (list, tuple)) and len(value) == len(self._keys):
                return list(value)
        elif isinstance(value, self._kind):
            return [getattr(value, key) for key in self._keys]
        hint = ""
        if self._kind is list and isinstance(value, list):
            hint = ". If a list varies in length, wrap it in pipeline.ListValue, or make it an array"
        got = f"expected {self!r}, got {_shown(value)}{hint}"
        raise ValueError(f"every example must be nested like the first one: {got}")


def _printed(key: Any) -> str:
    """Return a key as printable text: JSON keys may have halves of surrogate pairs."""
    return str(key).encode(errors="backslashreplace").decode()


def _names(key: Any, child: Nest | None) -> list[str]:
    return [str(key)] if child is None else [f"{key}/{name}" for name in child.names]


def _is_plain(value: Any) -> bool:
    if isinstance(value, list):
        return not isinstance(value, ListValue) and (all_of(value, _PLAIN_TYPES) or all(map(_is_plain, value)))
    return isinstance(value, _PLAIN)


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return f"a dict with the keys {sorted(value, key=str)}"
    if isinstance(value, (list, tuple)):
        return f"{'list' if isinstance(value, list) else 'tuple'} of {len(value)}"
    return type(value).__name__


def only_plain(values: Any) -> bool:
    """Return whether all values are plain Python values."""
    return all_of(values, _PLAIN_TYPES)


# Immutable value types: records are not, because they are views of their arrays.
CONSTANT: frozenset[type] = _WHOLE - _ARRAY - {np.void}


def kept(example: Any, converts: bool = True) -> Any:
    """Return a private copy of an example, because a function may reuse its array or container.

    Arrays, dicts, lists, tuples and dataclasses are copied, including derived classes; other objects are not. Other
    mappings become dicts.

    Args:
        example: The example.
        converts: True if a tensor or similar object becomes an array, alone or in a dict. Elsewhere it is unchanged.

    Raises:
        InvalidArgumentError: It has nulls, and NumPy would turn them into NaN.
    """
    kind = type(example)
    if kind in CONSTANT:
        return example
    if isinstance(example, (np.ndarray, np.void)):
        return example.copy()
    if kind is dict:
        return {key: kept(value, converts) for key, value in example.items()}
    if kind is tuple or kind is list:
        if only_plain(example):  # 1 us for 1,024 records, compared with 70 us per record
            return kind(example)
        return kind([value if type(value) in CONSTANT else kept(value, False) for value in example])
    if isinstance(example, tuple) and all_of(example, CONSTANT):
        return example
    if isinstance(example, (dict, list, tuple)) or is_dataclass(example):
        converts = converts and isinstance(example, dict)
        return with_parts(example, [kept(part, converts) for part in inner_parts(example)])
    if isinstance(example, bytearray):
        return bytes(example)
    if isinstance(example, Mapping):  # a structure like a dict: checked before attributes, which may be its keys
        return {key: kept(example[key], converts) for key in example}
    if converts and hasattr(example, "__array__") and not isinstance(example, np.generic):
        refuse_missing(example, "what a function returned")
        return numpy_of(example).copy()  # np.array asks tensors for a copy, and warns because they lack the keyword
    return example


_NO_MAPPINGS: frozenset[type] = _WHOLE | {dict, list, tuple, ListValue}


def without_mappings(examples: list[Any]) -> list[Any]:
    """Return examples with dicts in place of other mappings.

    Only the first example decides whether dicts and tuples contain mappings, because checking all examples would take
    half as long as batching them.
    """
    if all_of(examples, _NO_MAPPINGS) and not (examples and _has_mapping(examples[0])):
        return examples
    return list(map(_as_dicts, examples))


def _has_mapping(value: Any) -> bool:
    if type(value) in _WHOLE:
        return False
    parts = value.values() if type(value) is dict else parts_of(value)
    if parts is None:
        return isinstance(value, Mapping)
    return not all_of(parts, _WHOLE) and any(map(_has_mapping, parts))


def _as_dicts(value: Any) -> Any:
    if not _has_mapping(value):
        return value
    parts = parts_of(value)
    if parts is None:
        return {key: _as_dicts(value[key]) for key in value}
    return with_parts(value, list(map(_as_dicts, parts)))


def inner_parts(value: Any) -> list[Any]:
    """Return the direct items of a dict, list, tuple or dataclass, including a ListValue."""
    return list(value) if isinstance(value, ListValue) else list(parts_of(value) or ())


def with_parts(value: Any, parts: Sequence[Any]) -> Any:
    """Return a copy of a dict, list, tuple or dataclass with other parts, without calling `__init__`."""
    made: Any
    if isinstance(value, tuple):
        made = tuple.__new__(type(value), parts)
        if hasattr(value, "__dict__"):
            vars(made).update(vars(value))
        return made
    made = copy.copy(value)
    if isinstance(value, dict):
        for key, part in zip(value, parts, strict=True):
            dict.__setitem__(made, key, part)
    elif isinstance(value, list):
        list.__setitem__(made, slice(None), parts)
    else:
        for field, part in zip(dataclasses.fields(value), parts, strict=True):
            object.__setattr__(made, field.name, part)  # it may be frozen
    return made
