"""Columns in Hugging Face datasets, described by their features, not by the rows read so far."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from pipeline.dtypes import object_vector
from pipeline.errors import invalid
from pipeline.foreign import numpy_of
from pipeline.nest import ListValue
from pipeline.sources.arrow_columns import Arrays, column_as, in_one, refuse_nulls
from pipeline.sources.arrow_options import facts_of, fillings
from pipeline.sources.arrow_types import as_read, check, schema_as_read
from pipeline.sources.extras import MANY, needs, stacked
from pipeline.sources.stream import BlockPiece
from pipeline.sources.strings import as_objects
from pipeline.stages.block import as_columns

Join = Callable[[list[Any], str], Any]

_LEAVE_OUT = "leave out their rows, such as by its filter"

# Fields of image features and similar ones in a dataset.
_FILE = {"bytes", "path"}

# Rows decoded, or taken in a format, at once: they may be large.
_FEW = 64


def apart(rows: list[Any], where: str) -> list[Any]:
    """As `stacked`, but row shapes may differ."""
    return [next(as_columns(stacked([row], where), 1).examples()) for row in rows]


class ArrowForm:
    """Makes blocks from a dataset without a format: it is read as Arrow and decoded if necessary.

    Args:
        dataset: The dataset; its features are known.
        defaults: Replacements for missing values, by column.

    Raises:
        InvalidArgumentError, TypeError: As `pipeline.huggingface`.

    Attributes:
        dataset: The dataset in the format for reading.
        most: Number of rows to read at once.
        one_by_one: True if row shapes are unknown before decoding.
        of_tables: True if pieces are Arrow tables as stored.
    """

    of_tables = True

    def __init__(self, dataset: Any, defaults: Mapping[str, Any] | None) -> None:
        features = dataset.features
        fields = list(schema_as_read(features.arrow_schema))
        for field in fields:
            _check(field.type, features[field.name], field.name)
        plain = [field for field in fields if not _is_special(field.type, features[field.name])]
        self._features = features
        self._fill = fillings(plain, defaults, "huggingface")
        self.one_by_one = any(map(_is_decoded, features.values()))
        self.most = _FEW if self.one_by_one else MANY
        self._tokens = getattr(dataset, "_token_per_repo_id", None)  # decoding may open files
        self.dataset = dataset.with_format("arrow")

    def piece(self, rows: Any) -> Any:
        """Return the column as a sequence with slices."""
        return rows

    def block(self, rows: Any, join: Join = stacked) -> dict[str, Any]:
        """Make a block from a piece; `join` makes columns from decoded values."""
        return {name: self._column(in_one(rows[name]), feature, name, join) for name, feature in self._features.items()}

    def facts(self) -> dict[str, Any]:
        """Return everything affecting the values, as plain data."""
        return {"columns": _described(self._features), **facts_of(self._fill)}

    def _column(self, column: Any, feature: Any, name: str, join: Join) -> Any:
        column = in_one(column_as(column, as_read(column.type), name, "huggingface"))
        if _is_of_files(column.type, feature):
            return self._of_files(column, name)
        if not _is_special(column.type, feature):
            return Arrays("huggingface", self._fill).of(column, name)
        if isinstance(feature, dict):
            fields = zip(column.type, column.flatten(), strict=True)
            return {
                each.name: self._column(part, feature[each.name], f"{name}/{each.name}", join) for each, part in fields
            }
        refuse_nulls(column, name, "huggingface", _LEAVE_OUT)
        if not _is_decoded(feature):
            return _by_shape(column.to_numpy(zero_copy_only=False), feature)
        features = needs("datasets", "huggingface").Features({name: feature})
        decoded = features.decode_batch({name: column.to_pylist()}, token_per_repo_id=self._tokens)
        return _of_lists(decoded[name], feature, f"huggingface: column {name!r}", join)

    def _of_files(self, column: Any, name: str) -> Any:
        """Return undecoded images and similar values; missing bytes or paths become empty."""
        if f"{name}/bytes" not in self._fill:
            refuse_nulls(column, name, "huggingface", _LEAVE_OUT)
        scalar = needs("pyarrow", "huggingface").scalar
        empty = {f"{name}/{field.name}": scalar("", field.type) for field in column.type}
        return Arrays("huggingface", {**empty, **self._fill}).of(column, name)


class RowsForm(ArrowForm):
    """Makes blocks from a stream of Python rows, as from a generator, or after a `map` or `filter`.

    With the Arrow format, the library would make a table from each row's values. Empty lists and missing values have
    no type there, so the next row would not fit; images would also be encoded again.
    """

    def __init__(self, dataset: Any, defaults: Mapping[str, Any] | None) -> None:
        super().__init__(dataset, defaults)
        self.dataset = dataset.with_format(None).decode(False)

    def piece(self, rows: Any) -> Any:
        """As in ArrowForm."""
        return BlockPiece(_typed(rows, self._features))

    def block(self, rows: Any, join: Join = stacked) -> dict[str, Any]:
        """As in ArrowForm."""
        return super().block(rows.block, join)

    def _column(self, column: Any, feature: Any, name: str, join: Join) -> Any:
        if not isinstance(column, np.ndarray):
            return super()._column(column, feature, name, join)
        rows = column.tolist()
        if missing := sum(row is None for row in rows):
            raise invalid(
                f"huggingface: column {name!r} has missing values, {missing:,} of {len(rows):,}: {_LEAVE_OUT}"
            )
        if isinstance(feature, dict):
            fields = _typed({each: [row[each] for row in rows] for each in feature}, feature)
            return {each: self._column(in_one(fields[each]), feature[each], f"{name}/{each}", join) for each in feature}
        features = needs("datasets", "huggingface").Features({name: feature})
        decoded = [
            features.decode_example({name: row}, token_per_repo_id=self._tokens)[name] if _is_encoded(row) else row
            for row in rows
        ]
        return _of_lists(decoded, feature, f"huggingface: column {name!r}", join)


class GivenForm:
    """Makes blocks from a dataset in its own format, or as arrays if its features are unknown.

    Attributes as in ArrowForm.
    """

    most = _FEW
    of_tables = False

    def __init__(self, dataset: Any, kind: str | None) -> None:
        features = dataset.features or {}
        self._features = {} if kind == "custom" else features  # a transform returns other values
        # A transform's lists may vary in length, and so may values without features.
        self.one_by_one = not self._features or any(map(_is_decoded, features.values()))
        self._described = _described(features)
        self.dataset = dataset.with_format("numpy") if kind is None else dataset

    def piece(self, rows: Any) -> Any:
        """As in ArrowForm."""
        return BlockPiece(dict(rows.items()))

    def block(self, piece: Any, join: Join = stacked) -> dict[str, Any]:
        """As in ArrowForm; `join` makes columns from values with any shape."""
        features, where = self._features, "huggingface: column {!r}".format
        return {name: _given(each, features.get(name), where(name), join) for name, each in piece.block.items()}

    def facts(self) -> dict[str, Any]:
        """As in ArrowForm."""
        return {"columns": self._described}


def form_of(dataset: Any, defaults: Mapping[str, Any] | None) -> ArrowForm | GivenForm:
    """Choose how to read a dataset.

    Raises:
        InvalidArgumentError, TypeError: As `pipeline.huggingface`.
        ValueError: There are defaults, but it is not read as Arrow.
    """
    # Only a Dataset has a `format`.
    kind = dataset.format["type"] if hasattr(dataset, "format") else _format_of_stream(dataset)
    kind = None if kind == "arrow" else kind
    if kind is None and dataset.features is not None:
        return ArrowForm(dataset, defaults) if _gives_tables(dataset) else RowsForm(dataset, defaults)
    if defaults:
        raise ValueError(
            "huggingface: defaults= is for datasets that are read as Arrow; this one has a format or a transform, or "
            "does not know its features: fill in missing values by its map"
        )
    return GivenForm(dataset, kind)


def _format_of_stream(dataset: Any) -> Any:
    formatting = getattr(dataset, "_formatting", None)
    return getattr(formatting, "format_type", formatting)


def _gives_tables(dataset: Any) -> bool:
    """Return True if a dataset, or a stream's input, consists of Arrow tables."""
    steps = getattr(dataset, "_ex_iterable", None)  # a stream
    return steps is None or steps.iter_arrow is not None


