"""match_filenames_once and files_below: expand patterns such as `data/*.csv` to filenames."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from pipeline.errors import invalid, show

_SPECIAL = re.compile(r"[*?\[\\]")
_NOTHING = "(?!)"  # matches no text
_ANY = re.compile(".*", re.DOTALL)


class Filenames(list[str]):
    """The sorted matches of patterns; a list with the patterns.

    Attributes:
        patterns: The patterns.
    """

    def __init__(self, names: list[str], patterns: list[str]) -> None:
        super().__init__(names)
        self.patterns = patterns


def match_filenames_once(pattern: Any, name: str | None = None) -> Filenames:
    r"""Find the files with matching names, once. Later files are not found.

    `*` and `**` match any characters and `?` any one character, but not `/`. `[abc]` and `[a-c]` match a listed one,
    `[!abc]` any other. `\` makes the next character literal. Names beginning with a dot match too.

    Args:
        pattern: A pattern, or a list of patterns: str, bytes or paths.
        name: Ignored; in TensorFlow's signature.

    Returns:
        A sorted list of str, empty if nothing matches. A name matched by several patterns appears several times.

    Raises:
        InvalidArgumentError: The patterns have more than one dimension, or one has a class such as `[[:alpha:]]`.
        TypeError: A pattern is not a string.
        OSError: A directory cannot be read.

    Examples:
        >>> for name in ("part-0.csv", "part-1.csv", "notes.txt"):
        ...     open(name, "w").close()
        >>> [str(name) for name in pipeline.match_filenames_once("part-?.csv")]
        ['./part-0.csv', './part-1.csv']
    """
    patterns = _patterns(pattern)
    names = [found for each in patterns for found in _matches(each)]
    return Filenames(sorted(names, key=os.fsencode), patterns)


def files_below(pattern: str) -> list[str]:
    """Find names as `match_filenames_once` does, but let `**` between slashes stand for folders at any depth, or none.

    At the end it stands for all files at any depth. Links to folders are followed, unless they lead back to an
    enclosing folder.

    Raises:
        InvalidArgumentError, OSError: As for `match_filenames_once`.
    """
    return sorted(set(_matches(pattern, any_depth=True)), key=os.fsencode)


def _patterns(pattern: Any) -> list[str]:
    if isinstance(pattern, np.ndarray) and pattern.ndim > 1:
        raise invalid(f"Input patterns tensor must be scalar or vector, but had shape: {show(pattern.shape)}")
    if isinstance(pattern, np.ndarray):
        pattern = pattern.tolist()
    if isinstance(pattern, (str, bytes, os.PathLike)):
        return [os.fsdecode(pattern)]
    if not isinstance(pattern, (list, tuple)):
        raise TypeError(f"match_filenames_once: a pattern must be a string, or a list of them, not {pattern!r:.80}")
    for each in pattern:
        if isinstance(each, (list, tuple, np.ndarray)):
            raise invalid(f"Input patterns tensor must be scalar or vector, but it contains {each!r:.80}")
        if not isinstance(each, (str, bytes, os.PathLike)):
            raise TypeError(f"match_filenames_once: a pattern must be a string, not {each!r:.80}")
    return [os.fsdecode(each) for each in pattern]


def _matches(pattern: str, any_depth: bool = False) -> list[str]:
    """Return the matches of one pattern in any order; some several times if `**` may have any depth."""
    special = _SPECIAL.search(pattern)
    if special is None:
        return [pattern] if os.path.exists(pattern) else []
    base = pattern[: pattern.rfind("/", 0, special.start()) + 1]
    parts = pattern[len(base) :].rstrip("/").split("/")
    found = [base or "./"]
    for depth, part in enumerate(parts, 1):
        last = depth == len(parts)
        if any_depth and part == "**":
            found = list(dict.fromkeys(below for directory in found for below in _folders(directory)))
            if last:
                found = [path for folder in found for path in _children(folder, _ANY, False) if not os.path.isdir(path)]
            continue
        expression = re.compile(_expression(part), re.DOTALL)
        found = [path for directory in found for path in _children(directory, expression, not last)]
    return found


def _folders(directory: str, around: tuple[tuple[int, int], ...] = ()) -> Iterator[str]:
    """Yield a directory and all directories below it; `around` holds its parents, by device and inode."""
    try:
        status = os.stat(directory)
    except (FileNotFoundError, NotADirectoryError):
        return
    identity = status.st_dev, status.st_ino
    if identity in around:  # a link leads back
        return
    yield directory
    for inner in _children(directory, _ANY, True):
        yield from _folders(inner, (*around, identity))


def _children(directory: str, part: re.Pattern[str], descend: bool) -> Iterator[str]:
    """Yield the matching paths in a directory; to descend, only directories, ending in a slash."""
    try:
        names = os.listdir(directory)
    except (FileNotFoundError, NotADirectoryError):
        return
    for name in names:
        if part.fullmatch(name):
            path = directory + name
            if not descend:
                yield path
            elif os.path.isdir(path):
                yield path + "/"


def _expression(part: str) -> str:
    """Return the regular expression for one part of a path.

    Text between two stars matches only at its first occurrence, as in `fnmatch`: trying all positions takes time
    exponential in the star count.
    """
    begin, *rest = _between_stars(part)
    if not rest:
        return begin
    middle = "".join(f"(?=(?P<g{i}>.*?{each}))(?P=g{i})" for i, each in enumerate(rest[:-1]) if each)
    return f"{begin}{middle}.*{rest[-1]}"


def _between_stars(part: str) -> list[str]:
    """Return expressions for the text before, between and after the stars."""
    pieces, text, i = [], "", 0
    closed = True  # once a bracket has no end, no later one has
    while i < len(part):
        char, i = part[i], i + 1
        if char == "*":
            pieces.append(text)
            text = ""
        elif char == "?":
            text += "."
        elif char == "[" and closed:
            found, after = _set(part, i)
            closed = after > i
            text, i = text + found, after
        elif char == "\\":
            text, i = text + (re.escape(part[i]) if i < len(part) else _NOTHING), i + 1
        else:
            text += re.escape(char)
    return [*pieces, text]


def _set(part: str, begin: int) -> tuple[str, int]:
    """Return the expression for a set after the bracket before `begin`, and the position after it."""
    i = begin
    negated = part[i : i + 1] in ("!", "^")
    i += negated
    first, members = i, ""
    while i < len(part) and (part[i] != "]" or i == first):
        if part.startswith(("[:", "[.", "[="), i):
            raise invalid(
                f"match_filenames_once: {part!r} has a character class such as [[:alpha:]]; name a range: [a-z]"
            )
        low, i = _member(part, i)
        high = low
        if part[i : i + 1] == "-" and part[i + 1 : i + 2] not in ("", "]"):
            high, i = _member(part, i + 1)
        if low <= high:  # otherwise the range is empty
            members += f"{re.escape(low)}-{re.escape(high)}"
    if i >= len(part):  # no closing bracket: it is literal
        return re.escape("["), begin
    if not members:
        return "." if negated else _NOTHING, i + 1
    return f"[{'^' if negated else ''}{members}]", i + 1


def _member(part: str, i: int) -> tuple[str, int]:
    escaped = part[i] == "\\" and i + 1 < len(part)
    return part[i + escaped], i + escaped + 1
