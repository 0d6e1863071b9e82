"""Errors for missing files, with the most similar existing path."""

from __future__ import annotations

import itertools
import os

from pipeline.errors import NotFoundError

_SHOWN = 80  # characters of a path; a text passed by mistake is longer
_COMPARED = 2_000  # names in a folder; comparing these takes 20 ms


def no_such_file(path: str) -> NotFoundError:
    """Return the error for a missing local path."""
    if is_text(path):
        given = f"{path[:_SHOWN]!r}... ({len(path):,} characters)"
        text = f"No such file or directory: {given}. Expected a path, not the contents of a file"
        return NotFoundError(None, None, text)
    near = _nearest(path)
    hint = "" if near is None else f". Did you mean {near!r}?"
    return NotFoundError(None, None, f"No such file or directory: {path!r}{hint}")


def is_text(path: str) -> bool:
    """Return whether a missing path looks like a file's contents."""
    return "\n" in path or len(path) > 4 * _SHOWN


def _nearest(path: str) -> str | None:
    """Return the path with its first missing part replaced by a similar name; None if there is none."""
    import difflib  # 1 ms, needed for errors only

    folder, rest = path.rstrip(os.sep), list[str]()
    while folder and not os.path.isdir(folder):
        folder, name = os.path.split(folder)
        rest.insert(0, name)
    if not rest:
        return None
    try:
        with os.scandir(folder or ".") as entries:
            names = [entry.name for entry in itertools.islice(entries, _COMPARED)]
    except OSError:
        return None
    paths = [os.path.join(folder, name, *rest[1:]) for name in difflib.get_close_matches(rest[0], names, 3, 0.7)]
    return next((each for each in paths if os.path.exists(each)), None)
