"""tf.contrib.lookup: tables from the words of a list or a file to their numbers, and back."""

from __future__ import annotations

from typing import Any

from pipeline.compat.graph.dtypes import as_dtype, int64, string
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.tensor import Operation, Tensor
from pipeline.compat.ops.arrays.sequences import range as range_
from pipeline.compat.ops.arrays.shaping import size
from pipeline.compat.ops.lookup.ids import FastHashSpec, IdTableWithHashBuckets
from pipeline.compat.ops.lookup.tables import (
    KeyValueTensorInitializer,
    StaticHashTable,
    TextFileIndex,
    TextFileInitializer,
)
from pipeline.compat.ops.math.casting import cast
from pipeline.compat.values.convert import convert_to_tensor


class HashTable(StaticHashTable):
    """The old form of StaticHashTable; `shared_name` is ignored."""

    def __init__(self, initializer: Any, default_value: Any, shared_name: Any = None, name: str | None = None) -> None:
        super().__init__(initializer, default_value, name)

    @property
    def init(self) -> Operation:
        """Old name of `initializer`."""
        return self.initializer


class TextFileStringTableInitializer(TextFileInitializer):
    """Fills a table from line numbers to the lines of a file."""

    def __init__(
        self,
        filename: Any,
        key_column_index: int = TextFileIndex.LINE_NUMBER,
        value_column_index: int = TextFileIndex.WHOLE_LINE,
        vocab_size: int | None = None,
        delimiter: str = "\t",
        name: str | None = "text_file_string_table_init",
    ) -> None:
        super().__init__(
            filename, int64, key_column_index, string, value_column_index, vocab_size, delimiter, name=name
        )


class TextFileIdTableInitializer(TextFileInitializer):
    """Fills a table from the lines of a file to their line numbers."""

    def __init__(
        self,
        filename: Any,
        key_column_index: int = TextFileIndex.WHOLE_LINE,
        value_column_index: int = TextFileIndex.LINE_NUMBER,
        vocab_size: int | None = None,
        delimiter: str = "\t",
        name: str | None = "text_file_id_table_init",
        key_dtype: Any = string,
    ) -> None:
        super().__init__(
            filename, key_dtype, key_column_index, int64, value_column_index, vocab_size, delimiter, name=name
        )


def _check_file(vocabulary_file: Any) -> None:
    if vocabulary_file is None or (isinstance(vocabulary_file, str) and not vocabulary_file):
        raise ValueError("`vocabulary_file` must be specified and must not be empty.")


def _check_buckets(num_oov_buckets: int) -> None:
    if num_oov_buckets < 0:
        raise ValueError(f"`num_oov_buckets` must be greater or equal than 0, got {num_oov_buckets}.")


def index_table_from_file(
    vocabulary_file: Any = None,
    num_oov_buckets: int = 0,
    vocab_size: int | None = None,
    default_value: Any = -1,
    hasher_spec: Any = FastHashSpec,
    key_dtype: Any = string,
    name: str | None = None,
    key_column_index: int = TextFileIndex.WHOLE_LINE,
    value_column_index: int = TextFileIndex.LINE_NUMBER,
    delimiter: str = "\t",
) -> Any:
    """Return a table from the lines of a file to int64 numbers.

    Args:
        vocabulary_file: The file's name.
        num_oov_buckets: How many buckets there are for keys that are not in the file.
        vocab_size: How many lines to read; all by default.
        default_value: The number of a key that is not in the file, if there are no buckets.
        hasher_spec: The HasherSpec that picks a bucket.
        key_dtype: The dtype of the keys to look up: string or an integer type.
        name: Name of the scope.
        key_column_index: Which column of a line is the key; see `TextFileIndex`.
        value_column_index: Which column is its number.
        delimiter: The character between columns.

    Raises:
        ValueError: No file is given, or a number is out of range.
        TypeError: `key_dtype` is neither string nor an integer type.
    """
    _check_file(vocabulary_file)
    _check_buckets(num_oov_buckets)
    if vocab_size is not None and vocab_size < 1:
        raise ValueError(
            f"`vocab_size` must be greater than 0, got {vocab_size} for vocabulary_file: {vocabulary_file}."
        )
    key_dtype = as_dtype(key_dtype)
    if not key_dtype.is_integer and key_dtype != string:
        raise TypeError("Dtype for `keys` should be either integer or string.")
    with name_scope(name, "string_to_index"):
        with name_scope(None, "hash_table"):
            initializer = TextFileIdTableInitializer(
                vocabulary_file,
                key_column_index,
                value_column_index,
                vocab_size,
                delimiter,
                "table_init",
                int64 if key_dtype.is_integer else key_dtype,
            )
            table = HashTable(initializer, default_value)
        if num_oov_buckets:
            return IdTableWithHashBuckets(table, num_oov_buckets, hasher_spec, key_dtype=key_dtype)
    return table


