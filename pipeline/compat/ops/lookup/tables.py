"""StaticHashTable, a lookup table, and initializers that fill it from vectors or a text file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pipeline.compat.graph.dtypes import DType, as_dtype, int64, resource, string
from pipeline.compat.graph.graph_keys import GraphKeys
from pipeline.compat.graph.node import node, tensor_node
from pipeline.compat.graph.scopes import add_to_collection, get_collection, get_default_graph, name_scope
from pipeline.compat.graph.shapes import scalar
from pipeline.compat.graph.tensor import Operation, Tensor
from pipeline.compat.ops.control.flow import group, no_op
from pipeline.compat.ops.making.text import objects, with_rank
from pipeline.compat.values.convert import convert_to_tensor
from pipeline.compat.values.sparse_tensor import SparseTensor
from pipeline.errors import FailedPreconditionError, OutOfRangeError, invalid
from pipeline.files.limits import MAX_RECORD_BYTES
from pipeline.files.opening import read_whole

WHOLE_LINE = -2
LINE_NUMBER = -1


def entries(
    filename: bytes, columns: tuple[int, int], dtypes: tuple[DType, DType], size: int, delimiter: bytes, offset: int
) -> tuple[list[Any], list[Any]]:
    """Return the keys and values in a file's lines.

    Args:
        filename: File name.
        columns: Columns for key and value: a column index, WHOLE_LINE or LINE_NUMBER.
        dtypes: Dtypes for keys and values.
        size: Number of lines to read, -1 for all.
        delimiter: The character between columns.
        offset: Added to line numbers used as values.

    Raises:
        InvalidArgumentError: There are fewer lines, a line is empty or lacks columns, or a number cannot be parsed.
        OutOfRangeError: The file is empty.
        NotFoundError: The file does not exist.
    """
    if len(delimiter) != 1:
        raise invalid("delimiter should be only 1 char")
    shown = filename.decode(errors="replace")
    found: tuple[list[Any], list[Any]] = [], []
    lines = _lines(filename)
    if not lines:
        raise OutOfRangeError(None, None, "Read less bytes than requested")
    place = 0
    for number, (line, length) in enumerate(lines if size < 0 else lines[:size]):
        place += length
        if not line:
            raise invalid(f"Invalid content in {shown}: empty line found at position {place}.")
        fields = line.split(delimiter) if max(columns) >= 0 else []
        if max(columns) >= len(fields) and fields:
            text = f"Invalid number of columns in {shown} line {number} ({line.decode(errors='replace')}) "
            raise invalid(f"{text}: expected at least {max(columns) + 1} got {len(fields)}")
        for taken, column, dtype, first in zip(found, columns, dtypes, (0, offset), strict=True):
            if column == LINE_NUMBER:
                taken.append(first + number)
            else:
                taken.append(_value(line if column == WHOLE_LINE else fields[column], dtype, number))
    if len(lines) < size:
        raise invalid(f"Invalid vocab_size in {shown}: expected {size} but got {len(lines)}")
    return found


def _value(text: bytes, dtype: DType, number: int) -> Any:
    if dtype == string:
        return text
    try:
        return dtype.np.type(text).item()
    except ValueError:
        shown = text.decode(errors="replace")
        raise invalid(f"Field {shown} in line {number} is not a valid {dtype.name}.") from None


def _lines(filename: bytes) -> list[tuple[bytes, int]]:
    """Return each line without its line end, and its length including it."""
    lines = read_whole(filename, MAX_RECORD_BYTES).split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    return [(line.removesuffix(b"\r"), len(line) + 1) for line in lines]


class _Entries:
    """A table's entries in one session; None until the table is initialised."""

    def __init__(self) -> None:
        self.found: dict[Any, Any] | None = None

    def fill(self, keys: list[Any], values: list[Any]) -> None:
        found: dict[Any, Any] = {}
        for key, value in zip(keys, values, strict=True):
            if found.setdefault(key, value) != value:
                shown = key.decode(errors="replace") if isinstance(key, bytes) else key
                raise FailedPreconditionError(
                    None,
                    None,
                    f"HashTable has different value for same key. Key {shown} has {found[key]} and trying to add "
                    f"value {value}",
                )
        self.found = found

    def ready(self) -> dict[Any, Any]:
        """Return the entries; FailedPreconditionError before the table is initialised."""
        if self.found is None:
            raise FailedPreconditionError(None, None, "Table not initialized.")
        return self.found


