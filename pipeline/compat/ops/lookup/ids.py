"""Tables that give words numbers, also words that they do not hold: those go to buckets by their hashes."""

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
    """Which hash function picks a bucket: "fasthash", "legacy", or "stronghash" with a key."""

    hasher: Any
    key: Any


FastHashSpec = HasherSpec("fasthash", None)


class StrongHashSpec(HasherSpec):
    """The hash that needs a key: a list of two unsigned integers."""

    __slots__ = ()

    def __new__(cls, key: Any) -> StrongHashSpec:
        if len(key) != 2:
            raise ValueError(f"`key` must have size 2, received {len(key)}")
        if not all(isinstance(each, int) for each in key):
            raise TypeError("Invalid key. Must be unsigned integer values.")
        return super().__new__(cls, "stronghash", key)


class IdTableWithHashBuckets:
    """A table of int64 numbers for words or integers, with buckets for what is not in it.

    Args:
        table: A StaticHashTable of int64 values, or None for buckets alone.
        num_oov_buckets: The number of buckets, whose numbers follow those of the table.
        hasher_spec: A HasherSpec.
        name: The name of the table.
        key_dtype: The dtype of the keys that are looked up.

    Raises:
        TypeError: A dtype or `hasher_spec` does not fit.
        ValueError: There are neither a table nor buckets.
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
        """The tensor that stands for the table, None if there are buckets alone."""
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
        """The older name of `initializer`."""
        return self.initializer

    def size(self, name: str | None = None) -> Any:
        """Return the number of keys and buckets, int64."""
        with name_scope(name, f"{self._name}_Size"):
            known: Any = convert_to_tensor(0, dtype=int64) if self._table is None else self._table.size()
            return known + self._buckets

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """Return the number of each key, a tensor or a SparseTensor: int64.

        Raises:
            TypeError: The keys have another dtype.
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
    """A table of numbers for words, with buckets for the words that are not in it.

    Args:
        initializer: What fills it with int64 from 0; None for buckets alone.
        num_oov_buckets: The number of buckets, whose numbers follow those of the table.
        lookup_key_dtype: The dtype of the keys that are looked up.
        name: The name of the table.
        experimental_is_anonymous: Taken for the sake of TensorFlow's signature.

    Raises:
        ValueError: There are no buckets.
        TypeError: A dtype does not fit.
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
