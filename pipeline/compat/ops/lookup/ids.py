"""Tables from words to numbers, where a word that is not in the table goes to a bucket by its hash."""

from __future__ import annotations

from typing import Any, NamedTuple

from pipeline.compat.graph.dtypes import DType, as_dtype, int64, string
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.ops.arrays.masking import where_v2
from pipeline.compat.ops.control.flow import no_op
from pipeline.compat.ops.lookup.tables import StaticHashTable
from pipeline.compat.ops.math.arithmetic import add
from pipeline.compat.ops.math.casting import cast
from pipeline.compat.ops.math.comparing import not_equal
from pipeline.compat.ops.strings import elements
from pipeline.compat.ops.strings.elements import as_string
from pipeline.compat.values.convert import convert_to_tensor
from pipeline.compat.values.sparse_tensor import SparseTensor


class HasherSpec(NamedTuple):
    """Names the hash function that picks a bucket: "fasthash", "legacy", or "stronghash" with a key."""

    hasher: Any
    key: Any


FastHashSpec = HasherSpec("fasthash", None)


class StrongHashSpec(HasherSpec):
    """The hash with a key: a list of two unsigned integers."""

    __slots__ = ()

    def __new__(cls, key: Any) -> StrongHashSpec:
        if len(key) != 2:
            raise ValueError(f"`key` must have size 2, received {len(key)}")
        if not all(isinstance(each, int) for each in key):
            raise TypeError("Invalid key. Must be unsigned integer values.")
        return super().__new__(cls, "stronghash", key)


class IdTableWithHashBuckets:
    """A table from words or integers to int64 numbers, with buckets for keys that are not in it.

    Args:
        table: A StaticHashTable of int64 values, or None for buckets only.
        num_oov_buckets: How many buckets there are; their numbers follow those of the table.
        hasher_spec: The HasherSpec that picks a bucket.
        name: Name of the table.
        key_dtype: The dtype of the keys to look up.

    Raises:
        TypeError: A dtype or `hasher_spec` is of the wrong type.
        ValueError: There is neither a table nor a bucket.
    """

    def __init__(
        self,
        table: StaticHashTable | None,
        num_oov_buckets: int,
        hasher_spec: Any = FastHashSpec,
        name: str | None = None,
        key_dtype: Any = None,
    ) -> None:
        wanted = None if key_dtype is None else as_dtype(key_dtype)
        if table is not None:
            wanted = table.key_dtype if wanted is None else wanted
            if table.key_dtype not in (int64, string):
                raise TypeError(f"Invalid `key_dtype`, expected int64 or string, but got {table.key_dtype}.")
            if table.key_dtype.is_integer != wanted.is_integer:
                kind = "integer" if wanted.is_integer else "non-integer"
                raise TypeError(f"Invalid `key_dtype`, expected {kind} but got {table.key_dtype}.")
            if table.value_dtype != int64:
                raise TypeError(f"Invalid `value_dtype`, expected {int64} but got {table.value_dtype}.")
        elif num_oov_buckets <= 0:
            raise ValueError("`oov_buckets` must be > 0 if no `table` is supplied.")
        self.key_dtype: DType = string if wanted is None else wanted
        self.value_dtype: DType = int64
        if not self.key_dtype.is_integer and self.key_dtype != string:
            raise TypeError(f"Invalid `key_dtype`, expected integer or string, got {self.key_dtype}.")
        if not isinstance(hasher_spec, HasherSpec):
            raise TypeError(f"`hasher_spec` must be of type HasherSpec, got {type(hasher_spec)}.")
        self._table, self._buckets, self._hasher = table, int(num_oov_buckets), hasher_spec
        name = name.rstrip("/") if name else None
        self._name = (name or (table.name if table is not None else "hash_bucket")).split("/")[-1]

    @property
    def name(self) -> str:
        """The name of the table."""
        return self._name

    @property
    def resource_handle(self) -> Tensor | None:
        """The table's resource tensor; None if there are buckets only."""
        return None if self._table is None else self._table.resource_handle

    @property
    def initializer(self) -> Any:
        """The operation that fills the table."""
        if self._table is not None:
            return self._table.initializer
        with name_scope(None, "init"):
            return no_op()

    @property
    def init(self) -> Any:
        """Old name of `initializer`."""
        return self.initializer

    def size(self, name: str | None = None) -> Any:
        """Return the number of keys plus the number of buckets, int64."""
        with name_scope(name, f"{self._name}_Size"):
            known: Any = convert_to_tensor(0, dtype=int64) if self._table is None else self._table.size()
            return known + self._buckets

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """Return the int64 number of each key of a tensor or SparseTensor.

        Raises:
            TypeError: The keys do not have the dtype `key_dtype`.
            FailedPreconditionError: At run time: the table is not filled.
        """
        if keys.dtype.base_dtype != self.key_dtype:
            raise TypeError(f"Dtype of argument `keys` must be {self.key_dtype}, received: {keys.dtype}")
        sparse = keys if isinstance(keys, SparseTensor) else None
        values = keys if sparse is None else sparse.values
        if self._table is not None and self._table.key_dtype == int64:
            values = cast(values, int64)
        if self._buckets == 0 and self._table is not None:
            ids = self._table.lookup(values, name=name)
        else:
            with name_scope(name, f"{self._name}_Lookup"):
                ids = self._ids(values)
        return ids if sparse is None else SparseTensor(sparse.indices, ids, sparse.dense_shape)

    __getitem__ = lookup

    def _ids(self, values: Any) -> Any:
        buckets = self._bucket(values if values.dtype.base_dtype == string else as_string(values))
        if self._table is None:
            return buckets
        known = self._table.lookup(values)
        buckets = add(buckets, self._table.size())
        return where_v2(not_equal(known, self._table.default_value), known, buckets)

    def _bucket(self, words: Any) -> Any:
        hasher = self._hasher.hasher
        if hasher == "fasthash":
            return elements.to_hash_bucket_fast(words, self._buckets, name="hash_bucket")
        if hasher == "legacy":
            return elements.to_hash_bucket(words, self._buckets, name="hash_bucket")
        if hasher == "stronghash":
            return elements.to_hash_bucket_strong(words, self._buckets, self._hasher.key, name="hash_bucket")
        raise ValueError(f"Found unknown hasher {hasher} in `hasher_spec`")


class StaticVocabularyTable(IdTableWithHashBuckets):
    """A table from words to numbers, with buckets for words that are not in it.

    Args:
        initializer: Fills the table with int64 values from 0 on; None for buckets only.
        num_oov_buckets: How many buckets there are; their numbers follow those of the table.
        lookup_key_dtype: The dtype of the keys to look up.
        name: Name of the table.
        experimental_is_anonymous: Ignored.

    Raises:
        ValueError: There are no buckets.
        TypeError: A dtype is wrong.
    """

    def __init__(
        self,
        initializer: Any,
        num_oov_buckets: int,
        lookup_key_dtype: Any = None,
        name: str | None = None,
        experimental_is_anonymous: bool = False,
    ) -> None:
        if num_oov_buckets <= 0:
            raise ValueError("`num_oov_buckets` must be > 0; use StaticHashTable.")
        if initializer is not None and initializer.value_dtype != int64:
            raise TypeError(f"Invalid `value_dtype`, expected {int64} but got {initializer.value_dtype}.")
        table = None if initializer is None else StaticHashTable(initializer, -1)
        super().__init__(table, num_oov_buckets, name=name, key_dtype=lookup_key_dtype if table is not None else string)