def _typed(rows: Mapping[str, list[Any]], features: Mapping[str, Any]) -> dict[str, Any]:
    """Make columns from rows by their features: Arrow columns, or arrays of objects to decode."""
    count = max(map(len, rows.values()), default=0)
    columns = {name: rows[name] if name in rows else [None] * count for name in features}
    plain = {name: column for name, column in columns.items() if not _is_decoded(features[name])}
    try:
        table = _table(plain, {name: features[name] for name in plain}) if plain else {}
    except Exception:
        for name, column in plain.items():
            _check_fits(name, column, features[name])
        raise
    return {name: table[name] if name in plain else object_vector(columns[name]) for name in features}


def _table(columns: Mapping[str, list[Any]], features: Mapping[str, Any]) -> Any:
    library = needs("datasets", "huggingface")
    return library.Dataset.from_dict(columns, features=library.Features(features)).with_format("arrow")[:]


def _check_fits(name: str, column: list[Any], feature: Any) -> None:
    """Raise InvalidArgumentError if a feature rejects a value in its column."""
    try:
        _table({name: column}, {name: feature})
    except Exception as error:
        raise invalid(f"huggingface: column {name!r} has a value that does not fit its {feature}: {error}") from error


def _is_encoded(row: Any) -> bool:
    """Return True if a value, or a list's items, must still be decoded because no function has used it."""
    while isinstance(row, list) and row:
        row = row[0]
    return isinstance(row, dict)


