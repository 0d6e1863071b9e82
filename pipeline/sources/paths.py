"""Paths: expand paths, patterns and lists of them to filenames, local or behind URLs."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import Any

from pipeline.dtypes import file_name
from pipeline.errors import NotFoundError, invalid
from pipeline.files.filenames import files_below
from pipeline.files.near_names import is_text, no_such_file
from pipeline.files.os_errors import translated
from pipeline.files.urls import file_system

_PATTERN = re.compile(r"[*?\[]")


def expanded(paths: Any, function: str) -> list[str]:
    """Expand paths and patterns to filenames, sorted per pattern.

    Args:
        paths: A path, URL or pattern (`*`, `**`, `?`, `[a-z]`; see `files_below`), or an iterable of them; `~` is the
            home folder. fsspec expands URL patterns.
        function: For messages.

    Raises:
        NotFoundError: A local path is not there, a pattern matches nothing, or there are no paths.
        TypeError: They are not paths.
        ImportError: A pattern is a URL, and fsspec is not installed.
    """
    if isinstance(paths, (str, bytes, os.PathLike)):
        paths = [paths]
    if not isinstance(paths, Iterable) or isinstance(paths, dict):
        raise TypeError(f"{function}: paths must be a path, a pattern or a list of them, not {paths!r:.80}")
    names: list[str] = []
    for path in paths:
        if not isinstance(path, (str, bytes, os.PathLike)):
            raise TypeError(f"{function}: a path must be a string, not {path!r:.80}")
        names += _matches(file_name(path, f"{function}: a path"), function)
    if not names:
        raise NotFoundError(None, None, f"{function}: there are no paths")
    return names


def local_files(paths: Any, function: str) -> list[str]:
    """Return filenames as `expanded` does, for sources with random access to local files.

    Raises:
        InvalidArgumentError: A name is a URL, a folder, a pipe or a device.
        NotFoundError, TypeError: As for `expanded`.
    """
    names = [name.removeprefix("file://") for name in expanded(paths, function)]
    for name in names:
        if "://" in name:
            raise invalid(f"{function}: '{name}' is a URL, and clips are read from local files: copy it first")
        if os.path.isdir(name):
            raise invalid(f"{function}: '{name}' is a folder: for the files in it pass '{name}/*'")
        if os.path.exists(name) and not os.path.isfile(name):  # opening a pipe would wait for its writer
            raise invalid(f"{function}: '{name}' is a pipe or device, where nothing can be skipped: copy it to a file")
    return names


def at_home(path: str) -> str:
    """Replace a leading `~` or `~user` by the home folder, as a shell does.

    A file with this very name takes precedence, and URLs stay unchanged.
    """
    if not path.startswith("~") or "://" in path or os.path.exists(path):
        return path
    return os.path.expanduser(path)


def _matches(path: str, function: str) -> list[str]:
    path = at_home(path)
    local = path.removeprefix("file://")
    if "://" not in local and os.path.exists(local):
        return [path]
    if _PATTERN.search(path) is None:
        if "://" not in path:
            raise no_such_file(path)
        return [path]
    names = _remote(path) if "://" in path else files_below(path)
    if not names and is_text(path):
        raise no_such_file(path)
    if not names:
        raise NotFoundError(None, None, f"{function}: '{path}' matches no file")
    return names


def _remote(pattern: str) -> list[str]:
    try:
        system = file_system(os.fsencode(pattern))
        return sorted(map(system.unstrip_protocol, system.glob(pattern)))
    except Exception as error:
        raise translated(os.fsencode(pattern), error) from error
