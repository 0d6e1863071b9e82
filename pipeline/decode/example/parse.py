"""parse_example and parse_single_example: serialised Examples as arrays, and their errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.decode.example.features import Wanted, wanted
from pipeline.decode.example.gather import FeatureValues, gather_values
from pipeline.decode.example.lists import LISTS
from pipeline.decode.example.locate import UNKNOWN, FoundList, FoundLists, find_lists
from pipeline.decode.example.padding import check_padding
from pipeline.decode.example.sparse_value import SparseTensorValue
from pipeline.decode.example.uniform import uniform_columns
from pipeline.decode.wire import WireError
from pipeline.dtypes import as_bytes, items
from pipeline.errors import InvalidArgumentError, invalid, show


def parse_single_example(serialized: Any, features: Mapping[str, Any], *, example_names: Any = None) -> dict[str, Any]:
    """Parse one serialised Example. Thread safe.

    Args:
        serialized: Your Example as bytes.
        features: One FixedLenFeature, VarLenFeature or FixedLenSequenceFeature per name.
        example_names: A name for error messages.

    Returns:
        A dict with one array per name: a scalar for shape (), `[n] + shape` for a FixedLenSequenceFeature, `[n]` for a
        VarLenFeature. Strings are bytes in object arrays.

    Raises:
        InvalidArgumentError: The bytes are not an Example, or a feature is missing or has another type or length.
        ValueError: `features` is invalid.

    Examples:
        >>> example = pipeline.proto.Example()
        >>> example.features.feature["label"].int64_list.value.append(7)
        >>> features = {"label": pipeline.FixedLenFeature([], "int64")}
        >>> int(pipeline.parse_single_example(example.SerializeToString(), features)["label"])
        7
    """
    asked = wanted(features)
    data = _bytes(serialized, "serialized example")
    name = None if example_names is None else _bytes(example_names, "example_names").decode(errors="replace")
    return dict(zip((one.name for one in asked), single_values(data, asked, name), strict=True))


def parse_example(serialized: Any, features: Mapping[str, Any], *, example_names: Any = None) -> dict[str, Any]:
    """Parse many serialised Examples, many times faster than one at a time. Thread safe.

    Args:
        serialized: Your Examples as bytes, in a list or 1-D array.
        features: One FixedLenFeature, VarLenFeature or FixedLenSequenceFeature per name.
        example_names: Names for error messages.

    Returns:
        A dict with one array per name. A FixedLenSequenceFeature is padded with its default; a VarLenFeature gives a
        SparseTensorValue.

    Raises:
        InvalidArgumentError: As for parse_single_example; `error.record` is the example's index.
        ResourceExhaustedError: An array over 1 GiB would be mostly padding.
        ValueError: `features` is invalid.

    Examples:
        >>> from pipeline.proto import Example, Feature, Features, Int64List
        >>> label = Feature(int64_list=Int64List(value=[7]))
        >>> record = Example(features=Features(feature={"label": label})).SerializeToString()
        >>> pipeline.parse_example([record, record], {"label": pipeline.FixedLenFeature([], np.int64)})
        {'label': array([7, 7])}
    """
    asked = wanted(features)
    if isinstance(serialized, (bytes, str)):
        raise invalid("parse_example takes a list or 1-D array of Examples; use parse_single_example for one")
    if isinstance(serialized, np.ndarray):
        if serialized.ndim != 1:
            raise invalid(f"Expected serialized to be a vector, got shape: {show(serialized.shape)}")
        serialized = serialized.tolist()
    given = items(serialized, "parse_example: serialized", "Examples")
    block = [_bytes(one, f"serialized example {i}") for i, one in enumerate(given)]
    names = ["<unknown>"] * len(block)
    named = [] if example_names is None else items(example_names, "parse_example: example_names", "names")
    if named:
        names = [_bytes(one, "a name of example_names").decode(errors="replace") for one in named]
        if len(names) != len(block):
            raise invalid(f"example_names has {len(names)} names for {len(block)} examples")
    return dict(zip((one.name for one in asked), block_values(block, asked, names), strict=True))


def single_values(data: bytes, asked: Sequence[Wanted], name: str | None) -> list[Any]:
    """Return one Example's feature values, in the order of `asked`; errors as for parse_single_example."""
    lists = find_example(data, None, name)
    return [single_value(one, lists.with_list(one.key), name) for one in asked]


