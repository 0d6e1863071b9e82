"""Hive folders, such as `year=2024/`, as columns for the files in them."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Container, Sequence
from typing import Any
from urllib.parse import unquote

import numpy as np

from pipeline.errors import invalid
from pipeline.sources.extras import needs

_FOLDER = re.compile(r"([^=]+)=(.*)", re.DOTALL)
_NULL = "__HIVE_DEFAULT_PARTITION__"
_INTEGER = re.compile(r"-?[0-9]{1,18}")  # always fits int64


def as_written(dtypes: Any, codes: Any) -> set[str]:
    """Return the columns read as strings even if all folders are named by integers; invalid options raise later.

    Args:
        dtypes, codes: Arguments of `pipeline.parquet`.
    """
    with contextlib.suppress(AttributeError, TypeError, ValueError):
        return {*(name for name, dtype in (dtypes or {}).items() if np.dtype(dtype).kind in "SUT"), *(codes or ())}
    return set()


def folder_columns(kind: str, names: Sequence[str], written: Container[str] = ()) -> list[dict[str, Any]]:
    """Return the values in each file's folder names, by column, as Arrow scalars.

    A column is int64 if all its values are integers, else strings.

    Args:
        kind: The source, for errors.
        names: The files.
        written: Columns always read as strings: 01 does not become 1.

    Raises:
        InvalidArgumentError: A folder's name is not UTF-8.
    """
    pyarrow = needs("pyarrow", "parquet")
    found = [_values(kind, name) for name in names]
    texts: dict[str, list[str]] = {}
    for values in found:
        for key, value in values.items():
            texts.setdefault(key, []).extend([] if value is None else [value])
    kinds = {
        key: pyarrow.int64()
        if key not in written and values and all(map(_INTEGER.fullmatch, values))
        else pyarrow.string()
        for key, values in texts.items()
    }
    return [{key: _scalar(value, kinds[key]) for key, value in values.items()} for values in found]


def _values(kind: str, name: str) -> dict[str, str | None]:
    """Return the values in a file's folders; None for a missing one."""
    path = name.partition("?")[0] if name.startswith(("http://", "https://")) else name
    pairs = (_FOLDER.fullmatch(folder) for folder in re.split(r"[/\\]" if "\\" in path else "/", path)[:-1])
    try:
        found = {
            unquote(pair[1], errors="strict"): None if pair[2] == _NULL else unquote(pair[2], errors="strict")
            for pair in pairs
            if pair is not None
        }
        "".join(each or "" for pair in found.items() for each in pair).encode()
    except UnicodeError as error:  # otherwise several folders would be merged
        shown = os.fsencode(name).decode(errors="backslashreplace")
        raise invalid(f"{kind}: the name of a folder of '{shown}' is not UTF-8: rename the folder") from error
    return found


def _scalar(value: str | None, kind: Any) -> Any:
    pyarrow = needs("pyarrow", "parquet")
    return pyarrow.scalar(int(value) if value is not None and kind == pyarrow.int64() else value, kind)
