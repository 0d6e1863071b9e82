"""Tables from words to numbers; words missing from the table are hashed to buckets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pipeline.compat.graph.dtypes import DType, as_dtype, int64, string
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.kernels.hashing import fingerprint
from pipeline.compat.ops.arrays.sequences import range as range_
from pipeline.compat.ops.arrays.shaping import size
from pipeline.compat.ops.lookup.tables import (
    KeyValueTensorInitializer,
    StaticHashTable,
    TextFileIndex,
    TextFileInitializer,
)
from pipeline.compat.ops.math.casting import cast
from pipeline.compat.values.convert import convert_to_tensor


class _IdTable(StaticHashTable):
    """A table from words or integers to int64 numbers, with buckets for missing keys.

    Args:
        initializer: Fills the table.
        default_value: Number for missing keys, if there are no buckets.
        num_oov_buckets: Number of buckets; their numbers follow the table's.
        key_dtype: Dtype for lookups: string, or an integer type if the table's keys are int64.
    """

    def __init__(self, initializer: Any, default_value: Any, num_oov_buckets: int, key_dtype: DType) -> None:
        super().__init__(initializer, default_value)
        self._buckets, self.key_dtype = int(num_oov_buckets), key_dtype

    def _finder(self, found: dict[Any, Any], default: Any) -> Callable[[Any], Any]:
        if not self._buckets:
            return super()._finder(found, default)

        def find(key: Any) -> Any:
            number = found.get(key)
            if number is not None:
                return number
            return len(found) + fingerprint(key if isinstance(key, bytes) else b"%d" % key) % self._buckets

        return find


def index_table_from_file(
    vocabulary_file: Any = None,
    num_oov_buckets: int = 0,
    vocab_size: int | None = None,
    default_value: Any = -1,
    *,
    key_dtype: Any = string,
    name: str | None = None,
    key_column_index: int = TextFileIndex.WHOLE_LINE,
    value_column_index: int = TextFileIndex.LINE_NUMBER,
    delimiter: str = "\t",
) -> Any:
    """Return a table from a file's lines to int64 numbers.

    Args:
        vocabulary_file: File name.
        num_oov_buckets: Number of buckets for keys missing from the file.
        vocab_size: Number of lines to read; all by default.
        default_value: Number for missing keys, if there are no buckets.
        key_dtype: Dtype for lookups: string or an integer type.
        name: Scope name.
        key_column_index: The key's column in a line; see `TextFileIndex`.
        value_column_index: The number's column.
        delimiter: The character between columns.

    Raises:
        ValueError: No file is given, or a number is out of range.
        TypeError: `key_dtype` is neither string nor an integer type.
    """
    if vocabulary_file is None or (isinstance(vocabulary_file, str) and not vocabulary_file):
        raise ValueError("`vocabulary_file` must be specified and must not be empty.")
    _check_buckets(num_oov_buckets)
    if vocab_size is not None and vocab_size < 1:
        raise ValueError(
            f"`vocab_size` must be greater than 0, got {vocab_size} for vocabulary_file: {vocabulary_file}."
        )
    wanted = _key_dtype("Dtype for `keys`", key_dtype)
    with name_scope(name, "string_to_index", [vocabulary_file, vocab_size]):
        with name_scope(None, "hash_table", [vocabulary_file, vocab_size]):
            initializer = TextFileInitializer(
                vocabulary_file,
                int64 if wanted.is_integer else wanted,
                key_column_index,
                int64,
                value_column_index,
                vocab_size,
                delimiter,
                name="table_init",
            )
            return _IdTable(initializer, default_value, num_oov_buckets, wanted)


def index_table_from_tensor(
    mapping: Any,
    num_oov_buckets: int = 0,
    default_value: Any = -1,
    *,
    dtype: Any = string,
    name: str | None = None,
) -> Any:
    """Return a table from a vector's values to their indices, int64.

    Args:
        mapping: A vector of strings or integers.
        num_oov_buckets: Number of buckets for other keys.
        default_value: Number for other keys, if there are no buckets.
        dtype: Dtype for lookups.
        name: Scope name.

    Raises:
        ValueError: There is no `mapping`, its dtype does not fit `dtype`, or `num_oov_buckets` is negative.
        TypeError: `dtype` is neither string nor an integer type.
    """
    if mapping is None:
        raise ValueError("`mapping` must be specified.")
    _check_buckets(num_oov_buckets)
    wanted = _key_dtype("`dtype`", dtype)
    with name_scope(name, "string_to_index", [mapping]):
        keys = convert_to_tensor(mapping)
        if keys.dtype.is_integer != wanted.is_integer:
            kind = "integer" if wanted.is_integer else "non-integer"
            raise ValueError(f"Invalid `dtype`: Expected {kind}, got {keys.dtype}.")
        if not wanted.is_integer and keys.dtype.base_dtype != wanted:
            raise ValueError(f"Invalid `dtype`: Expected {wanted}, got {keys.dtype}.")
        values = cast(range_(size(keys)), int64)
        with name_scope(None, "hash_table", [mapping]):
            initializer = KeyValueTensorInitializer(
                cast(keys, int64) if keys.dtype.is_integer else keys, values, name="table_init"
            )
            return _IdTable(initializer, default_value, num_oov_buckets, wanted)


def _check_buckets(num_oov_buckets: int) -> None:
    if num_oov_buckets < 0:
        raise ValueError(f"`num_oov_buckets` must be greater or equal than 0, got {num_oov_buckets}.")


def _key_dtype(what: str, given: Any) -> DType:
    """Return the key dtype; TypeError if it is neither string nor an integer type."""
    dtype = as_dtype(given)
    if not dtype.is_integer and dtype != string:
        raise TypeError(f"{what} must be either integer or string, not {dtype.name}.")
    return dtype
