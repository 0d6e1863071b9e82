"""Decoders' results, in the form batches stack."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pipeline.errors import InvalidArgumentError, invalid
from pipeline.nest import ListValue, Nest, is_nested, kept
from pipeline.on_error import add_note, of_record
from pipeline.sources.strings import as_objects, not_utf_8
from pipeline.stages.collate import as_array


def copied(decoder: Callable[[bytes], Any], data: bytes) -> Any:
    """Copy a user decoder's result: it may return the same array each time."""
    return kept(decoder(data))


def plain(value: Any) -> Any:
    """Convert a value for stacking: lists to arrays, numbers to NumPy's."""
    if is_nested(value, False):
        nest = Nest(value, False)
        return nest.pack([plain(inner) for inner in nest.flatten(value)])
    if isinstance(value, (bytes, str)):
        return value
    if isinstance(value, ListValue) or (type(value) is list and not value):
        return value
    try:
        return as_objects(as_array(value, "it"), "it")[()]
    except (TypeError, InvalidArgumentError) as error:
        if type(value) is list:  # for example numbers mixed with texts: `batch` raises the error
            return value
        raise ValueError(str(error)) from None  # blames the record, not the program


def failure(error: Exception, where: str, hint: str) -> Exception:
    """Return the error to raise for an undecodable value; `error` itself if no value is to blame.

    Args:
        error: The decoder's exception.
        where: The value's location, such as "webdataset: a.tar: sample '7': 'txt'".
        hint: How to read text other than UTF-8.
    """
    if isinstance(error, UnicodeDecodeError) and error.encoding == "utf-8":
        return not_utf_8(where, error.object, hint)
    if of_record(error):
        return invalid(f"{where} cannot be decoded: {error}")
    add_note(error, where)
    return error
