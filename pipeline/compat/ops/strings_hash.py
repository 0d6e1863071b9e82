"""string_to_hash_bucket and its kin: strings as numbers of buckets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pipeline.compat.core.dtypes import int64
from pipeline.compat.core.tensor import Tensor
from pipeline.compat.ops.hashing import fingerprint, murmur, sip
from pipeline.compat.ops.inputs import renamed
from pipeline.compat.ops.text import bad, unary


def to_hash_bucket(
    string_tensor: Any = None, num_buckets: Any = None, name: str | None = None, input: Any = None
) -> Tensor:
    """The bucket of each string, int64 from 0 to `num_buckets - 1`; the `_fast` one spreads them better."""
    string_tensor = renamed("input", input, "string_tensor", string_tensor)
    return _bucket("StringToHashBucket", string_tensor, num_buckets, murmur, name, argument="string_tensor")


def to_hash_bucket_fast(input: Any, num_buckets: Any, name: str | None = None) -> Tensor:
    """The bucket of each string by its FarmHash fingerprint, int64 from 0 to `num_buckets - 1`."""
    return _bucket("StringToHashBucketFast", input, num_buckets, fingerprint, name)


def to_hash_bucket_strong(input: Any, num_buckets: Any, key: Any, name: str | None = None) -> Tensor:
    """The bucket of each string by its SipHash under a key of two numbers, int64 from 0 to `num_buckets - 1`."""
    if not isinstance(key, (list, tuple)):
        raise TypeError(f"Expected list for 'key' argument to 'string_to_hash_bucket_strong' Op, not {key!r}.")
    words = [_whole(word, "key") for word in key]

    def function(value: bytes) -> int:
        if len(words) != 2:
            raise bad("Key must have 2 elements")
        return sip(value, (words[0], words[1]))

    return _bucket("StringToHashBucketStrong", input, num_buckets, function, name, key=words)


def _bucket(
    op_type: str,
    value: Any,
    num_buckets: Any,
    function: Callable[[bytes], int],
    name: str | None,
    argument: str = "input",
    **attrs: Any,
) -> Tensor:
    buckets = _whole(num_buckets, "num_buckets")
    if buckets < 1:
        raise ValueError(f"Attr 'num_buckets' of '{op_type}' Op passed {buckets} less than minimum 1.")
    attrs["num_buckets"] = buckets
    return unary(op_type, value, lambda one: function(one) % buckets, name, int64, argument, attrs)


def _whole(value: Any, attr: str) -> int:
    if isinstance(value, (str, bytes)) or not hasattr(value, "__index__"):
        raise TypeError(f"Expected int for argument '{attr}' not {value!r}.")
    return int(value)