class KeyValueTensorInitializer:
    """Fills a table from two vectors of equal length.

    Args:
        keys: Strings or integers.
        values: The values.
        key_dtype: Dtype for `keys`, if they are Python values.
        value_dtype: Dtype for `values`, if they are Python values.
        name: Name of the filling operation.
    """

    shared_key = None  # each table has its own entries

    def __init__(
        self, keys: Any, values: Any, key_dtype: Any = None, value_dtype: Any = None, name: str | None = None
    ) -> None:
        self._keys = convert_to_tensor(keys, dtype=key_dtype, name="keys")
        self._values = convert_to_tensor(values, dtype=value_dtype, name="values")
        self._name = "key_value_init" if name is None else name
        self.key_dtype: DType = self._keys.dtype.base_dtype
        self.value_dtype: DType = self._values.dtype.base_dtype

    def initialize(self, table: StaticHashTable) -> Operation:
        """Return the operation that fills the table, and add it to TABLE_INITIALIZERS.

        Raises:
            ValueError: The lengths are known to differ.
        """
        with_rank(self._keys, 1)
        if not self._keys.shape.is_compatible_with(self._values.shape):
            shown = ", ".join(str(each.shape) for each in (self._keys, self._values))
            raise ValueError(f"Dimensions must be equal: keys and values have the shapes {shown}")
        with name_scope(self._name, None, [table.resource_handle, self._keys, self._values]):

            def kernel(run: Any, _: Any, keys: Any, values: Any) -> None:
                if keys.shape != values.shape:
                    raise invalid(f"Number of elements of keys and values differ: {keys.size} and {values.size}")
                table.entries_in(run).fill(keys.ravel().tolist(), values.ravel().tolist())

            inputs = [table.resource_handle, self._keys, self._values]
            attrs = {"Tin": self.key_dtype, "Tout": self.value_dtype}
            made = node("LookupTableImportV2", inputs, [], kernel, attrs=attrs, stateful=True)
        add_to_collection(GraphKeys.TABLE_INITIALIZERS, made)
        return made


class TextFileIndex:
    """Special key and value columns: the line number or the whole line; other values are column indices."""

    WHOLE_LINE = WHOLE_LINE
    LINE_NUMBER = LINE_NUMBER


class TextFileInitializer:
    """Fills a table from a text file's lines.

    Args:
        filename: File name.
        key_dtype: string or int64.
        key_index: A TextFileIndex or a column index.
        value_dtype: string or int64.
        value_index: A TextFileIndex or a column index.
        vocab_size: Number of lines to read; all by default.
        delimiter: The character between columns.
        name: Name of the filling operation.
        value_index_offset: Added to line numbers used as values.

    Raises:
        ValueError: There is no file name, or a dtype, index or size does not fit.
    """

    def __init__(
        self,
        filename: Any,
        key_dtype: Any,
        key_index: int,
        value_dtype: Any,
        value_index: int,
        vocab_size: int | None = None,
        delimiter: str = "\t",
        name: str | None = None,
        value_index_offset: int = 0,
    ) -> None:
        if not isinstance(filename, Tensor) and not filename:
            raise ValueError("`filename` argument required for tf.lookup.TextFileInitializer")
        self.key_dtype, self.value_dtype = as_dtype(key_dtype), as_dtype(value_dtype)
        for index, dtype, which in ((key_index, self.key_dtype, "key"), (value_index, self.value_dtype, "value")):
            if index < WHOLE_LINE:
                raise ValueError(f"`{which}_index` should be >= -2, received: {index}.")
            if index == LINE_NUMBER and dtype != int64:
                relation = f"if `{which}_index` is" if which == "key" else f"for `{which}_index`"
                raise ValueError(f"`{which}_dtype` must be int64 {relation} {index}, received: {dtype}")
            if index == WHOLE_LINE and not dtype.is_integer and dtype != string:
                raise ValueError(
                    f"`{which}_dtype` should be either integer or string for `{which}_index` {index}, received: {dtype}"
                )
        if vocab_size is not None and vocab_size <= 0:
            raise ValueError(f"`vocab_size` should be > 0, received: {vocab_size}")
        self._indices = key_index, value_index
        self._size, self._offset = -1 if vocab_size is None else vocab_size, value_index_offset
        self._delimiter = delimiter.encode()
        container, kinds = get_default_graph()._container, (self.key_dtype, self.value_dtype)
        content = kinds, self._indices, self._size, self._delimiter, self._offset
        self.shared_key = None if isinstance(filename, Tensor) else ("hash_table", container, filename, *content)
        self._name = "text_file_init" if name is None else name
        self._filename = with_rank(convert_to_tensor(filename, dtype=string, name="asset_path"), 0)
        add_to_collection(GraphKeys.ASSET_FILEPATHS, self._filename)

    def initialize(self, table: StaticHashTable) -> Operation:
        """Return the operation that fills the table, and add it to TABLE_INITIALIZERS."""
        with name_scope(self._name, "text_file_init", [table.resource_handle]):

            def kernel(run: Any, _: Any, filename: bytes) -> None:
                dtypes = self.key_dtype, self.value_dtype
                found = entries(filename, self._indices, dtypes, self._size, self._delimiter, self._offset)
                table.entries_in(run).fill(*found)

            made = node(
                "InitializeTableFromTextFileV2",
                [table.resource_handle, self._filename],
                [],
                kernel,
                attrs={"key_index": self._indices[0], "value_index": self._indices[1]},
                stateful=True,
            )
        add_to_collection(GraphKeys.TABLE_INITIALIZERS, made)
        return made


