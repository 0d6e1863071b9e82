"""Split documents into pieces, and pack pieces into rows with segment ids, positions, labels and cumulative lengths."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pipeline.dtypes import native
from pipeline.errors import invalid
from pipeline.stages.collate import full_array

METHODS = ("concat", "first_fit", "best_fit")
LONG = ("split", "truncate", "drop", "error")

# The field name for bare sequences.
BARE = "tokens"

# The label for a token without a successor: PyTorch's losses ignore it.
IGNORED = -100

Fields = dict[str, NDArray[Any]]


class Packing(NamedTuple):
    """How sequences are packed: the arguments of `Dataset.pack`.

    Attributes:
        length: The row length.
        method: "concat", "first_fit" or "best_fit".
        long: Policy for sequences longer than a row: "split", "truncate", "drop" or "error".
        begin, end: Values before and after each sequence, for all fields or by name; None for nothing.
        labels: The field with the tokens to predict; True for the tokens; False for no labels.
        cu_seqlens: True if rows have cumulative lengths.
        max_sequences: The most pieces per row; None for no limit.
        buffer: Number of sequences from which "first_fit" and "best_fit" choose.
        pad: Value used to pad rows, for all fields or by name.
    """

    length: int
    method: str = "concat"
    long: str = "split"
    begin: Any = None
    end: Any = None
    labels: bool | str = False
    cu_seqlens: bool = False
    max_sequences: int | None = None
    buffer: int | None = None
    pad: Any = 0

    @property
    def room(self) -> int:
        """Room for a sequence in a row with begin and end."""
        return self.length - (self.begin is not None) - (self.end is not None)

    @property
    def most(self) -> int:
        """The most pieces per row."""
        return self.length if self.max_sequences is None else self.max_sequences

    @property
    def added(self) -> set[str]:
        """Reserved field names."""
        more = {"labels"} if self.labels else set()
        return {"segment_ids", "positions"} | more | ({"cu_seqlens", "max_seqlen"} if self.cu_seqlens else set())


class Piece(NamedTuple):
    """An undivided part of a sequence.

    Attributes:
        fields: The sequence.
        begin, end: The part's bounds.
        number: Its index among the sequence's pieces.
    """

    fields: Fields
    begin: int
    end: int
    number: int = 0

    @property
    def length(self) -> int:
        return self.end - self.begin


class Documents:
    """Prepares sequences: adds begin and end, and labels; applies the policy for long ones."""

    def __init__(self, how: Packing) -> None:
        self._how, self._added = how, how.added
        self._plain = how.begin is None and how.end is None and not how.labels
        self._marks: dict[Any, list[Any]] = {}  # begin and end by field

    def prepared(self, example: Any, name: Callable[[], str]) -> Fields | None:
        """Return a sequence as arrays by name, all with the same length; None for an empty or dropped one.

        Raises:
            InvalidArgumentError: It is not a sequence, its fields differ in length, or it is too long.
        """
        how, fields = self._how, self._fields_of(example)
        if not (length := length_of(fields)):
            return None
        if not self._plain:
            if how.long == "truncate" and how.end is not None:  # keep `end`
                fields = {name: array[: how.room] for name, array in fields.items()}
            fields = self._framed(fields)
            length = length_of(fields)
        if length <= how.length or how.long == "split":
            return fields
        if how.long == "drop":
            return None
        if how.long == "error":
            text = f"{name()} has length {length:,}, and a row has {how.length:,}"
            raise invalid(f"pack: {text}: pass long='split', 'truncate' or 'drop'")
        return {name: array[: how.length] for name, array in fields.items()}

    def pieces(self, fields: Fields) -> list[Piece]:
        """Return a prepared sequence's pieces, none longer than a row."""
        length, size = length_of(fields), self._how.length
        if length <= size:
            return [Piece(fields, 0, length)]
        return [Piece(fields, at, min(at + size, length), at // size) for at in range(0, length, size)]

    def _fields_of(self, example: Any) -> Fields:
        if type(example) is np.ndarray and example.ndim and example.dtype.isnative:  # 2 us instead of 6
            return {BARE: example}
        fields = example if isinstance(example, dict) else {BARE: example}
        if taken := sorted(self._added & fields.keys()):
            raise invalid(f"pack: an example has the field {taken[0]!r}, but pack adds one with this name: rename it")
        arrays = {name: native(full_array(value, f"pack: {name!r}")) for name, value in fields.items()}
        lengths = {name: len(array) if array.ndim else -1 for name, array in arrays.items()}
        if -1 in lengths.values() and not isinstance(example, dict):
            got = f"{type(example).__name__} {example!r:.40}"
            raise invalid(
                f"pack: an example must be a sequence, such as the tokens of a document, or a dict; got {got}"
            )
        alone = next((name for name, length in lengths.items() if length < 0), None)
        if alone is not None:
            raise invalid(
                f"pack: the field {alone!r} is a single value, and fields must be sequences of one length: leave it "
                f"out by a map before pack, or repeat it for each item"
            )
        if not lengths or len(set(lengths.values())) > 1:
            raise invalid(f"pack: the fields of an example must be sequences of one length, and have {lengths}")
        return arrays

    def _framed(self, fields: Fields) -> Fields:
        """Return a sequence with its begin and end, and its labels."""
        how = self._how
        for given, what in ((how.begin, "begin"), (how.end, "end")):
            _check_names(given, fields, what)
        if how.begin is not None or how.end is not None:
            fields = {name: self._marked(name, array) for name, array in fields.items()}
        return {**fields, "labels": labels_of(self._labelled(fields))} if how.labels else fields

    def _marked(self, name: str, array: NDArray[Any]) -> NDArray[Any]:
        """Return a field between its begin and its end."""
        key = name, array.dtype, array.shape[1:]
        marks = self._marks.get(key)
        if marks is None:
            given = (self._how.begin, "begin"), (self._how.end, "end")
            marks = [None if mark is None else _mark(name, array, mark, what) for mark, what in given]
            self._marks[key] = marks
        begin, end = marks
        first = begin is not None
        made = np.empty((len(array) + first + (end is not None), *array.shape[1:]), array.dtype)
        made[first : first + len(array)] = array
        if first:
            made[0] = begin
        if end is not None:
            made[-1] = end
        return made

    def _labelled(self, fields: Fields) -> NDArray[Any]:
        """Return the source field for labels."""
        name = self._how.labels
        if name is True:
            name = next(iter(fields)) if len(fields) == 1 else BARE
        if name not in fields:
            text = f"there is no field {name!r} to make labels of; there are {list(fields)}"
            raise invalid(f"pack: labels: {text}: pass the name of one, such as labels={next(iter(fields))!r}")
        return fields[name]


def labels_of(tokens: NDArray[Any]) -> NDArray[Any]:
    """Return each token's successor, and IGNORED for the last; in a signed dtype with at least 32 bits."""
    dtype = np.promote_types(tokens.dtype, np.int32) if tokens.dtype.kind in "iu" else None
    if dtype is None or dtype.kind != "i" or tokens.ndim != 1:
        text = f"labels need integers of at most 64 bits with a sign, one for each position; got dtype {tokens.dtype}"
        raise invalid(f"pack: {text} and shape {list(tokens.shape)}")
    labels = np.empty(len(tokens), dtype)
    labels[:-1] = tokens[1:]
    labels[-1] = IGNORED
    return labels


def length_of(fields: Fields) -> int:
    """Return a sequence's length."""
    return len(next(iter(fields.values())))


class Rows:
    """Makes rows from pieces."""

    def __init__(self, how: Packing) -> None:
        self._how = how
        self._fillers: dict[tuple[str, np.dtype[Any]], NDArray[Any]] = {}

    def row(self, pieces: Sequence[Piece]) -> dict[str, Any]:
        """Return one row.

        Raises:
            InvalidArgumentError: Pieces differ in their fields or field shapes, or `pad` does not fit.
            TypeError: Their dtypes differ.
        """
        first, size = pieces[0].fields, self._how.length
        _check_names(self._how.pad, first, "pad")
        for piece in pieces:
            if piece.fields.keys() != first.keys():
                raise invalid(f"pack: examples differ in their fields: {sorted(first)} and {sorted(piece.fields)}")
        lengths = [piece.end - piece.begin for piece in pieces]
        total = sum(lengths)
        row: dict[str, Any] = {
            name: self._joined(name, [each.fields[name][each.begin : each.end] for each in pieces], total)
            for name in first
        }
        segments, positions = np.zeros(size, np.int32), np.zeros(size, np.int32)
        at, count = 0, _counting(size)
        for i, length in enumerate(lengths, 1):
            segments[at : at + length] = i
            positions[at : at + length] = count[:length]
            at += length
        row["segment_ids"], row["positions"] = segments, positions
        return row | self._cumulative(lengths) if self._how.cu_seqlens else row

    def _joined(self, name: str, arrays: list[NDArray[Any]], total: int) -> NDArray[Any]:
        """Return a row's field: arrays one after the other, then padding."""
        first, size = arrays[0], self._how.length
        dtype, shape = first.dtype, first.shape[1:]
        for array in arrays:
            if array.dtype is not dtype or array.shape[1:] != shape:
                _check_alike(name, first, array)
        filler = self._filler(name, first)
        row = np.empty((size, *shape), dtype)
        np.concatenate(arrays, out=row[:total])
        if total < size:
            row[total:] = filler
        return row

    def _filler(self, name: str, array: NDArray[Any]) -> NDArray[Any]:
        """Return a field's padding value as an array with rank 0."""
        if array.dtype.hasobject:
            return _filler(name, array, self._how)
        found = self._fillers.get((name, array.dtype))
        if found is None:
            found = self._fillers[name, array.dtype] = _filler(name, array, self._how)
        return found

    def _cumulative(self, lengths: list[int]) -> dict[str, Any]:
        """Return the bounds of the pieces, and the longest length.

        Padding is a last piece, because kernels compute all of a row. Rows with at most n pieces all have n + 2 numbers
        (the last ones repeat), so they stack.
        """
        how = self._how
        all_lengths = lengths + ([rest] if (rest := how.length - sum(lengths)) else [])
        size = len(all_lengths) + 1 if how.max_sequences is None else how.most + 2
        ends = np.full(size, how.length, np.int32)
        ends[0] = 0
        ends[1 : len(all_lengths) + 1] = np.cumsum(all_lengths)
        return {"cu_seqlens": ends, "max_seqlen": np.int32(max(all_lengths))}


_counted = np.arange(0, dtype=np.int32)


def _counting(size: int) -> NDArray[np.int32]:
    """Return the numbers from 0 to `size`, or more."""
    global _counted
    if len(_counted) < size:
        _counted = np.arange(size, dtype=np.int32)
    return _counted


def _check_names(given: Any, fields: Fields, what: str) -> None:
    """Reject a value for an unknown field."""
    if isinstance(given, Mapping) and (other := next((name for name in given if name not in fields), None)) is not None:
        raise invalid(f"pack: {what}: there is no field {other!r}; there are {list(fields)}")


def _check_alike(name: str, first: NDArray[Any], array: NDArray[Any]) -> None:
    """Reject a piece whose dtype or shape does not fit the row."""
    if array.dtype != first.dtype:
        raise TypeError(f"pack: {name!r} has dtype {first.dtype} in one example and {array.dtype} in another")
    if array.shape[1:] != first.shape[1:]:
        shapes = f"{list(first.shape[1:])} in one example and {list(array.shape[1:])} in another"
        raise invalid(f"pack: the items of {name!r} have shape {shapes}")


def _filler(name: str, array: NDArray[Any], how: Packing) -> NDArray[Any]:
    """Return a field's padding value as an array with rank 0."""
    if name == "labels" and how.labels:
        return np.array(IGNORED, array.dtype)
    fill = how.pad.get(name, 0) if isinstance(how.pad, Mapping) else how.pad
    if array.dtype.hasobject and fill == 0 and isinstance(array.flat[0], (bytes, str)):
        fill = type(array.flat[0])()
    if array.dtype.kind in "SU" and fill == 0:
        return np.zeros((), array.dtype)  # an empty one
    return _exactly(name, array, fill, "pad")


def _mark(name: str, array: NDArray[Any], given: Any, what: str) -> NDArray[Any]:
    """Return a field's begin or end as an array with rank 0."""
    if isinstance(given, Mapping) and name not in given:
        raise invalid(f"pack: {what}: there is no value for the field {name!r}; there are {list(given)}")
    value = given[name] if isinstance(given, Mapping) else given
    return _exactly(name, array, value, what)


def _exactly(name: str, array: NDArray[Any], value: Any, what: str) -> NDArray[Any]:
    """Return a value as an array with rank 0 and a field's dtype; InvalidArgumentError if this changes it."""
    try:
        made = np.zeros((), array.dtype)
        made[()] = value
        fits = array.dtype.kind not in "biuSU" or made.item() == value
    except (TypeError, ValueError, OverflowError):
        fits = False
    if not fits:
        raise invalid(f"pack: {what}: {value!r} does not fit {name!r} of dtype {array.dtype}")
    return made