def block_values(block: Sequence[bytes], asked: Sequence[Wanted], names: Sequence[str]) -> list[Any]:
    """Return the feature values for a block, in the order of `asked`; errors as for parse_example."""
    columns = uniform_columns(block, asked)
    if columns is None:
        rows = [find_example(data, i, names[i]) for i, data in enumerate(block)]
        columns = [_column(one, _lists_of(one, rows), names) for one in asked]
    return [_shaped(one, column, names) for one, column in zip(asked, columns, strict=True)]


def _lists_of(one: Wanted, rows: Sequence[FoundLists]) -> list[FoundList | None]:
    """Return a feature's list in each example."""
    if one.form == "any":
        return [row.get(one.key) for row in rows]
    return [row.with_list(one.key) for row in rows]


def find_example(data: bytes, index: int | None, name: str | None) -> FoundLists:
    """Return the feature positions in an Example, or in a SequenceExample's context."""
    try:
        return find_lists(data)
    except WireError as error:
        shown = data[:100].decode("latin-1").encode("unicode_escape").decode() + ("..." if len(data) > 100 else "")
        which = "the example" if index is None else f"example {index}"
        if name not in (None, "<unknown>"):
            which += f", {name},"
        text = f"Could not parse example input, value: '{shown}'\n{which} of {len(data)} bytes is damaged: {error}"
        raise _error(text, index) from error


def single_value(one: Wanted, found: FoundList | None, name: str | None) -> Any:
    """Return a feature's value in a single example."""
    if found is None or not found[0]:
        if one.form == "fixed" and one.default is None:
            raise _missing(one, None, name)
        empty = np.empty(0, one.kind.dtype)
        values: Any = one.default.copy() if one.form == "fixed" and one.default is not None else empty
    else:
        if found[0] != one.kind.number:
            raise _mismatch(one, found[0], None, name)
        try:
            values = one.kind.read(*found[1:])
        except WireError as error:
            raise _damaged(one, None, name, error) from error
    if one.form == "fixed" and len(values) != one.size:
        text = f"Can't parse serialized Example: Some {one.kind.field} slice was not parsed."
        why = f"there are {len(values)} values where a feature of shape {list(one.shape)} has {one.size}"
        raise _error(f"{_key(one, None, name)}{text}\n{why}", None)
    if one.form == "rows" and len(values) % one.size:
        text = f"Error while parsing feature with key {one.name}: number of elements should be divisible by {one.size}"
        raise _error(f"{text}, found {len(values)} instead", None)
    if one.form == "fixed" and one.shape == ():
        return values[0]
    if isinstance(values, list):
        values, strings = np.empty(len(values), object), values
        values[:] = strings
    return values if one.form == "any" else values.reshape(one.shape if one.form == "fixed" else (-1, *one.shape))


def _column(one: Wanted, found: Sequence[FoundList | None], names: Sequence[str]) -> FeatureValues:
    """Return a feature's values in all examples."""
    number, fixed = one.kind.number, one.form == "fixed"
    for i, place in enumerate(found):
        if place is None or not place[0]:
            if fixed and one.default is None:
                raise _missing(one, i, names[i])
        elif place[0] != number:
            raise _mismatch(one, place[0], i, names[i])
    try:
        return gather_values(one.kind, found, one.default if fixed else None)
    except WireError as error:
        raise _first_damaged(one, found, names, error) from error


def _shaped(one: Wanted, column: FeatureValues, names: Sequence[str]) -> Any:
    """Return a feature's values in public form."""
    if one.form == "fixed":
        wrong = np.flatnonzero(column.counts != one.size)
        if len(wrong):
            i = int(wrong[0])
            text = f"Number of {one.kind.field[:-5]} values != expected.  Values size: {column.counts[i]}"
            raise _error(f"{_key(one, i, names[i])}{text} but output shape: {show(one.shape)}", i)
        return column.values.reshape(len(names), *one.shape)
    return _sparse(column) if one.form == "any" else _padded(one, column, names)