class StaticHashTable:
    """A table that never changes once it is filled.

    Args:
        initializer: A KeyValueTensorInitializer or TextFileInitializer.
        default_value: Value for missing keys.
        name: The table's name.
    """

    def __init__(self, initializer: Any, default_value: Any, name: str | None = None) -> None:
        self.key_dtype: DType = initializer.key_dtype
        self.value_dtype: DType = initializer.value_dtype
        self._default = convert_to_tensor(default_value, dtype=self.value_dtype)
        self._default.shape.merge_with(scalar())
        # Tables for the same file are one, as in TensorFlow: a second one is filled when the first is.
        self._key: Any = initializer.shared_key or object()
        attrs = {"key_dtype": self.key_dtype, "value_dtype": self.value_dtype}
        self.resource_handle: Tensor = tensor_node(
            "HashTableV2",
            [],
            self.entries_in,
            resource,
            scalar(),
            name or "hash_table",
            attrs=attrs,
            stateful=True,
        )
        self._name = self.resource_handle.op.name.split("/")[-1]
        self._initializer: Operation = initializer.initialize(self)

    _buckets = 0

    def _finder(self, found: dict[Any, Any], default: Any) -> Callable[[Any], Any]:
        """Return the function from key to value."""
        return lambda key: found.get(key, default)

    def entries_in(self, run: Any) -> _Entries:
        """Return the table's entries in the run's session."""
        entries: _Entries = run.state(self._key, _Entries)
        return entries

    @property
    def default_value(self) -> Tensor:
        """The value for missing keys."""
        return self._default

    @property
    def initializer(self) -> Operation:
        """The operation that fills the table."""
        return self._initializer

    @property
    def init(self) -> Operation:
        """Old name of `initializer`."""
        return self._initializer

    @property
    def name(self) -> str:
        """The table's name."""
        return self._name

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """Return values for the keys in a tensor or SparseTensor.

        Raises:
            TypeError: The dtype of the keys is not `key_dtype`.
            FailedPreconditionError: At run time, if the table is not filled.
        """
        sparse = keys if isinstance(keys, SparseTensor) else None
        if sparse is not None:
            keys = sparse.values
        if keys.dtype.base_dtype != self.key_dtype:
            raise TypeError(f"Dtype of argument `keys` must be {self.key_dtype}, received: {keys.dtype}")
        with name_scope(name, f"{self._name}_Lookup", [self.resource_handle, keys, self._default]):
            dtype = self.value_dtype.np

            def kernel(run: Any, _: Any, keys: Any, default: Any) -> Any:
                find = self._finder(self.entries_in(run).ready(), default)
                if not isinstance(keys, np.ndarray):
                    value = find(keys if isinstance(keys, bytes) else keys.item())
                    return value if dtype.kind == "O" else dtype.type(value)
                return objects(list(map(find, keys.ravel().tolist())), dtype).reshape(keys.shape)

            keys = convert_to_tensor(keys)
            inputs = [self.resource_handle, keys, self._default]
            attrs = {"Tin": self.key_dtype, "Tout": self.value_dtype}
            values = tensor_node(
                "LookupTableFindV2", inputs, kernel, self.value_dtype, keys.shape, attrs=attrs, stateful=True
            )
        return values if sparse is None else SparseTensor(sparse.indices, values, sparse.dense_shape)

    __getitem__ = lookup

    def size(self, name: str | None = None) -> Tensor:
        """Return the number of keys, int64."""
        with name_scope(name, f"{self._name}_Size", [self.resource_handle]):

            def kernel(run: Any, _: Any) -> Any:
                return np.int64(len(self.entries_in(run).found or ()) + self._buckets)

            return tensor_node("LookupTableSizeV2", [self.resource_handle], kernel, int64, scalar(), stateful=True)


def tables_initializer(name: str = "init_all_tables") -> Operation:
    """Return an operation that fills all tables made so far."""
    initializers = get_collection(GraphKeys.TABLE_INITIALIZERS)
    return group(*initializers, name=name) if initializers else no_op(name=name)


initialize_all_tables = tables_initializer
