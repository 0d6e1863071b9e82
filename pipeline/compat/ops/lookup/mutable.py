"""MutableHashTable and DenseHashTable: tables that a program fills and changes while it runs."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from pipeline.compat.graph.dtypes import as_dtype, int64, resource
from pipeline.compat.graph.node import node, tensor_node
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.shapes import scalar, unknown_shape
from pipeline.compat.graph.tensor import Operation, Tensor
from pipeline.compat.ops.making.text import objects
from pipeline.compat.values.convert import convert_to_tensor
from pipeline.errors import invalid


class _Entries:
    """The entries of a table in one session. A value is a scalar or an array."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.found: dict[Any, Any] = {}


class MutableHashTable:
    """A table that is empty at first; `insert` and `remove` change it.

    Args:
        key_dtype: string or an integer dtype.
        value_dtype: The dtype of the values.
        default_value: The value of a key that is not in the table; all values have its shape.
        name: Name of the table.
        checkpoint: Adds an op that exports the table, as in TensorFlow; there are no checkpoints.
        experimental_is_anonymous: Without effect.
    """

    _OPS = ("MutableHashTableV2", "MutableHashTableOfTensorsV2")

    def __init__(
        self,
        key_dtype: Any,
        value_dtype: Any,
        default_value: Any,
        name: str | None = "MutableHashTable",
        checkpoint: bool = True,
        experimental_is_anonymous: bool = False,
    ) -> None:
        self._begin(key_dtype, value_dtype, convert_to_tensor(default_value, dtype=as_dtype(value_dtype)))
        self._make(self._OPS[self._default.shape.ndims != 0], [], name, checkpoint)

    def _begin(self, key_dtype: Any, value_dtype: Any, default: Tensor) -> None:
        self.key_dtype, self.value_dtype = as_dtype(key_dtype), as_dtype(value_dtype)
        self._default, self._key = default, object()
        self._one: Any = tuple(default.shape.as_list())  # the shape of a value
        self._reserved: list[Tensor] = []

    def _make(self, op_type: str, inputs: list[Tensor], name: str | None, checkpoint: bool) -> None:
        attrs = {"key_dtype": self.key_dtype, "value_dtype": self.value_dtype}

        def kernel(run: Any, *_: Any) -> _Entries:
            return self._entries(run)

        self.resource_handle: Tensor = tensor_node(
            op_type, inputs, kernel, resource, scalar(), name, attrs=attrs, stateful=True
        )
        self.name = self.resource_handle.op.name.split("/")[-1]
        if checkpoint:
            self.export()  # TensorFlow makes this op for its checkpoint, and so has its names

    def _entries(self, run: Any) -> _Entries:
        entries: _Entries = run.state(self._key, _Entries)
        return entries

    def _keys(self, keys: Any, reserved: tuple[Any, ...]) -> list[Any]:
        """The keys as a flat list; InvalidArgumentError for one that stands for an empty bucket."""
        flat = [keys] if isinstance(keys, bytes) else np.asarray(keys).ravel().tolist()
        for what, key in zip(("empty_key", "deleted_key"), reserved, strict=False):
            key = key if isinstance(key, bytes) else np.asarray(key).item()
            if key in flat:
                raise invalid(f"Using the {what} as a table key is not allowed")
        return flat

    def _rows(self, values: Any, count: int) -> list[Any]:
        """The values of `count` keys, each by itself."""
        if self.value_dtype.np.kind == "O" and not self._one:
            return [values] if isinstance(values, bytes) else np.asarray(values, object).ravel().tolist()
        return list(np.asarray(values).reshape((count, *self._one)))

    def lookup(self, keys: Any, dynamic_default_values: Any = None, name: str | None = None) -> Tensor:
        """Return the values of the keys.

        Args:
            keys: A tensor of the dtype `key_dtype`.
            dynamic_default_values: What keys that are missing get instead of the default value: one value, or one for
                each key.
            name: Name of the op.
        """
        with name_scope(name, f"{self.name}_lookup_table_find", [self.resource_handle, keys, self._default]):
            keys = convert_to_tensor(keys, dtype=self.key_dtype, name="keys")
            default = self._default
            if dynamic_default_values is not None:
                default = convert_to_tensor(dynamic_default_values, dtype=self.value_dtype)
            dtype, one = self.value_dtype.np, self._one

            def kernel(run: Any, _: Any, keys: Any, default: Any, *reserved: Any) -> Any:
                wanted = self._keys(keys, reserved)
                default = objects([default], dtype).reshape(()) if isinstance(default, bytes) else np.asarray(default)
                each = default.reshape((-1, *one))
                if len(each) not in (1, len(wanted)):
                    raise invalid(f"expected one default value or one for each of the {len(wanted)} keys")
                spare = self._rows(np.broadcast_to(each, (len(wanted), *one)), len(wanted))
                entries = self._entries(run)
                with entries.lock:
                    found = [entries.found.get(key, other) for key, other in zip(wanted, spare, strict=True)]
                if not one and dtype.kind == "O":
                    result = objects(found, dtype)
                else:
                    result = np.array(found, dtype).reshape((len(wanted), *one))
                return result.reshape((*np.shape(keys), *one))[()]

            inputs = [self.resource_handle, keys, default, *self._reserved]
            shape = keys.shape.concatenate(self._default.shape)
            attrs = {"Tin": self.key_dtype, "Tout": self.value_dtype}
            return tensor_node("LookupTableFindV2", inputs, kernel, self.value_dtype, shape, attrs=attrs, stateful=True)

    __getitem__ = lookup

    def insert(self, keys: Any, values: Any, name: str | None = None) -> Operation:
        """Return an operation that sets the values of keys."""
        with name_scope(name, f"{self.name}_lookup_table_insert", [self.resource_handle, keys, values]):
            keys = convert_to_tensor(keys, self.key_dtype, name="keys")
            values = convert_to_tensor(values, self.value_dtype, name="values")

            def kernel(run: Any, _: Any, keys: Any, values: Any, *reserved: Any) -> None:
                expected = (*np.shape(keys), *self._one)
                if np.shape(values) != expected:
                    raise invalid(f"Expected shape {list(expected)} for value, got {list(np.shape(values))}")
                flat = self._keys(keys, reserved)
                entries = self._entries(run)
                with entries.lock:
                    entries.found.update(zip(flat, self._rows(values, len(flat)), strict=True))

            attrs = {"Tin": self.key_dtype, "Tout": self.value_dtype}
            inputs = [self.resource_handle, keys, values, *self._reserved]
            return node("LookupTableInsertV2", inputs, [], kernel, attrs=attrs, stateful=True)

    def remove(self, keys: Any, name: str | None = None) -> Operation:
        """Return an operation that removes keys; those that are not in the table are ignored.

        Raises:
            TypeError: The keys are not of the dtype `key_dtype`.
        """
        if keys.dtype.base_dtype != self.key_dtype:
            raise TypeError(f"Dtype of argument `keys` must be {self.key_dtype}, received: {keys.dtype}")
        with name_scope(name, f"{self.name}_lookup_table_remove", [self.resource_handle, keys, self._default]):

            def kernel(run: Any, _: Any, keys: Any, *reserved: Any) -> None:
                entries = self._entries(run)
                with entries.lock:
                    for key in self._keys(keys, reserved):
                        entries.found.pop(key, None)

            inputs = [self.resource_handle, convert_to_tensor(keys), *self._reserved]
            return node("LookupTableRemoveV2", inputs, [], kernel, attrs={"Tin": self.key_dtype}, stateful=True)

    def size(self, name: str | None = None) -> Tensor:
        """Return the number of keys, int64."""
        with name_scope(name, f"{self.name}_Size", [self.resource_handle]):

            def kernel(run: Any, _: Any) -> Any:
                return np.int64(len(self._entries(run).found))

            return tensor_node("LookupTableSizeV2", [self.resource_handle], kernel, int64, scalar(), stateful=True)

    def export(self, name: str | None = None) -> tuple[Tensor, Tensor]:
        """Return all keys and their values, in no particular order."""
        with name_scope(name, f"{self.name}_lookup_table_export_values", [self.resource_handle]):

            def kernel(run: Any, _: Any) -> Any:
                entries = self._entries(run)
                with entries.lock:
                    keys, values = list(entries.found), list(entries.found.values())
                shape = (len(keys), *self._one)
                dtype = self.value_dtype.np
                rows = objects(values, dtype) if len(shape) == 1 else np.array(values, dtype).reshape(shape)
                return objects(keys, self.key_dtype.np), rows

            outputs = [(self.key_dtype, unknown_shape()), (self.value_dtype, unknown_shape())]
            made = node("LookupTableExportV2", [self.resource_handle], outputs, kernel, stateful=True)
        return made.outputs[0], made.outputs[1]


class DenseHashTable(MutableHashTable):
    """A MutableHashTable with two keys that may not be used.

    Args:
        key_dtype, value_dtype, default_value, name, checkpoint, experimental_is_anonymous: As for MutableHashTable.
        empty_key: A key that no call may use.
        deleted_key: Another one.
        initial_num_buckets: Without effect.
    """

    def __init__(
        self,
        key_dtype: Any,
        value_dtype: Any,
        default_value: Any,
        empty_key: Any,
        deleted_key: Any,
        initial_num_buckets: int | None = None,
        name: str | None = "MutableDenseHashTable",
        checkpoint: bool = True,
        experimental_is_anonymous: bool = False,
    ) -> None:
        default = convert_to_tensor(default_value, dtype=as_dtype(value_dtype), name="default_value")
        self._begin(key_dtype, value_dtype, default)
        empty = convert_to_tensor(empty_key, dtype=self.key_dtype, name="empty_key")
        deleted = convert_to_tensor(deleted_key, dtype=self.key_dtype, name="deleted_key")
        self._make("MutableDenseHashTableV2", [empty, deleted], name, checkpoint)
        self._reserved = [empty, deleted]
