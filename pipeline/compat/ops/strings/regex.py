"""regex_replace and regex_full_match by google-re2, with RE2's rules for rewrites and empty matches."""

from __future__ import annotations

import importlib
import re
from functools import lru_cache
from typing import Any

from pipeline.compat.graph.dtypes import bool as bool_
from pipeline.compat.graph.dtypes import string
from pipeline.compat.graph.node import tensor_node
from pipeline.compat.graph.scopes import name_scope
from pipeline.compat.graph.tensor import Tensor
from pipeline.compat.ops.making.text import encoded, map_strings, string_op, text, with_rank
from pipeline.errors import invalid


@lru_cache(maxsize=256)
def compiled(pattern: bytes) -> Pattern:
    """Return a compiled pattern.

    Raises:
        InvalidArgumentError: RE2 does not accept the pattern.
    """
    return Pattern(pattern)


class Pattern:
    """A compiled RE2 pattern.

    Thread safety: may be used by several threads at the same time.

    Args:
        source: The pattern in RE2 syntax.

    Raises:
        InvalidArgumentError: RE2 does not accept the pattern.
        ImportError: google-re2 is not installed.
    """

    def __init__(self, source: bytes) -> None:
        re2 = library()
        options = re2.Options()
        options.log_errors = False
        try:
            self._engine: Any = re2.compile(source, options)
        except re2.error as error:
            why = error.args[0].decode(errors="replace")
            raise invalid(f"Invalid pattern: {source.decode(errors='replace')}, error: {why}") from None

    @property
    def groups(self) -> int:
        """The number of groups."""
        return self._engine.groups  # type: ignore[no-any-return]

    def fullmatch(self, value: bytes) -> bool:
        """Return whether a whole value matches."""
        return self._engine.fullmatch(value) is not None

    def replace(self, value: bytes, rewrite: list[bytes | int], every: bool) -> bytes:
        """Return a value with the first match, or every match, replaced by texts and numbered groups."""
        out, at, last = [], 0, -1
        while at <= len(value):
            match = self._engine.search(value, at)
            if match is None:
                break
            begin, end = match.span()
            out.append(value[at:begin])
            if begin == end == last:  # RE2 allows no empty match at the last match's end
                after = _next_character(value, at)
                out.append(value[at:after])
                at = after
                continue
            out.extend((match[piece] or b"") if isinstance(piece, int) else piece for piece in rewrite)
            at = last = end
            if not every:
                break
        out.append(value[at:])
        return b"".join(out)


def library() -> Any:
    """Return the module re2; ImportError if it is not installed."""
    try:
        return importlib.import_module("re2")  # not needed in programs without patterns
    except ImportError as error:
        raise ImportError("regular expressions need google-re2: pip install google-re2") from error


def _next_character(value: bytes, at: int) -> int:
    """Return the index of the next character; outside valid UTF-8 each byte is a character."""
    lead = value[at] if at < len(value) else 0
    after = at + 1 + (lead >= 0xC0) + (lead >= 0xE0) + (lead >= 0xF0)
    try:
        value[at:after].decode()
    except UnicodeDecodeError:
        return at + 1
    return after


def regex_replace(
    input: Any, pattern: Any, rewrite: Any, replace_global: bool = True, name: str | None = None
) -> Tensor:
    """Replace matches of an RE2 pattern; `\\1` in `rewrite` stands for the first group.

    Args:
        input: Strings with any shape.
        pattern: A string or string scalar.
        rewrite: A string or string scalar.
        replace_global: Replace every match instead of the first one only.
        name: Name of the op.

    Raises:
        ImportError: google-re2 is not installed; the extra `tf1` has it.
        InvalidArgumentError: At run time, if the pattern is invalid.
    """
    library()
    every = bool(replace_global)
    if isinstance(pattern, (str, bytes)) and isinstance(rewrite, (str, bytes)):
        made: list[Any] = []
        fixed = encoded(pattern), encoded(rewrite)

        def function(value: bytes) -> bytes:
            if not made:
                made.append(replace(*fixed, every))
            return made[0](value)  # type: ignore[no-any-return]

        attrs = {"pattern": fixed[0], "rewrite": fixed[1], "replace_global": every}
        return string_op("StaticRegexReplace", input, function, name, attrs=attrs)
    with name_scope(name, "RegexReplace", [input, pattern]) as scope:
        tensor = text(input, "input", "RegexReplace")
        parts = [with_rank(text(pattern, "pattern", "RegexReplace"), 0)]
        parts.append(with_rank(text(rewrite, "rewrite", "RegexReplace"), 0))

        def kernel(values: Any, found: bytes, new: bytes) -> Any:
            return map_strings(replace(found, new, every), values)

        return tensor_node(
            "RegexReplace", [tensor, *parts], kernel, string, tensor.shape, name=scope, attrs={"replace_global": every}
        )


def regex_full_match(input: Any, pattern: Any, name: str | None = None) -> Tensor:
    """Return whether each whole string matches an RE2 pattern.

    Raises:
        ImportError: google-re2 is not installed; the extra `tf1` has it.
        InvalidArgumentError: At run time, if the pattern is invalid.
    """
    library()
    if isinstance(pattern, (str, bytes)):
        fixed = encoded(pattern)
        return string_op(
            "StaticRegexFullMatch", input, lambda value: _full(fixed, value), name, bool_, attrs={"pattern": fixed}
        )
    with name_scope(name, "RegexFullMatch", [input, pattern]) as scope:
        tensor = text(input, "input", "RegexFullMatch")
        found = with_rank(text(pattern, "pattern", "RegexFullMatch"), 0)

        def kernel(values: Any, pattern: bytes) -> Any:
            compiled(pattern)
            return map_strings(lambda value: _full(pattern, value), values, bool)

        return tensor_node("RegexFullMatch", [tensor, found], kernel, bool_, tensor.shape, name=scope)


def _full(pattern: bytes, value: bytes) -> bool:
    return compiled(pattern).fullmatch(value)


def rewritten(rewrite: bytes, groups: int) -> list[bytes | int] | None:
    """Parse a rewrite into texts and group numbers; -1 ends it at an invalid escape. None if a group is missing."""
    pieces: list[bytes | int] = []
    parts = re.split(rb"\\(.?)", rewrite, flags=re.DOTALL)
    for number, part in enumerate(parts):
        if number % 2 == 0:
            pieces.append(part)
        elif part.isdigit():
            pieces.append(int(part))
        elif part == b"\\":
            pieces.append(part)
        else:
            pieces.append(-1)
            break
    return None if any(isinstance(each, int) and each > groups for each in pieces) else pieces


def replace(pattern: bytes, rewrite: bytes, every: bool) -> Any:
    """Return a function that replaces the first match, or every match, in a byte string.

    Raises:
        InvalidArgumentError: The pattern is invalid in RE2.
    """
    found = compiled(pattern)
    pieces = rewritten(rewrite, found.groups)
    if pieces is None or (-1 in pieces and not every):
        return lambda value: value
    valid = [each for each in pieces if each != -1]
    return lambda value: found.replace(value, valid, every)