def _sparse(column: FeatureValues) -> SparseTensorValue:
    counts = column.counts
    indices = np.empty((len(column.values), 2), np.int64)
    indices[:, 0] = np.repeat(np.arange(len(counts)), counts)
    indices[:, 1] = np.arange(len(column.values)) - np.repeat(np.cumsum(counts) - counts, counts)
    return SparseTensorValue(indices, column.values, np.array([len(counts), counts.max(initial=0)], np.int64))


def _padded(one: Wanted, column: FeatureValues, names: Sequence[str]) -> NDArray[Any]:
    wrong = np.flatnonzero(column.counts % one.size)
    if len(wrong):
        i = int(wrong[0])
        text = (
            f"Number of {one.kind.field[:-5]} values is not a multiple of stride length. Saw {column.counts[i]} values"
        )
        raise _error(f"{_key(one, i, names[i])}{text} but output shape is: {show((None, *one.shape))}", i)
    check_padding(one.name, column.counts, one.kind.dtype.itemsize)
    places = _places(column.counts)
    filler = one.default[0] if one.default is not None else b"" if one.kind.dtype.hasobject else 0
    padded = np.full(places.shape, filler, one.kind.dtype)
    padded[places] = column.values
    return padded.reshape(len(places), places.shape[1] // one.size, *one.shape)


def _places(counts: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return the value mask for a matrix as wide as the largest count."""
    return np.arange(counts.max(initial=0)) < counts[:, None]


def _first_damaged(
    one: Wanted, found: Sequence[FoundList | None], names: Sequence[str], error: WireError
) -> InvalidArgumentError:
    for i, place in enumerate(found):
        if place is not None and place[0]:
            try:
                one.kind.read(*place[1:])
            except WireError as first:
                return _damaged(one, i, names[i], first)
    return invalid(f"{_key(one, None, None)}Can't parse serialized Example.\n{error}")


def _damaged(one: Wanted, index: int | None, name: str | None, error: WireError) -> InvalidArgumentError:
    text = "Can't parse serialized Example." if index is not None else "Can't parse serialized Example: Parsing "
    text += "" if index is not None else f"{one.kind.field} failed."
    return _error(f"{_key(one, index, name)}{text}\n{error}", index)


def _missing(one: Wanted, index: int | None, name: str | None) -> InvalidArgumentError:
    who = "" if name is None else f"Name: {name}, "
    text = f"{who}Feature: {one.name} (data type: {one.kind.name}) is required but could not be found."
    return _error(text if index is None else f"{text}\nexample {index} does not have it", index)


def _mismatch(one: Wanted, number: int, index: int | None, name: str | None) -> InvalidArgumentError:
    if number == UNKNOWN:
        why = "it has no list of bytes, floats or int64 numbers, but something else"
        return _error(f"{_key(one, index, name)}Unsupported datatype.\n{why}", index)
    got, wants = LISTS[number].name, one.kind.name
    text = f"Data type: {got} but expected type: {wants}"
    if one.form == "any":
        text = f"Expected type: {wants}, Actual type: {got}"
    return _error(f"{_key(one, index, name)}Data types don't match. {text}", index)


def _key(one: Wanted, index: int | None, name: str | None) -> str:
    who = "" if name is None else f"Name: {name}, "
    return f"{who}Key: {one.name}{'' if index is None else f', Index: {index}'}.  "


def _error(message: str, index: int | None) -> InvalidArgumentError:
    error = invalid(message)
    if index is not None:
        error.record = index  # type: ignore[attr-defined]
    return error


def _bytes(given: Any, what: str) -> bytes:
    if isinstance(given, np.ndarray) and given.ndim == 0:
        given = given.item()
    return given if type(given) is bytes else as_bytes(given, what)
