"""strings: the rule for all sources (text is str, binary data is bytes), and the error for text not in UTF-8."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from pipeline.dtypes import object_vector
from pipeline.errors import DataLossError
from pipeline.files.encoding import likely_encoding


def as_objects(array: NDArray[Any], where: str) -> NDArray[Any]:
    """Return a string array as objects, str or bytes; any other array unchanged.

    Raises:
        TypeError: It has both; `where` names it.
    """
    if array.dtype.kind in "SUT":
        return object_vector(array.reshape(-1).tolist()).reshape(array.shape)
    if array.dtype == object:
        kinds = {str if isinstance(each, str) else bytes for each in array.flat if isinstance(each, (str, bytes))}
        if len(kinds) > 1:
            raise TypeError(f"{where} has both str and bytes: decode or encode some of them")
    return array


def decoded(array: NDArray[Any], where: str, hint: str) -> NDArray[Any]:
    """Decode an array of UTF-8 bytes to an array of str.

    Raises:
        DataLossError: A value is not UTF-8; `where` and `hint` are for the error.
    """
    texts: list[Any] = array.reshape(-1).tolist()
    for i, each in enumerate(texts):
        if isinstance(each, bytes):
            try:
                texts[i] = each.decode()
            except UnicodeDecodeError:
                raise not_utf_8(where, each, hint) from None
    return object_vector(texts).reshape(array.shape)


def not_utf_8(where: str, text: bytes, *hints: str) -> DataLossError:
    """Return the error for text not in UTF-8.

    Args:
        where: The function, and the file, line or column.
        text: The bytes.
        hints: How else to read it.
    """
    return DataLossError(None, None, f"{where}: {text!r:.80} is not UTF-8: {', or '.join(hints)}")


def encoding_hints(text: bytes, as_bytes: str) -> Sequence[str]:
    """Return hints about text from a source with `encoding=`; `as_bytes` explains how to get bytes."""
    return likely_encoding(text), as_bytes
