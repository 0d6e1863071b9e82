"""FixedLenFeature, VarLenFeature and FixedLenSequenceFeature: the checked feature specs for parse_example."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pipeline.decode.example.lists import LISTS, ListKind
from pipeline.dtypes import as_bytes, integer, parse_dtype, utf8
from pipeline.errors import invalid

_TYPES = {np.dtype("S"): LISTS[1], np.dtype(object): LISTS[1], np.dtype("f4"): LISTS[2], np.dtype("i8"): LISTS[3]}
_TAKEN: dict[str, Any] = {"O": (bytes, bytearray, memoryview), "f": (int, float), "i": int}


class FixedLenFeature(NamedTuple):
    """A feature with the same number of values in all examples.

    Attributes:
        shape: Its array's shape; every dimension is known.
        dtype: float32, int64 or strings.
        default_value: The values for an example without the feature, enough to fill the shape. None: the feature is
            required.

    Examples:
        >>> from pipeline.proto import Example
        >>> features = {"label": pipeline.FixedLenFeature([], np.int64, default_value=-1)}
        >>> pipeline.parse_example([Example().SerializeToString()], features)
        {'label': array([-1])}
    """

    shape: Any
    dtype: Any
    default_value: Any = None


class VarLenFeature(NamedTuple):
    """A feature with any number of values, even none; `dtype` is float32, int64 or strings.

    Examples:
        >>> from pipeline.proto import Example, Feature, Features, Int64List
        >>> ids = Feature(int64_list=Int64List(value=[3, 1]))
        >>> record = Example(features=Features(feature={"ids": ids})).SerializeToString()
        >>> pipeline.parse_single_example(record, {"ids": pipeline.VarLenFeature(np.int64)})
        {'ids': array([3, 1])}
    """

    dtype: Any


class FixedLenSequenceFeature(NamedTuple):
    """A feature with any number of rows per example, all with the same shape.

    Attributes:
        shape: A row's shape.
        dtype: float32, int64 or strings.
        allow_missing: Must be True: an example without the feature has no rows.
        default_value: The value for padding shorter examples in a block; None: 0 or an empty string.

    Examples:
        >>> from pipeline.proto import Example, Feature, Features, Int64List
        >>> ids = Feature(int64_list=Int64List(value=[3, 1]))
        >>> record = Example(features=Features(feature={"ids": ids})).SerializeToString()
        >>> features = {"ids": pipeline.FixedLenSequenceFeature([], np.int64, allow_missing=True)}
        >>> pipeline.parse_single_example(record, features)
        {'ids': array([3, 1])}
    """

    shape: Any
    dtype: Any
    allow_missing: bool = False
    default_value: Any = None


class Wanted(NamedTuple):
    """A requested feature, checked.

    Attributes:
        name: Its key as str; `key` is the same key as bytes.
        kind: The required list kind.
        form: "fixed", "rows" or "any".
        shape: The shape of its array, or per row; `size` is the value count in that shape.
        default: An array with `size` values ("fixed") or one value ("rows"), or None.
    """

    name: str
    key: bytes
    kind: ListKind
    form: str
    shape: tuple[int, ...]
    size: int
    default: NDArray[Any] | None


def wanted(features: Any) -> list[Wanted]:
    """Check the requested features.

    Raises:
        ValueError: There are no features, or one has no dtype, or an invalid shape or default.
        InvalidArgumentError: A dtype is not supported.
        TypeError: `features` is not a dict with str keys, or a default has the wrong type.
    """
    if not features:
        raise ValueError(f"Argument `features` cannot be None or falsy. Got {features!r}")
    if not isinstance(features, Mapping):
        raise TypeError(f"features must be a dict of features by name, not {type(features).__name__}")
    return [_wanted(name, features[name]) for name in features]


def _wanted(name: Any, feature: Any) -> Wanted:
    if not isinstance(name, (str, bytes)):
        raise TypeError(f"the name of a feature must be str, not {type(name).__name__} {name!r:.80}")
    key = as_bytes(name, "the name of a feature")
    name = key.decode(errors="replace")
    if not isinstance(feature, (FixedLenFeature, VarLenFeature, FixedLenSequenceFeature)):
        raise ValueError(f"Unsupported {type(feature).__name__} {feature!r:.80} for key {name!r}")
    if feature.dtype is None:
        raise ValueError(f"Missing type for feature {name}. Received feature={feature}.")
    try:
        dtype = parse_dtype(feature.dtype)
    except TypeError as error:
        raise TypeError(f"feature {name}: {error}") from None
    if dtype not in _TYPES:
        raise invalid(f"feature {name}: dtype {dtype} is not in the list of allowed values: float32, int64, string")
    kind = _TYPES[dtype]
    if isinstance(feature, VarLenFeature):
        return Wanted(name, key, kind, "any", (), 1, None)
    shape = _shape(name, feature)
    size = math.prod(shape)
    if isinstance(feature, FixedLenFeature):
        return Wanted(name, key, kind, "fixed", shape, size, _default(name, kind, feature.default_value, size, shape))
    if not feature.allow_missing:
        raise ValueError("Unsupported: FixedLenSequenceFeature requires allow_missing to be True.")
    if not size:
        raise ValueError(f"feature {name}: rows of shape {list(shape)} have no values, so they cannot be counted")
    default = _default(name, kind, feature.default_value, 1, ())
    return Wanted(name, key, kind, "rows", shape, size, default)


def _shape(name: str, feature: Any) -> tuple[int, ...]:
    given = feature.shape
    if given is None:
        raise ValueError(f"Missing shape for feature {name}. Received feature={feature}.")
    given = tuple(given) if isinstance(given, (list, tuple)) else (given,)
    if given and given[0] is None and isinstance(feature, FixedLenFeature):
        text = "Consider using FixedLenSequenceFeature"
        raise ValueError(f"First dimension of shape for feature {name} unknown. {text}. Received feature={feature}.")
    if None in given:
        raise ValueError(f"All dimensions of shape for feature {name} need to be known but received {list(given)}.")
    shape = tuple(integer(size, f"feature {name}: a dimension of the shape") for size in given)
    if any(size < 0 for size in shape):
        raise ValueError(f"feature {name}: a dimension must be >= 0, got {list(shape)}")
    return shape


def _default(name: str, kind: ListKind, given: Any, size: int, shape: tuple[int, ...]) -> NDArray[Any] | None:
    if given is None:
        return None
    where = f"default_value of feature {name}"
    try:
        flat = np.asarray(given, object if kind.dtype.hasobject else None).ravel().tolist()
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None
    values = [_checked(value, kind, where) for value in flat]
    if len(values) != size:
        text = f"{where} has {len(values)} values, but the requested shape"
        raise ValueError(f"{text} {list(shape)} has {size}")
    array = np.empty(size, kind.dtype)
    with np.errstate(over="ignore"):
        array[:] = values
    return array


def _checked(value: Any, kind: ListKind, where: str) -> Any:
    """Return one value of a default as an element of the feature's array."""
    if kind.dtype.hasobject and isinstance(value, str):
        return utf8(value, where)
    if not isinstance(value, _TAKEN[kind.dtype.kind]):
        raise TypeError(f"{where}: a feature of type {kind.name} cannot be {type(value).__name__} {value!r:.80}")
    if kind.dtype.kind == "i" and not -(1 << 63) <= value < 1 << 63:
        raise ValueError(f"{where}: Value out of range: {value} does not fit in int64")
    return bytes(value) if kind.dtype.hasobject else value
