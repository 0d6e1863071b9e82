"""Files behind URLs, opened by fsspec."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any


def remote_file(name: bytes, mode: str) -> Any:
    """Open a URL by fsspec; ImportError if fsspec, or the library it needs for such URLs, is not installed."""
    return _by_fsspec(name, lambda fsspec, url: fsspec.open(url, mode).open())


def file_system(name: bytes) -> Any:
    """Return fsspec's file system for a URL; ImportError as for `remote_file`."""
    return _by_fsspec(name, lambda fsspec, url: fsspec.core.url_to_fs(url)[0])


def system_and_path(name: bytes) -> tuple[Any, str]:
    """Return fsspec's file system for a URL, and the file's path in it; ImportError as for `remote_file`."""
    found: tuple[Any, str] = _by_fsspec(name, lambda fsspec, url: fsspec.core.url_to_fs(url))
    return found


def _by_fsspec(name: bytes, function: Callable[[Any, str], Any]) -> Any:
    url = os.fsdecode(name)
    try:
        import fsspec  # type: ignore[import-untyped, import-not-found, unused-ignore]
    except ImportError as error:
        raise ImportError(f"reading and writing {url} needs fsspec: pip install fsspec") from error
    try:
        return function(fsspec, url)
    except ImportError as error:
        raise ImportError(f"reading and writing {url} needs another library besides fsspec: {error}") from error