def _described(features: Mapping[str, Any]) -> list[list[str]]:
    return [[name, str(feature)] for name, feature in features.items()]


def _is_decoded(feature: Any) -> bool:
    """Return True if values must be decoded, such as images."""
    features = needs("datasets.features.features", "huggingface")
    return bool(features.require_decoding(feature))


def _is_special(kind: Any, feature: Any) -> bool:
    """Return True if a column's meaning goes beyond its Arrow type."""
    return _is_decoded(feature) or isinstance(kind, needs("pyarrow", "huggingface").BaseExtensionType)


def _is_of_files(kind: Any, feature: Any) -> bool:
    """Return True for undecoded images and similar features."""
    is_struct = needs("pyarrow.types", "huggingface").is_struct(kind)
    return getattr(feature, "decode", True) is False and is_struct and {field.name for field in kind} == _FILE


def _check(kind: Any, feature: Any, name: str) -> None:
    """Raise InvalidArgumentError for a type unsupported in arrays."""
    if not _is_special(kind, feature):
        check(kind, name, "huggingface", dtypes=False)
    elif isinstance(feature, dict):
        for field in kind:
            _check(field.type, feature[field.name], f"{name}/{field.name}")


def _varies(feature: Any) -> bool:
    """Return True if a feature describes arrays with varying length."""
    if hasattr(feature, "shape"):  # Array2D and similar
        return feature.shape[0] is None
    return hasattr(feature, "feature") and getattr(feature, "length", -1) == -1


def _by_shape(rows: Any, feature: Any) -> Any:
    """Return an Array2D column's rows, or a similar feature's."""
    return object_vector(list(rows)) if _varies(feature) else rows


def _of_lists(rows: list[Any], feature: Any, where: str, join: Join) -> Any:
    """Make a column from decoded values, or from lists of them."""
    inner = getattr(feature, "feature", None)
    if inner is None:
        return join(rows, where)
    arrays = [_of_lists(row, inner, where, stacked) if row else np.empty(0) for row in rows]
    return object_vector(arrays) if _varies(feature) else join(arrays, where)


def _of_dicts(rows: Any, features: Mapping[str, Any], where: str, join: Join) -> dict[str, Any]:
    """Make a column from dicts, with a feature per key; None if unknown."""
    _refuse_none(rows, where)
    if any(row.keys() != features.keys() for row in rows):
        raise invalid(f"{where} has rows with other keys than the first, {', '.join(map(repr, features))}")
    columns = {}
    for name, feature in features.items():
        column = [row[name] for row in rows]
        if feature is None and len({each.shape for each in column if isinstance(each, np.ndarray)}) > 1:
            columns[name] = object_vector([as_objects(each, where) for each in column])
        else:
            columns[name] = _given(column, feature, where, join)
    return columns


def _refuse_none(rows: Any, where: str) -> None:
    if any(row is None for row in rows):
        raise invalid(f"{where} has missing values: fill them in by its map, or leave out their rows by its filter")


def _holds_dicts(row: Any) -> bool:
    """Return True if a row is a list of dicts, such as a chat's messages."""
    listed = isinstance(row, list) or (isinstance(row, np.ndarray) and row.dtype.hasobject and row.ndim == 1)
    return bool(listed and len(row) and isinstance(row[0], dict))


def _plain(value: Any) -> Any:
    """Replace the NumPy format's arrays by lists and Python numbers."""
    if isinstance(value, (np.ndarray, np.generic)):
        value = value.tolist()
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list) else value


def _given(values: Any, feature: Any, where: str, join: Join) -> Any:
    """Make a column from a format's values for a feature; None if unknown."""
    if isinstance(values, dict):
        fields = feature if isinstance(feature, dict) else {}
        return {name: _given(inner, fields.get(name), where, join) for name, inner in values.items()}
    if isinstance(feature, dict) or (feature is None and isinstance(next(iter(values), None), dict)):
        return _of_dicts(values, feature or dict.fromkeys(next(iter(values))), where, join)
    if feature is None and any(map(_holds_dicts, values)):
        _refuse_none(values, where)
        return object_vector([ListValue(_plain(row)) for row in values])
    if feature is not None and _varies(feature):
        _refuse_none(values, where)
        return object_vector([as_objects(numpy_of(row), where) for row in values])
    if isinstance(values, list) or (feature is not None and _is_decoded(feature)):
        return join(list(values), where)
    return as_objects(numpy_of(values), where)