def index_table_from_tensor(
    mapping: Any,
    num_oov_buckets: int = 0,
    default_value: Any = -1,
    hasher_spec: Any = FastHashSpec,
    dtype: Any = string,
    name: str | None = None,
) -> Any:
    """Return a table from the values of a vector to their indices, int64.

    Args:
        mapping: A vector of strings or integers.
        num_oov_buckets: How many buckets there are for other keys.
        default_value: The number of other keys, if there are no buckets.
        hasher_spec: The HasherSpec that picks a bucket.
        dtype: The dtype of the keys to look up.
        name: Name of the scope.

    Raises:
        ValueError: There is no `mapping`, its dtype does not fit `dtype`, or `num_oov_buckets` is negative.
        TypeError: `dtype` is neither string nor an integer type.
    """
    if mapping is None:
        raise ValueError("`mapping` must be specified.")
    _check_buckets(num_oov_buckets)
    dtype = as_dtype(dtype)
    if not dtype.is_integer and dtype != string:
        raise TypeError("`dtype` must either be integer or string.")
    with name_scope(name, "string_to_index"):
        keys = convert_to_tensor(mapping)
        if keys.dtype.is_integer != dtype.is_integer:
            kind = "integer" if dtype.is_integer else "non-integer"
            raise ValueError(f"Invalid `dtype`: Expected {kind}, got {keys.dtype}.")
        if not dtype.is_integer and keys.dtype.base_dtype != dtype:
            raise ValueError(f"Invalid `dtype`: Expected {dtype}, got {keys.dtype}.")
        values = _indices(keys)
        with name_scope(None, "hash_table"):
            table_keys = cast(keys, int64) if keys.dtype.is_integer else keys
            key_dtype = table_keys.dtype.base_dtype
            initializer = KeyValueTensorInitializer(table_keys, values, key_dtype, int64, name="table_init")
            table = HashTable(initializer, default_value)
        if num_oov_buckets:
            return IdTableWithHashBuckets(table, num_oov_buckets, hasher_spec, key_dtype=dtype)
    return table


def _indices(vector: Tensor) -> Any:
    """0, 1, ... for the values of a vector, int64."""
    return cast(range_(size(vector)), int64)


def index_to_string_table_from_file(
    vocabulary_file: Any,
    vocab_size: int | None = None,
    default_value: Any = "UNK",
    name: str | None = None,
    key_column_index: int = TextFileIndex.LINE_NUMBER,
    value_column_index: int = TextFileIndex.WHOLE_LINE,
    delimiter: str = "\t",
) -> HashTable:
    """Return a table from int64 numbers to the lines of a file; see `index_table_from_file`."""
    _check_file(vocabulary_file)
    if vocab_size is not None and vocab_size < 1:
        raise ValueError(f"`vocab_size` must be greater than 0, got {vocab_size}.")
    with name_scope(name, "index_to_string"):
        initializer = TextFileStringTableInitializer(
            vocabulary_file, key_column_index, value_column_index, vocab_size, delimiter, "table_init"
        )
        return HashTable(initializer, default_value)


def index_to_string_table_from_tensor(mapping: Any, default_value: Any = "UNK", name: str | None = None) -> HashTable:
    """Return a table from int64 indices to the strings of a vector."""
    if mapping is None:
        raise ValueError("`mapping` argument must be specified.")
    with name_scope(name, "index_to_string"):
        words = convert_to_tensor(mapping, dtype=string)
        initializer = KeyValueTensorInitializer(_indices(words), words, int64, string, name="table_init")
        return HashTable(initializer, default_value)
